// Memory and work of requests, shared out among those who ask: so much for all, so much for one.

import { AppError } from '#base/app-error.ts'

export function busy(message = 'The service is busy with other requests.'): AppError {
  return new AppError('service_unavailable', message)
}

export type Turn = {
  /** Rejects when it is given up or waited for too long. */
  readonly come: Promise<void>
  /** Lets the next one in; nothing while it waits or after its end. */
  end(): void
  /** Leaves the queue; nothing once it has come. */
  giveUp(): void
}

type Waiting = { readonly owner: string | undefined; enter(): void }

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

export type TurnBounds = {
  readonly atOnce: number
  /** Of one owner; the others wait, also where there is room. */
  readonly eachMax: number
  readonly waitMsMax: number
}

/** So many at once, and those of an owner who has none before others. */
export class Turns {
  readonly #bounds: TurnBounds
  readonly #waiting = new Set<Waiting>()
  readonly #busy: (string | undefined)[] = []

  constructor(bounds: TurnBounds) {
    this.#bounds = bounds
  }

  ask(owner: string | undefined): Turn {
    let state: 'waiting' | 'come' | 'over' = 'waiting'
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const giveUp = () => {
      if (state !== 'waiting') return
      state = 'over'
      clearTimeout(timer)
      this.#waiting.delete(waiting)
      reject(busy())
    }
    const enter = () => {
      state = 'come'
      this.#busy.push(owner)
      clearTimeout(timer)
      resolve()
    }
    const waiting = { owner, enter }
    const timer = setTimeout(giveUp, this.#bounds.waitMsMax)
    this.#waiting.add(waiting)
    this.#letIn()
    const end = () => {
      if (state !== 'come') return
      state = 'over'
      this.#busy.splice(this.#busy.indexOf(owner), 1)
      this.#letIn()
    }
    return { come: promise, end, giveUp }
  }

  #letIn(): void {
    if (this.#waiting.size === 0 || this.#busy.length >= this.#bounds.atOnce) return
    const all = [...this.#waiting]
    const next =
      all.find(({ owner }) => this.#countOf(owner) === 0) ??
      all.find(({ owner }) => this.#countOf(owner) < this.#bounds.eachMax)
    if (next === undefined) return
    this.#waiting.delete(next)
    next.enter()
  }

  #countOf(owner: string | undefined): number {
    return this.#busy.filter((one) => one === owner).length
  }
}
