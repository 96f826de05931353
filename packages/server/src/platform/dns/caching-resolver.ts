// A resolver that remembers: answers for as long as they are good, everything for at least five seconds,
// faults included (RFC 9520). Equal questions are asked once for all who wait, and none at all while DNS
// is known to be silent. An answer that has just expired stands in for one that does not come (RFC 8767).

import { raceAbort } from '#platform/abort.ts'
import { Cache } from '#platform/cache.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import type { Answer, QuestionType, RecordOf } from './answer.ts'
import { type AskOptions, isQuestionName, questionName, type Resolver } from './resolver.ts'

/** How long an answer is kept, whatever its TTL: keys and policies change while mail comes in. */
const DNS_KEPT_MS_MAX = HOUR_MS
/** RFC 2308 §5 allows hours; somebody who has just published a record waits for this. */
const DNS_NONE_KEPT_MS_MAX = 5 * MINUTE_MS
/** Answers kept of one record type, and the characters of all of them. */
const DNS_KEPT_MAX = 20_000
const DNS_KEPT_CHARACTERS_MAX = 8_000_000

/**
 * The least time that anything is kept, in milliseconds. RFC 9520 §3.2 asks it for failures; a server that
 * answers NXDOMAIN without SOA, or with a TTL of 0, would otherwise be asked for every message.
 */
const KEPT_MS_MIN = 5_000
/** How long after its time an answer may stand in for one that failed (RFC 8767), in milliseconds. */
const STALE_MS = 60_000
/** How long a fresh answer is waited for where there is an expired one, in milliseconds. */
const STALE_PATIENCE_MS = 300

/** Asked to learn whether DNS answers at all; every server has it at hand, or refuses it. */
const PROBE_NAME = 'a.root-servers.net'

/**
 * TTLs in answers are what is left of them. A question is nobody's own, so nobody can give it up. Closing
 * it closes `resolver`.
 */
export function openCachingResolver(resolver: Resolver, clock: Clock = systemClock): Resolver {
  const silence = new Silence(() => resolver.a(PROBE_NAME, { isUrgent: true }), clock)
  const open = <Type extends QuestionType>(type: Type, ask: Ask<Type>) => {
    const cache = new AnswerCache(type, ask, { silence, clock })
    return (name: string) => cache.ask(questionName(name))
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

type Ask<Type extends QuestionType> = (
  name: string,
  options: AskOptions,
) => Promise<Answer<RecordOf[Type]>>

/** What is said of a text that can be no name. */
const NO_NAME: Answer<never> = { kind: 'none', isNameMissing: true, ttlMs: 0 }

class AnswerCache<Type extends QuestionType> {
  readonly #type: Type
  readonly #ask: Ask<Type>
  readonly #silence: Silence
  /** For STALE_MS longer than they are good. */
  readonly #answers: Cache<Answer<RecordOf[Type]>>
  readonly #faults: Cache<Answer<RecordOf[Type]>>
  readonly #asking = new Map<string, Promise<Answer<RecordOf[Type]>>>()

  constructor(type: Type, ask: Ask<Type>, { silence, clock }: { silence: Silence; clock: Clock }) {
    this.#type = type
    this.#ask = ask
    this.#silence = silence
    const bounds = {
      entriesMax: DNS_KEPT_MAX,
      sizeMax: DNS_KEPT_CHARACTERS_MAX,
      now: () => clock.monotonic(),
    }
    this.#answers = new Cache(bounds)
    this.#faults = new Cache(bounds)
  }

  ask(name: string): Promise<Answer<RecordOf[Type]>> {
    const special = answerSpecial(name, this.#type)
    if (special !== null) return Promise.resolve(special)
    // Before anything is noted of it: what is no name may be of any length.
    if (!isQuestionName(name)) return Promise.resolve(NO_NAME)
    const kept = this.#answers.find(name)
    if (kept !== null && kept.leftMs > STALE_MS) {
      return Promise.resolve(withTtl(kept.value, kept.leftMs - STALE_MS))
    }
    const stale = kept === null ? null : withTtl(kept.value, 0)
    const fault = this.#faults.get(name)
    if (fault !== null) return Promise.resolve(stale ?? fault)
    const asking = this.#asking.get(name) ?? this.#start(name)
    return stale === null ? asking : preferred(asking, stale)
  }

  #start(name: string): Promise<Answer<RecordOf[Type]>> {
    const asking = this.#silence
      .wait(async (onAsked) => {
        const answer = await this.#ask(name, { onAsked })
        // Late ones too, for which nobody waits any more.
        return this.#keep(name, answer)
      })
      .then((answer) => {
        if (this.#asking.get(name) === asking) this.#asking.delete(name)
        return answer
      })
    this.#asking.set(name, asking)
    return asking
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

/** What is asked, unless it is a fault or does not come while the old answer can wait. */
async function preferred<Record>(
  asking: Promise<Answer<Record>>,
  stale: Answer<Record>,
): Promise<Answer<Record>> {
  const answer = await raceAbort(asking, { timeoutMs: STALE_PATIENCE_MS })
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
  if (answer.kind !== 'found') return 0
  return answer.records.reduce<number>((sum, record) => sum + lengthOf(record), 0)
}

function lengthOf(record: unknown): number {
  return typeof record === 'string' ? record.length : JSON.stringify(record).length
}

/** A question unanswered for this long has it asked whether DNS answers at all. */
const DNS_SILENCE_MS = SECOND_MS

type SilentFault = Extract<Answer<never>, { kind: 'fault' }>

/** Tells nothing of the name: it was not asked for, or is still. */
const SILENT: SilentFault = { kind: 'fault', text: 'DNS does not answer', isSilent: true }

class Silence {
  readonly #ask: () => Promise<Answer<unknown>>
  readonly #clock: Clock
  #isSilent = false
  readonly #waiting = new Set<(fault: SilentFault) => void>()
  #isProbing = false
  /** Answers so far. */
  #heard = 0
  #probedAtMs = Number.NEGATIVE_INFINITY

  /** `ask` is a question that every working server answers at once. */
  constructor(ask: () => Promise<Answer<unknown>>, clock: Clock) {
    this.#ask = ask
    this.#clock = clock
  }

  /**
   * The answer, or SILENT as soon as it is known that none is to be had. Asks nothing meanwhile.
   * The time until `ask` calls back that its question is asked is no silence of DNS.
   */
  wait<Value>(ask: (onAsked: () => void) => Promise<Answer<Value>>): Promise<Answer<Value>> {
    if (this.#isSilent) {
      this.#probe()
      return Promise.resolve(SILENT)
    }
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined
      const onAsked = () => {
        timer = setTimeout(() => this.#probe(), DNS_SILENCE_MS)
      }
      const finish = (answer: Answer<Value>) => {
        clearTimeout(timer)
        this.#waiting.delete(finish)
        resolve(answer)
      }
      this.#waiting.add(finish)
      void ask(onAsked).then((answer) => {
        // One that comes late tells as much of DNS.
        this.#note(answer)
        finish(answer)
      })
    })
  }

  #note(answer: Answer<unknown>): void {
    if (answer.kind === 'fault' && answer.isSilent === true) return
    this.#heard += 1
    this.#isSilent = false
  }

  /** An answer to anybody is one as well: the packets of this question may be lost. */
  #probe(): void {
    const nowMs = this.#clock.monotonic()
    if (this.#isProbing || nowMs - this.#probedAtMs < DNS_SILENCE_MS) return
    this.#isProbing = true
    this.#probedAtMs = nowMs
    const heardBefore = this.#heard
    const judge = () => {
      if (this.#heard === heardBefore) this.#begin()
    }
    const timer = setTimeout(judge, DNS_SILENCE_MS)
    void this.#ask().then((answer) => {
      clearTimeout(timer)
      this.#isProbing = false
      this.#note(answer)
      judge()
    })
  }

  #begin(): void {
    if (this.#isSilent) return
    this.#isSilent = true
    for (const finish of this.#waiting) finish(SILENT)
  }
}

/** What stands at the name; null for every name that DNS is to be asked for. `name` is in lower case. */
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
