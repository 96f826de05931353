import type { BlobStore } from '#platform/blobs/blob-store.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import type { Db } from './tables.ts'

/** What almost every operation needs, passed on unchanged beside an operation's few ports. */
export type Store = {
  readonly db: Db
  /** Null if the database stores raw messages of every size. */
  readonly blobs: BlobStore | null
  readonly clock: Clock
  readonly makeId: MakeId
  readonly log: Log
  /**
   * Wakes the event readers of all processes. Must be called after a commit that appended events.
   */
  readonly wakeEvents: () => void
}
