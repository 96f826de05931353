// One connection of the WebSocket: reads its client's frames in order, answers them, and writes events
// as fast as they are taken. Bounded in what waits in either direction.

import type { Socket } from 'node:net'
import type { RawData, WebSocket } from 'ws'
import type { EventFilter } from '#events/event.ts'
import type { Clock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { AppError, withStorageProblem } from '#platform/problem.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { EventText } from './envelope.ts'
import {
  type EventPorts,
  type EventStream,
  STREAM_BUFFER_BYTES_MAX,
  SUBSCRIPTIONS_MAX,
} from './event-stream.ts'
import { passedOver, quoted } from './read-events.ts'

/** A frame of a client: subscriptions of a few hundred inboxes fit. */
export const SOCKET_FRAME_BYTES_MAX = 64 * 1024
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
          ? errorFrame('This connection has unsubscribed from too many inboxes; open a new one.')
          : { type: 'unsubscribed', inbox_ids: frame.inboxIds ?? [] }
      case 'mistake':
        return errorFrame(frame.message)
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
        return errorFrame(`The entry ${quoted(value)} of "${FIELD_NAMES[field]}" ${message}.`)
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
          if (unknownKinds.length > 0) this.#say(errorFrame(`${passedOver(unknownKinds)}.`))
          if (notice !== null) {
            this.#say(errorFrame(`"last_event_id" ${quoted(afterId)} ${notice}.`))
          }
          this.#say(subscribedTo(filter, lastEventId))
        },
      })
      if (outcome === 'subscribed') return null
      return errorFrame(`A connection has at most ${SUBSCRIPTIONS_MAX} subscriptions.`)
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
    const told = withStorageProblem(error)
    if (told instanceof AppError && told.code === 'service_unavailable') {
      log.info(fields, 'A WebSocket was closed because the service is unavailable.')
      this.close(CLOSE_CODES.tryLater, 'the service cannot answer at the moment')
    } else {
      log.error(fields, 'Handling a WebSocket frame failed.')
      this.close(CLOSE_CODES.failed, 'the service failed')
    }
  }
}

function errorFrame(message: string): object {
  return { type: 'error', message }
}

function subscribedTo(
  { inboxIds, podIds, kinds }: EventFilter,
  lastEventId: string | null,
): object {
  const lists = { inbox_ids: inboxIds, pod_ids: podIds, event_types: kinds }
  return { type: 'subscribed', ...lists, last_event_id: lastEventId }
}

const NOT_TEXT: ClientFrame = {
  kind: 'mistake',
  message: 'The frame is binary; send JSON in text frames.',
}

const FIELD_NAMES = { kinds: 'event_types', podIds: 'pod_ids', inboxIds: 'inbox_ids' } as const

/** Entries of inbox_ids or pod_ids of one subscription or webhook. */
export const FILTER_IDS_MAX = 1_000

export type ClientFrame =
  | {
      readonly kind: 'subscribe'
      readonly kinds: readonly string[]
      readonly podIds: readonly string[]
      readonly inboxIds: readonly string[]
      readonly afterId: string | null
    }
  /** Null: all subscriptions. */
  | { readonly kind: 'unsubscribe'; readonly inboxIds: readonly string[] | null }
  | { readonly kind: 'ping' }
  /** One sentence that names what is wrong. */
  | { readonly kind: 'mistake'; readonly message: string }

/** Total: any text is a frame or a mistake. Members that no frame has are passed over. */
export function readFrame(text: string): ClientFrame {
  const frame = parse(text)
  if (frame === undefined) return mistake('The frame is not JSON.')
  if (typeof frame !== 'object' || frame === null || Array.isArray(frame)) {
    return mistake('The frame is not a JSON object.')
  }
  const members = frame as Readonly<Record<string, unknown>>
  try {
    return readMembers(members)
  } catch (error) {
    if (error instanceof Mistake) return mistake(error.message)
    throw error
  }
}

function readMembers(members: Readonly<Record<string, unknown>>): ClientFrame {
  switch (members.type) {
    case 'subscribe':
      return {
        kind: 'subscribe',
        kinds: readList(members, 'event_types'),
        podIds: readList(members, 'pod_ids'),
        inboxIds: readList(members, 'inbox_ids'),
        afterId: readId(members, 'last_event_id'),
      }
    case 'unsubscribe': {
      const inboxIds = readList(members, 'inbox_ids')
      return { kind: 'unsubscribe', inboxIds: inboxIds.length === 0 ? null : inboxIds }
    }
    case 'ping':
      return { kind: 'ping' }
    case undefined:
      throw new Mistake('The frame has no "type".')
    default:
      throw new Mistake(
        `The type ${quoted(members.type)} is not "subscribe", "unsubscribe" or "ping".`,
      )
  }
}

class Mistake extends Error {}

function mistake(message: string): ClientFrame {
  return { kind: 'mistake', message }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Without repeats; left out and null are empty. */
function readList(members: Readonly<Record<string, unknown>>, name: string): readonly string[] {
  const value = members[name] ?? []
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string')) {
    throw new Mistake(`"${name}" must be an array of strings.`)
  }
  if (value.length > FILTER_IDS_MAX) {
    throw new Mistake(`"${name}" must have at most ${FILTER_IDS_MAX} entries.`)
  }
  for (const entry of value) refuseNul(name, entry)
  return [...new Set(value)]
}

function readId(members: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = members[name] ?? null
  if (value !== null && typeof value !== 'string') throw new Mistake(`"${name}" must be a string.`)
  if (value !== null) refuseNul(name, value)
  return value
}

/** No id holds it, and a database would refuse it with an exception. */
function refuseNul(name: string, text: string): void {
  if (text.includes('\0')) throw new Mistake(`"${name}" must not contain the character U+0000.`)
}

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
