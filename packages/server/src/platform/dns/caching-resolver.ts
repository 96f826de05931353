// A caching resolver (RFC 9520). Equal questions share one query. While DNS is down, no queries are
// sent. If a query fails, a recently expired answer is used (RFC 8767).

import { raceAbort } from '#platform/abort.ts'
import { Cache } from '#platform/cache.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import type { Answer, QuestionType, RecordOf } from './answer.ts'
import { isQuestionName, type QuestionOptions, questionName, type Resolver } from './resolver.ts'

/** Maximum time that an answer is kept, whatever its TTL, because keys and policies change. */
const DNS_KEPT_MS_MAX = HOUR_MS
/** Shorter than RFC 2308 §5 allows, because an operator may just have published the record. */
const DNS_NONE_KEPT_MS_MAX = 5 * MINUTE_MS
/** Maximum answers kept for one record type, and their total characters. */
const DNS_KEPT_MAX = 20_000
const DNS_KEPT_CHARACTERS_MAX = 8_000_000

/**
 * RFC 9520 §3.2 requires this minimum for failures. It also limits how often an answer with a TTL
 * of 0 is queried again.
 */
const KEPT_MS_MIN = 5_000
/** How long an expired answer may be used if the query fails (RFC 8767). */
const STALE_MS = 60_000
/** How long to wait for a fresh answer if there is an expired one. */
const STALE_PATIENCE_MS = 300

/** Every server can resolve this name or refuses it immediately. */
const PROBE_NAME = 'a.root-servers.net'

/** TTLs in answers are remaining times. Callers share questions, so none can abort one. */
export function openCachingResolver(resolver: Resolver, clock: Clock = systemClock): Resolver {
  const outages = new OutageDetector(() => resolver.a(PROBE_NAME, { isUrgent: true }), clock)
  const open = <Type extends QuestionType>(type: Type, query: Query<Type>) => {
    const cache = new AnswerCache(type, query, { outages, clock })
    return (name: string) => cache.find(questionName(name))
  }
  return {
    mx: open('MX', resolver.mx),
    a: open('A', resolver.a),
    aaaa: open('AAAA', resolver.aaaa),
    txt: open('TXT', resolver.txt),
    tlsa: open('TLSA', resolver.tlsa),
    ptr: open('PTR', resolver.ptr),
    close: () => resolver.close(),
  }
}

type Query<Type extends QuestionType> = (
  name: string,
  options: QuestionOptions,
) => Promise<Answer<RecordOf[Type]>>

const NO_NAME: Answer<never> = { kind: 'none', isNameMissing: true, ttlMs: 0 }

class AnswerCache<Type extends QuestionType> {
  readonly #type: Type
  readonly #query: Query<Type>
  readonly #outages: OutageDetector
  /** Answers are kept for STALE_MS longer than they are valid. */
  readonly #answers: Cache<Answer<RecordOf[Type]>>
  readonly #faults: Cache<Answer<RecordOf[Type]>>
  readonly #pending = new Map<string, Promise<Answer<RecordOf[Type]>>>()

  constructor(
    type: Type,
    query: Query<Type>,
    { outages, clock }: { outages: OutageDetector; clock: Clock },
  ) {
    this.#type = type
    this.#query = query
    this.#outages = outages
    const bounds = {
      entriesMax: DNS_KEPT_MAX,
      sizeMax: DNS_KEPT_CHARACTERS_MAX,
      now: () => clock.monotonic(),
    }
    this.#answers = new Cache(bounds)
    this.#faults = new Cache(bounds)
  }

  find(name: string): Promise<Answer<RecordOf[Type]>> {
    const special = answerSpecial(name, this.#type)
    if (special !== null) return Promise.resolve(special)
    // Checked before storing, because an invalid name may have any length.
    if (!isQuestionName(name)) return Promise.resolve(NO_NAME)
    const kept = this.#answers.find(name)
    if (kept !== null && kept.leftMs > STALE_MS) {
      return Promise.resolve(withTtl(kept.value, kept.leftMs - STALE_MS))
    }
    const stale = kept === null ? null : withTtl(kept.value, 0)
    const fault = this.#faults.get(name)
    if (fault !== null) return Promise.resolve(stale ?? fault)
    const pending = this.#pending.get(name) ?? this.#start(name)
    return stale === null ? pending : preferred(pending, stale)
  }

  #start(name: string): Promise<Answer<RecordOf[Type]>> {
    const pending = this.#outages
      .wait(async (onSent) => {
        const answer = await this.#query(name, { onSent })
        return this.#keep(name, answer)
      })
      .then((answer) => {
        if (this.#pending.get(name) === pending) this.#pending.delete(name)
        return answer
      })
    this.#pending.set(name, pending)
    return pending
  }

  #keep(name: string, answer: Answer<RecordOf[Type]>): Answer<RecordOf[Type]> {
    if (answer.kind === 'fault') {
      this.#faults.set(name, answer, { ttlMs: KEPT_MS_MIN })
      return answer
    }
    const ttlMs = keptMs(answer)
    this.#answers.set(name, answer, {
      ttlMs: ttlMs + STALE_MS,
      size: name.length + charactersOf(answer),
    })
    return withTtl(answer, ttlMs)
  }
}

/** Returns the stale answer if the fresh one is a fault or too late. */
async function preferred<Record>(
  pending: Promise<Answer<Record>>,
  stale: Answer<Record>,
): Promise<Answer<Record>> {
  const answer = await raceAbort(pending, { timeoutMs: STALE_PATIENCE_MS })
  return answer === null || answer.kind === 'fault' ? stale : answer
}

function keptMs(answer: Exclude<Answer<unknown>, { kind: 'fault' }>): number {
  const mostMs = answer.kind === 'found' ? DNS_KEPT_MS_MAX : DNS_NONE_KEPT_MS_MAX
  return Math.min(Math.max(answer.ttlMs, KEPT_MS_MIN), mostMs)
}

function withTtl<Record>(answer: Answer<Record>, ttlMs: number): Answer<Record> {
  return answer.kind === 'fault' ? answer : { ...answer, ttlMs }
}

function charactersOf(answer: Answer<unknown>): number {
  return answer.kind === 'found' ? JSON.stringify(answer.records).length : 0
}

/** A question without an answer for this long starts a probe of DNS. */
const PROBE_MS = SECOND_MS

type NoAnswer = Extract<Answer<never>, { kind: 'fault' }>

/** The question was not sent or has no answer yet. */
const NO_ANSWER: NoAnswer = { kind: 'fault', text: 'DNS does not answer', isTimeout: true }

class OutageDetector {
  readonly #askProbe: () => Promise<Answer<unknown>>
  readonly #clock: Clock
  #isDown = false
  readonly #waiting = new Set<(fault: NoAnswer) => void>()
  #isProbing = false
  #answers = 0
  #probedAtMs = Number.NEGATIVE_INFINITY

  /** `askProbe` asks a question that every working server answers immediately. */
  constructor(askProbe: () => Promise<Answer<unknown>>, clock: Clock) {
    this.#askProbe = askProbe
    this.#clock = clock
  }

  /** Returns NO_ANSWER once DNS is known to be down. Time before the query is sent is ignored. */
  wait<Value>(query: (onSent: () => void) => Promise<Answer<Value>>): Promise<Answer<Value>> {
    if (this.#isDown) {
      this.#probe()
      return Promise.resolve(NO_ANSWER)
    }
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined
      const onSent = () => {
        timer = setTimeout(() => this.#probe(), PROBE_MS)
      }
      const finish = (answer: Answer<Value>) => {
        clearTimeout(timer)
        this.#waiting.delete(finish)
        resolve(answer)
      }
      this.#waiting.add(finish)
      void query(onSent).then((answer) => {
        // A late answer also shows that DNS works.
        this.#onAnswer(answer)
        finish(answer)
      })
    })
  }

  #onAnswer(answer: Answer<unknown>): void {
    if (answer.kind === 'fault' && answer.isTimeout === true) return
    this.#answers += 1
    this.#isDown = false
  }

  /** Any answer shows that DNS works, because packets of the probe may be lost. */
  #probe(): void {
    const nowMs = this.#clock.monotonic()
    if (this.#isProbing || nowMs - this.#probedAtMs < PROBE_MS) return
    this.#isProbing = true
    this.#probedAtMs = nowMs
    const answersBefore = this.#answers
    const judge = () => {
      if (this.#answers === answersBefore) this.#startOutage()
    }
    const timer = setTimeout(judge, PROBE_MS)
    void this.#askProbe().then((answer) => {
      clearTimeout(timer)
      this.#isProbing = false
      this.#onAnswer(answer)
      judge()
    })
  }

  #startOutage(): void {
    if (this.#isDown) return
    this.#isDown = true
    for (const finish of this.#waiting) finish(NO_ANSWER)
  }
}

/** Answers special names without a query (RFC 6761 §6.3 and §6.4); null for other names. */
function answerSpecial<Type extends QuestionType>(
  name: string,
  type: Type,
): Answer<RecordOf[Type]> | null {
  const top = name.slice(name.lastIndexOf('.') + 1)
  if (top === 'invalid') return { kind: 'none', isNameMissing: true, ttlMs: FOREVER_MS }
  if (top !== 'localhost') return null
  const records = (LOOPBACK[type] ?? []) as RecordOf[Type][]
  if (records.length === 0) return { kind: 'none', isNameMissing: false, ttlMs: FOREVER_MS }
  return {
    kind: 'found',
    records: [...records],
    ttlMs: FOREVER_MS,
    isAuthenticated: false,
    canonicalName: name,
  }
}

const FOREVER_MS = Number.POSITIVE_INFINITY

const LOOPBACK: { readonly [Type in QuestionType]?: readonly string[] } = {
  A: ['127.0.0.1'],
  AAAA: ['::1'],
}
