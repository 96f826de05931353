// A resolver that remembers: answers for as long as they are good, everything for at least five seconds,
// faults included (RFC 9520). Equal questions are asked once for all who wait, and none at all while DNS
// is known to be silent. An answer that has just expired stands in for one that does not come (RFC 8767).

import { raceAbort } from '#platform/abort.ts'
import { Cache } from '#platform/cache.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import { HOUR_MS, MINUTE_MS } from '#platform/units.ts'
import type { Answer, QuestionType, RecordOf } from './answer.ts'
import { type AskOptions, isQuestionName, questionName, type Resolver } from './resolver.ts'
import { Silence } from './silence.ts'
import { answerSpecial } from './special-name.ts'

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
