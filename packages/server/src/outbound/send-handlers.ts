import type { Signers } from '#domains/signers.ts'
import type { Handlers } from '#http/handler.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Sealer } from '#platform/seal.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Db } from '#schema/tables.ts'
import { presentDelivery, presentSent, presentSuppression } from './present-sending.ts'
import { listDeliveries } from './read-deliveries.ts'
import { sendMessage } from './send-message.ts'
import type { SendSettings } from './send-policy.ts'
import { addSuppression, listSuppressions, removeSuppression } from './suppressions.ts'

/** What the functions below work with. */
type Needs = {
  db: Db
  clock: Clock
  makeId: MakeId
  parser: Parser
  blobs: BlobStore | null
  inboxDomain: string
  publicUrl: string
  urlKey: Uint8Array
  sending: SendSettings
  signers: Signers
  sealer: Sealer
  deriveKey: (purpose: string) => Uint8Array
  queueClock: QueueClock
  laneOf: (domain: string) => string
  wakeDelivery: () => void
  wakeEvents: () => void
}

type SendHandlers = Pick<
  Handlers,
  'inboxes.send' | 'messages.deliveries' | Extract<keyof Handlers, `suppressions.${string}`>
>

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
  }
}
