import type { BlobStore } from '#platform/blobs/blob-store.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import type { Db } from './tables.ts'

/** What almost every operation needs: pass it whole, beside the few ports that one really uses. */
export type Store = {
  readonly db: Db
  /** Null when the database holds raw messages of every size. */
  readonly blobs: BlobStore | null
  readonly clock: Clock
  readonly makeId: MakeId
  readonly log: Log
  /** Wakes the event readers of all processes; call it after a commit that appended events. */
  readonly wakeEvents: () => void
}
