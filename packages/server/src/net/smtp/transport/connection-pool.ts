// Connections that wait for their next message, by the host that they lead to.

import {
  IDLE_CONNECTION_MS_MAX,
  IDLE_CONNECTIONS_MAX,
  TRANSACTIONS_PER_CONNECTION_MAX,
} from '#base/limits.ts'
import type { SmtpClient } from '#net/smtp/client/smtp-client.ts'

type Idle = { readonly client: SmtpClient; readonly timer: NodeJS.Timeout }

export class ConnectionPool {
  readonly #idle = new Map<string, Idle[]>()
  #count = 0
  #isClosed = false

  /** The connection used last, if one is idle and still good; the caller owns it then. */
  take(key: string): SmtpClient | null {
    const waiting = this.#idle.get(key)
    for (let idle = waiting?.pop(); idle !== undefined; idle = waiting?.pop()) {
      this.#forget(idle)
      if (waiting?.length === 0) this.#idle.delete(key)
      if (idle.client.isUsable()) return idle.client
      idle.client.destroy()
    }
    return null
  }

  /** Takes a connection back: kept for a while where it may be of use, else ended politely. */
  put(key: string, client: SmtpClient): void {
    const isSpent = client.transactions >= TRANSACTIONS_PER_CONNECTION_MAX
    if (!client.isUsable()) {
      client.destroy()
      return
    }
    if (this.#isClosed || isSpent || this.#count >= IDLE_CONNECTIONS_MAX) {
      void client.quit()
      return
    }
    const timer = setTimeout(() => this.#expire(key, client), IDLE_CONNECTION_MS_MAX)
    timer.unref()
    const waiting = this.#idle.get(key) ?? []
    waiting.push({ client, timer })
    this.#idle.set(key, waiting)
    this.#count += 1
  }

  /** Ends all of them, and every one that is put back later. */
  async close(): Promise<void> {
    this.#isClosed = true
    const all = [...this.#idle.values()].flat()
    this.#idle.clear()
    for (const idle of all) this.#forget(idle)
    await Promise.all(all.map(({ client }) => client.quit()))
  }

  #expire(key: string, client: SmtpClient): void {
    const waiting = this.#idle.get(key) ?? []
    const index = waiting.findIndex((idle) => idle.client === client)
    const [idle] = index < 0 ? [] : waiting.splice(index, 1)
    if (waiting.length === 0) this.#idle.delete(key)
    if (idle === undefined) return
    this.#forget(idle)
    void client.quit()
  }

  #forget({ timer }: Idle): void {
    clearTimeout(timer)
    this.#count -= 1
  }
}
