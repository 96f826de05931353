// A stub resolver. It is our own because mail needs TTLs of every type, the DNSSEC verdict, and a
// definite no that differs from a fault. It reads no hosts file and adds no search domain.

import { getServers } from 'node:dns'
import { onAbort } from '#platform/abort.ts'
import { type Chance, systemChance } from '#platform/chance.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Answer, MxRecord, Question, QuestionType, RecordOf, TlsaRecord } from './answer.ts'
import { isRefusalOfEdns, readAnswer } from './answer.ts'
import { EdnsMemory } from './edns.ts'
import {
  isLoopbackServer,
  parseServerAddress,
  queryServer,
  type ServerAddress,
  type ServerReply,
} from './query-server.ts'

/** Half of the time limit for a lookup, over all tries and servers. */
const DNS_TRY_MS_MAX = 5 * SECOND_MS
/** Maximum concurrent queries, each using up to five sockets; further queries wait. */
export const DNS_QUERIES_AT_ONCE = 256
/** Maximum concurrent queries for one registered domain, whose servers may all be down. */
export const DNS_QUERIES_OF_DOMAIN = 32
/** Shorter with many servers, so that their first round ends within half of the time. */
const DNS_FIRST_TRY_MS = 400

export type { Answer, MxRecord } from './answer.ts'

export type QuestionOptions = {
  /** An aborted query ends with a fault. A cache may ignore the signal. */
  readonly signal?: AbortSignal
  /** An urgent query is sent immediately, before all waiting queries. */
  readonly isUrgent?: boolean
  onSent?(): void
}

/** A text that cannot be a name is treated as a missing name. */
export type Resolver = {
  /** In the server's order. The exchange of a null MX (RFC 7505) is `.`. */
  mx(name: string, options?: QuestionOptions): Promise<Answer<MxRecord>>
  a(name: string, options?: QuestionOptions): Promise<Answer<string>>
  aaaa(name: string, options?: QuestionOptions): Promise<Answer<string>>
  /** The strings of a record are joined, as in RFC 7208 §3.3. */
  txt(name: string, options?: QuestionOptions): Promise<Answer<string>>
  tlsa(name: string, options?: QuestionOptions): Promise<Answer<TlsaRecord>>
  /** The name is under in-addr.arpa or ip6.arpa. */
  ptr(name: string, options?: QuestionOptions): Promise<Answer<string>>
  /** Pending and later queries end with a fault. */
  close(): void
}

export type ResolverOptions = {
  /** `ip`, `ip:port` or `[v6]:port`; empty for the system's servers. */
  readonly servers: readonly string[]
  /** A lookup takes at most twice this time, over all its tries and servers. */
  readonly timeoutMs?: number
  /** Time until the next try, doubled with each round of the servers. */
  readonly firstTryMs?: number
  /** `loopback`, the default, excludes Docker's forwarder. `all` is the operator's decision. */
  readonly trusts?: 'loopback' | 'all' | 'none'
  readonly chance?: Chance
  readonly clock?: Clock
}

/** Throws when a server's address cannot be read. */
export function openResolver({
  servers: written,
  timeoutMs = DNS_TRY_MS_MAX,
  firstTryMs: givenFirstTryMs,
  trusts = 'loopback',
  chance = systemChance,
  clock = systemClock,
}: ResolverOptions): Resolver {
  const servers = readServers(written)
  const wholeMs = 2 * timeoutMs
  const firstTryMs =
    givenFirstTryMs ?? Math.min(DNS_FIRST_TRY_MS, wholeMs / Math.max(4, 2 * servers.length))
  const isTrusted = (server: ServerAddress) =>
    trusts === 'loopback' ? isLoopbackServer(server) : trusts === 'all'
  const edns = new EdnsMemory(clock)
  const lookups = { edns, servers, wholeMs, firstTryMs, chance, isTrusted }
  const closing = new AbortController()
  // Mail may name domains whose servers are down, so each domain has a limit.
  const semaphore = new Semaphore({
    limit: DNS_QUERIES_AT_ONCE,
    limitPerKey: DNS_QUERIES_OF_DOMAIN,
  })
  // The server that answered last is queried first, so that a dead server delays only one lookup.
  let firstServer = 0

  async function resolve<Type extends QuestionType>(
    question: Question<Type>,
    { signal, isUrgent = false, onSent }: QuestionOptions,
  ): Promise<Answer<RecordOf[Type]>> {
    const { name, type } = question
    if (!isQuestionName(name)) return { kind: 'none', isNameMissing: true, ttlMs: 0 }
    const ending = new AbortController()
    const end = () => ending.abort()
    using _caller = onAbort(signal, end)
    using _closing = onAbort(closing.signal, end)
    const slot = { key: registeredDomain(name), signal: ending.signal }
    const release = isUrgent ? () => {} : await semaphore.acquire(slot)
    const aborted = () =>
      closing.signal.aborted
        ? fault('the resolver is closed')
        : fault(`${type} of ${name}: the question was given up`)
    if (typeof release === 'string') return aborted()
    try {
      onSent?.()
      const { answer, by } = await lookUp(question, {
        ...lookups,
        firstServer,
        signal: ending.signal,
      })
      if (answer.kind !== 'fault') firstServer = by
      return answer.kind === 'fault' && ending.signal.aborted ? aborted() : answer
    } finally {
      release()
    }
  }

  const open =
    <Type extends QuestionType>(type: Type) =>
    (name: string, options: QuestionOptions = {}) =>
      resolve({ name: questionName(name), type }, options)
  return {
    mx: open('MX'),
    a: open('A'),
    aaaa: open('AAAA'),
    txt: open('TXT'),
    tlsa: open('TLSA'),
    ptr: open('PTR'),
    close: () => closing.abort(),
  }
}

function fault(text: string): Extract<Answer<never>, { kind: 'fault' }> {
  return { kind: 'fault', text }
}

/** Lower case, no trailing dot. The caller converts U-labels first. */
export function questionName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

export function isQuestionName(name: string): boolean {
  return NAME.test(name)
}

/** RFC 1035 §2.3.4, with any printable ASCII: names in DNS need not be host names. */
const NAME = /^(?=.{1,253}$)[!-\-/-~]{1,63}(?:\.[!-\-/-~]{1,63})*$/

function readServers(written: readonly string[]): ServerAddress[] {
  const texts = written.length === 0 ? getServers() : written
  const servers = texts.map((text) => {
    const server = parseServerAddress(text)
    if (server === null) throw new Error(`${text} is not the address of a DNS server`)
    return server
  })
  return servers.length === 0 ? [{ address: '127.0.0.1', port: 53 }] : servers
}

const SECOND_LEVELS = new Set(
  'ac co com edu gen go gob gouv gov ltd me mil ne net nom or org plc sch'.split(' '),
)

/** Approximate: the full public suffix list is not worth its size here. */
function registeredDomain(name: string): string {
  const labels = name.split('.')
  const [second = '', top = ''] = labels.slice(-2)
  if (top === 'arpa') return labels.slice(-4).join('.')
  const isRegistry = top.length === 2 && SECOND_LEVELS.has(second)
  return labels.slice(isRegistry ? -3 : -2).join('.')
}

type Asked = { readonly server: ServerAddress; readonly index: number; readonly hasEdns: boolean }

type LookupOptions = {
  readonly edns: EdnsMemory
  readonly servers: readonly ServerAddress[]
  readonly firstServer: number
  readonly wholeMs: number
  readonly firstTryMs: number
  readonly chance: Chance
  readonly signal: AbortSignal
  isTrusted(server: ServerAddress): boolean
}

/** Tries servers in order, and again after growing pauses. The first answer to any try is used. */
async function lookUp<Type extends QuestionType>(
  question: Question<Type>,
  { edns, servers, firstServer, wholeMs, firstTryMs, chance, signal, isTrusted }: LookupOptions,
): Promise<{ answer: Answer<RecordOf[Type]>; by: number }> {
  const { promise, resolve } = Promise.withResolvers<{
    answer: Answer<RecordOf[Type]>
    by: number
  }>()
  const ending = new AbortController()
  // Servers whose fault would repeat.
  const faulty = new Set<number>()
  let [next, current, attempts, isHalfOver] = [firstServer, 0, 0, false]
  let lastFault: string | null = null
  let retryTimer: NodeJS.Timeout | undefined

  const finish = (answer: Answer<RecordOf[Type]>, by = firstServer) => {
    for (const timer of [...timers, retryTimer]) clearTimeout(timer)
    ending.abort()
    resolve({ answer, by })
  }
  const giveUp = () => {
    const about = `${question.type} of ${question.name}: `
    if (lastFault !== null) finish(fault(about + lastFault))
    else finish({ ...fault(`${about}no DNS server answered in time`), isTimeout: true })
  }
  const query = () => {
    clearTimeout(retryTimer)
    const order = servers.map((_, step) => (next + step) % servers.length)
    const index = order.find((one) => !faulty.has(one)) ?? -1
    const server = servers[index]
    if (server === undefined) return giveUp()
    next = (index + 1) % servers.length
    current = index
    const round = Math.floor(attempts / servers.length)
    attempts += 1
    retryTimer = setTimeout(query, firstTryMs * 2 ** round)
    ask({ server, index, hasEdns: edns.mayAsk(index, round) })
  }
  const ask = (asked: Asked) => {
    const { hasEdns } = asked
    const options = { chance, timeoutMs: wholeMs, signal: ending.signal, hasEdns }
    void queryServer(asked.server, question, options).then((reply) => onReply(reply, asked))
  }
  const onReply = (reply: ServerReply, asked: Asked) => {
    const { server, index, hasEdns } = asked
    if (ending.signal.aborted || reply.kind === 'timeout') return
    if (reply.kind === 'packet') {
      if (hasEdns && isRefusalOfEdns(reply.packet)) return ask({ ...asked, hasEdns: false })
      const answer = readAnswer(reply.packet, question, hasEdns && isTrusted(server))
      if (answer.kind !== 'fault') {
        edns.noteAnswer(index, hasEdns)
        return finish(answer, index)
      }
      lastFault = answer.text
    } else lastFault = reply.text
    faulty.add(index)
    // After one server has replied, the others get at most half of the time.
    if (isHalfOver) giveUp()
    else if (index === current) query()
  }
  const onHalf = () => {
    isHalfOver = true
    if (lastFault !== null) giveUp()
  }
  const timers = [setTimeout(giveUp, wholeMs), setTimeout(onHalf, wholeMs / 2)]
  using _ = onAbort(signal, giveUp)
  if (!ending.signal.aborted) query()
  return await promise
}
