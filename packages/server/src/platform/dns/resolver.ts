// A stub resolver that queries the configured servers until one answers. It is our own because mail needs
// TTLs of every type, the DNSSEC verdict, and a definite no that differs from a fault. It reads no hosts file
// and adds no search domain.

import { getServers } from 'node:dns'
import { onAbort } from '#platform/abort.ts'
import { type Chance, systemChance } from '#platform/chance.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Answer, MxRecord, Question, QuestionType, RecordOf, TlsaRecord } from './answer.ts'
import { readAnswer } from './answer.ts'
import {
  isLoopbackServer,
  parseServerAddress,
  queryServer,
  type ServerAddress,
  type ServerReply,
} from './query-server.ts'

/** Half of the longest time of a lookup, over all tries and servers. */
const DNS_TRY_MS_MAX = 5 * SECOND_MS
/** Concurrent questions, each with a socket per try (up to five); further questions wait. */
export const DNS_QUERIES_AT_ONCE = 256
/** Concurrent questions about one registered domain, whose servers may all be down. */
export const DNS_QUERIES_OF_DOMAIN = 32

export type { Answer, MxRecord, TlsaRecord } from './answer.ts'

export type QuestionOptions = {
  /** Aborts the question, which then ends with a fault. A cache may ignore it. */
  readonly signal?: AbortSignal
  /** Sent at once, before all questions that wait. */
  readonly isUrgent?: boolean
  /** Called when the question is sent, before there is an answer. */
  onSent?(): void
}

/**
 * Names are absolute with or without a dot at the end. A text that cannot be a name counts as a missing name.
 */
export type Resolver = {
  /** In the server's order. The exchange of a null MX (RFC 7505) is `.`. */
  mx(name: string, options?: QuestionOptions): Promise<Answer<MxRecord>>
  a(name: string, options?: QuestionOptions): Promise<Answer<string>>
  aaaa(name: string, options?: QuestionOptions): Promise<Answer<string>>
  /** The strings of a record joined (as RFC 7208 §3.3 does). */
  txt(name: string, options?: QuestionOptions): Promise<Answer<string>>
  tlsa(name: string, options?: QuestionOptions): Promise<Answer<TlsaRecord>>
  /** For a name under in-addr.arpa or ip6.arpa. */
  ptr(name: string, options?: QuestionOptions): Promise<Answer<string>>
  /** Ends questions under way with a fault; later questions are faults too. */
  close(): void
}

export type ResolverOptions = {
  /** `ip`, `ip:port` or `[v6]:port`; empty for the system's present servers. */
  readonly servers: readonly string[]
  /** A lookup takes at most twice as long, over all its tries and servers. */
  readonly timeoutMs?: number
  /**
   * The servers whose DNSSEC verdict is trusted. `loopback`, the default: servers on this machine (except
   * Docker's forwarder), because nobody can interfere on the way. `all`: the operator vouches for every
   * server and its network.
   */
  readonly trusts?: 'loopback' | 'all' | 'none'
  readonly chance?: Chance
}

/** Throws when a server's address cannot be read. */
export function openResolver(options: ResolverOptions): Resolver {
  const servers = new ServerList(options)
  const open =
    <Type extends QuestionType>(type: Type) =>
    (name: string, options: QuestionOptions = {}) =>
      servers.ask({ name: questionName(name), type }, options)
  return {
    mx: open('MX'),
    a: open('A'),
    aaaa: open('AAAA'),
    txt: open('TXT'),
    tlsa: open('TLSA'),
    ptr: open('PTR'),
    close: () => servers.close(),
  }
}

/**
 * The form of a name in questions and caches: lower case, no dot at the end. The caller converts U-labels
 * first.
 */
export function questionName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

/** Whether the name, in the form of `questionName`, can be queried. */
export function isQuestionName(name: string): boolean {
  return NAME.test(name)
}

/** RFC 1035 §2.3.4, with any printable ASCII: names in DNS need not be host names. */
const NAME = /^(?=.{1,253}$)[!-\-/-~]{1,63}(?:\.[!-\-/-~]{1,63})*$/

const NOTHING_TO_RELEASE = () => {}

class ServerList {
  readonly #servers: readonly ServerAddress[]
  readonly #wholeMs: number
  readonly #trusts: 'loopback' | 'all' | 'none'
  readonly #chance: Chance
  readonly #closing = new AbortController()
  /** Limits each domain, because senders of mail choose names whose servers may be down. */
  readonly #semaphore = new Semaphore({
    limit: DNS_QUERIES_AT_ONCE,
    limitPerKey: DNS_QUERIES_OF_DOMAIN,
  })
  /** The server that answered last is queried first, so that a dead one delays one lookup only. */
  #firstServer = 0

  constructor(options: ResolverOptions) {
    this.#servers = readServers(options.servers)
    this.#wholeMs = 2 * (options.timeoutMs ?? DNS_TRY_MS_MAX)
    this.#trusts = options.trusts ?? 'loopback'
    this.#chance = options.chance ?? systemChance
  }

  close(): void {
    this.#closing.abort()
  }

  async ask<Type extends QuestionType>(
    question: Question<Type>,
    { signal, isUrgent = false, onSent }: QuestionOptions,
  ): Promise<Answer<RecordOf[Type]>> {
    if (!isQuestionName(question.name)) return { kind: 'none', isNameMissing: true, ttlMs: 0 }
    const ending = new AbortController()
    const end = () => ending.abort()
    using _caller = onAbort(signal, end)
    using _closing = onAbort(this.#closing.signal, end)
    const release = isUrgent
      ? NOTHING_TO_RELEASE
      : await this.#semaphore.acquire({
          key: registeredDomain(question.name),
          signal: ending.signal,
        })
    if (typeof release === 'string') return this.#abortedFault(question)
    try {
      onSent?.()
      return await this.#lookUp(question, ending.signal)
    } finally {
      release()
    }
  }

  #abortedFault({ type, name }: Question): Extract<Answer<never>, { kind: 'fault' }> {
    if (this.#closing.signal.aborted) return { kind: 'fault', text: 'the resolver is closed' }
    return { kind: 'fault', text: `${type} of ${name}: the question was given up` }
  }

  async #lookUp<Type extends QuestionType>(
    question: Question<Type>,
    signal: AbortSignal,
  ): Promise<Answer<RecordOf[Type]>> {
    const outcome = await lookUp(question, {
      servers: this.#servers,
      firstServer: this.#firstServer,
      wholeMs: this.#wholeMs,
      chance: this.#chance,
      signal,
      isTrusted: (server) => this.#isTrusted(server),
    })
    if (outcome.kind === 'answer') {
      this.#firstServer = outcome.by
      return outcome.answer
    }
    if (signal.aborted) return this.#abortedFault(question)
    const about = `${question.type} of ${question.name}: `
    if (outcome.kind === 'fault') return { kind: 'fault', text: about + outcome.text }
    return { kind: 'fault', text: `${about}no DNS server answered in time`, isTimeout: true }
  }

  #isTrusted(server: ServerAddress): boolean {
    if (this.#trusts === 'loopback') return isLoopbackServer(server)
    return this.#trusts === 'all'
  }
}

function readServers(written: readonly string[]): ServerAddress[] {
  const texts = written.length === 0 ? getServers() : written
  const servers = texts.map((text) => {
    const server = parseServerAddress(text)
    if (server === null) throw new Error(`${text} is not the address of a DNS server`)
    return server
  })
  return servers.length === 0 ? [{ address: '127.0.0.1', port: 53 }] : servers
}

/** Common second-level domains of country registries. */
const SECOND_LEVELS = new Set(
  'ac co com edu gen go gob gouv gov ltd me mil ne net nom or org plc sch'.split(' '),
)

/** The registered domain, approximately: the full public suffix list is not worth its size here. */
function registeredDomain(name: string): string {
  const labels = name.split('.')
  const [second = '', top = ''] = labels.slice(-2)
  if (top === 'arpa') return labels.slice(-4).join('.')
  const isRegistry = top.length === 2 && SECOND_LEVELS.has(second)
  return labels.slice(isRegistry ? -3 : -2).join('.')
}

/** Time until the next try. It doubles with each round of the servers. */
const DNS_FIRST_TRY_MS = 400

type LookupOptions = {
  readonly servers: readonly ServerAddress[]
  /** The index of the server to query first. */
  readonly firstServer: number
  /** The time for all tries together. */
  readonly wholeMs: number
  readonly chance: Chance
  readonly signal: AbortSignal
  isTrusted(server: ServerAddress): boolean
}

type Outcome<Record> =
  | {
      readonly kind: 'answer'
      readonly answer: Exclude<Answer<Record>, { kind: 'fault' }>
      /** The index of the server that answered. */
      readonly by: number
    }
  | { readonly kind: 'fault'; readonly text: string }
  | { readonly kind: 'timeout' }

/**
 * Tries servers in order, and again after growing times: a lost packet is soon repeated, and a slow server
 * may still answer. The first answer to any try counts. Never rejects. When every server has faults the
 * result is the last one's.
 */
function lookUp<Type extends QuestionType>(
  question: Question<Type>,
  options: LookupOptions,
): Promise<Outcome<RecordOf[Type]>> {
  return new Promise((resolve) => new Lookup(question, options, resolve).begin())
}

class Lookup<Type extends QuestionType> {
  readonly #question: Question<Type>
  readonly #options: LookupOptions
  readonly #resolve: (outcome: Outcome<RecordOf[Type]>) => void
  /** Servers whose fault would repeat. */
  readonly #faulty = new Set<number>()
  readonly #ending = new AbortController()
  readonly #timers: NodeJS.Timeout[] = []
  #trying: NodeJS.Timeout | undefined
  #next: number
  #current = 0
  #attempts = 0
  #isHalfOver = false
  #fault: string | null = null

  constructor(
    question: Question<Type>,
    options: LookupOptions,
    resolve: (outcome: Outcome<RecordOf[Type]>) => void,
  ) {
    this.#question = question
    this.#options = options
    this.#resolve = resolve
    this.#next = options.firstServer
  }

  begin(): void {
    const { signal, wholeMs } = this.#options
    if (signal.aborted) {
      this.#giveUp()
      return
    }
    signal.addEventListener('abort', this.#giveUp)
    this.#timers.push(
      setTimeout(this.#giveUp, wholeMs),
      setTimeout(() => {
        this.#isHalfOver = true
        if (this.#fault !== null) this.#giveUp()
      }, wholeMs / 2),
    )
    this.#ask()
  }

  #ask(): void {
    const { servers, wholeMs, chance } = this.#options
    clearTimeout(this.#trying)
    const index = this.#nextIndex()
    const server = index === null ? undefined : servers[index]
    if (index === null || server === undefined) {
      this.#giveUp()
      return
    }
    this.#current = index
    const round = Math.floor(this.#attempts / servers.length)
    this.#attempts += 1
    // The first round ends within half of the time.
    const firstMs = Math.min(DNS_FIRST_TRY_MS, wholeMs / Math.max(4, 2 * servers.length))
    this.#trying = setTimeout(() => this.#ask(), firstMs * 2 ** round)
    void queryServer(server, this.#question, {
      chance,
      timeoutMs: wholeMs,
      signal: this.#ending.signal,
    }).then((reply) => this.#onReply(reply, index))
  }

  #nextIndex(): number | null {
    const { length } = this.#options.servers
    for (let step = 0; step < length; step++) {
      const index = (this.#next + step) % length
      if (this.#faulty.has(index)) continue
      this.#next = (index + 1) % length
      return index
    }
    return null
  }

  #onReply(reply: ServerReply, index: number): void {
    const server = this.#options.servers[index]
    if (this.#ending.signal.aborted || reply.kind === 'timeout' || server === undefined) return
    if (reply.kind === 'packet') {
      const isTrusted = this.#options.isTrusted(server)
      const answer = readAnswer(reply.packet, this.#question, isTrusted)
      if (answer.kind !== 'fault') {
        this.#finish({ kind: 'answer', answer, by: index })
        return
      }
      this.#fault = answer.text
    } else {
      this.#fault = reply.text
    }
    this.#faulty.add(index)
    // After one server has replied, the others get half of the time at most.
    if (this.#isHalfOver) this.#giveUp()
    else if (index === this.#current) this.#ask()
  }

  readonly #giveUp = () => {
    const text = this.#fault
    this.#finish(text === null ? { kind: 'timeout' } : { kind: 'fault', text })
  }

  #finish(outcome: Outcome<RecordOf[Type]>): void {
    for (const timer of [...this.#timers, this.#trying]) clearTimeout(timer)
    this.#options.signal.removeEventListener('abort', this.#giveUp)
    this.#ending.abort()
    this.#resolve(outcome)
  }
}
