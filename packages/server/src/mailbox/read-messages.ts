// Reading messages.

import { notFound } from '#platform/problem.ts'
import type { Db, Page } from '#schema/tables.ts'
import { CUT_READ_LENGTH } from './cut-bodies.ts'
import type { Direction, Message } from './message.ts'
import * as store from './message-rows.ts'

/** Newest first, over all threads of the inbox; long bodies are read as far as CUT_READ_LENGTH. */
export async function listMessages(
  deps: { db: Db },
  input: { accountId: string; inboxId: string; direction: Direction | null } & Page,
): Promise<{ messages: AsyncIterable<Message>; total: number }> {
  const page = await store.listMessages(deps.db, { ...input, bodyLengthMax: CUT_READ_LENGTH })
  if (page === null) throw notFound()
  return page
}

/** `not_found` when the account has no such message. `beforeLong` is waited for before a long body is read. */
export async function getMessage(
  deps: { db: Db },
  input: { accountId: string; messageId: string; beforeLong?: () => Promise<void> },
): Promise<Message> {
  const { accountId, messageId, beforeLong: before } = input
  const message = await store.findMessage(deps.db, accountId, messageId, { before })
  if (message === null) throw notFound()
  return message
}
