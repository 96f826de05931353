// SPF (RFC 7208) of one reverse-path from one address. Mail that is alike is judged once for as long
// as the records that decided it are good.

import { readDomainName } from '@mailroom/mail/address.ts'
import type { SpfResult } from '@mailroom/mail/authentication.ts'
import { spf as checkHost } from 'mailauth/lib/spf/index.js'
import { Cache } from '#platform/cache.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import type { ArrivedMail } from './arrived-mail.ts'
import {
  AUTHENTICATE_OUTCOMES_CHARACTERS_MAX,
  AUTHENTICATE_OUTCOMES_KEPT_MAX,
} from './check-dmarc.ts'
import { type Lookups, openLookups } from './lookups.ts'
import { resultWord } from './result-word.ts'

/** SPF and signatures, so that there is time to see what follows from them. */
export const AUTHENTICATE_CHECK_MS_MAX = 4_500
/**
 * Questions that the SPF records of a message have asked: ten terms may ask for ten hosts each, real ones
 * ask for up to thirty. With its keys and policies a message asks for some sixty.
 */
const SPF_QUESTIONS_MAX = 40

type SpfQuestion = Pick<ArrivedMail, 'clientAddress' | 'helo' | 'reversePath'>

/** What is checked (RFC 7208 §2.3, §2.4): the domain of the reverse-path, of EHLO where that is null. */
export function spfDomain({ reversePath, helo }: SpfQuestion): string | null {
  return readDomainName(reversePath === '' ? (helo ?? '') : afterAt(reversePath))
}

export class SpfChecker {
  readonly #resolver: Resolver
  readonly #hostname: string
  readonly #kept: Cache<SpfResult>

  /** `hostname`: ours, which a record may ask for with a macro. */
  constructor(
    resolver: Resolver,
    { hostname, clock = systemClock }: { hostname: string; clock?: Clock },
  ) {
    this.#resolver = resolver
    this.#hostname = hostname
    this.#kept = new Cache({
      entriesMax: AUTHENTICATE_OUTCOMES_KEPT_MAX,
      sizeMax: AUTHENTICATE_OUTCOMES_CHARACTERS_MAX,
      now: () => clock.monotonic(),
    })
  }

  /** What was found for mail like this and holds still; null where it is to be asked. */
  known(question: SpfQuestion): SpfResult | null {
    const subject = subjectOf(question)
    return subject === null ? NOTHING : this.#kept.get(subject.key)
  }

  /**
   * Rejects never for what DNS says or leaves unsaid. Asks nothing after AUTHENTICATE_CHECK_MS_MAX, when
   * it is a temperror.
   */
  async check(question: SpfQuestion): Promise<SpfResult> {
    const subject = subjectOf(question)
    if (subject === null) return NOTHING
    const { clientAddress, domain, helo, isNull, key } = subject
    const { reversePath } = question
    const { lookup, ttlMs } = openLookups(this.#resolver)
    const { status } = await checkHost({
      sender: isNull ? '' : `${beforeAt(reversePath)}@${domain}`,
      ip: clientAddress,
      helo: isNull ? domain : helo,
      mta: this.#hostname,
      resolver: firstOf(lookup),
      maxElapsedTime: AUTHENTICATE_CHECK_MS_MAX,
      strict: true,
    })
    const spf: SpfResult = { result: resultWord(status.result), domain }
    // It says the whole address where the record asked for the local part.
    const isOfDomain = !(status.smtp?.mailfrom ?? '').includes('@')
    if (isOfDomain) this.#kept.set(key, spf, { ttlMs: ttlMs() })
    return spf
  }
}

/** Of the questions the first SPF_QUESTIONS_MAX: what asks for more is wrong, as with RFC 7208 §4.6.4. */
function firstOf(lookup: Lookups['lookup']): Lookups['lookup'] {
  let count = 0
  return async (name, type) => {
    count += 1
    if (count <= SPF_QUESTIONS_MAX) return lookup(name, type)
    const text = 'too many questions'
    throw Object.assign(new Error(text), { spfResult: { error: 'permerror', text } })
  }
}

const NOTHING: SpfResult = { result: 'none', domain: null }

/** Null where there is no domain, or no address to ask it about. */
function subjectOf(question: SpfQuestion) {
  const domain = spfDomain(question)
  const { clientAddress, reversePath } = question
  if (domain === null || clientAddress === null) return null
  const isNull = reversePath === ''
  const helo = (question.helo ?? 'unknown').toLowerCase()
  const key = `${clientAddress} ${domain} ${helo} ${isNull}`
  return { clientAddress, domain, helo, isNull, key }
}

function beforeAt(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('@')))
}

function afterAt(path: string): string {
  return path.slice(path.lastIndexOf('@') + 1)
}
