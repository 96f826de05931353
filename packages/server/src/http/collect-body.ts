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
  {
    atOnce = LARGE_BODIES_AT_ONCE,
    waitMsMax = LARGE_BODY_WAIT_MS_MAX,
    eachMax = LARGE_BODIES_BYTES_EACH_MAX,
    smallMax = SMALL_BODIES_BYTES_MAX,
  } = {},
): BodyBudget {
  const small = new Octets({ max: smallMax, eachMax: smallMax })
  const large = new Octets({ max: bytesMax, eachMax })
  const semaphore = new Semaphore({ limit: atOnce, waitMsMax })
  return {
    open(owner) {
      let own = 0
      let part = small
      let isReleased = false
      let releaseSlot: Release | null = null
      const leaving = new AbortController()
      return {
        growTo(bytes) {
          if (bytes <= own || isReleased) return
          if (bytes > JSON_BODY_BYTES_MAX && part === small) {
            if (!large.add(owner, bytes)) throw busy()
            small.add(owner, -own)
            part = large
          } else if (!part.add(owner, bytes - own)) throw busy()
          own = bytes
        },
        async takeSlot() {
          if (part === small) return
          const slot = await semaphore.acquire({ key: owner, signal: leaving.signal })
          if (typeof slot === 'string') throw busy()
          releaseSlot = slot
        },
        releaseSlot() {
          releaseSlot?.()
        },
        release() {
          isReleased = true
          part.add(owner, -own)
          own = 0
          leaving.abort()
        },
      }
    },
  }
}

/** 0 when the request does not declare a length. */
function declaredLength(headers: IncomingHttpHeaders): number {
  return Number(headers['content-length'] ?? 0)
}

type CollectOptions = { headers: IncomingHttpHeaders; bytesMax: number; hold: BodyHold }

/**
 * The whole body. Rejects with `payload_too_large` as soon as that is known, with `service_unavailable` when there
 * is no room, and with the stream's error when the client leaves.
 */
export async function collectBody(payload: Readable, options: CollectOptions): Promise<Buffer> {
  const { headers, bytesMax, hold } = options
  const declared = declaredLength(headers)
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
      store = roomFor(store, needed, Math.max(declared, needed))
      // Copied, because many small chunks would hold far more memory than their content.
      length += chunk.copy(store, length)
    }
    payload.on('data', take).on('end', end).on('error', fail)
  })
}

const FIRST_BYTES = 4_096

/**
 * `store` or a larger copy: of twice the size, at most `bytesExpected`. Once a body is large, its whole expected
 * length is counted and so allocated at once.
 */
function roomFor(store: Buffer, needed: number, bytesExpected: number): Buffer {
  if (needed <= store.length) return store
  const doubled = Math.max(needed, store.length * 2, FIRST_BYTES)
  const expected = needed > JSON_BODY_BYTES_MAX ? bytesExpected : Math.min(doubled, bytesExpected)
  const larger = Buffer.allocUnsafeSlow(bytesExpected > needed ? expected : doubled)
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
