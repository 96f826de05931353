// Connections that wait for their next message, by the address that they lead to and the terms under
// which they were opened: what was agreed on for one message is no promise for another.

import type { SmtpClient } from '@mailroom/smtp/client/smtp-client.ts'
import { SECOND_MS } from '#platform/units.ts'

/** Connections kept for their next message, how long, and how many messages each carries. */
const IDLE_CONNECTIONS_MAX = 200
export const IDLE_CONNECTION_MS_MAX = 5 * SECOND_MS
const TRANSACTIONS_PER_CONNECTION_MAX = 100

export type PoolKey = {
  readonly address: string
  /** Everything else that two messages must have in common to share a connection. */
  readonly terms: string
}

type Idle = { readonly key: PoolKey; readonly client: SmtpClient; readonly timer: NodeJS.Timeout }

export class ConnectionPool {
  /** Those of an address from the longest idle on. */
  readonly #byAddress = new Map<string, Idle[]>()
  /** All of them, from the longest idle on. */
  readonly #all = new Set<Idle>()
  #isClosed = false

  /** The connection used last, if one is idle and still good; the caller owns it then. */
  take({ address, terms }: PoolKey): SmtpClient | null {
    for (const idle of (this.#byAddress.get(address) ?? []).toReversed()) {
      if (idle.key.terms !== terms) continue
      this.#forget(idle)
      if (idle.client.isUsable()) return idle.client
      idle.client.destroy()
    }
    return null
  }

  /**
   * Takes a connection back: kept for a while where it may be of use, else ended politely. Resolves,
   * always, when it is kept or gone.
   */
  async put(key: PoolKey, client: SmtpClient): Promise<void> {
    if (!client.isUsable()) return client.destroy()
    if (this.#isClosed || client.transactions >= TRANSACTIONS_PER_CONNECTION_MAX) {
      return client.quit()
    }
    const timer = setTimeout(() => void this.#end(idle), IDLE_CONNECTION_MS_MAX)
    timer.unref()
    const idle: Idle = { key, client, timer }
    const beside = this.#byAddress.get(key.address)
    if (beside === undefined) this.#byAddress.set(key.address, [idle])
    else beside.push(idle)
    this.#all.add(idle)
    const [oldest] = this.#all
    if (this.#all.size > IDLE_CONNECTIONS_MAX && oldest !== undefined) void this.#end(oldest)
  }

  /** Ends those to `address` that have been idle longest, until there are `count` or fewer. */
  async shrink(address: string, count: number): Promise<void> {
    const idle = this.#byAddress.get(address) ?? []
    await Promise.all(idle.slice(0, Math.max(0, idle.length - count)).map((one) => this.#end(one)))
  }

  /** Ends all of them, and every one that is put back later. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#all].map((idle) => this.#end(idle)))
  }

  #end(idle: Idle): Promise<void> {
    this.#forget(idle)
    return idle.client.quit()
  }

  #forget(idle: Idle): void {
    clearTimeout(idle.timer)
    this.#all.delete(idle)
    const { address } = idle.key
    const beside = (this.#byAddress.get(address) ?? []).filter((one) => one !== idle)
    if (beside.length === 0) this.#byAddress.delete(address)
    else this.#byAddress.set(address, beside)
  }
}
