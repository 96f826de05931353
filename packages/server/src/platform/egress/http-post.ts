// One POST to a URL that a stranger chose, and what came of it: an answer, or why there was none.
// Follows no redirect, unpacks nothing, and gives no receiver more time or room than its share.

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Agent, DiagnosticsChannel, Dispatcher } from 'undici'
import { onAbort } from '#platform/abort.ts'
import { systemClock } from '#platform/clock.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import { SECOND_MS } from '#platform/units.ts'
import { ConnectError, type ConnectFault, GuardedConnector } from './guarded-connect.ts'

const WEBHOOK_CONNECT_MS_MAX = 5 * SECOND_MS
/** From looking up the name to the end of the answer. */
export const WEBHOOK_MS_MAX = 15 * SECOND_MS
/** A connection kept for the next post; shorter than what receivers usually wait themselves. */
const WEBHOOK_IDLE_MS_MAX = 3 * SECOND_MS
/** Open connections of webhooks, past which none is kept after its answer. */
const WEBHOOK_CONNECTIONS_KEPT_MAX = 200
/** Of the header of an answer. */
const WEBHOOK_HEADER_BYTES_MAX = 32 * 1024
/** Of an answer; what comes after it is not read. */
const WEBHOOK_ANSWER_BYTES_MAX = 64 * 1024
/** Of an answer, kept with the delivery. */
export const WEBHOOK_ANSWER_BYTES_KEPT = 2 * 1024

type HttpPostRequest = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Aborted: it ends as `cut`. */
  readonly signal?: AbortSignal
}

type PostAnswer = {
  readonly status: number
  /** The first WEBHOOK_ANSWER_BYTES_KEPT octets as text, without NUL. */
  readonly body: string
}

export type HttpPostOutcome =
  | {
      readonly kind: 'answered'
      readonly status: number
      readonly body: string
      readonly latencyMs: number
    }
  | {
      readonly kind: 'failed'
      readonly error: PostFault
      /** As far as one came before it failed. */
      readonly answer?: PostAnswer
      readonly latencyMs: number
    }

type PostFault = ConnectFault | 'protocol_error' | 'cut'

/** Never rejects. */
export type HttpPost = (request: HttpPostRequest) => Promise<HttpPostOutcome>

export type HttpPoster = {
  post: HttpPost
  /** Cuts what is under way; later posts are cut at once. */
  close(): Promise<void>
}

export type HttpPosterOptions = {
  readonly resolver: Pick<Resolver, 'a' | 'aaaa'>
  /** Special addresses may be reached; without it nobody's text can make us reach one. */
  readonly allowPrivate: boolean
  /** This machine's; those of its interfaces unless given. */
  readonly ownAddresses?: () => readonly string[]
  /** Names that this service is known by, which are not to be reached either. */
  readonly ownNames?: readonly string[]
  readonly userAgent: string
  /** Instead of the limits that receivers are promised. */
  readonly patience?: { readonly connectMs?: number; readonly totalMs?: number }
  /** How long a connection waits for its next post. */
  readonly idleMs?: number
  /** Certificates to trust instead of the platform's, as PEM. */
  readonly ca?: string
}

/** Costs nothing before the first post. */
export function openHttpPoster(options: HttpPosterOptions): HttpPoster {
  const poster = new Poster(options)
  return { post: (request) => poster.post(request), close: () => poster.close() }
}

/** `fresh` uses no connection twice. */
type Agents = { readonly keeping: Agent; readonly fresh: Agent }

/** Told by undici, of all its requests in this process, just before each is written. */
const REQUESTS = 'undici:client:sendHeaders'
type Sent = Pick<DiagnosticsChannel.ClientSendHeadersMessage, 'socket'>

class Poster {
  readonly #options: HttpPosterOptions
  readonly #connector: GuardedConnector
  readonly #exchanges = new Set<Exchange>()
  readonly #note = (message: unknown) => this.#connector.noteRequest((message as Sent).socket)
  #agents: Promise<Agents> | null = null
  #isClosed = false

  constructor(options: HttpPosterOptions) {
    this.#options = options
    this.#connector = new GuardedConnector({
      resolver: options.resolver,
      allowPrivate: options.allowPrivate,
      ownAddresses: options.ownAddresses,
      ownNames: options.ownNames,
      connectMs: options.patience?.connectMs ?? WEBHOOK_CONNECT_MS_MAX,
      ca: options.ca,
    })
  }

  async post({ url, headers, body, signal }: HttpPostRequest): Promise<HttpPostOutcome> {
    const exchange = new Exchange()
    const cut = () => exchange.fail('cut')
    if (this.#isClosed) cut()
    using _ = onAbort(signal, cut)
    this.#exchanges.add(exchange)
    try {
      this.#agents ??= this.#load()
      const { keeping, fresh } = await this.#agents
      exchange.start(this.#options.patience?.totalMs ?? WEBHOOK_MS_MAX)
      const request = this.#requestOf(url, { headers, body })
      // A receiver may close a connection for being idle just as it is used again.
      exchange.repeat = (error) => {
        const isRepeated = this.#connector.isOfIdled(error)
        if (isRepeated) fresh.dispatch(request, exchange)
        return isRepeated
      }
      const isCrowded = this.#connector.openSockets >= WEBHOOK_CONNECTIONS_KEPT_MAX
      if (!exchange.isOver) (isCrowded ? fresh : keeping).dispatch(request, exchange)
    } catch (error) {
      exchange.onResponseError(null, error)
    }
    try {
      return await exchange.outcome
    } finally {
      this.#exchanges.delete(exchange)
    }
  }

  #requestOf(url: string, { headers, body }: Pick<HttpPostRequest, 'headers' | 'body'>) {
    const { origin, pathname, search } = new URL(url)
    return {
      origin,
      path: pathname + search,
      method: 'POST',
      headers: { 'user-agent': this.#options.userAgent, ...headers },
      body,
    } as const
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const exchange of this.#exchanges) exchange.fail('cut')
    this.#connector.destroy()
    unsubscribe(REQUESTS, this.#note)
    const agents = await this.#agents
    await Promise.all([agents?.keeping.destroy(), agents?.fresh.destroy()])
  }

  async #load(): Promise<Agents> {
    const { Agent } = await import('undici')
    if (!this.#isClosed) subscribe(REQUESTS, this.#note)
    const keepAliveTimeout = this.#options.idleMs ?? WEBHOOK_IDLE_MS_MAX
    const options: Agent.Options = {
      connect: (target, done) => this.#connector.connect(target, done),
      allowH2: false,
      maxHeaderSize: WEBHOOK_HEADER_BYTES_MAX,
      // The exchange has a clock of its own, which a receiver cannot turn back octet by octet.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout,
      // A receiver's Keep-Alive field may shorten it only.
      keepAliveMaxTimeout: keepAliveTimeout,
    }
    return { keeping: new Agent(options), fresh: new Agent({ ...options, pipelining: 0 }) }
  }
}

/** From the start to the outcome, whichever comes first. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly outcome: Promise<HttpPostOutcome>
  isOver = false
  /** Asked once when it breaks before an answer; true: it was sent again. */
  repeat: ((error: Error) => boolean) | null = null
  #startedMs = systemClock.monotonic()
  readonly #resolve: (outcome: HttpPostOutcome) => void
  #timer: NodeJS.Timeout | undefined
  readonly #kept: Buffer[] = []
  #keptBytes = 0
  #readBytes = 0
  #status = 0
  #controller: Dispatcher.DispatchController | null = null

  constructor() {
    const { promise, resolve } = Promise.withResolvers<HttpPostOutcome>()
    this.outcome = promise
    this.#resolve = resolve
  }

  /** What was done before it is not the receiver's time. */
  start(totalMs: number): void {
    if (this.isOver) return
    this.#startedMs = systemClock.monotonic()
    this.#timer = setTimeout(() => this.fail('timeout'), totalMs)
  }

  fail(error: PostFault): void {
    this.#settle({ kind: 'failed', error, ...this.#begun(), latencyMs: this.#latencyMs() })
    this.#controller?.abort(new Error(error))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // What was given up while it waited for its connection.
    if (this.isOver) controller.abort(new Error('over'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number): void {
    this.#status = status
    // Whole with its header (RFC 9110 §6.4.1); octets after it are no part of it.
    if (status === 204 || status === 304) this.onResponseEnd()
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const room = WEBHOOK_ANSWER_BYTES_KEPT - this.#keptBytes
    if (room > 0) {
      const kept = Buffer.from(chunk.subarray(0, room))
      this.#kept.push(kept)
      this.#keptBytes += kept.length
    }
    this.#readBytes += chunk.length
    if (this.#readBytes <= WEBHOOK_ANSWER_BYTES_MAX) return
    this.onResponseEnd()
    controller.abort(new Error('enough was read'))
  }

  onResponseEnd(): void {
    this.#settle({ kind: 'answered', ...this.#answer(), latencyMs: this.#latencyMs() })
  }

  onResponseError(_: unknown, error: unknown): void {
    const { repeat } = this
    this.repeat = null
    const isUnanswered = !this.isOver && this.#status === 0
    if (isUnanswered && error instanceof Error && repeat?.(error)) return
    this.#settle({
      kind: 'failed',
      error: errorOf(error),
      ...this.#begun(),
      latencyMs: this.#latencyMs(),
    })
  }

  #settle(outcome: HttpPostOutcome): void {
    if (this.isOver) return
    this.isOver = true
    clearTimeout(this.#timer)
    this.#resolve(outcome)
  }

  #answer(): PostAnswer {
    return { status: this.#status, body: readText(Buffer.concat(this.#kept)) }
  }

  /** Hints (1xx) are no part of an answer. */
  #begun(): { answer?: PostAnswer } {
    return this.#status < 200 ? {} : { answer: this.#answer() }
  }

  #latencyMs(): number {
    return Math.round(systemClock.monotonic() - this.#startedMs)
  }
}

/** A character that the cut went through is left out. */
function readText(bytes: Buffer): string {
  const text = new TextDecoder().decode(bytes, {
    stream: bytes.length === WEBHOOK_ANSWER_BYTES_KEPT,
  })
  return text.replaceAll('\0', '')
}

function errorOf(error: unknown): PostFault {
  if (error instanceof ConnectError) return error.fault
  if (!(error instanceof Error)) return 'protocol_error'
  const code = 'code' in error ? String(error.code) : ''
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') return 'cut'
  if (/^ERR_(SSL|TLS)_/.test(code)) return 'tls_failed'
  if ('syscall' in error) return 'connection_failed'
  // The same code tells of a lost connection and of an answer that cannot be one.
  const isLost = code === 'UND_ERR_SOCKET' && !error.message.startsWith('bad ')
  return isLost ? 'connection_failed' : 'protocol_error'
}
