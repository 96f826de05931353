import { AppError } from '#platform/problem.ts'

export function busy(message = 'The service is busy with other requests.'): AppError {
  return new AppError('service_unavailable', message)
}

/** Octets in use: up to `max` in total, and up to `eachMax` per owner. */
export class Octets {
  readonly #bounds: { readonly max: number; readonly eachMax: number }
  readonly #ownedBy = new Map<string, number>()
  #held = 0

  constructor(bounds: { readonly max: number; readonly eachMax: number }) {
    this.#bounds = bounds
  }

  hasRoom(owner: string | undefined, bytes: number): boolean {
    const { max, eachMax } = this.#bounds
    return this.#held + bytes <= max && (owner === undefined || this.#of(owner) + bytes <= eachMax)
  }

  /** Adds octets even if there is no room. A negative count releases octets. */
  force(owner: string | undefined, bytes: number): void {
    const key = owner ?? ''
    const own = this.#of(key) + bytes
    this.#held += bytes
    if (own === 0) this.#ownedBy.delete(key)
    else this.#ownedBy.set(key, own)
  }

  isOver(owner: string): boolean {
    return this.#of(owner) > this.#bounds.eachMax
  }

  #of(owner: string): number {
    return this.#ownedBy.get(owner) ?? 0
  }
}
