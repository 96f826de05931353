// Who may ask now: so many questions at once, of one domain only some of them, and where questions wait,
// domain by domain. Whoever sends mail chooses names, and the servers of his own may stay silent.

import { DNS_QUERIES_AT_ONCE, DNS_QUERIES_OF_DOMAIN } from '#base/limits.ts'

/** Gives the turn back; once. */
export type EndTurn = () => void

export class Turns {
  readonly #atWork = new Map<string, number>()
  /** Of domains of which somebody waits; the next to be served first. */
  readonly #waiting = new Map<string, Set<() => void>>()
  #count = 0

  /** Null when `signal` was aborted before the turn came, which then is another's. */
  take(name: string, signal: AbortSignal): Promise<EndTurn | null> {
    if (signal.aborted) return Promise.resolve(null)
    const domain = domainOf(name)
    if (this.#count < DNS_QUERIES_AT_ONCE && this.#hasRoom(domain)) {
      return Promise.resolve(this.#begin(domain))
    }
    return new Promise((resolve) => {
      const leave = () => {
        this.#forget(domain, enter)
        resolve(null)
      }
      const enter = () => {
        signal.removeEventListener('abort', leave)
        this.#forget(domain, enter)
        resolve(this.#begin(domain))
      }
      signal.addEventListener('abort', leave, { once: true })
      const others = this.#waiting.get(domain)
      if (others === undefined) this.#waiting.set(domain, new Set([enter]))
      else others.add(enter)
    })
  }

  #begin(domain: string): EndTurn {
    this.#count += 1
    this.#atWork.set(domain, (this.#atWork.get(domain) ?? 0) + 1)
    return () => {
      this.#count -= 1
      const left = (this.#atWork.get(domain) ?? 0) - 1
      if (left > 0) this.#atWork.set(domain, left)
      else this.#atWork.delete(domain)
      this.#admitNext()
    }
  }

  #hasRoom(domain: string): boolean {
    return (this.#atWork.get(domain) ?? 0) < DNS_QUERIES_OF_DOMAIN
  }

  /** Passes over few: only so many domains can be without room. */
  #admitNext(): void {
    for (const [domain, [enter]] of this.#waiting) {
      if (enter === undefined || !this.#hasRoom(domain)) continue
      enter()
      const others = this.#waiting.get(domain)
      if (others === undefined) return
      this.#waiting.delete(domain)
      this.#waiting.set(domain, others)
      return
    }
  }

  #forget(domain: string, enter: () => void): void {
    const others = this.#waiting.get(domain)
    others?.delete(enter)
    if (others?.size === 0) this.#waiting.delete(domain)
  }
}

/** What registries of countries have names under, most often. */
const SECOND_LEVELS = new Set(
  'ac co com edu gen go gob gouv gov ltd me mil ne net nom or org plc sch'.split(' '),
)

/** The registered domain, nearly: a list of all registries is too large for what hangs on it here. */
function domainOf(name: string): string {
  const labels = name.split('.')
  const [second = '', top = ''] = labels.slice(-2)
  if (top === 'arpa') return labels.slice(-4).join('.')
  const isRegistry = top.length === 2 && SECOND_LEVELS.has(second)
  return labels.slice(isRegistry ? -3 : -2).join('.')
}
