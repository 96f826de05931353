// Sends one API request, with timeouts, and with retries if they are safe.

import {
  MailroomConnectionError,
  MailroomError,
  MailroomTimeoutError,
  readRetryAfter,
} from './error.ts'
import { ResponsePromise } from './response.ts'
import { routes } from './routes.ts'
import { serviceKey, serviceUrl } from './service-url.ts'
import { userAgent } from './user-agent.ts'

export type MailroomOptions = {
  /**
   * The URL of the service, such as `https://mail.example.com`. Default: the environment variable
   * `MAILROOM_BASE_URL`.
   */
  baseUrl?: string | undefined
  /**
   * An account's key, or the operator's token for `admin` and `service.metrics`. Default: the
   * environment variable `MAILROOM_API_KEY`.
   */
  apiKey?: string | undefined
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
  /** Called before each attempt. It may add fields to `headers`, such as `traceparent`. */
  onRequest?: (request: SentRequest) => void
  /** Called after each attempt, even one without a response. */
  onResponse?: (response: ReceivedResponse) => void
}

/** One attempt of a request. */
export type SentRequest = {
  /** The method of the client, such as `inboxes.send`. */
  readonly operation: string
  readonly method: string
  readonly url: string
  /** Without Authorization and Lease-Token, so that they may be logged. */
  readonly headers: Headers
  /** 1 for the first attempt. */
  readonly attempt: number
}

export type ReceivedResponse = Omit<SentRequest, 'headers'> & {
  /** Null if there was no response. */
  readonly status: number | null
  readonly headers: Headers
  readonly requestId: string | null
  readonly durationMs: number
  /** Why there was no response. */
  readonly error?: unknown
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

export type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
}

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
    this.options = options
    this.baseUrl = serviceUrl(options.baseUrl)
    this.apiKey = serviceKey(options.apiKey)
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
      const outcome = await this.attempt(request, retries + 1, call.options)
      if (outcome.kind === 'answer') return outcome.answer
      const waitMs = outcome.isRepeatable ? waitBefore(retries, outcome.retryAfterSeconds) : null
      if (waitMs === null || retries >= maxRetries) throw outcome.error
      await pause(waitMs, call.options?.signal)
    }
  }

  /** Like `send`, with the content as `read` gives it. */
  request<Data>(call: Call, read: (answer: Answer) => Data): ResponsePromise<Data> {
    return new ResponsePromise(
      this.send(call).then((answer) => {
        const { status, headers } = answer
        const requestId = headers.get('x-request-id')
        return { data: read(answer), response: { status, headers, requestId } }
      }),
    )
  }

  /** Like `send`, with the response parsed as JSON. */
  json<Body>(call: Call): ResponsePromise<Body> {
    return this.request<Body>(call, ({ bytes }) => parseJson(bytes))
  }

  /** The body of an endless response. The timeout applies to its beginning; never retried. */
  async stream({ options = {}, ...call }: Call): Promise<ReadableStream<Uint8Array>> {
    const request = this.requestOf(call)
    const { url, method } = request
    const { signal } = options
    signal?.throwIfAborted()
    const headers = this.headersOf(request, 1)
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
      if (deadline.signal.aborted) {
        throw new MailroomTimeoutError(`The service did not respond within ${timeoutMs} ms.`, {
          cause,
        })
      }
      throw new MailroomConnectionError(`The service at ${this.baseUrl} could not be reached.`, {
        cause,
      })
    } finally {
      clearTimeout(timer)
    }
  }

  private async attempt(
    request: PlainRequest,
    attempt: number,
    options: RequestOptions = {},
  ): Promise<Outcome> {
    const { url, isSafe, operation, method, body } = request
    const { signal } = options
    signal?.throwIfAborted()
    const timeoutMs = options.timeoutMs ?? this.options.timeoutMs ?? defaultTimeoutMs(body)
    const headers = this.headersOf(request, attempt)
    const deadline = AbortSignal.timeout(timeoutMs)
    const send = this.options.fetch ?? fetch
    const startMs = performance.now()
    const report = (seen: Pick<ReceivedResponse, 'status' | 'headers' | 'error'>) =>
      this.options.onResponse?.({
        ...{ operation, method, url, attempt, ...seen },
        requestId: seen.headers.get('x-request-id'),
        durationMs: performance.now() - startMs,
      })
    let answer: Answer
    try {
      const response = await send(url, {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
        signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
      })
      const bytes = new Uint8Array(await response.arrayBuffer())
      answer = { status: response.status, headers: response.headers, bytes }
    } catch (cause) {
      report({ status: null, headers: new Headers(), error: cause })
      if (signal?.aborted) throw signal.reason
      return {
        kind: 'failure',
        error: deadline.aborted
          ? new MailroomTimeoutError(`The service did not respond within ${timeoutMs} ms.`, {
              cause,
            })
          : new MailroomConnectionError(
              `The service at ${this.baseUrl} could not be reached, or its response was cut off.`,
              { cause },
            ),
        // A POST without a response may have taken effect.
        isRepeatable: isSafe,
        retryAfterSeconds: null,
      }
    }
    report(answer)
    const isGood = answer.status >= 200 && answer.status < 300
    return isGood ? { kind: 'answer', answer } : refusal(isSafe, answer)
  }

  /** The secret fields are added after `onRequest`, so that it cannot log them. */
  private headersOf(request: PlainRequest, attempt: number): Headers {
    const { operation, method, url, leaseToken } = request
    const headers = new Headers(request.headers)
    this.options.onRequest?.({ operation, method, url, headers, attempt })
    headers.set('authorization', `Bearer ${this.apiKey}`)
    if (leaseToken !== undefined) headers.set('lease-token', leaseToken)
    return headers
  }

  private requestOf(call: Call): PlainRequest {
    const headers = new Headers()
    const agent = userAgent()
    if (agent !== null) headers.set('user-agent', agent)
    const leaseToken = call.options?.leaseToken ?? this.options.leaseToken
    for (const [name, value] of Object.entries(call.headers ?? {})) {
      if (value !== undefined) headers.set(name, value)
    }
    const [method = '', path = ''] = routes[call.id].split(' ')
    const isSafe = method !== 'POST' || call.isOnce === true
    const url = this.urlOf(path, call)
    const plain = { operation: call.id, url, method, headers, leaseToken, isSafe }
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
  operation: string
  url: string
  method: string
  headers: Headers
  leaseToken: string | undefined
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

export function parseJson<Body>(bytes: Uint8Array): Body {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch (cause) {
    throw new MailroomConnectionError('The response is not JSON.', { cause })
  }
}

function refusal(isSafe: boolean, { status, headers, bytes }: Answer): Outcome {
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
