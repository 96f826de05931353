// HTTP for the S3 client, with limits of time, size and connections.

import type { Agent } from 'undici'
import { onAbort } from '#platform/abort.ts'
import { systemClock } from '#platform/clock.ts'
import { SECOND_MS } from '#platform/units.ts'

export type S3Location = {
  /** An http or https URL without a trailing slash. The bucket is the first part of the path. */
  readonly endpoint: string
  readonly region: string
  readonly bucket: string
  /** A prefix for each name, without leading or trailing slash; '' for none. */
  readonly prefix: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

const S3_CONNECT_MS_MAX = 5 * SECOND_MS
/** Maximum connections of one process; further requests wait. */
export const S3_CONNECTIONS_MAX = 32
/** No stored message is larger than MESSAGE_BYTES_MAX. */
export const S3_ANSWER_BYTES_MAX = 64 * 1024 * 1024

type S3Transport = {
  /** Rejects if no complete answer arrives in time. */
  readonly fetch: (input: unknown, init?: RequestInit) => Promise<Response>
  /** The server's time, from its last answer; null before the first answer. */
  serverNowMs(): number | null
  readonly closing: AbortSignal
  close(): Promise<void>
}

export class S3Answer extends Response {
  readonly content: Buffer
  override readonly text = () => Promise.resolve(this.content.toString())

  constructor(content: Buffer, { status, headers }: { status: number; headers: Headers }) {
    super(null, { status, headers })
    this.content = content
  }
}

export async function openS3Transport({ requestMs }: { requestMs: number }): Promise<S3Transport> {
  const { Agent } = await import('undici')
  const agent = new Agent({
    connections: S3_CONNECTIONS_MAX,
    allowH2: false,
    connect: { timeout: S3_CONNECT_MS_MAX },
    // Each request has its own timer, which a server cannot extend octet by octet.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  const closing = new AbortController()
  let serverAheadMs: number | null = null
  return {
    async fetch(input, init = {}) {
      const ending = new AbortController()
      using _ = onAbort(closing.signal, () => ending.abort(new Error('The S3 store was closed.')))
      // A destroyed agent would give a less clear error.
      ending.signal.throwIfAborted()
      const late = () => ending.abort(new Error(`No whole answer came within ${requestMs} ms.`))
      const timer = setTimeout(late, requestMs)
      try {
        const answer = await request(agent, { url: new URL(String(input)), init }, ending.signal)
        const serverMs = Date.parse(answer.headers.get('date') ?? '')
        // An error may come from a proxy, whose clock may differ.
        if (answer.ok && !Number.isNaN(serverMs)) serverAheadMs = serverMs - systemClock.monotonic()
        return answer
      } finally {
        clearTimeout(timer)
      }
    },
    serverNowMs: () => (serverAheadMs === null ? null : serverAheadMs + systemClock.monotonic()),
    closing: closing.signal,
    async close() {
      closing.abort()
      await agent.destroy()
    },
  }
}

async function request(
  agent: Agent,
  { url, init }: { url: URL; init: RequestInit },
  signal: AbortSignal,
): Promise<S3Answer> {
  const answer = await agent.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method: methodOf(init),
    headers: Object.fromEntries(new Headers(init.headers)),
    body: bodyOf(init.body),
    signal,
  })
  try {
    const length = Number(answer.headers['content-length'] ?? 0)
    const headers = new Headers()
    for (const [name, value] of Object.entries(answer.headers)) {
      if (typeof value === 'string') headers.set(name, value)
    }
    const content = await readWhole(answer.body, length)
    return new S3Answer(content, { status: answer.statusCode, headers })
  } catch (error) {
    // An unread answer would hold its connection forever.
    answer.body.on('error', () => {}).destroy()
    throw error
  }
}

const METHODS = ['GET', 'PUT', 'POST', 'DELETE', 'HEAD'] as const

function methodOf({ method }: RequestInit): (typeof METHODS)[number] {
  const known = METHODS.find((one) => one === (method ?? 'GET'))
  if (known === undefined) throw new Error(`S3 has no ${method}.`)
  return known
}

function bodyOf(body: RequestInit['body']): Uint8Array | string | null {
  if (body === undefined || body === null || typeof body === 'string') return body ?? null
  if (body instanceof Uint8Array) return body
  throw new Error('Only octets and text are sent to S3.')
}

/** `length` is the announced size, for which memory is allocated once. */
async function readWhole(body: AsyncIterable<Buffer>, length: number): Promise<Buffer> {
  const tooLarge = new Error(`The answer is larger than ${S3_ANSWER_BYTES_MAX} octets.`)
  if (length > S3_ANSWER_BYTES_MAX) throw tooLarge
  let content = Buffer.allocUnsafe(length)
  let readBytes = 0
  for await (const chunk of body) {
    const neededBytes = readBytes + chunk.length
    if (neededBytes > S3_ANSWER_BYTES_MAX) throw tooLarge
    if (neededBytes > content.length) {
      const larger = Buffer.allocUnsafe(Math.max(neededBytes, 2 * content.length))
      content.copy(larger, 0, 0, readBytes)
      content = larger
    }
    chunk.copy(content, readBytes)
    readBytes = neededBytes
  }
  return readBytes === content.length ? content : content.subarray(0, readBytes)
}
