import type { EventPorts } from '#streams/event-stream.ts'

/** What the door asks before it looks at what a request says, and for WebSockets. */
export type DoorPorts = EventPorts & {
  /**
   * Body of the answer to an earlier request with this key, or null. Rejects with
   * `idempotency_key_reused` when that asked for something else.
   */
  findReplay(asked: {
    readonly accountId: string
    readonly key: string
    readonly requestHash: Uint8Array
  }): Promise<unknown>
  /**
   * Throws `service_unavailable` where the store does not keep up, with all or with this account; asked
   * for what changes something.
   */
  requireRoom?(accountId?: string): void
  /** Whether mail goes to the sandbox; else its routes look like no routes. */
  isSandbox(): boolean
}
