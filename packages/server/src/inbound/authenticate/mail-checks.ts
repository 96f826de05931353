// Runs all checks of a message: SPF and signatures in parallel, then DMARC. SPF and DMARC results
// are cached for similar mail as long as their DNS records are valid.

import { asciiDomain, readDomainName } from '@mailroom/mail/address.ts'
import type {
  Authentication,
  DkimResult,
  DmarcResult,
  SpfResult,
} from '@mailroom/mail/authentication.ts'
import { readSignatureFields, type SignatureFields } from '@mailroom/mail/authentication.ts'
import type { Mailbox } from '@mailroom/mail/mime/parsed-message.ts'
import { evaluateDmarc } from 'mailauth/lib/dmarc/index.js'
import { spf as checkHost } from 'mailauth/lib/spf/index.js'
import { getAlignment } from 'mailauth/lib/tools.js'
import { raceAbort } from '#platform/abort.ts'
import { Cache } from '#platform/cache.ts'
import type { Clock } from '#platform/clock.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import type { Log } from '#platform/log.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { SignatureResults } from './check-signatures.ts'
import { type Lookups, openLookups, resultWord } from './lookups.ts'
import { allAlike, hasSignatures, SignatureChecker, UNSIGNED } from './signature-checker.ts'

type Author = {
  readonly from: Mailbox | null
  readonly authorCount: number
}

export type ArrivedMail = {
  readonly raw: Uint8Array
  readonly clientAddress: string | null
  readonly helo: string | null
  /** An empty string is the null reverse-path. */
  readonly reversePath: string
  /** Resolves when the message is parsed. If it rejects, the message has no author. */
  readonly author: Promise<Author>
}

/** The limit covers all checks, because the sending server waits for them. */
const AUTHENTICATE_MS_MAX = 5 * SECOND_MS
/** The limit covers SPF and signatures, and leaves time for DMARC. */
const AUTHENTICATE_CHECK_MS_MAX = 4_500
/** The limit covers all keys of a message, and leaves time to verify signatures. */
const SIGNATURE_KEYS_MS_MAX = 4 * SECOND_MS

const NO_AUTHOR: Author = { from: null, authorCount: 0 }

export class MailChecks {
  readonly #spf: SpfChecker
  readonly #signatures: SignatureChecker
  readonly #dmarc: DmarcChecker
  readonly #log: Log
  readonly #clock: Clock

  constructor(options: { resolver: Resolver; hostname: string; log: Log; clock: Clock }) {
    const { resolver, hostname, log, clock } = options
    this.#spf = new SpfChecker(resolver, { hostname, clock })
    this.#signatures = new SignatureChecker({ resolver, log })
    this.#dmarc = new DmarcChecker(resolver, clock)
    this.#log = log
    this.#clock = clock
  }

  async authenticate(mail: ArrivedMail): Promise<Authentication> {
    const clock = this.#clock
    const startMs = clock.monotonic()
    const leftMs = (wholeMs: number) => Math.max(0, startMs + wholeMs - clock.monotonic())
    const reading = mail.author.catch(() => NO_AUTHOR)
    const fields = readSignatureFields(mail.raw)
    const checkMs = leftMs(AUTHENTICATE_CHECK_MS_MAX)
    const spfKnown = this.#spf.known(mail)
    const signing = hasSignatures(fields)
      ? this.#signatures.check(mail.raw, fields, {
          nowMs: clock.now(),
          keysMs: () => leftMs(SIGNATURE_KEYS_MS_MAX),
          allMs: () => leftMs(AUTHENTICATE_CHECK_MS_MAX),
        })
      : null
    const spfWork =
      spfKnown ??
      this.#within<SpfResult>(checkMs, this.#spf.check(mail), {
        result: 'temperror',
        domain: spfDomain(mail),
      })
    const signatureWork =
      signing === null ? UNSIGNED : this.#within(checkMs, signing, allAlike(fields, 'temperror'))
    void reading.then((author) => this.#dmarc.prepare(author))
    const read = await reading
    const [spf, signatures] = [await spfWork, await signatureWork]
    const { dkim, arc, outgrown } = signatures
    const author = withAllFields(read, { fields, signatures })
    const isOfAuthor = signatures.signed?.fromCount !== 0
    const found = { spf, dkim: dkim.filter((_, at) => isOfAuthor && !outgrown.includes(at)) }
    const restMs = Math.max(
      leftMs(AUTHENTICATE_MS_MAX),
      AUTHENTICATE_MS_MAX - AUTHENTICATE_CHECK_MS_MAX,
    )
    const { dmarc, verifiedFrom: isProven } =
      this.#dmarc.known(author, found) ??
      (await this.#within(restMs, this.#dmarc.check(author, found), unknownVerdict(author)))
    const isWhole = fields.isReadable && fields.fromCount === 1
    const verifiedFrom = isProven && isWhole && isSameAuthor(author, signatures)
    return { spf, dkim, dmarc, arc: { result: arc }, verifiedFrom }
  }

  close(): Promise<void> {
    return this.#signatures.close()
  }

  async #within<Value>(timeoutMs: number, work: Promise<Value>, otherwise: Value): Promise<Value> {
    const outcome = work.catch((error: unknown) => {
      this.#log.warn({ error }, 'checking an incoming message failed')
      return otherwise
    })
    return (await raceAbort(outcome, { timeoutMs })) ?? otherwise
  }
}

/**
 * The verifier may find more From fields than our parser. Their number is compared, so that a
 * message cannot be signed by one author and shown as from another.
 */
function withAllFields(
  { from, authorCount }: Author,
  { fields, signatures }: { fields: SignatureFields; signatures: SignatureResults },
): Author {
  const fromCount = Math.max(fields.fromCount, signatures.signed?.fromCount ?? 0)
  return { from, authorCount: fromCount > 1 ? Math.max(authorCount, fromCount) : authorCount }
}

function isSameAuthor({ from }: Author, { signed }: SignatureResults): boolean {
  if (signed === null) return true
  const [address, ...others] = signed.addresses
  if (from === null || address === undefined || others.length > 0) return false
  return canonical(address) === canonical(from.address)
}

function canonical(address: string): string {
  const bare = address.replace(/\([^()]*\)|[\s"\\]/g, '').normalize('NFC')
  const at = bare.lastIndexOf('@') + 1
  return `${bare.slice(0, at).toLowerCase()}${asciiDomain(bare.slice(at)).replace(/\.$/, '')}`
}

/** Each of the ten SPF terms may need ten queries; real records need up to thirty in total. */
const SPF_QUERIES_MAX = 40

type SpfSubject = Pick<ArrivedMail, 'clientAddress' | 'helo' | 'reversePath'>

/** Uses the domain of the reverse-path, or of EHLO if it is null (RFC 7208 §2.3, §2.4). */
function spfDomain({ reversePath, helo }: SpfSubject): string | null {
  return readDomainName(reversePath === '' ? (helo ?? '') : afterAt(reversePath))
}

class SpfChecker {
  readonly #resolver: Resolver
  readonly #hostname: string
  readonly #kept: Cache<SpfResult>

  constructor(resolver: Resolver, { hostname, clock }: { hostname: string; clock: Clock }) {
    this.#resolver = resolver
    this.#hostname = hostname
    this.#kept = resultCache(clock)
  }

  known(question: SpfSubject): SpfResult | null {
    const subject = subjectOf(question)
    return subject === null ? NO_SPF : this.#kept.get(subject.key)
  }

  async check(question: SpfSubject): Promise<SpfResult> {
    const subject = subjectOf(question)
    if (subject === null) return NO_SPF
    const { clientAddress, domain, helo, isNull, key } = subject
    const { reversePath } = question
    const { lookup, ttlMs } = openLookups(this.#resolver)
    const { status } = await checkHost({
      sender: isNull ? '' : `${beforeAt(reversePath)}@${domain}`,
      ip: clientAddress,
      helo: isNull ? domain : helo,
      mta: this.#hostname,
      resolver: limited(lookup),
      maxElapsedTime: AUTHENTICATE_CHECK_MS_MAX,
      strict: true,
    })
    const spf: SpfResult = { result: resultWord(status.result), domain }
    // A result that depends on the local part is valid only for this address.
    const isOfDomain = !(status.smtp?.mailfrom ?? '').includes('@')
    if (isOfDomain) this.#kept.set(key, spf, { ttlMs: ttlMs() })
    return spf
  }
}

/** SPF becomes permerror after SPF_QUERIES_MAX lookups, as with the limits of RFC 7208 §4.6.4. */
function limited(lookup: Lookups['lookup']): Lookups['lookup'] {
  let count = 0
  return async (name, type) => {
    count += 1
    if (count <= SPF_QUERIES_MAX) return lookup(name, type)
    const text = 'too many questions'
    throw Object.assign(new Error(text), { spfResult: { error: 'permerror', text } })
  }
}

const NO_SPF: SpfResult = { result: 'none', domain: null }

function subjectOf(question: SpfSubject) {
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

const RESULTS_KEPT_MAX = 10_000
const RESULT_KEYS_CHARACTERS_MAX = 2 * 1024 * 1024

function resultCache<Result extends SpfResult | Verdict>(clock: Clock): Cache<Result> {
  return new Cache({
    entriesMax: RESULTS_KEPT_MAX,
    sizeMax: RESULT_KEYS_CHARACTERS_MAX,
    now: () => clock.monotonic(),
  })
}

/** Excludes signatures of hidden content, which prove nothing. */
type Found = { readonly spf: SpfResult; readonly dkim: readonly DkimResult[] }

type Verdict = Pick<Authentication, 'dmarc' | 'verifiedFrom'>

function authorDomain({ from }: Author): string | null {
  const at = from?.address.lastIndexOf('@') ?? -1
  if (from === null || at <= 0 || from.address.indexOf('@') !== at) return null
  return readDomainName(from.address.slice(at + 1))
}

function unknownVerdict(author: Author): Verdict {
  const known = withoutDomain(author)
  if (known !== null) return known
  const domain = authorDomain(author)
  return { dmarc: { result: 'temperror', policy: null, domain }, verifiedFrom: false }
}

/** For long names, the tree walk of RFC 9989 §4.10 continues with the last seven labels. */
const WALK_LABELS_MAX = 7

class DmarcChecker {
  readonly #resolver: Resolver
  readonly #kept: Cache<Verdict>

  constructor(resolver: Resolver, clock: Clock) {
    this.#resolver = resolver
    this.#kept = resultCache(clock)
  }

  /** Requests the records of the tree walk (RFC 9989 §4.10) in parallel. */
  prepare(author: Author): void {
    const domain = withoutDomain(author) === null ? authorDomain(author) : null
    if (domain === null) return
    const labels = domain.split('.')
    const above = labels.map((_, at) => labels.slice(at).join('.')).slice(1)
    for (const name of [domain, ...above.slice(-WALK_LABELS_MAX)]) {
      void this.#resolver.txt(`_dmarc.${name}`)
    }
  }

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
   * A failure becomes `temperror` if a result that is still unknown could have passed. Without a
   * DMARC record, relaxed alignment proves an address (RFC 9989 §4.10.2).
   */
  async check(author: Author, found: Found): Promise<Verdict> {
    const domain = authorDomain(author)
    const known = withoutDomain(author)
    if (known !== null || domain === null) return known ?? NOT_PROVEN
    const passed = domainsOf(found, { result: 'pass', of: domain })
    const unknown = domainsOf(found, { result: 'temperror', of: domain })
    const key = keyOf(domain, passed, unknown)
    const { lookup, ttlMs } = openLookups(this.#resolver)
    const evaluate = async (domains: Domains) => {
      const { response } = await evaluateDmarc({
        headerFrom: [`author@${domain}`],
        fromFields: 1,
        spfDomains: domains.spf.map((name) => ({ domain: name })),
        dkimDomains: domains.dkim.map((name) => ({ domain: name })),
        resolver: lookup,
        strict: true,
      })
      if (response === false) return null
      const isPassed = response.status.result === 'fail' && isOfParent(domain, domains, response)
      const result = isPassed ? 'pass' : resultWord(response.status.result)
      return { result, policy: policyWord(response.policy), domain }
    }
    const evaluated: DmarcResult | null = await evaluate(passed)
    if (evaluated === null) return NOT_PROVEN
    const isOpen = evaluated.result === 'fail' && (await couldPass(unknown, evaluate))
    const result = isOpen ? 'temperror' : evaluated.result
    const dmarc = { ...evaluated, result }
    const verdict = { dmarc, verifiedFrom: isProven(result, domain, passed) }
    this.#kept.set(key, verdict, { ttlMs: ttlMs() })
    return verdict
  }
}

type Domains = { readonly spf: string[]; readonly dkim: string[] }

const NOT_PROVEN: Verdict = {
  dmarc: { result: 'none', policy: null, domain: null },
  verifiedFrom: false,
}

function withoutDomain(author: Author): Verdict | null {
  if (author.from === null) return NOT_PROVEN
  const domain = authorDomain(author)
  if (author.authorCount === 1 && domain !== null) return null
  const isSeveral = author.authorCount > 1 || author.from.address.includes('@')
  return isSeveral
    ? { dmarc: { result: 'permerror', policy: null, domain }, verifiedFrom: false }
    : NOT_PROVEN
}

/**
 * Returns only domains in the organization of `of`. DMARC (RFC 9989 §4.10) would accept a hosting
 * company's public suffix for all of its customers.
 */
function domainsOf(
  { spf, dkim }: Found,
  { result, of }: { result: 'pass' | 'temperror'; of: string },
): Domains {
  const isAligned = (name: string | null): name is string =>
    name === of || (name !== null && getAlignment(of, [name], false) !== false)
  const signed = dkim
    .flatMap((one) => (one.result === result ? [one.domain] : []))
    .filter(isAligned)
  const sent = [spf.result === result ? spf.domain : null].filter(isAligned)
  return { spf: sent, dkim: [...new Set(signed)].sort() }
}

function keyOf(domain: string, passed: Domains, unknown: Domains): string {
  const parts = [passed, unknown].map((one) => `${one.spf.join()}/${one.dkim.join()}`)
  return `${domain} ${parts.join(' ')}`
}

async function couldPass(
  unknown: Domains,
  evaluate: (domains: Domains) => Promise<DmarcResult | null>,
): Promise<boolean> {
  if (unknown.spf.length + unknown.dkim.length === 0) return false
  const evaluated = await evaluate(unknown)
  return evaluated !== null && evaluated.result !== 'fail'
}

type Evaluated = Exclude<Awaited<ReturnType<typeof evaluateDmarc>>['response'], false>

/**
 * Returns whether a parent domain in the same organization proves the author although only the
 * subdomain has a record. The parent could write that record anyway (RFC 7489 §3.2). With `psd=n`,
 * the subdomain is an organization of its own (RFC 9989).
 */
function isOfParent(domain: string, { spf, dkim }: Domains, { rr, alignment }: Evaluated): boolean {
  if (/;\s*psd\s*=\s*n\b/i.test(rr ?? '')) return false
  const isAbove = (name: string) => domain.endsWith(`.${name}`)
  const isSent = alignment?.spf.strict === false && spf.some(isAbove)
  return isSent || (alignment?.dkim.strict === false && dkim.some(isAbove))
}

function isProven(result: string, domain: string, { spf, dkim }: Domains): boolean {
  if (result === 'pass') return true
  if (result === 'none') return spf.length + dkim.length > 0
  // The record may require strict alignment, which the same name also passes.
  return result === 'temperror' && [...spf, ...dkim].includes(domain)
}

function policyWord(policy: string | undefined): DmarcResult['policy'] {
  return policy === 'none' || policy === 'quarantine' || policy === 'reject' ? policy : null
}
