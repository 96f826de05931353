// An account over its quota receives no mail and cannot add drafts, delayed sends, exports or
// imports. Immediate sends use storage, but are not refused.

import { Cache } from '#platform/cache.ts'
import type { Store } from '#store/store.ts'
import { noteQuota, readFileBytes, readStored } from './stored-bytes.ts'

/** Accounts further than this below their quota are read once per FAR_MS. */
const FAR_BYTES = 512 * 1024 * 1024
const FAR_MS = 1_000
const FAR_ACCOUNTS_MAX = 10_000

export type StorageQuota = {
  readonly limitBytes: number | null
  /** The first refusal emits an event. */
  isExceeded(accountId: string): Promise<boolean>
  /** The total includes export and import files, which do not affect received mail. */
  isFull(accountId: string): Promise<boolean>
}

/** A `bytesMax` of 0 means that there is no quota. */
export function openStorageQuota(
  { db, clock, makeId, log, wakeEvents }: Store,
  bytesMax: number,
): StorageQuota {
  const limitBytes = bytesMax === 0 ? null : bytesMax
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
          wakeEvents()
        }
      }
      if (limitBytes - storedBytes > FAR_BYTES) far.set(accountId, true, { ttlMs: FAR_MS })
      return isExceeded
    },
  }
}
