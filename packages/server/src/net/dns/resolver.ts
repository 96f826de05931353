// A stub resolver: asks configured servers in turn until one has an answer. Our own because mail
// needs what the platform's leaves out: TTLs of every type, DNSSEC's verdict, and a no that is
// told from a fault. Never reads a hosts file, never adds a search domain.

import { getServers } from 'node:dns'
import { type Chance, systemChance } from '#base/chance.ts'
import { DNS_QUERIES_AT_ONCE, DNS_TRY_MS_MAX } from '#base/limits.ts'
import {
  type Answer,
  type MxRecord,
  type Question,
  type QuestionType,
  type RecordOf,
  readAnswer,
  type TlsaRecord,
} from './answer.ts'
import { askServer } from './ask-server.ts'
import { isLoopbackServer, parseServerAddress, type ServerAddress } from './server-address.ts'

export type { Answer, MxRecord, TlsaRecord } from './answer.ts'

/** Names are absolute whether or not they end in a dot; a text that can be no name is missing. */
export type Resolver = {
  /** As the server listed them; the exchange of a null MX (RFC 7505) is `.`. */
  mx(name: string): Promise<Answer<MxRecord>>
  a(name: string): Promise<Answer<string>>
  aaaa(name: string): Promise<Answer<string>>
  /** The strings of a record joined (RFC 7208 §3.3 shows the habit). */
  txt(name: string): Promise<Answer<string>>
  tlsa(name: string): Promise<Answer<TlsaRecord>>
  /** Ends what is being asked with a fault; later questions are faults too. */
  close(): void
}

export type ResolverOptions = {
  /** `ip`, `ip:port` or `[v6]:port`; empty takes the system's, as they are now. */
  readonly servers: readonly string[]
  /** Of one try; a whole lookup takes at most twice as long. */
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
  return {
    mx: (name) => asker.ask({ name: normalise(name), type: 'MX' }),
    a: (name) => asker.ask({ name: normalise(name), type: 'A' }),
    aaaa: (name) => asker.ask({ name: normalise(name), type: 'AAAA' }),
    txt: (name) => asker.ask({ name: normalise(name), type: 'TXT' }),
    tlsa: (name) => asker.ask({ name: normalise(name), type: 'TLSA' }),
    close: () => asker.close(),
  }
}

function normalise(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

/** RFC 1035 §2.3.4; any printable ASCII, since names hold more than host names do. */
const NAME = /^(?=.{1,253}$)[!-\-/-~]{1,63}(?:\.[!-\-/-~]{1,63})*$/

/** A fault for which every server was asked is the last one's. */
class ServerList {
  readonly #servers: readonly ServerAddress[]
  readonly #tryMs: number
  readonly #believes: 'loopback' | 'all' | 'none'
  readonly #chance: Chance
  readonly #closing = new AbortController()
  readonly #waiting: (() => void)[] = []
  #asking = 0
  /** The one that answered last is asked first: a dead one is waited for once, not every time. */
  #first = 0

  constructor(options: ResolverOptions) {
    this.#servers = readServers(options.servers)
    this.#tryMs = (options.timeoutMs ?? DNS_TRY_MS_MAX) * (2 / Math.max(2, this.#servers.length))
    this.#believes = options.believes ?? 'loopback'
    this.#chance = options.chance ?? systemChance
  }

  close(): void {
    this.#closing.abort()
  }

  async ask<Type extends QuestionType>(question: Question<Type>): Promise<Answer<RecordOf[Type]>> {
    if (!NAME.test(question.name)) return { kind: 'none', isNameMissing: true, ttlMs: 0 }
    await this.#takeTurn()
    try {
      return await this.#askInTurn(question)
    } finally {
      this.#passTurn()
    }
  }

  async #takeTurn(): Promise<void> {
    if (this.#asking < DNS_QUERIES_AT_ONCE) this.#asking += 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  #passTurn(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#asking -= 1
    else next()
  }

  async #askInTurn<Type extends QuestionType>(
    question: Question<Type>,
  ): Promise<Answer<RecordOf[Type]>> {
    let text = 'no DNS server answered in time'
    const hopeless = new Set<number>()
    const first = this.#first
    for (let attempt = 0; attempt < Math.max(2, this.#servers.length); attempt++) {
      const index = (first + attempt) % this.#servers.length
      const server = this.#servers[index]
      if (server === undefined || hopeless.has(index)) continue
      if (this.#closing.signal.aborted) break
      const reply = await askServer(server, question, {
        chance: this.#chance,
        timeoutMs: this.#tryMs,
        signal: this.#closing.signal,
      })
      if (reply.kind === 'silent') continue
      if (reply.kind === 'packet') {
        const answer = readAnswer(reply.packet, question, this.#isBelieved(server))
        if (answer.kind !== 'fault') {
          this.#first = index
          return answer
        }
        text = answer.text
      } else {
        text = reply.text
      }
      // Asked again at once it would say the same.
      hopeless.add(index)
    }
    if (this.#closing.signal.aborted) return { kind: 'fault', text: 'the resolver is closed' }
    return { kind: 'fault', text: `${question.type} of ${question.name}: ${text}` }
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
