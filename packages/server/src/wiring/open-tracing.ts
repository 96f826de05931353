// Traces joined to the parts of the service: what they do for a message or a request that is traced is
// told as a step of it. Where no collector is named nothing is loaded, and no part is touched.

import type { Settings } from '#config/settings.ts'
import type { Carrier } from '#delivery/carrier.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import type { HttpPost, HttpPostOutcome } from '#platform/egress/http-post.ts'
import type { Log } from '#platform/log.ts'
import { type Attributes, silentTracing, type Tracing } from '#platform/telemetry/tracing.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { Db } from '#schema/tables.ts'
import type { Deps } from './deps.ts'

/** As the settings say; `instance` names this process for the collector. */
export async function openTracing(
  settings: Pick<Settings, 'otlpEndpoint' | 'traceShare' | 'roles'>,
  { log, clock = systemClock, instance }: { log: Log; clock?: Clock; instance: string },
): Promise<Tracing> {
  const { otlpEndpoint: endpoint, traceShare: share, roles } = settings
  if (endpoint === null) return silentTracing
  const { openOtlpTracing } = await import('#platform/telemetry/otlp-tracing.ts')
  const attributes = { 'service.instance.id': instance, 'mailroom.roles': [...roles].join(',') }
  return openOtlpTracing({ endpoint, share, attributes, log, clock })
}

type TracedParts = Pick<
  Deps,
  'db' | 'blobs' | 'parser' | 'authenticator' | 'carrier' | 'postWebhook' | 'tracing'
>

/** The same parts, whose work for what is traced is told as a step of it. */
export function traceParts<Parts extends TracedParts>(parts: Parts): Parts {
  const { db, blobs, parser, authenticator, carrier, postWebhook, tracing } = parts
  if (!tracing.isOn) return parts
  return {
    ...parts,
    db: traceDb(db, tracing),
    blobs: blobs && traceBlobs(blobs, tracing),
    parser: traceParser(parser, tracing),
    authenticator: authenticator && {
      authenticate: (mail) =>
        tracing.step('authenticate', {}, () => authenticator.authenticate(mail)),
      close: () => authenticator.close(),
    },
    carrier: carrier && traceCarrier(carrier, tracing),
    postWebhook: tracePost(postWebhook, tracing),
  }
}

/** Named transactions that are a step of what is traced say so in the rows that they write. */
function traceDb(db: Db, tracing: Tracing): Db {
  const attributes = { 'db.system.name': db.engine === 'sqlite' ? 'sqlite' : 'postgresql' }
  return {
    ...db,
    write: (transaction, input) =>
      tracing.step(`commit ${transaction.name}`, { attributes }, ({ traceParent }) =>
        traceParent === ''
          ? db.write(transaction, input)
          : db.write(transaction, input, traceParent),
      ),
  }
}

function traceBlobs(blobs: BlobStore, tracing: Tracing): BlobStore {
  return {
    put(id, content) {
      const attributes = { 'mailroom.message.size': content.length }
      return tracing.step('store bytes', { attributes }, () => blobs.put(id, content))
    },
    get: (id) => tracing.step('read bytes', {}, () => blobs.get(id)),
    remove: (ids) => blobs.remove(ids),
    sweepEveryMs: blobs.sweepEveryMs,
    list: () => blobs.list(),
    close: () => blobs.close(),
  }
}

function traceParser(parser: Parser, tracing: Tracing): Parser {
  return {
    parse(raw) {
      const attributes = { 'mailroom.message.size': raw.length }
      return tracing.step('parse', { attributes }, () => parser.parse(raw))
    },
    makeBodies: (source) => tracing.step('make bodies', {}, () => parser.makeBodies(source)),
    readReport: (raw, envelope) =>
      tracing.step('read report', {}, () => parser.readReport(raw, envelope)),
    readAttachment: (raw, filename) => parser.readAttachment(raw, filename),
    makeView: (source) => parser.makeView(source),
    show: (source) => parser.show(source),
  }
}

function traceCarrier(carrier: Carrier, tracing: Tracing): Carrier {
  return {
    carry: (consignment, signal) =>
      tracing.step('carry', { kind: 'client' }, async (span) => {
        const carried = await carrier.carry(consignment, signal)
        const [first] = carried.outcomes
        if (first !== undefined) span.set({ 'mailroom.outcome': first.kind })
        if (carried.tls !== null) span.set({ 'tls.protocol.version': carried.tls })
        return carried
      }),
    close: () => carrier.close(),
  }
}

/** The receiver is told of the trace, so that it can go on with it. */
function tracePost(post: HttpPost, tracing: Tracing): HttpPost {
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
