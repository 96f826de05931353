// Memory of requests and responses, bounded for all together and for each owner.

import { AppError } from '#platform/problem.ts'

export function busy(message = 'The service is busy with other requests.'): AppError {
  return new AppError('service_unavailable', message)
}

/** Octets held by all owners, up to `max`, and by one, up to `eachMax`. */
export class Octets {
  readonly #bounds: { readonly max: number; readonly eachMax: number }
  readonly #ownedBy = new Map<string, number>()
  #held = 0

  constructor(bounds: { readonly max: number; readonly eachMax: number }) {
    this.#bounds = bounds
  }

  /** False, and nothing is added, when there is no room. */
  add(owner: string | undefined, bytes: number): boolean {
    const { max, eachMax } = this.#bounds
    const own = (this.#ownedBy.get(owner ?? '') ?? 0) + bytes
    if (bytes > 0 && this.#held + bytes > max) return false
    if (bytes > 0 && owner !== undefined && own > eachMax) return false
    this.force(owner, bytes)
    return true
  }

  /** Adds also when there is no room. */
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
