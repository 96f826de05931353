import type { CapturedMessage } from '@mailroom/contract/shapes/sandbox.ts'
import type { Carrier } from '#delivery/transport/carrier.ts'
import type { Signers } from '#domains/signers.ts'
import type { Handlers, Input } from '#http/handler.ts'
import type { Authenticator } from '#inbound/authenticate/authenticator.ts'
import type { CountedReport } from '#inbound/report/report-outcome.ts'
import type { UrlSigner } from '#mailbox/attachment-url.ts'
import { cutBodies } from '#mailbox/cut-bodies.ts'
import type { Extractions } from '#mailbox/extractions.ts'
import { presentAttachments, presentListed } from '#mailbox/present-message.ts'
import type { Captured } from '#outbound/captured-message.ts'
import type { SendSettings } from '#outbound/send-policy.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import { type Clock, presentTime } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import { problem } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Db } from '#schema/tables.ts'
import { clearCaptured, listCaptured, receiveInSandbox, type SandboxMail } from './sandbox.ts'

type Needs = {
  db: Db
  clock: Clock
  makeId: MakeId
  log: Log
  parser: Parser
  extractions: Extractions
  blobs: BlobStore | null
  inboxDomain: string
  publicUrl: string
  urlKey: Uint8Array
  sending: SendSettings
  signers: Signers
  sealer: Sealer
  deriveKey: (purpose: string) => Uint8Array
  authenticator: Authenticator | null
  rejectDmarcFailures: boolean
  queueClock: QueueClock
  carrier: Carrier | null
  laneOf: (domain: string) => string
  countReport: (outcome: CountedReport) => void
  wakeDelivery: () => void
  wakeEvents: () => void
}

export function sandboxHandlers(
  deps: Needs,
): Pick<Handlers, Extract<keyof Handlers, `sandbox.${string}`>> {
  return {
    'sandbox.list': async ({ query }, { accountId, takeSlot }) => {
      await takeSlot()
      const { captured, total } = await listCaptured(deps, { accountId, ...query })
      const nowMs = deps.clock.now()
      const data = []
      for await (const one of captured) data.push(presentCaptured(one, deps, nowMs))
      return { data, total }
    },
    'sandbox.clear': async (_input, { accountId }) => {
      await clearCaptured(deps, { accountId })
    },
    'sandbox.receive': async (input, { accountId }) => {
      const { messages } = await receiveInSandbox(deps, { accountId, mail: sandboxMail(input) })
      const nowMs = deps.clock.now()
      const data = await Array.fromAsync(presentListed(messages, deps, nowMs))
      return { data, total: data.length }
    },
  }
}

function sandboxMail({ body, query }: Input<'sandbox.receive'>): SandboxMail {
  if (body instanceof Uint8Array) {
    return { kind: 'raw', raw: body, from: query.from ?? null, to: query.to ?? null }
  }
  for (const path of ['from', 'to'] as const) {
    if (query[path] !== undefined) throw notWithFields(path)
  }
  const { from, to, subject, text = '', html = '', inReplyTo = null, attachments } = body
  const recipients = [to].flat()
  return {
    kind: 'composed',
    from,
    to: recipients,
    subject,
    text,
    html,
    inReplyTo,
    attachments: [...attachments],
  }
}

function notWithFields(path: 'from' | 'to') {
  const message = 'belongs to a body of message/rfc822; in JSON it is a field'
  return problem('bad_request', `The query parameter "${path}" ${message}.`, {
    details: [{ path, message }],
  })
}

/** Mail that the sandbox kept; its attachments' addresses are signed afresh each time. */
export function presentCaptured(
  { id, recipients, reversePath, capturedAtMs, message: read, inReplyTo }: Captured,
  signer: UrlSigner,
  nowMs: number,
): CapturedMessage {
  const { message, isTruncated } = cutBodies(read)
  return {
    id,
    messageId: message.id,
    threadId: message.threadId,
    inboxId: message.inboxId,
    from: message.fromAddr,
    to: recipients,
    reversePath,
    cc: message.cc,
    replyTo: message.replyTo,
    subject: message.subject,
    text: message.bodyText,
    html: message.bodyHtml,
    isTruncated,
    rfcMessageId: message.rfcMessageId,
    inReplyTo,
    references: message.references,
    attachments: presentAttachments(message, signer, nowMs),
    createdAt: presentTime(capturedAtMs),
  }
}
