// How much an account may store: mail that strangers send it is refused once it has more. What it sends
// itself counts, and is not refused.

import { Cache } from '#platform/cache.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import type { Db } from '#schema/tables.ts'
import { noteQuota, readStored } from './stored-bytes-rows.ts'

/**
 * An account with more octets than this left is asked about once in FAR_MS, not for each recipient: more does not
 * come in meanwhile.
 */
const FAR_BYTES = 512 * 1024 * 1024
const FAR_MS = 1_000
/** Accounts that are remembered to have so much left. */
const FAR_ACCOUNTS_MAX = 10_000

export type StorageQuota = {
  /** Octets; null where accounts have none. */
  readonly limitBytes: number | null
  /** Whether mail to this account is refused now. That it is so from now on is told by an event, once. */
  isExceeded(accountId: string): Promise<boolean>
}

/** `limitBytes` of 0 is no quota. */
export function openStorageQuota(
  { db, clock, makeId, log }: { db: Db; clock: Clock; makeId: MakeId; log: Log },
  limit: { bytes: number; wakeEvents(): void },
): StorageQuota {
  const limitBytes = limit.bytes === 0 ? null : limit.bytes
  const far = new Cache<true>({ entriesMax: FAR_ACCOUNTS_MAX, now: () => clock.monotonic() })
  return {
    limitBytes,
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
