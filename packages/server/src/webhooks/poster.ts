// Posts webhooks to addresses that accounts choose.

import { ownNamesOf } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import {
  type HttpPost,
  type HttpPoster,
  type HttpPostOutcome,
  openHttpPoster,
} from '#platform/egress/http-post.ts'
import type { Attributes, Tracing } from '#platform/telemetry/tracing.ts'

export function openWebhookPoster(
  settings: Settings,
  { resolver, tracing }: { resolver: Resolver; tracing: Tracing },
): HttpPoster {
  const allowPrivate = settings.allowPrivateEgress
  const poster = openHttpPoster({ resolver, allowPrivate, ownNames: ownNamesOf(settings) })
  return { post: tracePost(poster.post, tracing), close: () => poster.close() }
}

function tracePost(post: HttpPost, tracing: Tracing): HttpPost {
  if (!tracing.isOn) return post
  const attributes = { 'http.request.method': 'POST' }
  return (request) =>
    tracing.step('POST webhook', { kind: 'client', attributes }, async (span) => {
      if (span.traceParent === '') return post(request)
      const headers = { ...request.headers, traceparent: span.traceParent }
      const outcome = await post({ ...request, headers })
      span.set(attributesOf(outcome))
      if (outcome.kind === 'failed') span.fail(outcome.error)
      return outcome
    })
}

function attributesOf(outcome: HttpPostOutcome): Attributes {
  const status = outcome.kind === 'answered' ? outcome.status : outcome.answer?.status
  return status === undefined ? {} : { 'http.response.status_code': status }
}
