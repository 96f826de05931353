// Answers the frames of one WebSocket in order, and writes events as fast as the client reads them.
// Both queues are bounded.

import type { Socket } from 'node:net'
import { FILTER_IDS_MAX } from '@mailroom/contract/webhooks.ts'
import type { RawData, WebSocket } from 'ws'
import type { EventFilter } from '#events/model.ts'
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
import { describeUnknownKinds, quoted } from './read-events.ts'

/** A frame may contain subscriptions to a few hundred inboxes. */
export const SOCKET_FRAME_BYTES_MAX = 64 * 1024
const SOCKET_FRAMES_MAX = 30
const SOCKET_FRAMES_WINDOW_MS = 10 * SECOND_MS

/** Codes below 4000 are from RFC 6455 §7.4; the rest are ours. */
export const CLOSE_CODES = {
  shuttingDown: 1001,
  failed: 1011,
  tryLater: 1013,
  unauthorized: 4001,
  tooManyConnections: 4008,
  tooManyFrames: 4029,
} as const

export type SessionParts = { readonly ports: EventPorts; readonly clock: Clock; readonly log: Log }

export type Connection = {
  readonly socket: WebSocket
  readonly transport: Socket
  readonly accountId: string
  readonly requestId: string
  onEnd(): void
}

type Subscribe = Extract<ClientFrame, { kind: 'subscribe' }>

export class Session {
  readonly liveness: Liveness
  readonly #parts: SessionParts
  readonly #connection: Connection
  /** Null represents a binary frame. */
  readonly #waiting: (string | null)[] = []
  #waitingLength = 0
  #stream: EventStream | null = null
  #isWorking = false
  #isFull = false
  #isOver = false
  /** A ring buffer once it has SOCKET_FRAMES_MAX times; the oldest is at `#oldest`. */
  readonly #frameTimesMs: number[] = []
  #oldest = 0
  /** Sent once the client has read its backlog. */
  #pendingPong: Buffer | null = null

  constructor(parts: SessionParts, connection: Connection) {
    const { socket, transport } = connection
    this.#parts = parts
    this.#connection = connection
    this.liveness = new Liveness(socket, transport, parts.clock)
    socket.on('message', (data, isBinary) => this.#onMessage(data, isBinary))
    socket.on('ping', (data) => {
      this.#onControl()
      this.#pong(data)
    })
    socket.on('pong', () => {
      // A pong in reply to our ping is not counted as a frame.
      if (this.liveness.takesPong()) this.liveness.received()
      else this.#onControl()
    })
    socket.on('close', () => this.#end())
  }

  /** A second call does nothing. */
  close(code: number, reason: string): void {
    if (this.#isOver) return
    this.#end()
    const { socket } = this.#connection
    // The client's close frame must still be read.
    socket.resume()
    socket.close(code, reason)
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#waiting.length = 0
    this.#stream?.close()
    this.#connection.onEnd()
  }

  #onMessage(data: RawData, isBinary: boolean): void {
    this.liveness.received()
    if (this.#isOver || this.#refuseFlood()) return
    const text = isBinary ? null : data.toString()
    this.#waiting.push(text)
    this.#waitingLength += text?.length ?? 0
    void this.#work()
    if (this.#waitingLength > SOCKET_FRAME_BYTES_MAX) this.#connection.socket.pause()
  }

  #onControl(): void {
    this.liveness.received()
    if (!this.#isOver) this.#refuseFlood()
  }

  /** If a client reads nothing, only its last ping is answered (RFC 6455 §5.5.3). */
  #pong(data: Buffer): void {
    if (!this.#isOpen) return
    if (this.#isFull) this.#pendingPong = data
    else this.#connection.socket.pong(data)
  }

  #refuseFlood(): boolean {
    if (!this.#isTooMuch()) return false
    const most = `${SOCKET_FRAMES_MAX} frames in ${SOCKET_FRAMES_WINDOW_MS / 1000} seconds`
    this.close(CLOSE_CODES.tooManyFrames, `more than ${most}`)
    return true
  }

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
        if (answer !== null) this.#sendFrame(answer)
      }
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#isWorking = false
    }
    const { socket } = this.#connection
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

  /** Returns null if the subscription was accepted and confirmed. */
  async #subscribe({ afterId, ...asked }: Subscribe): Promise<object | null> {
    const { ports } = this.#parts
    const { accountId } = this.#connection
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
          if (unknownKinds.length > 0)
            this.#sendFrame(errorFrame(`${describeUnknownKinds(unknownKinds)}.`))
          if (notice !== null) {
            this.#sendFrame(errorFrame(`"last_event_id" ${quoted(afterId)} ${notice}.`))
          }
          this.#sendFrame(subscribedTo(filter, lastEventId))
        },
      })
      if (outcome === 'subscribed') return null
      return errorFrame(`A connection has at most ${SUBSCRIPTIONS_MAX} subscriptions.`)
    } finally {
      this.liveness.isBusy = false
    }
  }

  /** A broken connection closes only after all its writes have failed. */
  get #isOpen(): boolean {
    const { socket } = this.#connection
    return !this.#isOver && socket.readyState === socket.OPEN
  }

  #write(text: EventText): boolean {
    if (!this.#isOpen) return false
    this.#send(text.render({ deliveredAtMs: this.#parts.clock.now(), attempt: 1 }))
    return !this.#isFull
  }

  #sendFrame(frame: object): void {
    if (this.#isOpen) this.#send(JSON.stringify(frame))
  }

  #send(text: string): void {
    const { socket } = this.#connection
    socket.send(text, () => this.#onSent())
    if (socket.bufferedAmount > STREAM_BUFFER_BYTES_MAX) this.#isFull = true
  }

  #onSent(): void {
    if (!this.#isFull || !this.#isOpen) return
    if (this.#connection.socket.bufferedAmount > STREAM_BUFFER_BYTES_MAX / 2) return
    this.#isFull = false
    if (this.#pendingPong !== null) this.#pong(this.#pendingPong)
    this.#pendingPong = null
    this.#stream?.resume()
    void this.#work()
  }

  #fail(error: unknown): void {
    const { log } = this.#parts
    const fields = { requestId: this.#connection.requestId, error }
    const problem = withStorageProblem(error)
    if (problem instanceof AppError && problem.code === 'service_unavailable') {
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
  { inboxIds, podIds, kinds, categories }: EventFilter,
  lastEventId: string | null,
): object {
  const lists = { inbox_ids: inboxIds, pod_ids: podIds, event_types: kinds, categories }
  return { type: 'subscribed', ...lists, last_event_id: lastEventId }
}

const NOT_TEXT: ClientFrame = {
  kind: 'mistake',
  message: 'The frame is binary; send JSON in text frames.',
}

const FIELD_NAMES = {
  kinds: 'event_types',
  podIds: 'pod_ids',
  inboxIds: 'inbox_ids',
  categories: 'categories',
} as const

export type ClientFrame =
  | {
      readonly kind: 'subscribe'
      readonly kinds: readonly string[]
      readonly podIds: readonly string[]
      readonly inboxIds: readonly string[]
      readonly categories: readonly string[]
      readonly afterId: string | null
    }
  /** Null means all subscriptions. */
  | { readonly kind: 'unsubscribe'; readonly inboxIds: readonly string[] | null }
  | { readonly kind: 'ping' }
  | { readonly kind: 'mistake'; readonly message: string }

/** Never throws. Unknown members are ignored. */
function readFrame(text: string): ClientFrame {
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
        categories: readList(members, 'categories'),
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

/** No id contains NUL, and PostgreSQL throws an exception for it. */
function refuseNul(name: string, text: string): void {
  if (text.includes('\0')) throw new Mistake(`"${name}" must not contain the character U+0000.`)
}

export type LivenessTimeouts = {
  readonly pingMs: number
  readonly silenceMs: number
  /** Time without progress while bytes wait for the client. */
  readonly stallMs: number
}

/** Pings a client, and destroys its connection if it does not answer or read. */
export class Liveness {
  /** Further frames of the client are not read while one is being answered. */
  isBusy = false
  readonly #socket: WebSocket
  readonly #transport: Socket
  readonly #clock: Clock
  #receivedAtMs: number
  #pingedAtMs: number
  #progressAtMs: number
  #isPinged = false
  #backlogBytes = 0
  #drainedBytes = 0

  constructor(socket: WebSocket, transport: Socket, clock: Clock) {
    this.#socket = socket
    this.#transport = transport
    this.#clock = clock
    this.#receivedAtMs = clock.monotonic()
    this.#pingedAtMs = this.#receivedAtMs
    this.#progressAtMs = this.#receivedAtMs
  }

  received(): void {
    this.#receivedAtMs = this.#clock.monotonic()
  }

  takesPong(): boolean {
    const isAnswer = this.#isPinged
    this.#isPinged = false
    return isAnswer
  }

  check({ pingMs, silenceMs, stallMs }: LivenessTimeouts): void {
    const nowMs = this.#clock.monotonic()
    const hasProgressed = this.#hasProgressed()
    if (hasProgressed || this.#backlogBytes === 0) this.#progressAtMs = nowMs
    if (nowMs - this.#progressAtMs >= stallMs) {
      this.#socket.terminate()
      return
    }
    if (hasProgressed || this.isBusy) this.#receivedAtMs = nowMs
    const sincePingMs = nowMs - this.#pingedAtMs
    if (this.#pingedAtMs > this.#receivedAtMs) {
      if (sincePingMs >= silenceMs) this.#socket.terminate()
    } else if (sincePingMs >= pingMs) {
      this.#pingedAtMs = nowMs
      this.#isPinged = true
      this.#socket.ping()
    }
  }

  /** Whether the client has acknowledged part of a backlog since the last check. */
  #hasProgressed(): boolean {
    const { bytesWritten, writableLength } = this.#transport
    const drained = bytesWritten - writableLength
    const hasProgressed = this.#backlogBytes > 0 && drained > this.#drainedBytes
    this.#backlogBytes = writableLength
    this.#drainedBytes = drained
    return hasProgressed
  }
}
