// Receives request bodies. Bounds their memory, and the number of large bodies processed at once.

import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { freeMemory } from '#platform/free-memory.ts'
import { AppError } from '#platform/problem.ts'
import { type Release, Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import { busy, Octets } from './fair-shares.ts'

const SMALL_BODIES_BYTES_MAX = 128 * 1024 * 1024
const LARGE_BODIES_BYTES_EACH_MAX = 128 * 1024 * 1024
/** A body of 24 MB needs some 150 MB until it is on disk. */
const LARGE_BODIES_AT_ONCE = 2
const LARGE_BODY_WAIT_MS_MAX = 30 * SECOND_MS

export type BodyHold = {
  /** Throws `service_unavailable` if there is no room for `bytes`. */
  growTo(bytes: number): void
  /**
   * Waits for a slot if the body is large; accounts without a slot come first. Rejects with
   * `service_unavailable` after a long wait or after `release`.
   */
  takeSlot(): Promise<void>
  /** May be called repeatedly, and without a slot. */
  releaseSlot(): void
  /** May be called repeatedly. Keeps the slot, because the work continues without the client. */
  release(): void
}

export type BodyBudget = { open(owner?: string): BodyHold }

export function bodyBudget(
  bytesMax: number,
  { atOnce = LARGE_BODIES_AT_ONCE, waitMsMax = LARGE_BODY_WAIT_MS_MAX } = {},
): BodyBudget {
  const small = new Octets({ max: SMALL_BODIES_BYTES_MAX, eachMax: SMALL_BODIES_BYTES_MAX })
  const large = new Octets({ max: bytesMax, eachMax: LARGE_BODIES_BYTES_EACH_MAX })
  const semaphore = new Semaphore({ limit: atOnce, waitMsMax })
  return {
    open(owner) {
      let own = 0
      let part = small
      let releaseSlot: Release | null = null
      const leaving = new AbortController()
      return {
        growTo(bytes) {
          if (bytes <= own || leaving.signal.aborted) return
          const next = bytes > JSON_BODY_BYTES_MAX ? large : small
          if (!next.hasRoom(owner, next === part ? bytes - own : bytes)) throw busy()
          part.force(owner, -own)
          next.force(owner, bytes)
          part = next
          own = bytes
        },
        async takeSlot() {
          if (part === small) return
          const slot = await semaphore.acquire({ key: owner, signal: leaving.signal })
          if (typeof slot === 'string') throw busy()
          releaseSlot = slot
        },
        releaseSlot: () => releaseSlot?.(),
        release() {
          part.force(owner, -own)
          own = 0
          leaving.abort()
        },
      }
    },
  }
}

type CollectOptions = { headers: IncomingHttpHeaders; bytesMax: number; hold: BodyHold }

/** Rejects with `payload_too_large`, `service_unavailable`, or the error of the stream. */
export async function collectBody(payload: Readable, options: CollectOptions): Promise<Buffer> {
  const { headers, bytesMax, hold } = options
  const declared = Number(headers['content-length'] ?? 0)
  if (declared > bytesMax) throw tooLarge(bytesMax)
  // The declared length of a small body is not reserved until its octets arrive.
  if (declared > JSON_BODY_BYTES_MAX) hold.growTo(declared)
  return new Promise((resolve, reject) => {
    let store: Buffer = Buffer.alloc(0)
    let length = 0
    const stop = () => {
      payload.off('data', take).off('end', end).off('error', fail)
      // A client that is still writing does not read the response before the rest is drained.
      payload.on('error', () => {}).resume()
    }
    const fail = (error: unknown) => {
      stop()
      reject(error)
    }
    const end = () => {
      stop()
      resolve(store.subarray(0, length))
    }
    const take = (chunk: Buffer) => {
      const needed = length + chunk.length
      if (needed > bytesMax) return fail(tooLarge(bytesMax))
      try {
        hold.growTo(needed)
      } catch (error) {
        return fail(error)
      }
      store = roomFor(store, needed, declared)
      // Chunks are copied, because many small chunks need far more memory than their content.
      length += chunk.copy(store, length)
    }
    payload.on('data', take).on('end', end).on('error', fail)
  })
}

const FIRST_BYTES = 4_096

/** Allocates the declared length of a large body at once, because it is already reserved. */
function roomFor(store: Buffer, needed: number, declared: number): Buffer {
  if (needed <= store.length) return store
  const doubled = Math.max(needed, store.length * 2, FIRST_BYTES)
  const isLarge = needed > JSON_BODY_BYTES_MAX
  const known = isLarge ? declared : Math.min(doubled, declared)
  const larger = Buffer.allocUnsafeSlow(declared >= needed ? known : doubled)
  store.copy(larger)
  freeMemory(store)
  return larger
}

function tooLarge(bytesMax: number): AppError {
  return new AppError(
    'payload_too_large',
    `The request body is larger than the ${bytesMax} octets that this route accepts.`,
  )
}

export const JSON_BODY_BYTES_MAX = 1024 * 1024
