// A webhook: a URL that events of an account are posted to, and what has become of each post.

import { isIP } from 'node:net'
import type {
  WebhookDeliveryStatus,
  WebhookDisabledReason,
  WebhookError,
} from '@mailroom/contract/vocabulary.ts'
import type { EventFilter, EventKind, LogPosition } from '#events/event.ts'
import { isSpecialAddress } from '#platform/egress/address-guard.ts'
import { problem } from '#platform/problem.ts'

export type { WebhookDeliveryStatus, WebhookDisabledReason, WebhookError }

export type Webhook = {
  readonly id: string
  readonly accountId: string
  /** The inbox whose `webhookUrl` it is, and which alone it tells of; null for any other. */
  readonly inboxId: string | null
  readonly url: string
  readonly filter: EventFilter
  readonly isEnabled: boolean
  readonly disabledReason: WebhookDisabledReason | null
  readonly disabledAtMs: number | null
  /** Where the log ended when it was enabled, by no clock: events behind it are delivered. */
  readonly enabledAfter: LogPosition
  /** The first failure since the last success; null when there is none. */
  readonly failingSinceMs: number | null
  readonly sealedSecrets: Uint8Array
  readonly createdAtMs: number
}

/** How a webhook fails; of one that is healthy there is nothing to say. */
export type WebhookFailure = {
  /** Of the newest failed attempt; null when it is not kept any more. */
  readonly error: WebhookError | null
  readonly responseStatus: number | null
  /** When the next retry is due; null when none is waiting. */
  readonly nextAttemptAtMs: number | null
}

/** A key that signs what is posted. */
export type WebhookSecret = {
  readonly secret: string
  /** When a replaced one stops signing along; null for the one that is current. */
  readonly untilMs: number | null
}

/** One event on its way to one webhook. */
export type WebhookDelivery = {
  readonly id: string
  readonly webhookId: string
  readonly eventId: string
  readonly eventKind: EventKind
  readonly status: WebhookDeliveryStatus
  readonly attempts: number
  readonly lastAttemptAtMs: number | null
  readonly nextAttemptAtMs: number | null
  readonly responseStatus: number | null
  readonly responseBody: string | null
  readonly latencyMs: number | null
  readonly error: WebhookError | null
  readonly createdAtMs: number
}

export const WEBHOOK_URL_LENGTH_MAX = 2_000

const BLANK_OR_CONTROL = /[\s\p{Cc}\p{Cf}\p{Z}]/u
/** The parts up to the path, by which a parser that mends URLs (WHATWG) has nothing to mend. */
const ABSOLUTE = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]+)/i

/**
 * What is wrong with it, to follow `The field "url"`; null when nothing is. `allowPrivate`: the
 * operator lets webhooks go to private addresses, by plain HTTP and to any port too. Never throws.
 */
export function checkWebhookUrl(text: string, options: { allowPrivate: boolean }): string | null {
  const { allowPrivate } = options
  if ([...text].length > WEBHOOK_URL_LENGTH_MAX) {
    return `must have at most ${WEBHOOK_URL_LENGTH_MAX} characters`
  }
  if (BLANK_OR_CONTROL.test(text)) return 'must have no blanks and no control characters'
  if (text.includes('\\')) return 'must have no backslashes'
  const [, scheme = '', authority = ''] = ABSOLUTE.exec(text) ?? []
  const url = URL.canParse(text) ? new URL(text) : null
  if (scheme === '' || url === null)
    return 'must be an absolute URL such as https://example.com/mail'
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:')) {
    return allowPrivate ? 'must begin with https:// or http://' : 'must begin with https://'
  }
  const host = url.hostname.replace(/\.+$/, '').replace(/^\[(.*)\]$/, '$1')
  if (host === '') return 'must name a host'
  if (authority.includes('@')) return 'must not contain a user name or password'
  if (url.port === '0') return 'must not name port 0'
  if (allowPrivate) return null
  if (!['', '80', '443'].includes(url.port)) return 'must not name a port other than 443 and 80'
  return isOwnHost(host) ? 'must name a host that the public Internet can reach' : null
}

/** Of a host as WHATWG's parser leaves it: every spelling of an IPv4 address is dotted decimal. */
function isOwnHost(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost')) return true
  return isIP(host) !== 0 && isSpecialAddress(host)
}

/** `invalid_webhook_url` for what no event may be posted to; `field` names it in the message. */
export function requireWebhookUrl(
  deps: { allowPrivateEgress: boolean },
  url: string,
  field: 'url' | 'webhookUrl',
): void {
  const mistake = checkWebhookUrl(url, { allowPrivate: deps.allowPrivateEgress })
  if (mistake === null) return
  throw problem('invalid_webhook_url', `The field "${field}" ${mistake}.`, {
    details: [{ path: field, message: mistake }],
  })
}
