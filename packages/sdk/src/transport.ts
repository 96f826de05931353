// Sends one API request, with timeouts, and with retries if they are safe.

import { MailroomConnectionError, MailroomError, readRetryAfter } from './error.ts'
import { routes } from './routes.ts'

export type MailroomOptions = {
  /** The URL of the service, such as `https://mail.example.com`. */
  baseUrl: string
  /**
   * An account's key, or the operator's token for `admin` and `service.metrics`. The client throws
   * an error if the key is undefined, because its environment variable is not set.
   */
  apiKey: string | undefined
  /** Replaces the runtime's own `fetch`. */
  fetch?: typeof fetch
  /** Maximum number of retries of a request; default 4, 0 for none. */
  maxRetries?: number
  /**
   * Time limit in milliseconds for one attempt including its complete response; default 30 seconds,
   * plus a second for each 256 KiB of its body.
   */
  timeoutMs?: number
  /** The token of a claim, sent with every request; see `Mailroom.withLease`. */
  leaseToken?: string
}

export type RequestOptions = {
  signal?: AbortSignal
  timeoutMs?: number
  maxRetries?: number
  /** The token of the claim on the thread that the request changes or sends in. */
  leaseToken?: string
}

export type Call = {
  readonly id: keyof typeof routes
  readonly path?: Readonly<Record<string, string>>
  /** Undefined members are omitted. */
  readonly query?: object
  /** Undefined members are omitted. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent unchanged, instead of JSON. */
  readonly content?: {
    readonly type: string
    readonly data: Blob | Uint8Array<ArrayBuffer> | string
  }
  /** A POST that takes effect only once, however often it is sent. */
  readonly isOnce?: boolean
  readonly options?: RequestOptions | undefined
}

export type Answer = { readonly headers: Headers; readonly bytes: Uint8Array }

const RETRIES_DEFAULT = 4
const TIMEOUT_MS_DEFAULT = 30_000
const UPLOAD_BYTES_PER_SECOND = 256 * 1024
const BACKOFF_START_MS = 250
const BACKOFF_MAX_MS = 8_000
/** With a longer Retry-After the request is not retried. */
const RETRY_AFTER_SECONDS_MAX = 60

export class Transport {
  private readonly options: MailroomOptions
  private readonly apiKey: string
  private readonly baseUrl: string

  constructor(options: MailroomOptions) {
    if (options.apiKey === undefined) {
      throw new Error('The API key is missing. Set the environment variable MAILROOM_API_KEY.')
    }
    if (!options.baseUrl) {
      throw new Error(
        'baseUrl is missing. Give the URL of the service, such as http://127.0.0.1:8080.',
      )
    }
    this.options = options
    this.apiKey = options.apiKey
    this.baseUrl = options.baseUrl.replace(/\/+$/, '')
  }

  /** The URL and the key, for WebSockets. */
  get service(): { readonly baseUrl: string; readonly apiKey: string } {
    return { baseUrl: this.baseUrl, apiKey: this.apiKey }
  }

  /** Rejects with MailroomError, MailroomConnectionError, or the reason of the caller's signal. */
  async send(call: Call): Promise<Answer> {
    const maxRetries = call.options?.maxRetries ?? this.options.maxRetries ?? RETRIES_DEFAULT
    const request = this.requestOf(call)
    for (let retries = 0; ; retries += 1) {
      const outcome = await this.attempt(request, call.options)
      if (outcome.kind === 'answer') return outcome.answer
      const waitMs = outcome.isRepeatable ? waitBefore(retries, outcome.retryAfterSeconds) : null
      if (waitMs === null || retries >= maxRetries) throw outcome.error
      await pause(waitMs, call.options?.signal)
    }
  }

  /** Like `send`, with the response parsed as JSON. */
  async json<Body>(call: Call): Promise<Body> {
    const { bytes } = await this.send(call)
    try {
      return JSON.parse(new TextDecoder().decode(bytes))
    } catch (cause) {
      throw new MailroomConnectionError('The response is not JSON.', { cause })
    }
  }

  /** The body of an endless response. The timeout applies to its beginning; never retried. */
  async stream({ options = {}, ...call }: Call): Promise<ReadableStream<Uint8Array>> {
    const { url, method, headers } = this.requestOf(call)
    const { signal } = options
    signal?.throwIfAborted()
    const deadline = new AbortController()
    const timeoutMs = options.timeoutMs ?? this.options.timeoutMs ?? TIMEOUT_MS_DEFAULT
    const timer = setTimeout(() => deadline.abort(), timeoutMs)
    const send = this.options.fetch ?? fetch
    try {
      const response = await send(url, {
        method,
        headers,
        signal: signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal,
      })
      if (response.ok && response.body !== null) return response.body
      throw new MailroomError(response.status, response.headers, await response.text())
    } catch (cause) {
      if (signal?.aborted) throw signal.reason
      if (cause instanceof MailroomError) throw cause
      throw new MailroomConnectionError('The service did not respond.', { cause })
    } finally {
      clearTimeout(timer)
    }
  }

  private async attempt(request: PlainRequest, options: RequestOptions = {}): Promise<Outcome> {
    const { url, isSafe, ...init } = request
    const { signal } = options
    signal?.throwIfAborted()
    const deadline = AbortSignal.timeout(
      options.timeoutMs ?? this.options.timeoutMs ?? defaultTimeoutMs(init.body),
    )
    const send = this.options.fetch ?? fetch
    try {
      const response = await send(url, {
        ...init,
        signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
      })
      const bytes = new Uint8Array(await response.arrayBuffer())
      if (response.ok) return { kind: 'answer', answer: { headers: response.headers, bytes } }
      return refusal(isSafe, response, bytes)
    } catch (cause) {
      if (signal?.aborted) throw signal.reason
      const message = deadline.aborted
        ? 'The service did not respond in time.'
        : 'The service could not be reached, or its response was cut off.'
      return {
        kind: 'failure',
        error: new MailroomConnectionError(message, { cause }),
        // A POST without a response may have taken effect.
        isRepeatable: isSafe,
        retryAfterSeconds: null,
      }
    }
  }

  private requestOf(call: Call): PlainRequest {
    const headers = new Headers({ authorization: `Bearer ${this.apiKey}` })
    const leaseToken = call.options?.leaseToken ?? this.options.leaseToken
    if (leaseToken !== undefined) headers.set('lease-token', leaseToken)
    for (const [name, value] of Object.entries(call.headers ?? {})) {
      if (value !== undefined) headers.set(name, value)
    }
    const [method = '', path = ''] = routes[call.id].split(' ')
    const isSafe = method !== 'POST' || call.isOnce === true
    const plain = { url: this.urlOf(path, call), method, headers, isSafe }
    if (call.content !== undefined) {
      headers.set('content-type', call.content.type)
      return { ...plain, body: call.content.data }
    }
    if (call.body === undefined) return plain
    headers.set('content-type', 'application/json')
    return { ...plain, body: JSON.stringify(call.body) }
  }

  private urlOf(pattern: string, { path = {}, query = {} }: Call): string {
    const filled = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeSegment(path[name] ?? ''),
    )
    const search = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) {
      if (value === undefined) continue
      const fields = Array.isArray(value) || typeof value !== 'object' ? null : value
      for (const [key, one] of Object.entries(fields ?? {})) {
        search.append(`${name}.${key}`, String(one))
      }
      if (fields === null) for (const one of [value].flat()) search.append(name, String(one))
    }
    return `${this.baseUrl}${filled}${search.size > 0 ? `?${search}` : ''}`
  }
}

type PlainRequest = {
  url: string
  method: string
  headers: Headers
  body?: Blob | string | Uint8Array<ArrayBuffer>
  /** Whether the request takes effect only once even if it is sent twice. */
  isSafe: boolean
}

/** Measures strings in UTF-16 units, which is exact for base64, the usual long body. */
function defaultTimeoutMs(body: Blob | { length: number } = { length: 0 }): number {
  const length = body instanceof Blob ? body.size : body.length
  return TIMEOUT_MS_DEFAULT + Math.floor(length / UPLOAD_BYTES_PER_SECOND) * 1000
}

type Outcome =
  | { kind: 'answer'; answer: Answer }
  | {
      kind: 'failure'
      error: MailroomError | MailroomConnectionError
      isRepeatable: boolean
      retryAfterSeconds: number | null
    }

function refusal(isSafe: boolean, response: Response, bytes: Uint8Array): Outcome {
  const { status, headers } = response
  // A request that the service refuses with 429 or 5xx had no effect. A gateway in front of it does
  // not guarantee that; only the service sends X-Request-Id.
  const isRefusal = status === 429 || status === 503
  const isFromService = headers.has('x-request-id')
  const isRepeatable = isRefusal || (status >= 500 && (isSafe || isFromService))
  const error = new MailroomError(status, headers, new TextDecoder().decode(bytes))
  return {
    kind: 'failure',
    error,
    // This 5xx is a result and not repeated: the webhook test ran.
    isRepeatable: isRepeatable && error.code !== 'webhook_failed',
    retryAfterSeconds: readRetryAfter(headers),
  }
}

/** Milliseconds until the next attempt; null if Retry-After is too long. */
function waitBefore(retries: number, retryAfterSeconds: number | null): number | null {
  if (retryAfterSeconds !== null && retryAfterSeconds > RETRY_AFTER_SECONDS_MAX) return null
  return Math.max(backoffMs(retries, BACKOFF_MAX_MS), (retryAfterSeconds ?? 0) * 1000)
}

/** Randomized, so that clients that failed together do not retry together. */
export function backoffMs(failures: number, maxMs: number): number {
  const ceilingMs = Math.min(BACKOFF_START_MS * 2 ** failures, maxMs)
  return ceilingMs / 2 + (Math.random() * ceilingMs) / 2
}

/** Rejects with the signal's reason. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    if (signal?.aborted) stop()
    else signal?.addEventListener('abort', stop, { once: true })
  })
}

/** URL parsers resolve a segment of only dots, even if encoded (WHATWG URL). */
function encodeSegment(text: string): string {
  if (text === '' || text === '.' || text === '..') {
    throw new TypeError(`${JSON.stringify(text)} cannot be part of a path.`)
  }
  return encodeURIComponent(text)
}
