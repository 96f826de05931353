// Reads the operator's mailbox: mail to postmaster of the service's domain.

import {
  findPostmasterMessage,
  listPostmasterMessages,
} from '#inbound/receive/store/postmaster-messages.ts'
import { readRawBytes } from '#mailbox/attachments/attachments.ts'
import { CommandFailure, plainText } from './command.ts'
import { withStore } from './with-store.ts'

const PAGE_SIZE = 1_000

/** Prints a line per message, newest first, and on standard error the command for older ones. */
export async function listPostmasterCommand(options: { before?: string }): Promise<void> {
  const page = { limit: PAGE_SIZE, before: options.before ?? null }
  const { messages, next } = await withStore((store) => listPostmasterMessages(store.db, page))
  for (const { raw_id, created_at, from_addr, subject } of messages) {
    const time = new Date(created_at).toISOString()
    process.stdout.write(`${raw_id}  ${time}  ${plainText(from_addr)}  ${plainText(subject)}\n`)
  }
  if (next !== null)
    process.stderr.write(`For more: mailroom admin postmaster list --before ${next}\n`)
}

export async function showPostmasterCommand(id: string): Promise<void> {
  const content = await withStore(async (store) => {
    if ((await findPostmasterMessage(store.db, id)) === null) {
      throw new CommandFailure(`there is no message ${id} to postmaster.`)
    }
    return readRawBytes(store, id)
  })
  process.stdout.write(content)
}
