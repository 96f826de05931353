// The far end of outgoing mail: a mail server that notes octets and moment of every message and answers as slowly as a
// test wants, and the DNS server that leads to it.

import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Mta,
  type MtaAnswer,
  type MtaMessage,
  openMta,
} from '@mailroom/smtp/test/peers/mta.ts'
import { type Dns, openDns, type Zone } from '#test/peers/dns.ts'
import { WIDE_LIMITS } from '#test/world.ts'

/** One accepted message for one of its recipients. */
export type Copy = {
  readonly messageId: string
  readonly recipient: string
  /** Hash of the octets as they came. */
  readonly sha256: string
  /** Moment of its final dot. */
  readonly atMs: number
  readonly connection: number
}

type SinkAnswer = MtaAnswer | undefined | Promise<MtaAnswer | undefined>

/** Deviations from an immediate 250 to everything. */
export type SinkScript = {
  onRcpt?: (recipient: string) => SinkAnswer
  /** The answer to a message, which is noted whatever the answer. */
  onFinalDot?: (message: MtaMessage) => SinkAnswer
  /** Delay of an answer to RCPT, in milliseconds. */
  rcptMs?: () => number
  /** An answer to a final dot waits for it. */
  finalDot?: () => Promise<void>
}

const POLL_MS = 10

const DOMAINS = ['one.example', 'two.example', 'three.example', 'four.example']

export class Sink {
  /** In the order of their arrival. */
  readonly copies: Copy[] = []
  /** Moments at which a transaction began. */
  readonly begunAtMs: number[] = []
  /** Recipients with the moments of their RCPT. */
  readonly named: { recipient: string; atMs: number }[] = []
  script: SinkScript
  readonly domains: readonly string[]
  /** The connections of `begunAtMs`. */
  readonly #begunBy: number[] = []
  readonly #copiesOf = new Map<string, Copy[]>()
  #gate: PromiseWithResolvers<void> | null = null
  #isClosed = false
  readonly #peers: { mta: Mta; dns: Dns }

  private constructor(
    peers: { mta: Mta; dns: Dns },
    script: SinkScript,
    domains: readonly string[],
  ) {
    this.#peers = peers
    this.script = script
    this.domains = domains
  }

  /** Accepts mail for its domains, four unless given. */
  static async open(script: SinkScript = {}, domains: readonly string[] = DOMAINS): Promise<Sink> {
    const [mta, dns] = await Promise.all([openMta(), openDns(zoneOf(domains))])
    const sink = new Sink({ mta, dns }, script, domains)
    mta.script = {
      onMail: (_, connection) => sink.#begin(connection),
      onRcpt: (recipient) => sink.#name(recipient),
      onFinalDot: (message) => sink.#take(message),
    }
    return sink
  }

  /** Settings of a service that sends here, with limits out of the way. */
  get environment(): Record<string, string> {
    const { mta, dns } = this.#peers
    return {
      MAILROOM_DELIVERY: 'direct',
      MAILROOM_DNS_SERVERS: dns.server,
      MAILROOM_MX_PORT: String(mta.port),
      MAILROOM_ALLOW_PRIVATE_EGRESS: 'true',
      ...WIDE_LIMITS,
    }
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#peers.mta.connections.open
  }

  /** All copies of a message for one recipient. */
  copiesOf(messageId: string, recipient: string): readonly Copy[] {
    return this.#copiesOf.get(`${messageId} ${recipient}`) ?? []
  }

  /** Messages and recipients that arrived at least once. */
  get arrived(): number {
    return this.#copiesOf.size
  }

  /** The names of clients that have begun a transaction from this many of all on. */
  namesFrom(begun: number): Set<string> {
    const names = this.#namesOfConnections()
    return new Set(this.#begunBy.slice(begun).map((connection) => names.get(connection) ?? ''))
  }

  /** Number of copies from the clients of each name. */
  countBySender(): Record<string, number> {
    const names = this.#namesOfConnections()
    const counts: Record<string, number> = {}
    for (const { connection } of this.copies) {
      const name = names.get(connection) ?? ''
      counts[name] = (counts[name] ?? 0) + 1
    }
    return counts
  }

  /** Lets transactions wait at their first command until `release`. */
  hold(): void {
    this.#gate ??= Promise.withResolvers<void>()
  }

  release(): void {
    this.#gate?.resolve()
    this.#gate = null
  }

  /** Waits until `isSo`; throws after `withinMs`, with figures. */
  async until(isSo: () => boolean, withinMs: number): Promise<void> {
    const endMs = performance.now() + withinMs
    while (!isSo()) {
      if (performance.now() > endMs) {
        throw new Error(`Timed out: ${this.arrived} arrived, ${this.open} connections are open.`)
      }
      await sleep(POLL_MS)
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.release()
    await Promise.all([this.#peers.mta.close(), this.#peers.dns.close()])
  }

  #namesOfConnections(): Map<number, string> {
    const names = new Map<number, string>()
    for (const { line, connection } of this.#peers.mta.commands) {
      const name = /^EHLO (.*)/i.exec(line)?.[1]
      if (name !== undefined) names.set(connection, name)
    }
    return names
  }

  async #begin(connection: number): Promise<undefined> {
    this.begunAtMs.push(performance.now())
    this.#begunBy.push(connection)
    await this.#gate?.promise
  }

  async #name(recipient: string): Promise<MtaAnswer | undefined> {
    this.named.push({ recipient, atMs: performance.now() })
    const answer = await this.script.onRcpt?.(recipient)
    if (answer !== undefined) return answer
    const delayMs = this.script.rcptMs?.() ?? 0
    return delayMs === 0 ? undefined : { delayMs, next: '250 2.1.5 Ok' }
  }

  async #take(message: MtaMessage): Promise<MtaAnswer> {
    const [, messageId = ''] =
      /^Message-ID: *(<[^>]*>)/im.exec(message.raw.toString('latin1')) ?? []
    const sha256 = hash('sha256', message.raw, 'hex')
    for (const recipient of message.recipients) {
      const { connection } = message
      const copy = { messageId, recipient, sha256, connection, atMs: performance.now() }
      this.copies.push(copy)
      const key = `${messageId} ${recipient}`
      this.#copiesOf.set(key, [...(this.#copiesOf.get(key) ?? []), copy])
    }
    const answer = await this.script.onFinalDot?.(message)
    if (answer !== undefined) return answer
    await this.script.finalDot?.()
    return '250 2.0.0 Ok: queued'
  }
}

function zoneOf(domains: readonly string[]): Zone {
  return Object.fromEntries(
    domains.flatMap((domain) => [
      [domain, { MX: [{ exchange: `mx.${domain}`, preference: 10 }] }],
      [`mx.${domain}`, { A: ['127.0.0.1'] }],
    ]),
  )
}
