// Whether somebody is still at the other end of a WebSocket: pings in time, and the end of those who
// answer nothing or take in nothing. All connections share one timer.

import type { Socket } from 'node:net'
import type { Clock } from '#platform/clock.ts'

export type Patience = {
  readonly pingMs: number
  readonly silenceMs: number
  /** With something that waits for the client, and none of it taken in. */
  readonly stallMs: number
}

/** What is done with a WebSocket here. */
type Pinged = { ping(): void; terminate(): void }

/** Of one connection; `transport` is the socket under it. */
export class Liveness {
  /** A frame is being worked on, so that the client may not be heard for now. */
  isBusy = false
  readonly #socket: Pinged
  readonly #transport: Socket
  readonly #clock: Clock
  #heardAtMs: number
  #pingedAtMs: number
  /** When some of a backlog left, or there was none. */
  #movedAtMs: number
  #isPinged = false
  #backlogBytes = 0
  #drainedBytes = 0

  constructor(socket: Pinged, transport: Socket, clock: Clock) {
    this.#socket = socket
    this.#transport = transport
    this.#clock = clock
    this.#heardAtMs = clock.monotonic()
    this.#pingedAtMs = this.#heardAtMs
    this.#movedAtMs = this.#heardAtMs
  }

  /** Something came from the client. */
  heard(): void {
    this.#heardAtMs = this.#clock.monotonic()
  }

  /** Whether a pong answers a ping of ours. */
  answered(): boolean {
    const isAnswer = this.#isPinged
    this.#isPinged = false
    return isAnswer
  }

  /**
   * Pings where it is time, and cuts the connection of a client that was silent for too long or, even
   * if it says something, takes in nothing.
   */
  look({ pingMs, silenceMs, stallMs }: Patience): void {
    const nowMs = this.#clock.monotonic()
    const hasProgressed = this.#hasProgressed()
    if (hasProgressed || this.#backlogBytes === 0) this.#movedAtMs = nowMs
    if (nowMs - this.#movedAtMs >= stallMs) {
      this.#socket.terminate()
      return
    }
    if (hasProgressed || this.isBusy) this.#heardAtMs = nowMs
    const sincePingMs = nowMs - this.#pingedAtMs
    if (this.#pingedAtMs > this.#heardAtMs) {
      if (sincePingMs >= silenceMs) this.#socket.terminate()
    } else if (sincePingMs >= pingMs) {
      this.#pingedAtMs = nowMs
      this.#isPinged = true
      this.#socket.ping()
    }
  }

  /** Whether some of a backlog has left since the last look: then somebody acknowledged it. */
  #hasProgressed(): boolean {
    const { bytesWritten, writableLength } = this.#transport
    const drained = bytesWritten - writableLength
    const hasProgressed = this.#backlogBytes > 0 && drained > this.#drainedBytes
    this.#backlogBytes = writableLength
    this.#drainedBytes = drained
    return hasProgressed
  }
}
