// DMARC (RFC 9989) of what SPF and DKIM found, for the one From address that is shown, and whether
// that address is proven. Judged once for mail that is alike, as SPF is.

import { readDomainName } from '@mailroom/mail/address.ts'
import type {
  Authentication,
  DkimResult,
  DmarcResult,
  SpfResult,
} from '@mailroom/mail/authentication.ts'
import { evaluateDmarc } from 'mailauth/lib/dmarc/index.js'
import { getAlignment } from 'mailauth/lib/tools.js'
import { Cache } from '#platform/cache.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import type { Author } from './arrived-mail.ts'
import { openLookups } from './lookups.ts'
import { resultWord } from './result-word.ts'

/** Outcomes of SPF and DMARC kept for mail that is alike, for as long as the records they stand on. */
export const AUTHENTICATE_OUTCOMES_KEPT_MAX = 10_000
/** Of what those outcomes are kept by, in characters. */
export const AUTHENTICATE_OUTCOMES_CHARACTERS_MAX = 2 * 1024 * 1024

/** What may count for the author: of the signatures, those that are of what is shown. */
export type Found = { readonly spf: SpfResult; readonly dkim: readonly DkimResult[] }

export type Verdict = Pick<Authentication, 'dmarc' | 'verifiedFrom'>

/** Null where the address has none, or more than one could be meant. */
export function authorDomain({ from }: Author): string | null {
  const at = from?.address.lastIndexOf('@') ?? -1
  if (from === null || at <= 0 || from.address.indexOf('@') !== at) return null
  return readDomainName(from.address.slice(at + 1))
}

/** What is said where there was no time to find out. */
export function unknownVerdict(author: Author): Verdict {
  const known = withoutDomain(author)
  if (known !== null) return known
  const domain = authorDomain(author)
  return { dmarc: { result: 'temperror', policy: null, domain }, verifiedFrom: false }
}

/** A walk goes on from a long name with its last seven labels (RFC 9989 §4.10). */
const WALK_LABELS_MAX = 7

export class DmarcChecker {
  readonly #resolver: Resolver
  readonly #kept: Cache<Verdict>

  constructor(resolver: Resolver, clock: Clock = systemClock) {
    this.#resolver = resolver
    this.#kept = new Cache({
      entriesMax: AUTHENTICATE_OUTCOMES_KEPT_MAX,
      sizeMax: AUTHENTICATE_OUTCOMES_CHARACTERS_MAX,
      now: () => clock.monotonic(),
    })
  }

  /**
   * Asks side by side for the records that the tree walk (RFC 9989 §4.10) asks for one after the other: of
   * the domain and of those above it. With a resolver that remembers, the walk then waits for none.
   */
  prepare(author: Author): void {
    const domain = withoutDomain(author) === null ? authorDomain(author) : null
    if (domain === null) return
    const labels = domain.split('.')
    const above = labels.map((_, at) => labels.slice(at).join('.')).slice(1)
    for (const name of [domain, ...above.slice(-WALK_LABELS_MAX)]) {
      void this.#resolver.txt(`_dmarc.${name}`)
    }
  }

  /** What was found for mail like this and holds still; null where it is to be asked. */
  known(author: Author, found: Found): Verdict | null {
    const without = withoutDomain(author)
    if (without !== null) return without
    const domain = authorDomain(author)
    if (domain === null) return null
    const key = keyOf(
      domain,
      domainsOf(found, { result: 'pass', of: domain }),
      domainsOf(found, { result: 'temperror', of: domain }),
    )
    return this.#kept.get(key)
  }

  /**
   * `fail` only where nothing that is not known could have passed: it is `temperror` then. Without a
   * record, an address counts as proven by what is aligned in the relaxed way (RFC 9989 §4.10.2).
   */
  async check(author: Author, found: Found): Promise<Verdict> {
    const domain = authorDomain(author)
    const known = withoutDomain(author)
    if (known !== null || domain === null) return known ?? NOBODY
    const passed = domainsOf(found, { result: 'pass', of: domain })
    const unknown = domainsOf(found, { result: 'temperror', of: domain })
    const key = keyOf(domain, passed, unknown)
    const { lookup, ttlMs } = openLookups(this.#resolver)
    const evaluate = ({ spf, dkim }: Domains) =>
      evaluateDmarc({
        headerFrom: [`author@${domain}`],
        fromFields: 1,
        spfDomains: spf.map((name) => ({ domain: name })),
        dkimDomains: dkim.map((name) => ({ domain: name })),
        resolver: lookup,
        strict: true,
      })
    const { response } = await evaluate(passed)
    if (response === false) return NOBODY
    let result = resultWord(response.status.result)
    if (result === 'fail' && (await couldPass(unknown, evaluate))) result = 'temperror'
    const dmarc: DmarcResult = { result, policy: policyWord(response.policy), domain }
    const verdict = { dmarc, verifiedFrom: isProven(result, domain, passed) }
    this.#kept.set(key, verdict, { ttlMs: ttlMs() })
    return verdict
  }
}

type Domains = { readonly spf: string[]; readonly dkim: string[] }

const NOBODY: Verdict = {
  dmarc: { result: 'none', policy: null, domain: null },
  verifiedFrom: false,
}

/** Of mail without exactly one author: nobody is proven, whatever its domains say. */
function withoutDomain(author: Author): Verdict | null {
  if (author.from === null) return NOBODY
  const domain = authorDomain(author)
  if (author.authorCount === 1 && domain !== null) return null
  const isSeveral = author.authorCount > 1 || author.from.address.includes('@')
  return isSeveral
    ? { dmarc: { result: 'permerror', policy: null, domain }, verifiedFrom: false }
    : NOBODY
}

/**
 * Only those of the same organisation, also where that is somebody's below a public suffix of a company
 * (the customers of one host are strangers): DMARC's own way to find it (RFC 9989 §4.10) asks the records
 * of that suffix, which speak for all of them. A signature that names nobody is nobody's.
 */
function domainsOf(
  { spf, dkim }: Found,
  { result, of }: { result: 'pass' | 'temperror'; of: string },
): Domains {
  const isKin = (name: string | null): name is string =>
    name === of || (name !== null && getAlignment(of, [name], false) !== false)
  const signed = dkim.flatMap((one) => (one.result === result ? [one.domain] : [])).filter(isKin)
  const sent = [spf.result === result ? spf.domain : null].filter(isKin)
  return { spf: sent, dkim: [...new Set(signed)].sort() }
}

function keyOf(domain: string, passed: Domains, unknown: Domains): string {
  const parts = [passed, unknown].map((one) => `${one.spf.join()}/${one.dkim.join()}`)
  return `${domain} ${parts.join(' ')}`
}

async function couldPass(
  unknown: Domains,
  evaluate: (domains: Domains) => ReturnType<typeof evaluateDmarc>,
): Promise<boolean> {
  if (unknown.spf.length + unknown.dkim.length === 0) return false
  const { response } = await evaluate(unknown)
  return response !== false && response.status.result !== 'fail'
}

function isProven(result: string, domain: string, { spf, dkim }: Domains): boolean {
  if (result === 'pass') return true
  if (result === 'none') return spf.length + dkim.length > 0
  // The record may ask for the strict way; what is the same name passes both.
  return result === 'temperror' && [...spf, ...dkim].includes(domain)
}

function policyWord(policy: string | undefined): DmarcResult['policy'] {
  return policy === 'none' || policy === 'quarantine' || policy === 'reject' ? policy : null
}
