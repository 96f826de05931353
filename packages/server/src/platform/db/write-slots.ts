import { Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import { tooManyWrites } from './storage-error.ts'

/** Writes that may wait, half of them from one account; further writes are refused as busy. */
export const WRITE_QUEUE_MAX = 5_000
export const WRITE_WAIT_MS_MAX = 7 * SECOND_MS

/** The service itself has the key '' and gets every second slot. */
export function openWriteSlots(bounds: {
  limit: number
  limitPerKey: number
  waitMsMax: number | null
}): Semaphore {
  return new Semaphore({
    ...bounds,
    waitingMax: WRITE_QUEUE_MAX,
    waitingPerKeyMax: WRITE_QUEUE_MAX / 2,
    preferredKey: '',
    refuse: tooManyWrites,
  })
}
