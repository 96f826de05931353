// One connection of the WebSocket: reads its client's frames in order, answers them, and writes events
// as fast as they are taken. Bounded in what waits in either direction.

import type { Socket } from 'node:net'
import type { RawData, WebSocket } from 'ws'
import type { EventFilter } from '#events/event.ts'
import type { Clock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { AppError, withStorageTold } from '#platform/problem.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { EventText } from '#streams/envelope.ts'
import { STREAM_BUFFER_BYTES_MAX } from '#streams/event-feed.ts'
import type { EventPorts } from '#streams/event-ports.ts'
import type { EventStream } from '#streams/event-stream.ts'
import { SUBSCRIPTIONS_MAX } from '#streams/event-stream.ts'
import { SOCKET_FRAME_BYTES_MAX } from './handshake.ts'
import { Liveness } from './liveness.ts'
import { type ClientFrame, quoted, readFrame } from './read-frame.ts'

export const SOCKET_FRAMES_MAX = 30
const SOCKET_FRAMES_WINDOW_MS = 10 * SECOND_MS

/** Why a connection is closed, to programs; RFC 6455 §7.4 and, from 4000 on, our own. */
export const CLOSE_CODES = {
  shuttingDown: 1001,
  failed: 1011,
  tryLater: 1013,
  unauthorized: 4001,
  tooManyConnections: 4008,
  tooManyFrames: 4029,
} as const

export type SessionParts = { readonly ports: EventPorts; readonly clock: Clock; readonly log: Log }

export type Opened = {
  readonly socket: WebSocket
  /** Under it. */
  readonly transport: Socket
  readonly accountId: string
  readonly requestId: string
  /** Called once when it is over. */
  onEnd(): void
}

type Subscribe = Extract<ClientFrame, { kind: 'subscribe' }>

/** Takes the connection over. */
export class Session {
  readonly liveness: Liveness
  readonly #parts: SessionParts
  readonly #opened: Opened
  /** Null stands for a frame of octets. */
  readonly #waiting: (string | null)[] = []
  #waitingLength = 0
  #stream: EventStream | null = null
  #isWorking = false
  #isFull = false
  #isOver = false
  /** When the last frames came, the oldest of them at `#oldest` once there are SOCKET_FRAMES_MAX. */
  readonly #frameTimesMs: number[] = []
  #oldest = 0
  /** What a ping carried that is answered when the client has taken in what waits for it. */
  #owedPong: Buffer | null = null

  constructor(parts: SessionParts, opened: Opened) {
    const { socket, transport } = opened
    this.#parts = parts
    this.#opened = opened
    this.liveness = new Liveness(socket, transport, parts.clock)
    socket.on('message', (data, isBinary) => this.#onMessage(data, isBinary))
    socket.on('ping', (data) => {
      this.#onControl()
      this.#pong(data)
    })
    socket.on('pong', () => {
      // The answer to our own ping is not one of the client's frames.
      if (this.liveness.answered()) this.liveness.heard()
      else this.#onControl()
    })
    socket.on('close', () => this.#end())
  }

  /** Ends it with a close frame; a second call does nothing. */
  close(code: number, reason: string): void {
    if (this.#isOver) return
    this.#end()
    const { socket } = this.#opened
    // What the client says last is its answer to the close.
    socket.resume()
    socket.close(code, reason)
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#waiting.length = 0
    this.#stream?.close()
    this.#opened.onEnd()
  }

  #onMessage(data: RawData, isBinary: boolean): void {
    this.liveness.heard()
    if (this.#isOver || this.#refuseFlood()) return
    const text = isBinary ? null : data.toString()
    this.#waiting.push(text)
    this.#waitingLength += text?.length ?? 0
    void this.#work()
    // Read again when less waits.
    if (this.#waitingLength > SOCKET_FRAME_BYTES_MAX) this.#opened.socket.pause()
  }

  #onControl(): void {
    this.liveness.heard()
    if (!this.#isOver) this.#refuseFlood()
  }

  /** Of pings that come faster than answers are taken the last one is answered (RFC 6455 §5.5.3). */
  #pong(data: Buffer): void {
    if (!this.#isOpen) return
    if (this.#isFull) this.#owedPong = data
    else this.#opened.socket.pong(data)
  }

  #refuseFlood(): boolean {
    if (!this.#isTooMuch()) return false
    const most = `${SOCKET_FRAMES_MAX} frames in ${SOCKET_FRAMES_WINDOW_MS / 1000} seconds`
    this.close(CLOSE_CODES.tooManyFrames, `more than ${most}`)
    return true
  }

  /** Notes a frame; true when there are more than may be in the window. */
  #isTooMuch(): boolean {
    const times = this.#frameTimesMs
    const nowMs = this.#parts.clock.monotonic()
    if (times.length < SOCKET_FRAMES_MAX) {
      times.push(nowMs)
      return false
    }
    const oldestMs = times[this.#oldest] ?? 0
    times[this.#oldest] = nowMs
    this.#oldest = (this.#oldest + 1) % SOCKET_FRAMES_MAX
    return oldestMs > nowMs - SOCKET_FRAMES_WINDOW_MS
  }

  /** Frames are answered one after the other, and none while the client does not take answers. */
  async #work(): Promise<void> {
    if (this.#isWorking) return
    this.#isWorking = true
    try {
      while (!this.#isOver && !this.#isFull) {
        const text = this.#waiting.shift()
        if (text === undefined) break
        this.#waitingLength -= text?.length ?? 0
        const frame = text === null ? NOT_TEXT : readFrame(text)
        const answer =
          frame.kind === 'subscribe' ? await this.#subscribe(frame) : this.#answer(frame)
        if (answer !== null) this.#say(answer)
      }
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#isWorking = false
    }
    const { socket } = this.#opened
    const isLittle = this.#waitingLength <= SOCKET_FRAME_BYTES_MAX
    if (!this.#isOver && socket.isPaused && isLittle) socket.resume()
  }

  #answer(frame: Exclude<ClientFrame, Subscribe>): object {
    switch (frame.kind) {
      case 'ping':
        return { type: 'pong' }
      case 'unsubscribe':
        return this.#stream?.unsubscribe(frame.inboxIds) === 'too_many'
          ? mistake('This connection has unsubscribed from too many inboxes; open a new one.')
          : { type: 'unsubscribed', inbox_ids: frame.inboxIds ?? [] }
      case 'mistake':
        return mistake(frame.message)
    }
  }

  /** What went wrong; null where it went well, and was answered before the first event. */
  async #subscribe({ afterId, ...asked }: Subscribe): Promise<object | null> {
    const { ports } = this.#parts
    const { accountId } = this.#opened
    this.liveness.isBusy = true
    try {
      const checked = await ports.checkFilter({ accountId, ...asked })
      if (this.#isOver) return null
      if (checked.kind === 'mistake') {
        const { field, value, message } = checked
        return mistake(`The entry ${quoted(value)} of "${FIELD_NAMES[field]}" ${message}.`)
      }
      const { filter, unknownKinds } = checked
      this.#stream ??= ports.openEventStream({
        accountId,
        sink: { write: (text) => this.#write(text) },
      })
      const outcome = await this.#stream.subscribe({
        filter,
        afterId,
        onAccepted: ({ lastEventId, notice }) => {
          if (unknownKinds.length > 0) this.#say(mistake(`${passedOver(unknownKinds)}.`))
          if (notice !== null) {
            this.#say(mistake(`"last_event_id" ${quoted(afterId)} ${notice}.`))
          }
          this.#say(subscribedTo(filter, lastEventId))
        },
      })
      if (outcome === 'subscribed') return null
      return mistake(`A connection has at most ${SUBSCRIPTIONS_MAX} subscriptions.`)
    } finally {
      this.liveness.isBusy = false
    }
  }

  /** A connection that was cut is not over before all of its writes have failed. */
  get #isOpen(): boolean {
    const { socket } = this.#opened
    return !this.#isOver && socket.readyState === socket.OPEN
  }

  #write(text: EventText): boolean {
    if (!this.#isOpen) return false
    this.#send(text.render({ deliveredAtMs: this.#parts.clock.now(), attempt: 1 }))
    return !this.#isFull
  }

  #say(frame: object): void {
    if (this.#isOpen) this.#send(JSON.stringify(frame))
  }

  #send(text: string): void {
    const { socket } = this.#opened
    socket.send(text, () => this.#onSent())
    if (socket.bufferedAmount > STREAM_BUFFER_BYTES_MAX) this.#isFull = true
  }

  #onSent(): void {
    if (!this.#isFull || !this.#isOpen) return
    if (this.#opened.socket.bufferedAmount > STREAM_BUFFER_BYTES_MAX / 2) return
    this.#isFull = false
    if (this.#owedPong !== null) this.#pong(this.#owedPong)
    this.#owedPong = null
    this.#stream?.resume()
    void this.#work()
  }

  /** A client that is let go comes again, and says what it had last. */
  #fail(error: unknown): void {
    const { log } = this.#parts
    const fields = { requestId: this.#opened.requestId, error }
    const told = withStorageTold(error)
    if (told instanceof AppError && told.code === 'service_unavailable') {
      log.info(fields, 'A WebSocket was closed because the service is unavailable.')
      this.close(CLOSE_CODES.tryLater, 'the service cannot answer at the moment')
    } else {
      log.error(fields, 'Handling a WebSocket frame failed.')
      this.close(CLOSE_CODES.failed, 'the service failed')
    }
  }
}

function mistake(message: string): object {
  return { type: 'error', message }
}

function subscribedTo(
  { inboxIds, podIds, kinds }: EventFilter,
  lastEventId: string | null,
): object {
  const lists = { inbox_ids: inboxIds, pod_ids: podIds, event_types: kinds }
  return { type: 'subscribed', ...lists, last_event_id: lastEventId }
}

const KINDS_NAMED_MAX = 5

/** Unknown kinds beside known ones: a newer client may know kinds that this service does not. */
export function passedOver(unknownKinds: readonly string[]): string {
  const named = unknownKinds.slice(0, KINDS_NAMED_MAX).map(quoted).join(', ')
  const more = unknownKinds.length > KINDS_NAMED_MAX ? ' and more' : ''
  return `"event_types" names unknown kinds of events, ${named}${more}: the others are subscribed`
}

const NOT_TEXT: ClientFrame = {
  kind: 'mistake',
  message: 'The frame is binary; send JSON in text frames.',
}

const FIELD_NAMES = { kinds: 'event_types', podIds: 'pod_ids', inboxIds: 'inbox_ids' } as const
