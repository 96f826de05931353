import {
  type ClientTimeouts,
  type ClientTls,
  type Credentials,
  defaultClientTimeouts,
  type Failure,
  type OutgoingMail,
  type RecipientOutcome,
  type Stage,
} from '@mailroom/smtp/client/outgoing-mail.ts'
import { openSmtpClient, type SmtpClient } from '@mailroom/smtp/client/smtp-client.ts'
import { onAbort } from '#platform/abort.ts'
import { Cache } from '#platform/cache.ts'
import type { Clock } from '#platform/clock.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'

const IDLE_CONNECTIONS_MAX = 200
export const IDLE_CONNECTION_MS_MAX = 5 * SECOND_MS
const TRANSACTIONS_PER_CONNECTION_MAX = 100
/** Connections to one address for all destinations. Further messages wait for a slot. */
const CONNECTIONS_PER_HOST_MAX = 20
/**
 * A message waits this long for a slot; as many messages may wait as there are slots. The time is
 * enough for one connection to end and another to open, but too short for messages to a busy host
 * to use up all attempts.
 */
export const HOST_SLOT_WAIT_MS_MAX = 500
/** The first retry of a message is later than this. */
const SILENT_HOST_MS = 30 * SECOND_MS
const SILENT_HOSTS_MAX = 10_000

/** No message waits longer than this for a reply. */
const ANSWERED_LATELY_MS = defaultClientTimeouts.finalDotMs

export type Endpoint = {
  readonly host: string
  readonly address: string
  readonly port: number
  readonly tls: ClientTls
  readonly implicitTls?: boolean
  readonly credentials?: Credentials | null
}

export type HostCallerOptions = {
  readonly hostname: string
  readonly clock: Clock
  readonly timeouts?: Partial<ClientTimeouts>
  /** PEM certificates to trust instead of the system's authorities. */
  readonly trustedCertificates?: readonly string[]
}

export type WatchedMail = OutgoingMail & {
  /** Called when a host has sent its greeting, even if the message fails later. */
  readonly onAnswer?: (() => void) | undefined
}

export type Crowded = { readonly kind: 'crowded'; readonly text: string }

type Called<Outcome> = {
  readonly host: string
  /** Null without TLS. */
  readonly tls: string | null
  /** Outcomes are in the order of the recipients. */
  readonly outcomes: readonly Outcome[]
}

const GIVEN_UP: Trouble = {
  stage: 'connect',
  failure: { kind: 'network', code: 'aborted', text: 'Attempt cancelled by this service' },
}

const CROWDED: Crowded = {
  kind: 'crowded',
  text: 'Too many messages to this host are in progress',
}

export class HostCaller {
  readonly #options: HostCallerOptions
  readonly #pool = new ConnectionPool()
  readonly #connections = new Semaphore({
    limitPerKey: CONNECTIONS_PER_HOST_MAX,
    waitingPerKeyMax: CONNECTIONS_PER_HOST_MAX,
    waitMsMax: HOST_SLOT_WAIT_MS_MAX,
  })
  /** Hosts to skip for a while. Otherwise every message to a dead host would wait for minutes. */
  readonly #skipped: Cache<Trouble>
  /** After a recent reply, a message that hangs does not show that the host is silent. */
  readonly #answeredAtMs: Cache<number>

  constructor(options: HostCallerOptions) {
    this.#options = options
    const bounds = { entriesMax: SILENT_HOSTS_MAX, now: () => options.clock.monotonic() }
    this.#skipped = new Cache(bounds)
    this.#answeredAtMs = new Cache(bounds)
  }

  /** Tries `endpoints` in order. The result is `crowded` if one had no slot and the rest failed. */
  async carry(
    endpoints: readonly Endpoint[],
    mail: WatchedMail,
    signal: AbortSignal,
  ): Promise<Called<RecipientOutcome | Crowded>> {
    const tried: Tried[] = []
    let crowded: Endpoint | null = null
    const nowMs = this.#options.clock.monotonic()
    // The only endpoint is tried again if it has replied recently.
    const sinceMs = endpoints.length > 1 ? nowMs : nowMs - ANSWERED_LATELY_MS
    for (const endpoint of endpoints) {
      const called = await this.#callWhenFree(endpoint, { mail, signal, sinceMs })
      if (called === 'crowded') {
        crowded ??= endpoint
        continue
      }
      const trouble = findTrouble(called.outcomes, called.tls)
      if (trouble === null || signal.aborted) return called
      tried.push({ called, trouble })
      // Wrong credentials at every address would get the account locked.
      if (isOfCredentials(trouble)) return conclude(tried, mail)
    }
    return crowded === null ? conclude(tried, mail) : alike(crowded, mail, CROWDED)
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  async #callWhenFree(
    endpoint: Endpoint,
    call: Omit<Call, 'leave'>,
  ): Promise<Called<RecipientOutcome> | 'crowded'> {
    const { mail, signal } = call
    const { address } = keyOf(endpoint)
    const release = await this.#connections.acquire({ key: address, signal })
    if (release === 'aborted') return alike(endpoint, mail, { kind: 'unsent', ...GIVEN_UP })
    if (typeof release === 'string') return 'crowded'
    let leaving: Promise<void> = Promise.resolve()
    const leave = (gone: Promise<void>) => {
      leaving = gone
    }
    try {
      return await this.#call(endpoint, { ...call, leave })
    } finally {
      void leaving.then(release)
    }
  }

  async #call(endpoint: Endpoint, call: Call): Promise<Called<RecipientOutcome>> {
    const idle = this.#pool.take(keyOf(endpoint))
    if (idle !== null) {
      call.mail.onAnswer?.()
      const called = await this.#send(endpoint, idle, call)
      const trouble = findTrouble(called.outcomes, called.tls)
      // If an idle connection was closed or lost its state, the host may be healthy; a timeout
      // shows a fault.
      const isSettled = trouble === null || trouble.failure.kind === 'timeout'
      const isFinal = isSettled && !isOutOfSequence(called.outcomes)
      if (isFinal || call.signal.aborted) return called
    }
    const opened = await this.#open(endpoint, call)
    return 'client' in opened
      ? this.#send(endpoint, opened.client, call)
      : alike(endpoint, call.mail, { kind: 'unsent', ...opened })
  }

  async #send(
    endpoint: Endpoint,
    client: SmtpClient,
    call: Call,
  ): Promise<Called<RecipientOutcome>> {
    const { mail, signal, leave } = call
    using _ = onAbort(signal, () => client.destroy())
    try {
      const outcomes = await client.send(mail)
      const trouble = findTrouble(outcomes, client.tls)
      if (trouble?.failure.kind === 'timeout') this.#skip(endpoint, trouble, call)
      if (isOutOfSequence(outcomes)) client.destroy()
      if (outcomes.some(isAnswer)) this.#noteAnswer(endpoint)
      return { host: endpoint.host, tls: client.tls, outcomes }
    } catch (error) {
      client.destroy()
      throw error
    } finally {
      leave(this.#pool.put(keyOf(endpoint), client))
    }
  }

  async #open(endpoint: Endpoint, call: Call): Promise<{ client: SmtpClient } | Trouble> {
    const skipped = this.#skipped.get(silenceKeyOf(endpoint))
    if (skipped !== null) return skipped
    const { address } = keyOf(endpoint)
    await this.#pool.shrink(address, CONNECTIONS_PER_HOST_MAX - this.#connections.held(address))
    const opened = await this.#dial(endpoint, call)
    if ('client' in opened) this.#skipped.delete(silenceKeyOf(endpoint))
    else if (opened.failure.kind === 'timeout' || isOfCredentials(opened)) {
      this.#skip(endpoint, opened, call)
    }
    return opened
  }

  #noteAnswer(endpoint: Endpoint): void {
    const nowMs = this.#options.clock.monotonic()
    this.#answeredAtMs.set(silenceKeyOf(endpoint), nowMs, { ttlMs: 2 * ANSWERED_LATELY_MS })
  }

  #skip(endpoint: Endpoint, why: Trouble, { sinceMs }: Call): void {
    const key = silenceKeyOf(endpoint)
    const answeredAtMs = this.#answeredAtMs.get(key) ?? Number.NEGATIVE_INFINITY
    if (why.failure.kind === 'timeout' && answeredAtMs >= sinceMs) return
    this.#skipped.set(key, why, { ttlMs: SILENT_HOST_MS })
  }

  async #dial(
    endpoint: Endpoint,
    { mail, signal }: Call,
  ): Promise<{ client: SmtpClient } | Trouble> {
    // The connection outlives this message, so it must not depend on this message's signal.
    const opening = new AbortController()
    using _ = onAbort(signal, () => opening.abort())
    const { host: servername, ...target } = endpoint
    const { clock: _clock, ...settings } = this.#options
    const { onAnswer: onGreeting } = mail
    const options = { ...target, ...settings, servername, signal: opening.signal, onGreeting }
    let opened = await openSmtpClient(options)
    const mayBeClear = endpoint.tls.kind === 'opportunistic' && endpoint.implicitTls !== true
    if (opened.kind === 'failed' && mayBeClear && isOfHandshake(opened) && !signal.aborted) {
      opened = await openSmtpClient({ ...options, tls: { kind: 'none' } })
    }
    return opened.kind === 'open'
      ? { client: opened.client }
      : { stage: opened.stage, failure: opened.failure }
  }
}

type Call = {
  readonly mail: WatchedMail
  readonly signal: AbortSignal
  /** A reply after this time outweighs a timeout. */
  readonly sinceMs: number
  /** Receives a promise that resolves when the connection is idle or closed. */
  leave(gone: Promise<void>): void
}

type Tried = { readonly called: Called<RecipientOutcome>; readonly trouble: Trouble }

function conclude(tried: readonly Tried[], mail: OutgoingMail): Called<RecipientOutcome> {
  const last = tried.findLast(({ trouble }) => !isRefusal(trouble)) ?? tried.at(-1)
  if (last === undefined) throw new Error('There was no host to try.')
  const { stage, failure } = last.trouble
  const outcome: RecipientOutcome =
    isRefusal(last.trouble) && failure.kind === 'reply'
      ? { kind: 'refused', stage, reply: failure.reply }
      : { kind: 'unsent', stage, failure }
  return { ...last.called, outcomes: mail.recipients.map(() => outcome) }
}

function isAnswer({ kind }: RecipientOutcome): boolean {
  return kind === 'accepted' || kind === 'refused'
}

function alike<Outcome>({ host }: Endpoint, mail: OutgoingMail, outcome: Outcome): Called<Outcome> {
  return { host, tls: null, outcomes: mail.recipients.map(() => outcome) }
}

/** Destinations with the same host share its connections if they have the same terms. */
function keyOf({ address, port, ...terms }: Endpoint): PoolKey {
  return { address: `${address} ${port}`, terms: JSON.stringify(terms, octetsAsHex) }
}

/** The required TLS is part of the key: a handshake may hang under one requirement only. */
function silenceKeyOf({ address, port, tls }: Endpoint): string {
  return `${address} ${port} ${tls.kind}`
}

function octetsAsHex(_: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}

type Trouble = { readonly stage: Stage; readonly failure: Failure }

const SERVICE_CLOSING = 421
/** RFC 5321 §4.2.3: "Bad sequence of commands". */
const BAD_SEQUENCE = 503
/** RFC 3207 §4: "Must issue a STARTTLS command first"; RFC 4954 §6: "Authentication required". */
const SECURITY_REQUIRED = 530

/**
 * Finds why the host itself carried the message for no recipient: the connection failed, the server
 * is closing, or it requires TLS that failed. Null for other replies, which another host would only
 * repeat, and for an end after the final dot, because the server may have accepted the message.
 */
function findTrouble(outcomes: readonly RecipientOutcome[], tls: string | null): Trouble | null {
  let found: Trouble | null = null
  for (const outcome of outcomes) {
    const trouble = troubleOf(outcome, tls)
    if (trouble === null) return null
    found ??= trouble
  }
  return found
}

function isOutOfSequence(outcomes: readonly RecipientOutcome[]): boolean {
  return outcomes.every(
    (outcome) => outcome.kind === 'refused' && outcome.reply.code === BAD_SEQUENCE,
  )
}

function troubleOf(outcome: RecipientOutcome, tls: string | null): Trouble | null {
  const { kind } = outcome
  if (kind === 'unsent') return { stage: outcome.stage, failure: outcome.failure }
  if (kind !== 'refused') return null
  const { stage, reply } = outcome
  const isOfHost =
    reply.code === SERVICE_CLOSING || (reply.code === SECURITY_REQUIRED && tls === null)
  return isOfHost ? { stage, failure: { kind: 'reply', reply } } : null
}

/**
 * Opportunistic TLS falls back to clear text after a failed handshake (RFC 7435). Under TLS 1.3 a
 * server may abort the handshake after ours is done, and then closes at EHLO.
 */
function isOfHandshake({ stage, failure }: Trouble): boolean {
  return stage === 'starttls' || stage === 'tls' || (stage === 'ehlo' && failure.kind === 'network')
}

function isOfCredentials({ stage, failure }: Trouble): boolean {
  return stage === 'auth' && isPermanent(failure)
}

/** Returns whether the host refuses us. A missing TLS or AUTH extension is no refusal. */
function isRefusal({ stage, failure }: Trouble): boolean {
  return (stage === 'greeting' || stage === 'ehlo') && isPermanent(failure)
}

function isPermanent(failure: Failure): boolean {
  return failure.kind === 'reply' && failure.reply.code >= 500 && failure.reply.code <= 599
}

type PoolKey = {
  readonly address: string
  /** Messages share a connection only if all other properties are equal. */
  readonly terms: string
}

type Idle = { readonly key: PoolKey; readonly client: SmtpClient; readonly timer: NodeJS.Timeout }

class ConnectionPool {
  /** The longest idle connection comes first. */
  readonly #byAddress = new Map<string, Idle[]>()
  readonly #all = new Set<Idle>()
  #isClosed = false

  /** Returns the usable connection that was used last, or null. The caller then owns it. */
  take({ address, terms }: PoolKey): SmtpClient | null {
    for (const idle of (this.#byAddress.get(address) ?? []).toReversed()) {
      if (idle.key.terms !== terms) continue
      this.#forget(idle)
      if (idle.client.isUsable()) return idle.client
      idle.client.destroy()
    }
    return null
  }

  /** Keeps a usable connection for a while, and ends any other with QUIT. Never rejects. */
  async put(key: PoolKey, client: SmtpClient): Promise<void> {
    if (!client.isUsable()) return client.destroy()
    if (this.#isClosed || client.transactions >= TRANSACTIONS_PER_CONNECTION_MAX) {
      return client.quit()
    }
    const timer = setTimeout(() => void this.#end(idle), IDLE_CONNECTION_MS_MAX)
    timer.unref()
    const idle: Idle = { key, client, timer }
    const beside = this.#byAddress.get(key.address)
    if (beside === undefined) this.#byAddress.set(key.address, [idle])
    else beside.push(idle)
    this.#all.add(idle)
    const [oldest] = this.#all
    if (this.#all.size > IDLE_CONNECTIONS_MAX && oldest !== undefined) void this.#end(oldest)
  }

  async shrink(address: string, count: number): Promise<void> {
    const idle = this.#byAddress.get(address) ?? []
    await Promise.all(idle.slice(0, Math.max(0, idle.length - count)).map((one) => this.#end(one)))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#all].map((idle) => this.#end(idle)))
  }

  #end(idle: Idle): Promise<void> {
    this.#forget(idle)
    return idle.client.quit()
  }

  #forget(idle: Idle): void {
    clearTimeout(idle.timer)
    this.#all.delete(idle)
    const { address } = idle.key
    const beside = (this.#byAddress.get(address) ?? []).filter((one) => one !== idle)
    if (beside.length === 0) this.#byAddress.delete(address)
    else this.#byAddress.set(address, beside)
  }
}
