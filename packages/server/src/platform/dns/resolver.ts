// A stub resolver: asks configured servers in turn until one has an answer. Our own because mail
// needs what the platform's leaves out: TTLs of every type, DNSSEC's verdict, and a no that is
// told from a fault. Never reads a hosts file, never adds a search domain.

import { getServers } from 'node:dns'
import { onAbort } from '#platform/abort.ts'
import { type Chance, systemChance } from '#platform/chance.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Answer, MxRecord, Question, QuestionType, RecordOf, TlsaRecord } from './answer.ts'
import { readAnswer } from './answer.ts'
import {
  askServer,
  isLoopbackServer,
  parseServerAddress,
  type ServerAddress,
  type ServerReply,
} from './ask-server.ts'

/** Half of what a lookup takes at most, over all tries and servers. */
const DNS_TRY_MS_MAX = 5 * SECOND_MS
/** Each holds a socket for every try, up to five; further ones wait for their turn. */
export const DNS_QUERIES_AT_ONCE = 256
/** Of those, names of one registered domain: its servers may all be silent. */
export const DNS_QUERIES_OF_DOMAIN = 32

export type { Answer, MxRecord, TlsaRecord } from './answer.ts'

export type AskOptions = {
  /** Gives the question up, whether it is asked or waits to be: a fault then. A cache may not heed it. */
  readonly signal?: AbortSignal
  /** Asked at once, past all that wait for their turn. */
  readonly isUrgent?: boolean
  /** Called when its turn has come and it is asked, before there is an answer. */
  onAsked?(): void
}

/** Names are absolute whether or not they end in a dot; a text that can be no name is missing. */
export type Resolver = {
  /** As the server listed them; the exchange of a null MX (RFC 7505) is `.`. */
  mx(name: string, options?: AskOptions): Promise<Answer<MxRecord>>
  a(name: string, options?: AskOptions): Promise<Answer<string>>
  aaaa(name: string, options?: AskOptions): Promise<Answer<string>>
  /** The strings of a record joined (RFC 7208 §3.3 shows the habit). */
  txt(name: string, options?: AskOptions): Promise<Answer<string>>
  tlsa(name: string, options?: AskOptions): Promise<Answer<TlsaRecord>>
  /** Of a name under in-addr.arpa or ip6.arpa. */
  ptr(name: string, options?: AskOptions): Promise<Answer<string>>
  /** Ends what is being asked with a fault; later questions are faults too. */
  close(): void
}

export type ResolverOptions = {
  /** `ip`, `ip:port` or `[v6]:port`; empty takes the system's, as they are now. */
  readonly servers: readonly string[]
  /** A whole lookup takes at most twice as long, over all its tries and servers. */
  readonly timeoutMs?: number
  /**
   * Whose word on DNSSEC counts. `loopback`, the default: of servers on this machine, which is the
   * only place without a way between (Docker's forwarder excepted). `all`: the operator vouches for
   * every server and the way there.
   */
  readonly believes?: 'loopback' | 'all' | 'none'
  readonly chance?: Chance
}

/** Throws when a server's address cannot be read. */
export function openResolver(options: ResolverOptions): Resolver {
  const asker = new ServerList(options)
  const open =
    <Type extends QuestionType>(type: Type) =>
    (name: string, options: AskOptions = {}) =>
      asker.ask({ name: questionName(name), type }, options)
  return {
    mx: open('MX'),
    a: open('A'),
    aaaa: open('AAAA'),
    txt: open('TXT'),
    tlsa: open('TLSA'),
    ptr: open('PTR'),
    close: () => asker.close(),
  }
}

/** As it is asked for and kept: lower case, without the dot at the end. Whoever has U-labels turns them first. */
export function questionName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

/** Whether it can be asked for at all; `name` as questionName has it. */
export function isQuestionName(name: string): boolean {
  return NAME.test(name)
}

/** RFC 1035 §2.3.4; any printable ASCII, since names hold more than host names do. */
const NAME = /^(?=.{1,253}$)[!-\-/-~]{1,63}(?:\.[!-\-/-~]{1,63})*$/

const NOTHING_TO_RELEASE = () => {}

class ServerList {
  readonly #servers: readonly ServerAddress[]
  readonly #wholeMs: number
  readonly #believes: 'loopback' | 'all' | 'none'
  readonly #chance: Chance
  readonly #closing = new AbortController()
  /** By domain: whoever sends mail chooses names, and the servers of those may stay silent. */
  readonly #semaphore = new Semaphore({
    limit: DNS_QUERIES_AT_ONCE,
    limitPerKey: DNS_QUERIES_OF_DOMAIN,
  })
  /** The one that answered last is asked first: a dead one is waited for once, not every time. */
  #first = 0

  constructor(options: ResolverOptions) {
    this.#servers = readServers(options.servers)
    this.#wholeMs = 2 * (options.timeoutMs ?? DNS_TRY_MS_MAX)
    this.#believes = options.believes ?? 'loopback'
    this.#chance = options.chance ?? systemChance
  }

  close(): void {
    this.#closing.abort()
  }

  async ask<Type extends QuestionType>(
    question: Question<Type>,
    { signal, isUrgent = false, onAsked }: AskOptions,
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
    if (typeof release === 'string') return this.#givenUp(question)
    try {
      onAsked?.()
      return await this.#lookUp(question, ending.signal)
    } finally {
      release()
    }
  }

  #givenUp({ type, name }: Question): Extract<Answer<never>, { kind: 'fault' }> {
    if (this.#closing.signal.aborted) return { kind: 'fault', text: 'the resolver is closed' }
    return { kind: 'fault', text: `${type} of ${name}: the question was given up` }
  }

  async #lookUp<Type extends QuestionType>(
    question: Question<Type>,
    signal: AbortSignal,
  ): Promise<Answer<RecordOf[Type]>> {
    const outcome = await lookUp(question, {
      servers: this.#servers,
      first: this.#first,
      wholeMs: this.#wholeMs,
      chance: this.#chance,
      signal,
      isBelieved: (server) => this.#isBelieved(server),
    })
    if (outcome.kind === 'answer') {
      this.#first = outcome.by
      return outcome.answer
    }
    if (signal.aborted) return this.#givenUp(question)
    const told = `${question.type} of ${question.name}: `
    if (outcome.kind === 'fault') return { kind: 'fault', text: told + outcome.text }
    return { kind: 'fault', text: `${told}no DNS server answered in time`, isSilent: true }
  }

  #isBelieved(server: ServerAddress): boolean {
    if (this.#believes === 'loopback') return isLoopbackServer(server)
    return this.#believes === 'all'
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

/** What registries of countries have names under, most often. */
const SECOND_LEVELS = new Set(
  'ac co com edu gen go gob gouv gov ltd me mil ne net nom or org plc sch'.split(' '),
)

/** The registered domain, nearly: a list of all registries is too large for what hangs on it here. */
function registeredDomain(name: string): string {
  const labels = name.split('.')
  const [second = '', top = ''] = labels.slice(-2)
  if (top === 'arpa') return labels.slice(-4).join('.')
  const isRegistry = top.length === 2 && SECOND_LEVELS.has(second)
  return labels.slice(isRegistry ? -3 : -2).join('.')
}

/** Until a question is asked anew; each further round of the servers waits twice as long as the one before. */
const DNS_FIRST_TRY_MS = 400

type LookupOptions = {
  readonly servers: readonly ServerAddress[]
  /** The index of the server that is asked first. */
  readonly first: number
  /** Of all tries together. */
  readonly wholeMs: number
  readonly chance: Chance
  /** Ends it at once. */
  readonly signal: AbortSignal
  isBelieved(server: ServerAddress): boolean
}

type Outcome<Record> =
  | {
      readonly kind: 'answer'
      readonly answer: Exclude<Answer<Record>, { kind: 'fault' }>
      /** The index of the server whose answer it is. */
      readonly by: number
    }
  | { readonly kind: 'fault'; readonly text: string }
  | { readonly kind: 'silent' }

/** Never rejects. A fault for which every server was asked is the last one's. */
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
  /** Asked again at once they would say the same. */
  readonly #hopeless = new Set<number>()
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
    this.#next = options.first
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
    // The first round ends before half of the time has.
    const firstMs = Math.min(DNS_FIRST_TRY_MS, wholeMs / Math.max(4, 2 * servers.length))
    this.#trying = setTimeout(() => this.#ask(), firstMs * 2 ** round)
    void askServer(server, this.#question, {
      chance,
      timeoutMs: wholeMs,
      signal: this.#ending.signal,
    }).then((reply) => this.#hear(reply, index))
  }

  #nextIndex(): number | null {
    const { length } = this.#options.servers
    for (let step = 0; step < length; step++) {
      const index = (this.#next + step) % length
      if (this.#hopeless.has(index)) continue
      this.#next = (index + 1) % length
      return index
    }
    return null
  }

  #hear(reply: ServerReply, index: number): void {
    const server = this.#options.servers[index]
    if (this.#ending.signal.aborted || reply.kind === 'silent' || server === undefined) return
    if (reply.kind === 'packet') {
      const isBelieved = this.#options.isBelieved(server)
      const answer = readAnswer(reply.packet, this.#question, isBelieved)
      if (answer.kind !== 'fault') {
        this.#finish({ kind: 'answer', answer, by: index })
        return
      }
      this.#fault = answer.text
    } else {
      this.#fault = reply.text
    }
    this.#hopeless.add(index)
    // Of the servers, one has spoken: for the silent ones there is half of the time, no more.
    if (this.#isHalfOver) this.#giveUp()
    else if (index === this.#current) this.#ask()
  }

  readonly #giveUp = () => {
    const text = this.#fault
    this.#finish(text === null ? { kind: 'silent' } : { kind: 'fault', text })
  }

  #finish(outcome: Outcome<RecordOf[Type]>): void {
    for (const timer of [...this.#timers, this.#trying]) clearTimeout(timer)
    this.#options.signal.removeEventListener('abort', this.#giveUp)
    this.#ending.abort()
    this.#resolve(outcome)
  }
}
