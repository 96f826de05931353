import type { Tracing } from '#platform/telemetry/tracing.ts'

/** A leased delivery of an account; deliveries of one lane share a destination. */
export type Item = {
  readonly id: string
  readonly account_id: string
  readonly lane: string
  readonly size_bytes: number
}

/** The deliveries of one account in one lane. */
export type Head = { readonly account: string; readonly lane: string }

/** Up to `limit` deliveries of a head. */
export type Share = Head & { readonly limit: number }

/** Items that are delivered in one attempt, all of one lane and one account. */
export type Group<Held extends Item> = readonly [Held, ...Held[]]

/**
 * What an attempt says about its lane: `reached` that its servers answer, `unreached` that they do
 * not, `crowded` that there are enough connections to them, `returned` nothing.
 */
export type GroupOutcome = 'reached' | 'unreached' | 'crowded' | 'returned'

/** A queue of deliveries in lanes, as one worker sees it. */
export type DispatchedQueue<Held extends Item> = {
  /**
   * Up to `limit` heads with deliveries that nobody holds, by account and lane, after `after`; at most
   * `lanesEach` of one account.
   */
  listHeads(page: { after: Head; lanesEach: number; limit: number }): Promise<Head[]>
  /** Leases deliveries of these heads, which are different ones, the longest due first. */
  claim(shares: readonly Share[]): Promise<Held[]>
  /** Items of one claim that go together. */
  group(held: readonly Held[]): Group<Held>[]
  /** Makes due items ready, and those of a process that is gone; tells whenever some may be. */
  readyDue(onReady?: () => void, signal?: AbortSignal): Promise<void>
  /** Lengthens the leases of all that was claimed here and is neither delivered nor given back. */
  renew(): Promise<void>
  /** Gives back what was not attempted. */
  giveBack(held: readonly Held[]): Promise<void>
  /** On return nothing of the group is held any more. Aborted, it ends as soon as it can. */
  deliver(
    group: Group<Held>,
    signal: AbortSignal,
    observer?: AttemptObserver,
  ): Promise<GroupOutcome>
}

/** What is known of an attempt before its outcome. */
export type AttemptObserver = {
  /** How many octets it really takes, where `size_bytes` was a guess. */
  onSize(sizeBytes: number): void
  /** A server of its destination speaks: it is not one that is gone. Where nobody says so it may be. */
  onAnswer(): void
}

/** What is taken out of a queue goes on with the trace of what put it there. */
export function traceQueue<Held extends Item & { attempts: number; trace_parent: string | null }>(
  queue: DispatchedQueue<Held>,
  { tracing, name }: { tracing: Tracing; name: string },
): DispatchedQueue<Held> {
  if (!tracing.isOn) return queue
  return {
    ...queue,
    deliver(group: Group<Held>, signal, observer) {
      const [{ trace_parent: parent, attempts }] = group
      const attributes = { 'mailroom.attempt': attempts, 'mailroom.recipients': group.length }
      return tracing.resume(name, { kind: 'consumer', parent, attributes }, async (span) => {
        const outcome = await queue.deliver(group, signal, observer)
        span.set({ 'mailroom.outcome': outcome })
        return outcome
      })
    },
  }
}
