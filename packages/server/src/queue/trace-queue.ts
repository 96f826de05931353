import type { Tracing } from '#platform/telemetry/tracing.ts'
import type { DispatchedQueue, Group, Item } from './dispatched-queue.ts'

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
