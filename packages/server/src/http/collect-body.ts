// Receiving request bodies: up to the limit of their operation, with bounds on the memory of all bodies together
// and on the number of large ones that are worked on.

import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { freeMemory } from '#platform/free-memory.ts'
import { AppError } from '#platform/problem.ts'
import { type Release, Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import { busy, Octets } from './fair-shares.ts'

/** Small bodies of all requests under way; above it further bodies are refused. */
const SMALL_BODIES_BYTES_MAX = 128 * 1024 * 1024
/** Large bodies of one account, so that an account that sends much leaves room for others. */
const LARGE_BODIES_BYTES_EACH_MAX = 128 * 1024 * 1024
/** Large bodies worked on at once: one of 24 MB takes some 150 MB until it is on disk. */
const LARGE_BODIES_AT_ONCE = 2
/** A large body takes half a second; one that waits longer for a slot is refused. */
const LARGE_BODY_WAIT_MS_MAX = 30 * SECOND_MS

/** The share of one request in the bound for small bodies or for large ones. */
export type BodyHold = {
  /** Throws `service_unavailable` when there is no room for a body of so many octets. */
  growTo(bytes: number): void
  /**
   * Resolves at once for a small body, and for a large one when a slot is free: in order of arrival, except for
   * accounts that have a slot already. Rejects with `service_unavailable` after too long a wait, and after `release`.
   */
  takeSlot(): Promise<void>
  /** May be called without a slot, and twice. */
  releaseSlot(): void
  /** A second call does nothing. The slot is kept: the work continues when the client has left. */
  release(): void
}

/** `owner` is undefined when the request has no known owner. */
export type BodyBudget = { open(owner?: string): BodyHold }

/** One for a server. */
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

/**
 * The whole body. Rejects with `payload_too_large` as soon as that is known, with `service_unavailable` when there
 * is no room, and with the stream's error when the client leaves.
 */
export async function collectBody(payload: Readable, options: CollectOptions): Promise<Buffer> {
  const { headers, bytesMax, hold } = options
  // 0 when the request does not declare a length.
  const declared = Number(headers['content-length'] ?? 0)
  if (declared > bytesMax) throw tooLarge(bytesMax)
  // Small bodies are counted as they arrive, so that a declared length alone takes no room.
  if (declared > JSON_BODY_BYTES_MAX) hold.growTo(declared)
  return new Promise((resolve, reject) => {
    let store: Buffer = Buffer.alloc(0)
    let length = 0
    const stop = () => {
      payload.off('data', take).off('end', end).off('error', fail)
      // The rest is read and dropped: a client that is still writing would not read the response otherwise.
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
      // Copied, because many small chunks would hold far more memory than their content.
      length += chunk.copy(store, length)
    }
    payload.on('data', take).on('end', end).on('error', fail)
  })
}

const FIRST_BYTES = 4_096

/** `store` or a copy of twice the size. Once a body is large, its declared length is counted and so allocated at once. */
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
