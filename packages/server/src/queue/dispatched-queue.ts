import type { Tracing } from '#platform/telemetry/tracing.ts'

/** A leased delivery of an account. All deliveries of a lane have one destination. */
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

/** Items of one lane and account that are delivered in one attempt. */
export type Group<Held extends Item> = readonly [Held, ...Held[]]

/**
 * The outcome of an attempt for its lane. `reached`: a server answered. `unreached`: none did. `crowded`: the
 * host accepts no further connection. `returned`: nothing.
 */
export type GroupOutcome = 'reached' | 'unreached' | 'crowded' | 'returned'

/** A queue of deliveries in lanes, as one worker sees it. */
export type DispatchedQueue<Held extends Item> = {
  /**
   * Up to `limit` heads with ready deliveries, ordered by account and lane, after `after`; at most
   * `lanesEach` per account.
   */
  listHeads(page: { after: Head; lanesEach: number; limit: number }): Promise<Head[]>
  /** Leases deliveries of these distinct heads, the longest due first. */
  claim(shares: readonly Share[]): Promise<Held[]>
  /** Groups the items of one claim into attempts. */
  group(held: readonly Held[]): Group<Held>[]
  /** Makes ready all due items and all items of dead processes; calls `onReady` after each step. */
  readyDue(onReady?: () => void, signal?: AbortSignal): Promise<void>
  /** Renews the leases of all items that were claimed here and are neither delivered nor returned. */
  renew(): Promise<void>
  giveBack(held: readonly Held[]): Promise<void>
  /**
   * When it resolves, no item of the group is held. When aborted, it ends as soon as it can. Calls `onAnswer` when a
   * server of the destination answers, before the outcome.
   */
  deliver(group: Group<Held>, signal: AbortSignal, onAnswer?: () => void): Promise<GroupOutcome>
}

/** Continues, in each attempt, the trace of whatever queued the delivery. */
export function traceQueue<Held extends Item & { attempts: number; trace_parent: string | null }>(
  queue: DispatchedQueue<Held>,
  { tracing, name }: { tracing: Tracing; name: string },
): DispatchedQueue<Held> {
  if (!tracing.isOn) return queue
  return {
    ...queue,
    deliver(group: Group<Held>, signal, onAnswer) {
      const [{ trace_parent: parent, attempts }] = group
      const attributes = { 'mailroom.attempt': attempts, 'mailroom.recipients': group.length }
      return tracing.resume(name, { kind: 'consumer', parent, attributes }, async (span) => {
        const outcome = await queue.deliver(group, signal, onAnswer)
        span.set({ 'mailroom.outcome': outcome })
        return outcome
      })
    },
  }
}
