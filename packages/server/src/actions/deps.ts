// What actions work with. Each takes only the fields it names, so that a reader sees what it can
// reach.

import type { Chance } from '#base/chance.ts'
import type { Clock } from '#base/clock.ts'
import type { MakeId } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import type { BlobStore } from '#blobs/blob-store.ts'
import type { ParsedAttachment, ParsedMessage } from '#mail/parsed-message.ts'
import type { Db } from '#store/transactions.ts'
import type { Downloads } from './message/downloads.ts'

/** Reads mail, off the main thread where that pays. */
export type Parser = {
  parse(raw: Uint8Array): Promise<ParsedMessage>
  readAttachment(
    raw: Uint8Array,
    filename: string,
  ): Promise<{ attachment: ParsedAttachment; content: Uint8Array } | null>
}

export type Deps = {
  db: Db
  clock: Clock
  chance: Chance
  makeId: MakeId
  log: Log
  parser: Parser
  downloads: Downloads
  /** Null when raw messages of every size live in the database. */
  blobs: BlobStore | null
  /** The service's own domain, lower case. */
  inboxDomain: string
  /** Base of absolute URLs, without a slash at the end. */
  publicUrl: string
  /** Key of the signatures on attachment URLs. */
  urlKey: Uint8Array
  /** Creations of inboxes allowed to an account in any 24 hours. */
  inboxesPerDay: number
  /** Tells the worker that there may be a job; losing it costs only time. */
  wakeWorker(): void
}
