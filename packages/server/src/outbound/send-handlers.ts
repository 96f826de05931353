// Handlers of sending, deliveries, suppressions and the sandbox.

import type { Signers } from '#domains/signers.ts'
import type { Handlers, Input } from '#http/handler.ts'
import type { Authenticator } from '#inbound/authenticate/authenticator.ts'
import type { CountedReport } from '#inbound/report/report-outcome.ts'
import type { Extractions } from '#mailbox/extractions.ts'
import { presentListed } from '#mailbox/present-message.ts'
import type { Carrier } from '#outbound/transport/carrier.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import { problem } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import {
  clearCaptured,
  listCaptured,
  receiveInSandbox,
  type SandboxMail,
} from '#sandbox/sandbox.ts'
import type { Db } from '#schema/tables.ts'
import {
  presentCaptured,
  presentDelivery,
  presentSent,
  presentSuppression,
} from './present-sending.ts'
import { listDeliveries } from './read-deliveries.ts'
import { sendMessage } from './send-message.ts'
import type { SendSettings } from './send-policy.ts'
import { addSuppression, listSuppressions, removeSuppression } from './suppressions.ts'

/** What the functions below work with. */
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

type SendHandlers = Pick<
  Handlers,
  | 'inboxes.send'
  | 'messages.deliveries'
  | Extract<keyof Handlers, `${'suppressions' | 'sandbox'}.${string}`>
>

/** One handler for each operation on mail that goes out, or would. */
export function sendHandlers(deps: Needs): SendHandlers {
  return {
    'inboxes.send': async ({ path, body }, { accountId, idempotencyKey, requestHash }) => {
      const { isReplay, response } = await sendMessage(deps, {
        accountId,
        inboxId: path.id,
        idempotencyKey,
        requestHash,
        to: body.to,
        cc: body.cc ?? [],
        body: body.body,
        // An empty one says nothing, and would hide the text from whoever shows HTML.
        bodyHtml: body.bodyHtml || null,
        subject: body.subject ?? null,
        threadId: body.threadId ?? null,
        includeQuote: body.includeQuote ?? true,
        replyTo: body.replyTo ?? null,
        attachments: [...body.attachments],
        hasUnsubscribe: body.unsubscribe ?? false,
      })
      return { isReplay, body: presentSent(response) }
    },
    'messages.deliveries': async ({ path, query }, { accountId }) => {
      const page = { accountId, messageId: path.id, ...query }
      const { deliveries, total } = await listDeliveries(deps, page)
      return { data: deliveries.map(presentDelivery), total }
    },

    'suppressions.list': async ({ query }, { accountId }) => {
      const { address = null, ...page } = query
      const { suppressions, total } = await listSuppressions(deps, { accountId, address, ...page })
      return { data: suppressions.map(presentSuppression), total }
    },
    'suppressions.create': async ({ body }, { accountId }) =>
      presentSuppression(await addSuppression(deps, { accountId, address: body.address })),
    'suppressions.delete': async ({ path }, { accountId }) => {
      await removeSuppression(deps, { accountId, address: path.address })
    },

    ...sandboxHandlers(deps),
  }
}

function sandboxHandlers(
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
