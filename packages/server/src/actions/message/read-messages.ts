// Reading messages.

import type { Deps } from '#actions/deps.ts'
import type { Page } from '#actions/page.ts'
import type { Direction, Message } from '#model/message.ts'
import { notFound } from '#model/problem.ts'
import * as store from '#store/message.ts'

/** Newest first, over all threads of the inbox. */
export async function listMessages(
  deps: Pick<Deps, 'db'>,
  input: { accountId: string; inboxId: string; direction: Direction | null } & Page,
): Promise<{ messages: store.Messages; total: number }> {
  const page = await store.listMessages(deps.db, input)
  if (page === null) throw notFound()
  return page
}

/** `not_found` when the account has no such message. */
export async function getMessage(
  deps: Pick<Deps, 'db'>,
  input: { accountId: string; messageId: string },
): Promise<Message> {
  const message = await store.findMessage(deps.db, input.accountId, input.messageId)
  if (message === null) throw notFound()
  return message
}
