import type { EventText } from './envelope.ts'
// Who listens to the log of events, found by what each may want: all of an account, or one inbox of it.

import type { LoggedEvent } from '#events/event.ts'

export type EventListener = {
  /** The only inbox whose events it may want: it is asked of no other. */
  readonly inboxId?: string
  /** Asked of each event when it is read, and again after `changed`. */
  wants(event: LoggedEvent): boolean
  /** What it wanted when it was asked, some reads ago. */
  take(text: EventText): void
  /** Its inbox was deleted. */
  lose?(): void
  /** The service shuts down: nothing comes any more. */
  end?(): void
}

type OfAccount = {
  readonly all: Set<EventListener>
  readonly byInbox: Map<string, Set<EventListener>>
}

const NONE: ReadonlySet<EventListener> = new Set()

export class Listeners {
  readonly #accounts = new Map<string, OfAccount>()

  get isEmpty(): boolean {
    return this.#accounts.size === 0
  }

  add(accountId: string, listener: EventListener): void {
    const account = this.#accounts.get(accountId) ?? { all: new Set(), byInbox: new Map() }
    this.#accounts.set(accountId, account)
    if (listener.inboxId === undefined) account.all.add(listener)
    else {
      const some = account.byInbox.get(listener.inboxId) ?? new Set()
      account.byInbox.set(listener.inboxId, some.add(listener))
    }
  }

  has(accountId: string, listener: EventListener): boolean {
    const account = this.#accounts.get(accountId)
    if (listener.inboxId === undefined) return account?.all.has(listener) === true
    return account?.byInbox.get(listener.inboxId)?.has(listener) === true
  }

  delete(accountId: string, listener: EventListener): void {
    const account = this.#accounts.get(accountId)
    if (account === undefined) return
    account.all.delete(listener)
    if (listener.inboxId !== undefined) {
      const some = account.byInbox.get(listener.inboxId)
      some?.delete(listener)
      if (some?.size === 0) account.byInbox.delete(listener.inboxId)
    }
    if (account.all.size + account.byInbox.size === 0) this.#accounts.delete(accountId)
  }

  /** Removes all, and says who they were. */
  clear(): EventListener[] {
    const all = [...this.#accounts.values()].flatMap(({ all, byInbox }) => [
      ...all,
      ...[...byInbox.values()].flatMap((some) => [...some]),
    ])
    this.#accounts.clear()
    return all
  }

  /** Calls with each who may want the event. */
  forEvent({ accountId, inboxId }: LoggedEvent, run: (listener: EventListener) => void): void {
    const account = this.#accounts.get(accountId)
    account?.all.forEach(run)
    if (inboxId !== null) account?.byInbox.get(inboxId)?.forEach(run)
  }

  /** Those who listen to this inbox alone, as they are now. */
  ofInbox(accountId: string, inboxId: string): EventListener[] {
    return [...(this.#accounts.get(accountId)?.byInbox.get(inboxId) ?? NONE)]
  }
}
