// Waiting for a store that is away, where what would be lost without it has already happened.

import type { Log } from '#platform/log.ts'
import { storageTrouble } from '#platform/storage-trouble.ts'

/** Between tries to record an outcome while the store is away. */
const SETTLE_RETRY_MS = 500

/**
 * What `run` gives. A store that is away says nothing about a receiver, and what one has taken must
 * not be sent again for it: tried until it is back, or `signal` is aborted. `fields` are for the log.
 */
export async function outlastStore<Value>(
  { log }: { log: Log },
  { fields, signal }: { fields: object; signal: AbortSignal },
  run: () => Promise<Value>,
): Promise<Value> {
  for (let failures = 0; ; failures++) {
    try {
      return await run()
    } catch (error) {
      if (storageTrouble(error) === null || signal.aborted) throw error
      if (failures === 0) log.warn({ error, ...fields }, 'a delivery is waiting for the database')
      await new Promise((resolve) => setTimeout(resolve, SETTLE_RETRY_MS))
    }
  }
}
