import type { Handlers } from '#http/handler.ts'
import { deleteInbox } from './delete-inbox.ts'

export function removalHandlers(
  deps: Parameters<typeof deleteInbox>[0],
): Pick<Handlers, 'inboxes.delete'> {
  return {
    'inboxes.delete': async ({ path }, { accountId }) => {
      await deleteInbox(deps, { accountId, inboxId: path.id })
    },
  }
}
