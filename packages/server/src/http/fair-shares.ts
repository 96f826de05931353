// Memory and work of requests, shared out among those who ask: so much for all, so much for one.

import { AppError } from '#platform/problem.ts'

export function busy(message = 'The service is busy with other requests.'): AppError {
  return new AppError('service_unavailable', message)
}

/** So many in all, and so many of one owner. */
export class Octets {
  readonly #bounds: { readonly max: number; readonly eachMax: number }
  readonly #ownedBy = new Map<string, number>()
  #held = 0

  constructor(bounds: { readonly max: number; readonly eachMax: number }) {
    this.#bounds = bounds
  }

  /** False where there is no room, and then nothing is added. */
  add(owner: string | undefined, bytes: number): boolean {
    const { max, eachMax } = this.#bounds
    const own = (this.#ownedBy.get(owner ?? '') ?? 0) + bytes
    if (bytes > 0 && this.#held + bytes > max) return false
    if (bytes > 0 && owner !== undefined && own > eachMax) return false
    this.force(owner, bytes)
    return true
  }

  /** As `add`, whether there is room or not. */
  force(owner: string | undefined, bytes: number): void {
    const own = (this.#ownedBy.get(owner ?? '') ?? 0) + bytes
    this.#held += bytes
    if (own === 0) this.#ownedBy.delete(owner ?? '')
    else this.#ownedBy.set(owner ?? '', own)
  }

  /** Whether the owner has more than its share. */
  isOver(owner: string): boolean {
    return (this.#ownedBy.get(owner) ?? 0) > this.#bounds.eachMax
  }
}
