// A POST request to a URL that a stranger chose. It follows no redirect, decompresses nothing, and
// limits the time and memory of each receiver.

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Agent, DiagnosticsChannel, Dispatcher } from 'undici'
import { onAbort } from '#platform/abort.ts'
import { systemClock } from '#platform/clock.ts'
import { SECOND_MS } from '#platform/units.ts'
import {
  ConnectError,
  type ConnectFault,
  type GuardedConnectOptions,
  GuardedConnector,
} from './guarded-connect.ts'

const WEBHOOK_CONNECT_MS_MAX = 5 * SECOND_MS
/** The time from the DNS lookup to the end of the response. */
export const WEBHOOK_MS_MAX = 15 * SECOND_MS
/** Shorter than the usual idle timeout of receivers. */
const WEBHOOK_IDLE_MS_MAX = 3 * SECOND_MS
/** Above this number of open connections, a connection is closed after its answer. */
const WEBHOOK_CONNECTIONS_KEPT_MAX = 200
const WEBHOOK_HEADER_BYTES_MAX = 32 * 1024
const WEBHOOK_ANSWER_BYTES_MAX = 64 * 1024
/** Maximum octets of an answer that are stored with the attempt. */
export const WEBHOOK_ANSWER_BYTES_KEPT = 4 * 1024

type HttpPostRequest = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** An aborted post ends as `cut`. */
  readonly signal?: AbortSignal
}

type PostAnswer = {
  readonly status: number
  /** The first WEBHOOK_ANSWER_BYTES_KEPT octets as text, without NUL. */
  readonly body: string
}

export type HttpPostOutcome =
  | ({ readonly kind: 'answered'; readonly latencyMs: number } & PostAnswer)
  | {
      readonly kind: 'failed'
      readonly error: PostFault
      /** The part of an answer that arrived before the failure. */
      readonly answer?: PostAnswer
      readonly latencyMs: number
    }

type PostFault = ConnectFault | 'protocol_error' | 'cut'

/** Posts a request. Never rejects. */
export type HttpPost = (request: HttpPostRequest) => Promise<HttpPostOutcome>

export type HttpPoster = {
  post: HttpPost
  /** Aborts pending posts; later ones end as `cut`. */
  close(): Promise<void>
}

export type HttpPosterOptions = Pick<
  GuardedConnectOptions,
  'resolver' | 'allowPrivate' | 'ownAddresses' | 'ownNames' | 'ca'
> & {
  /** Replaces the documented time limits. */
  readonly patience?: { readonly connectMs?: number; readonly totalMs?: number }
  readonly idleMs?: number
}

/** undici publishes every request of the process here, just before it is written. */
const REQUESTS = 'undici:client:sendHeaders'
type Sent = Pick<DiagnosticsChannel.ClientSendHeadersMessage, 'socket'>

/** Loads undici on the first post. */
export function openHttpPoster(options: HttpPosterOptions): HttpPoster {
  const { patience, idleMs: keepAliveTimeout = WEBHOOK_IDLE_MS_MAX } = options
  const connectMs = patience?.connectMs ?? WEBHOOK_CONNECT_MS_MAX
  const connector = new GuardedConnector({ ...options, connectMs })
  const exchanges = new Set<Exchange>()
  const onRequest = (message: unknown) => connector.onRequest((message as Sent).socket)
  let loading: ReturnType<typeof loadAgents> | null = null
  let isClosed = false

  return {
    async post({ url, headers, body, signal }) {
      const exchange = new Exchange()
      const cut = () => exchange.fail('cut')
      if (isClosed) cut()
      using _ = onAbort(signal, cut)
      exchanges.add(exchange)
      try {
        loading ??= loadAgents(connector, keepAliveTimeout).then((agents) => {
          if (!isClosed) subscribe(REQUESTS, onRequest)
          return agents
        })
        const { keeping, fresh } = await loading
        exchange.start(patience?.totalMs ?? WEBHOOK_MS_MAX)
        const { origin, pathname, search } = new URL(url)
        const request = {
          origin,
          path: pathname + search,
          method: 'POST',
          headers,
          body,
        } as const
        // A receiver may close an idle connection just as it is used again.
        exchange.repeat = (error) => {
          const isRepeated = connector.isOfIdleConnection(error)
          if (isRepeated) fresh.dispatch(request, exchange)
          return isRepeated
        }
        const isCrowded = connector.openSockets >= WEBHOOK_CONNECTIONS_KEPT_MAX
        if (!exchange.isOver) (isCrowded ? fresh : keeping).dispatch(request, exchange)
      } catch (error) {
        exchange.onResponseError(null, error)
      }
      try {
        return await exchange.outcome
      } finally {
        exchanges.delete(exchange)
      }
    },
    async close() {
      isClosed = true
      for (const exchange of exchanges) exchange.fail('cut')
      connector.destroy()
      unsubscribe(REQUESTS, onRequest)
      const agents = await loading
      await Promise.all([agents?.keeping.destroy(), agents?.fresh.destroy()])
    },
  }
}

/** `fresh` never reuses a connection. */
async function loadAgents(connector: GuardedConnector, keepAliveTimeout: number) {
  const { Agent } = await import('undici')
  const options: Agent.Options = {
    connect: (target, done) => connector.connect(target, done),
    allowH2: false,
    maxHeaderSize: WEBHOOK_HEADER_BYTES_MAX,
    // The exchange has its own timer, which a receiver cannot extend octet by octet.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout,
    // A receiver's Keep-Alive field may only shorten the time.
    keepAliveMaxTimeout: keepAliveTimeout,
  }
  return { keeping: new Agent(options), fresh: new Agent({ ...options, pipelining: 0 }) }
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly outcome: Promise<HttpPostOutcome>
  isOver = false
  /** Returns true if it has sent the request again on another connection. */
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

  /** Time spent on earlier work is not deducted from the receiver's time. */
  start(totalMs: number): void {
    if (this.isOver) return
    this.#startedMs = systemClock.monotonic()
    this.#timer = setTimeout(() => this.fail('timeout'), totalMs)
  }

  fail(error: PostFault): void {
    this.#settleFailed(error)
    this.#controller?.abort(new Error(error))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // The exchange ended while it waited for a connection.
    if (this.isOver) controller.abort(new Error('over'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number): void {
    this.#status = status
    // These responses end with the header (RFC 9110 §6.4.1); later octets do not belong to them.
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
    this.#settleFailed(errorOf(error))
  }

  /** Reports a partial answer with the failure, but no informational one (1xx). */
  #settleFailed(error: PostFault): void {
    const answer = this.#status < 200 ? {} : { answer: this.#answer() }
    this.#settle({ kind: 'failed', error, ...answer, latencyMs: this.#latencyMs() })
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

  #latencyMs(): number {
    return Math.round(systemClock.monotonic() - this.#startedMs)
  }
}

/** Drops a character that was cut in the middle. */
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
  // undici has one code for a lost connection and for an invalid answer.
  const isLost = code === 'UND_ERR_SOCKET' && !error.message.startsWith('bad ')
  return isLost ? 'connection_failed' : 'protocol_error'
}
