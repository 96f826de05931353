// Reading the operator's mailbox: mail to postmaster of the service's domain.

import { readRawBytes } from '#actions/message/read-content.ts'
import { listPostmasterMessages } from '#store/postmaster-message.ts'
import { CommandFailure } from './command-failure.ts'
import { withStore } from './with-store.ts'

const LISTED_MAX = 1_000

/** One line a message, newest first. Remote text is stripped of what could steer a terminal. */
export async function listPostmasterCommand(): Promise<void> {
  const messages = await withStore((store) => listPostmasterMessages(store.db, LISTED_MAX))
  for (const { raw_id, created_at, from_addr, subject } of messages) {
    const time = new Date(created_at).toISOString()
    process.stdout.write(`${raw_id}  ${time}  ${plain(from_addr)}  ${plain(subject)}\n`)
  }
}

/** The message byte for byte, to standard output. */
export async function showPostmasterCommand(id: string): Promise<void> {
  const content = await withStore(async (store) => {
    const messages = await listPostmasterMessages(store.db, LISTED_MAX)
    if (!messages.some((message) => message.raw_id === id)) {
      throw new CommandFailure(`there is no message ${id} to postmaster.`)
    }
    return readRawBytes(store, id)
  })
  process.stdout.write(content)
}

function plain(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g, '?')
}
