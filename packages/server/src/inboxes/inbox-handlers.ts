import type { Handlers } from '#http/handler.ts'
import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import { problem } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import type { Db } from '#schema/tables.ts'
import { updateInbox } from './change-inboxes.ts'
import { createInbox } from './create-inbox.ts'
import { presentChangedInbox, presentInbox } from './present-inbox.ts'
import { getInbox, listInboxes } from './read-inboxes.ts'

/** What the functions below work with. */
type Needs = {
  db: Db
  clock: Clock
  chance: Chance
  makeId: MakeId
  inboxDomain: string
  inboxesPerDay: number
  sealer: Sealer
  allowPrivateEgress: boolean
  wakeWorker: () => void
}

type InboxHandlers = Pick<
  Handlers,
  Exclude<
    Extract<keyof Handlers, `inboxes.${string}`>,
    | 'inboxes.send'
    | 'inboxes.delete'
    | 'inboxes.wait'
    | 'inboxes.search'
    | 'inboxes.rotateWebhookSecret'
    | 'inboxes.testWebhook'
  >
>

export function inboxHandlers(deps: Needs): InboxHandlers {
  return {
    'inboxes.create': async ({ body }, { accountId }) => {
      const { displayName = null, webhookUrl = null, ...rest } = body
      const created = await createInbox(deps, { accountId, displayName, webhookUrl, ...rest })
      return presentChangedInbox(created)
    },
    'inboxes.list': async ({ query }, { accountId }) => {
      const { podId = null, ...page } = query
      const { inboxes, total } = await listInboxes(deps, { accountId, pod: podId, ...page })
      return { data: inboxes.map(presentInbox), total }
    },
    'inboxes.get': async ({ path }, { accountId }) =>
      presentInbox(await getInbox(deps, { accountId, inboxId: path.id })),
    'inboxes.update': async ({ path, body }, { accountId }) =>
      presentChangedInbox(await updateInbox(deps, { accountId, inboxId: path.id, ...body })),
    'inboxes.createApiKey': async ({ path }, { accountId }) => {
      await getInbox(deps, { accountId, inboxId: path.id })
      throw problem('scoped_keys_not_supported')
    },
  }
}
