// A GET request for a URL that a stranger chose. Sends no cookie or referrer.

import type { Agent, Dispatcher } from 'undici'
import {
  ConnectError,
  type ConnectFault,
  type GuardedConnectOptions,
  GuardedConnector,
} from './guarded-connect.ts'

type HttpGetOutcome =
  | {
      readonly kind: 'answered'
      readonly content: Uint8Array
      /** The field Cache-Control; empty if there is none. */
      readonly cacheControl: string
    }
  | { readonly kind: 'failed'; readonly error: GetFault }

/** `status`: not 200. `redirect`: too many redirects, or one to a URL that is not HTTP. */
type GetFault = ConnectFault | 'status' | 'redirect' | 'too_large' | 'protocol_error' | 'cut'

/** Accepts http and https URLs. Never rejects. */
export type HttpGet = (url: string) => Promise<HttpGetOutcome>

export type HttpGetter = {
  get: HttpGet
  /** Aborts pending requests; later ones end as `cut`. */
  close(): Promise<void>
}

type HttpGetterOptions = Pick<
  GuardedConnectOptions,
  'resolver' | 'allowPrivate' | 'ownNames' | 'ca'
> & {
  readonly headers: Readonly<Record<string, string>>
  readonly bytesMax: number
  readonly redirectsMax: number
  /** Time limit for the complete request, including redirects. */
  readonly totalMs: number
}

/** Loads undici on the first request, and never reuses a connection. */
export function openHttpGetter(options: HttpGetterOptions): HttpGetter {
  const connector = new GuardedConnector({ ...options, connectMs: options.totalMs })
  const closing = new AbortController()
  let agent: Promise<Agent> | null = null
  return {
    async get(url) {
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(options.totalMs)])
      try {
        signal.throwIfAborted()
        agent ??= openAgent(connector, options.totalMs)
        return await follow(await agent, { url, signal, options })
      } catch (error) {
        if (closing.signal.aborted) return failed('cut')
        return failed(signal.aborted ? 'timeout' : faultOf(error))
      }
    },
    async close() {
      closing.abort()
      connector.destroy()
      await (await agent)?.destroy()
    },
  }
}

async function openAgent(connector: GuardedConnector, totalMs: number): Promise<Agent> {
  const { Agent } = await import('undici')
  return new Agent({
    connect: (target, done) => connector.connect(target, done),
    allowH2: false,
    pipelining: 0,
    headersTimeout: totalMs,
    bodyTimeout: totalMs,
  })
}

/** Every redirect is checked like the first URL. */
async function follow(
  agent: Agent,
  { url: first, signal, options }: { url: string; signal: AbortSignal; options: HttpGetterOptions },
): Promise<HttpGetOutcome> {
  let url = first
  for (let step = 0; step <= options.redirectsMax; step += 1) {
    const target = readTarget(url, options.allowPrivate)
    if (target === null) return failed(step === 0 ? 'forbidden_address' : 'redirect')
    const answer = await agent.request({
      origin: target.origin,
      path: target.pathname + target.search,
      method: 'GET',
      headers: { 'accept-encoding': 'identity', ...options.headers },
      signal,
    })
    // A discarded body emits an error, which needs a listener.
    answer.body.on('error', () => {})
    const location = answer.headers.location
    const isRedirect = [301, 302, 303, 307, 308].includes(answer.statusCode)
    if (!isRedirect) return await readContent(answer, options.bytesMax)
    answer.body.destroy()
    if (typeof location !== 'string' || !URL.canParse(location, url)) return failed('redirect')
    url = new URL(location, url).href
  }
  return failed('redirect')
}

/** Null for a URL that strangers may not request. The host's addresses are checked later. */
function readTarget(text: string, allowPrivate: boolean): URL | null {
  if (!URL.canParse(text)) return null
  const url = new URL(text)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null
  if (url.username !== '' || url.password !== '') return null
  return allowPrivate || ['', '80', '443'].includes(url.port) ? url : null
}

async function readContent(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  bytesMax: number,
): Promise<HttpGetOutcome> {
  const isPlain = [undefined, '', 'identity'].includes(String(headers['content-encoding'] ?? ''))
  const isTooLarge = Number(headers['content-length'] ?? 0) > bytesMax
  if (statusCode !== 200 || !isPlain || isTooLarge) {
    body.destroy()
    if (statusCode !== 200) return failed('status')
    return failed(isTooLarge ? 'too_large' : 'protocol_error')
  }
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    length += chunk.length
    // Leaving the loop destroys the body and its connection.
    if (length > bytesMax) return failed('too_large')
  }
  const cacheControl = [headers['cache-control'] ?? []].flat().join(',')
  return { kind: 'answered', content: Buffer.concat(chunks), cacheControl }
}

function failed(error: GetFault): HttpGetOutcome {
  return { kind: 'failed', error }
}

function faultOf(error: unknown): GetFault {
  if (error instanceof ConnectError) return error.fault
  if (error instanceof Error && 'syscall' in error) return 'connection_failed'
  return 'protocol_error'
}
