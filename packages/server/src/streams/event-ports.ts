import type { CheckedFilter } from '#events/event-filter.ts'
import type { EventSink, EventStream } from './event-stream.ts'

/** What a reader of events asks for. */
export type EventPorts = {
  /** Whose ids and which kinds these are. Rejects with `service_unavailable` for a store in trouble. */
  checkFilter(asked: {
    readonly accountId: string
    readonly kinds: readonly string[]
    readonly podIds: readonly string[]
    readonly inboxIds: readonly string[]
  }): Promise<CheckedFilter>
  openEventStream(opened: { readonly accountId: string; readonly sink: EventSink }): EventStream
}
