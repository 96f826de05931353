// Reading messages.

import type { Deps } from '#actions/deps.ts'
import type { Page } from '#actions/page.ts'
import type { Direction, Message } from '#model/message.ts'
import { notFound } from '#model/problem.ts'
import * as store from '#store/message.ts'
import { CUT_READ_LENGTH } from './cut-bodies.ts'

/** Newest first, over all threads of the inbox; long bodies are read as far as CUT_READ_LENGTH. */
export async function listMessages(
  deps: Pick<Deps, 'db'>,
  input: { accountId: string; inboxId: string; direction: Direction | null } & Page,
): Promise<{ messages: AsyncIterable<Message>; total: number }> {
  const page = await store.listMessages(deps.db, { ...input, bodyLengthMax: CUT_READ_LENGTH })
  if (page === null) throw notFound()
  return page
}

/** `not_found` when the account has no such message. `beforeLong` is waited for before a long body is read. */
export async function getMessage(
  deps: Pick<Deps, 'db'>,
  input: { accountId: string; messageId: string; beforeLong?: () => Promise<void> },
): Promise<Message> {
  const { accountId, messageId, beforeLong: before } = input
  const message = await store.findMessage(deps.db, accountId, messageId, { before })
  if (message === null) throw notFound()
  return message
}
