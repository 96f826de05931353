// Finds recipients whose addresses were taken from received mail, a sign of an injected
// instruction. Searches the send's thread and other threads that may mention a recipient.

import { indexPiecesOf } from '@mailroom/mail-reading/mentions/mention-index.ts'
import type { Inbox } from '#inboxes/inboxes.ts'
import { readRawBytes } from '#mailbox/attachments/attachments.ts'
import { listWholeTexts } from '#mailbox/attachments/store/texts.ts'
import { findCopied, findMentioning, findUnreadFile } from '#mailbox/messages/store/mentions.ts'
import { findThread } from '#mailbox/threads/store/threads.ts'
import { SECOND_MS } from '#platform/units.ts'
import { findWrittenTo, type ThreadMessage } from '#policy/store/send-policies.ts'
import { CannotExamine } from './cannot-examine.ts'
import type { GuardDeps } from './judged-message.ts'
import { findProvenWriters, proofMinOf, readThread, recipientsOf } from './known-people.ts'

/** Threads that may mention a recipient. If there are more, the send is held. */
const THREADS_MAX = 200
const FIND_MS_MAX = 10 * SECOND_MS
/** Total size of the messages that are read for one send. */
const READ_BYTES_MAX = 64 * 1024 * 1024

/** Maps each address key to the first message of a thread that mentions the address. */
export type Injected = ReadonlyMap<string, { messageId: string }>

type Asked = {
  readonly inbox: Inbox
  readonly keys: readonly string[]
  /** The thread that is answered or forwarded. */
  readonly threadId: string | null
}

/** Throws `CannotExamine` if something that could mention a new recipient cannot be read. */
export async function findInjected(
  deps: GuardDeps,
  { inbox, keys, threadId }: Asked,
): Promise<Injected> {
  const { db, clock } = deps
  const search = new Search(deps, keys)
  search.drop(await findProvenWriters(deps, inbox, keys))
  search.drop(await findWrittenTo(db, inbox.id, [...search.unseen]))
  if (search.unseen.size === 0) return search.found
  const within = { inboxId: inbox.id, nowMs: clock.now() }
  const proofMin = proofMinOf(deps)
  search.drop(await findCopied(db, { ...within, proofMin }, [...search.unseen]))
  if (threadId !== null) {
    const thread = await readThread(deps, inbox, threadId)
    search.drop(await recipientsOf(deps, inbox, thread))
    await search.readThread(thread)
  }
  for (const other of await findOtherThreads(deps, within, [...search.unseen])) {
    if (other !== threadId) await search.readThread(await readThread(deps, inbox, other))
  }
  if (search.unseen.size > 0 && search.found.size === 0) {
    await checkWhole(deps, { ...within, accountId: inbox.accountId, threadId })
  }
  return search.found
}

async function findOtherThreads(
  { db }: GuardDeps,
  within: { inboxId: string; nowMs: number },
  keys: readonly string[],
): Promise<string[]> {
  if (keys.length === 0) return []
  const signal = AbortSignal.timeout(FIND_MS_MAX)
  const asked = { ...within, pieces: keys.flatMap(indexPiecesOf), limit: THREADS_MAX + 1 }
  const threadIds = await db.readLong(findMentioning, asked, signal)
  if (signal.aborted) throw new CannotExamine('The mail of the inbox was not searched in time.')
  if (threadIds.length <= THREADS_MAX) return threadIds
  throw new CannotExamine('Too many threads may mention a recipient.')
}

/** Removed mail, and files that are unread or unreadable, may mention any recipient. */
async function checkWhole(
  { db }: GuardDeps,
  asked: { accountId: string; inboxId: string; threadId: string | null; nowMs: number },
): Promise<void> {
  if (asked.threadId !== null) {
    const thread = await findThread(db, asked.accountId, asked.threadId)
    if (thread === null || thread.removedCount > 0) {
      throw new CannotExamine('Mail of the thread was removed, so it cannot be examined.')
    }
  }
  const file = await findUnreadFile(db, asked)
  if (file !== null) {
    const where = `the file "${file.filename}" of message ${file.message_id}`
    throw new CannotExamine(`A recipient is new, and ${where} is not read yet or cannot be read.`)
  }
}

class Search {
  readonly unseen: Set<string>
  readonly found = new Map<string, { messageId: string }>()
  readonly #deps: GuardDeps
  #readBytes = 0

  constructor(deps: GuardDeps, keys: readonly string[]) {
    this.#deps = deps
    this.unseen = new Set(keys)
  }

  drop(known: Iterable<string>): void {
    for (const key of known) this.unseen.delete(key)
  }

  /** If a message of ours mentions an address first, later received messages only repeat it. */
  async readThread(thread: readonly ThreadMessage[]): Promise<void> {
    const { parser } = this.#deps
    const repeated = new Set<string>()
    for (const { id, isReceived, rawId, sizeBytes, hasFiles } of thread) {
      const addresses = [...this.unseen].filter((key) => !repeated.has(key))
      if (addresses.length === 0) break
      this.#readBytes += sizeBytes
      if (this.#readBytes > READ_BYTES_MAX) {
        throw new CannotExamine('The mail that may mention a recipient is too large.')
      }
      const raw = await readRawBytes(this.#deps, rawId)
      const texts = hasFiles ? await listWholeTexts(this.#deps.db, id) : []
      const mentioned = await parser.findMentions(raw, { addresses, texts })
      if (mentioned === null) throw new CannotExamine(`Message ${id} could not be read completely.`)
      for (const key of mentioned) {
        if (!isReceived) repeated.add(key)
        else {
          this.unseen.delete(key)
          this.found.set(key, { messageId: id })
        }
      }
    }
  }
}
