// Request bodies on their way in: collected up to the limit of their operation, with a bound on what
// all large ones hold together. Knows nothing of what is in them.

import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { AppError } from '#base/app-error.ts'
import { JSON_BODY_BYTES_MAX } from '#base/limits.ts'

/** What one request holds of the bound; it counts once it is larger than a small body may be. */
export type BodyHold = {
  /** Throws `service_unavailable` when there is no room for a body of so many octets. */
  growTo(bytes: number): void
  /** Called twice it does nothing. */
  release(): void
}

export type BodyBudget = { open(): BodyHold }

/** One for a server. */
export function bodyBudget(bytesMax: number): BodyBudget {
  let held = 0
  return {
    open() {
      let own = 0
      let isReleased = false
      return {
        growTo(bytes) {
          if (bytes <= JSON_BODY_BYTES_MAX || bytes <= own || isReleased) return
          if (held - own + bytes > bytesMax) {
            throw new AppError(
              'service_unavailable',
              'The service is busy with other large requests.',
            )
          }
          held += bytes - own
          own = bytes
        },
        release() {
          isReleased = true
          held -= own
          own = 0
        },
      }
    },
  }
}

/** Octets that the request says it carries; 0 when it does not say. */
export function declaredLength(headers: IncomingHttpHeaders): number {
  return Number(headers['content-length'] ?? 0)
}

export type CollectOptions = { headers: IncomingHttpHeaders; bytesMax: number; hold: BodyHold }

/**
 * The whole body. Rejects with `payload_too_large` as soon as that is known, with
 * `service_unavailable` when there is no room, and with the stream's error when the client leaves.
 */
export async function collectBody(payload: Readable, options: CollectOptions): Promise<Buffer> {
  const { headers, bytesMax, hold } = options
  const declared = declaredLength(headers)
  if (declared > bytesMax) throw tooLarge(bytesMax)
  hold.growTo(declared)
  return new Promise((resolve, reject) => {
    let store: Buffer = Buffer.alloc(0)
    let length = 0
    const stop = () => {
      payload.off('data', take).off('end', end).off('error', fail)
      // The rest is dropped; the client, still writing, would not read the answer otherwise.
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
      // Copied: many small chunks would hold far more than what is in them.
      length += chunk.copy(store, length)
    }
    payload.on('data', take).on('end', end).on('error', fail)
  })
}

const FIRST_BYTES = 4_096

/** `store`, or a larger copy of it: twice the size, but no more than `bytesExpected`. */
function roomFor(store: Buffer, needed: number, bytesExpected: number): Buffer {
  if (needed <= store.length) return store
  const doubled = Math.max(needed, store.length * 2, FIRST_BYTES)
  const larger = Buffer.allocUnsafeSlow(
    bytesExpected > needed ? Math.min(doubled, bytesExpected) : doubled,
  )
  store.copy(larger)
  return larger
}

function tooLarge(bytesMax: number): AppError {
  return new AppError(
    'payload_too_large',
    `The request body is larger than the ${bytesMax} octets that this route accepts.`,
  )
}
