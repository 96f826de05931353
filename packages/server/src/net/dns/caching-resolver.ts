// A resolver that remembers: answers for as long as they are good, faults for seconds. Equal questions
// are asked once for all who wait, and none at all while DNS is known to be silent. Of a name that much
// mail comes from, an answer that has just ended its time stands in for one that does not come.

import { type Clock, systemClock } from '#base/clock.ts'
import {
  DNS_FAULT_KEPT_MS,
  DNS_KEPT_CHARACTERS_MAX,
  DNS_KEPT_MAX,
  DNS_KEPT_MS_MAX,
  DNS_NONE_KEPT_MS_MAX,
  DNS_OFTEN_ASKED,
  DNS_OFTEN_KEPT_MS,
  DNS_STALE_MS,
  DNS_STALE_PATIENCE_MS,
} from '#base/limits.ts'
import type { Answer, QuestionType, RecordOf } from './answer.ts'
import { KeptAnswers } from './kept-answers.ts'
import { type AskOptions, isQuestionName, questionName, type Resolver } from './resolver.ts'
import { Silence } from './silence.ts'
import { answerSpecial } from './special-name.ts'

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
  readonly #kept: KeptAnswers<Answer<RecordOf[Type]>>
  /** What is not good any more, but better than nothing. */
  readonly #stale: KeptAnswers<Answer<RecordOf[Type]>>
  /** How often a name was asked lately. */
  readonly #asked: KeptAnswers<number>
  readonly #asking = new Map<string, Promise<Answer<RecordOf[Type]>>>()

  constructor(type: Type, ask: Ask<Type>, { silence, clock }: { silence: Silence; clock: Clock }) {
    this.#type = type
    this.#ask = ask
    this.#silence = silence
    const bounds = {
      entriesMax: DNS_KEPT_MAX,
      charactersMax: DNS_KEPT_CHARACTERS_MAX,
      now: () => clock.monotonic(),
    }
    this.#kept = new KeptAnswers(bounds)
    this.#stale = new KeptAnswers(bounds)
    this.#asked = new KeptAnswers(bounds)
  }

  ask(name: string): Promise<Answer<RecordOf[Type]>> {
    const special = answerSpecial(name, this.#type)
    if (special !== null) return Promise.resolve(special)
    // Before anything is noted of it: what is no name may be of any length.
    if (!isQuestionName(name)) return Promise.resolve(NO_NAME)
    const kept = this.#kept.get(name)
    const stale = this.#stale.get(name)
    if (kept !== null) {
      const isBetter = stale === null || kept.value.kind !== 'fault'
      return Promise.resolve(isBetter ? withTtl(kept.value, kept.ttlMs) : withTtl(stale.value, 0))
    }
    const asking = this.#asking.get(name) ?? this.#start(name)
    return stale === null ? asking : preferred(asking, withTtl(stale.value, 0))
  }

  #start(name: string): Promise<Answer<RecordOf[Type]>> {
    const isOften = this.#countAsked(name) >= DNS_OFTEN_ASKED
    const asking = this.#silence
      .wait(async (onAsked) => {
        const answer = await this.#ask(name, { onAsked })
        // Late ones too, for which nobody waits any more.
        return this.#keep(name, answer, isOften)
      })
      .then((answer) => {
        if (this.#asking.get(name) === asking) this.#asking.delete(name)
        return answer
      })
    this.#asking.set(name, asking)
    return asking
  }

  #keep(name: string, answer: Answer<RecordOf[Type]>, isOften: boolean): Answer<RecordOf[Type]> {
    const ttlMs = Math.max(keptMs(answer), isOften ? DNS_OFTEN_KEPT_MS : 0)
    const characters = charactersOf(answer)
    this.#kept.set(name, answer, { ttlMs, characters })
    if (isOften && answer.kind !== 'fault') {
      this.#stale.set(name, answer, { ttlMs: ttlMs + DNS_STALE_MS, characters })
    }
    return withTtl(answer, ttlMs)
  }

  #countAsked(name: string): number {
    const before = this.#asked.get(name)
    const count = (before?.value ?? 0) + 1
    this.#asked.set(name, count, { ttlMs: before?.ttlMs ?? DNS_OFTEN_KEPT_MS })
    return count
  }
}

/** What is asked, unless it is a fault or does not come while the old answer can wait. */
function preferred<Record>(
  asking: Promise<Answer<Record>>,
  stale: Answer<Record>,
): Promise<Answer<Record>> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(stale), DNS_STALE_PATIENCE_MS)
    void asking.then((answer) => {
      clearTimeout(timer)
      resolve(answer.kind === 'fault' ? stale : answer)
    })
  })
}

function keptMs(answer: Answer<unknown>): number {
  switch (answer.kind) {
    case 'found':
      return Math.min(answer.ttlMs, DNS_KEPT_MS_MAX)
    case 'none':
      return Math.min(answer.ttlMs, DNS_NONE_KEPT_MS_MAX)
    case 'fault':
      return DNS_FAULT_KEPT_MS
  }
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
