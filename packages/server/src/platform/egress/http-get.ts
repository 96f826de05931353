// One GET of a URL that a stranger chose, and what came of it: the content whole, or why there was none.
// Says nothing of who asks for it: no cookie, no referrer, nothing of an earlier answer.

import type { Agent, Dispatcher } from 'undici'
import type { Resolver } from '#platform/dns/resolver.ts'
import { ConnectError, type ConnectFault, GuardedConnector } from './guarded-connect.ts'

type HttpGetOutcome =
  | { readonly kind: 'answered'; readonly content: Uint8Array }
  | { readonly kind: 'failed'; readonly error: GetFault }

/** `status`: an answer that is no 200; `redirect`: one too many, or to what is not HTTP. */
type GetFault = ConnectFault | 'status' | 'redirect' | 'too_large' | 'protocol_error' | 'cut'

/** Of an http or https URL. Never rejects. */
export type HttpGet = (url: string) => Promise<HttpGetOutcome>

export type HttpGetter = {
  get: HttpGet
  /** Cuts what is under way; later ones are cut at once. */
  close(): Promise<void>
}

type HttpGetterOptions = {
  readonly resolver: Pick<Resolver, 'a' | 'aaaa'>
  /** Special addresses, and ports other than 80 and 443, may be reached. */
  readonly allowPrivate: boolean
  /** Names that this service is known by, which are not to be reached either. */
  readonly ownNames?: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  /** Octets of an answer past which it is given up. */
  readonly bytesMax: number
  readonly redirectsMax: number
  /** Of all of it, with its redirections, in milliseconds. */
  readonly totalMs: number
  /** Certificates to trust instead of the platform's, as PEM. */
  readonly ca?: string
}

/** Costs nothing before the first request; no connection is used twice. */
export function openHttpGetter(options: HttpGetterOptions): HttpGetter {
  const connector = new GuardedConnector({ ...options, connectMs: options.totalMs, ca: options.ca })
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

type Following = {
  readonly url: string
  readonly signal: AbortSignal
  readonly options: HttpGetterOptions
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

/** Each step is looked at as the first one is: nothing that a redirection names is taken on trust. */
async function follow(agent: Agent, following: Following): Promise<HttpGetOutcome> {
  const { signal, options } = following
  let url = following.url
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
    // A body that is given up says so as an error, which nobody else may be there to hear.
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

/** Null for a URL that strangers may not have us ask. What its name leads to is looked at later. */
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
    // Leaving the loop destroys the body, and with it the connection.
    if (length > bytesMax) return failed('too_large')
  }
  return { kind: 'answered', content: Buffer.concat(chunks) }
}

function failed(error: GetFault): HttpGetOutcome {
  return { kind: 'failed', error }
}

function faultOf(error: unknown): GetFault {
  if (error instanceof ConnectError) return error.fault
  if (error instanceof Error && 'syscall' in error) return 'connection_failed'
  return 'protocol_error'
}
