// The storage quota of accounts. Mail to an account over its quota is refused, and so is what the account itself would
// store: sends that wait, drafts, exports, imports. What it sends at once counts, but is not refused.

import { Cache } from '#platform/cache.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import type { Db } from '#store/tables.ts'
import { noteQuota, readFileBytes, readStored } from './stored-bytes.ts'

/**
 * An account with more octets left than this is read once in FAR_MS, not for each recipient: less mail arrives
 * within that time.
 */
const FAR_BYTES = 512 * 1024 * 1024
const FAR_MS = 1_000
const FAR_ACCOUNTS_MAX = 10_000

export type StorageQuota = {
  /** Octets; null for no quota. */
  readonly limitBytes: number | null
  /** Whether mail to this account is refused. The change to a refusal adds one event. */
  isExceeded(accountId: string): Promise<boolean>
  /**
   * Whether the account may store nothing more by itself. Counts the files of its exports and imports too, which are no
   * reason to refuse the mail of others.
   */
  isFull(accountId: string): Promise<boolean>
}

/** `limit.bytes` of 0 means no quota. */
export function openStorageQuota(
  { db, clock, makeId, log }: { db: Db; clock: Clock; makeId: MakeId; log: Log },
  limit: { bytes: number; wakeEvents(): void },
): StorageQuota {
  const limitBytes = limit.bytes === 0 ? null : limit.bytes
  const far = new Cache<true>({ entriesMax: FAR_ACCOUNTS_MAX, now: () => clock.monotonic() })
  return {
    limitBytes,
    async isFull(accountId) {
      if (limitBytes === null) return false
      const [{ storedBytes }, fileBytes] = await Promise.all([
        readStored(db, accountId),
        readFileBytes(db, accountId),
      ])
      return storedBytes + fileBytes >= limitBytes
    },
    async isExceeded(accountId) {
      if (limitBytes === null) return false
      if (far.get(accountId) !== null) return false
      const { storedBytes, exceededAtMs } = await readStored(db, accountId)
      const isExceeded = storedBytes >= limitBytes
      if (isExceeded !== (exceededAtMs !== null)) {
        const note = { accountId, isExceeded, storedBytes, limitBytes, nowMs: clock.now() }
        const isNew = await db.write(noteQuota, { ...note, eventId: makeId('evt') })
        if (isNew && isExceeded) {
          log.warn({ account: accountId, storedBytes, limitBytes }, 'an account is over its quota')
          limit.wakeEvents()
        }
      }
      if (limitBytes - storedBytes > FAR_BYTES) far.set(accountId, true, { ttlMs: FAR_MS })
      return isExceeded
    },
  }
}
