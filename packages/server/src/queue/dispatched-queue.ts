import type { Tracing } from '#platform/telemetry/tracing.ts'

export type Item = {
  readonly id: string
  readonly account_id: string
  readonly lane: string
  readonly size_bytes: number
}

export type Head = { readonly account: string; readonly lane: string }

export type Share = Head & { readonly limit: number }

export type Group<Held extends Item> = readonly [Held, ...Held[]]

/** `crowded`: the host accepts no further connection. `returned`: nothing was attempted. */
export type GroupOutcome = 'reached' | 'unreached' | 'crowded' | 'returned'

export type DispatchedQueue<Held extends Item> = {
  /**
   * Heads with ready deliveries by account and lane, with at most `lanesEach` lanes per account.
   */
  listHeads(page: { after: Head; lanesEach: number; limit: number }): Promise<Head[]>
  /** Leases the most overdue deliveries first. The heads must be distinct. */
  lease(shares: readonly Share[]): Promise<Held[]>
  group(held: readonly Held[]): Group<Held>[]
  /** Makes due items, and those with expired leases, ready. Calls `onReady` after each step. */
  readyDue(onReady?: () => void, signal?: AbortSignal): Promise<void>
  /** Renews the leases of all items leased here that are neither settled nor returned. */
  renew(): Promise<void>
  return(held: readonly Held[]): Promise<void>
  /** Settles or returns the complete group before it resolves. `onAnswer` precedes the outcome. */
  deliver(group: Group<Held>, signal: AbortSignal, onAnswer?: () => void): Promise<GroupOutcome>
}

/** Each attempt continues the trace that queued the delivery. */
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
