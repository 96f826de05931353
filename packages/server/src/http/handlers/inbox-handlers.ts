import type { Deps } from '#actions/deps.ts'
import { deleteInbox, updateInbox } from '#actions/inbox/change-inboxes.ts'
import { createInbox } from '#actions/inbox/create-inbox.ts'
import { getInbox, listInboxes } from '#actions/inbox/read-inboxes.ts'
import type { Handlers } from '#http/handler.ts'
import { presentChangedInbox, presentInbox } from '#http/present/inboxes.ts'
import { problem } from '#model/problem.ts'

type InboxHandlers = Pick<
  Handlers,
  Exclude<
    Extract<keyof Handlers, `inboxes.${string}`>,
    | 'inboxes.send'
    | 'inboxes.wait'
    | 'inboxes.search'
    | 'inboxes.rotateWebhookSecret'
    | 'inboxes.testWebhook'
  >
>

export function inboxHandlers(deps: Deps): InboxHandlers {
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
    'inboxes.delete': async ({ path }, { accountId }) => {
      await deleteInbox(deps, { accountId, inboxId: path.id })
    },
  }
}
