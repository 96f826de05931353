// All checks of one message: SPF and signatures side by side, then what DMARC makes of them, each with
// its share of the time.

import { asciiDomain } from '@mailroom/mail/address.ts'
import {
  type Authentication,
  readSignatureFields,
  type SignatureFields,
  type SpfResult,
} from '@mailroom/mail/authentication.ts'
import { raceAbort } from '#platform/abort.ts'
import type { Clock } from '#platform/clock.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import type { Log } from '#platform/log.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { ArrivedMail, Author } from './arrived-mail.ts'
import { DmarcChecker, unknownVerdict } from './check-dmarc.ts'
import type { SignatureResults } from './check-signatures.ts'
import { AUTHENTICATE_CHECK_MS_MAX, SpfChecker, spfDomain } from './check-spf.ts'
import { allAlike, hasSignatures, SignatureChecker, UNSIGNED } from './signature-checker.ts'

/** All of it; its sender waits. */
const AUTHENTICATE_MS_MAX = 5 * SECOND_MS
/** For all keys of a message at once, so that there is time to verify with those that came. */
const SIGNATURE_KEYS_MS_MAX = 4 * SECOND_MS

const NOBODY: Author = { from: null, authorCount: 0 }

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

  /** Never rejects. */
  async authenticate(mail: ArrivedMail): Promise<Authentication> {
    const clock = this.#clock
    const startMs = clock.monotonic()
    const leftMs = (wholeMs: number) => Math.max(0, startMs + wholeMs - clock.monotonic())
    const reading = mail.author.catch(() => NOBODY)
    const fields = readSignatureFields(mail.raw)
    const checkMs = leftMs(AUTHENTICATE_CHECK_MS_MAX)
    // Most mail is like mail before it: what is known needs no time limit.
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
    // A message that took long to read has had this time for its checks; DMARC has its own.
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

  /** `otherwise` where there is no outcome in time, or none at all. */
  async #within<Value>(timeoutMs: number, work: Promise<Value>, otherwise: Value): Promise<Value> {
    const outcome = work.catch((error: unknown) => {
      this.#log.warn({ error }, 'checking an incoming message failed')
      return otherwise
    })
    return (await raceAbort(outcome, { timeoutMs })) ?? otherwise
  }
}

/**
 * Who reads more From fields than our parser sees more authors: the signature may be of one of them, and
 * another program may show another.
 */
function withAllFields(
  { from, authorCount }: Author,
  { fields, signatures }: { fields: SignatureFields; signatures: SignatureResults },
): Author {
  const fromCount = Math.max(fields.fromCount, signatures.signed?.fromCount ?? 0)
  return { from, authorCount: fromCount > 1 ? Math.max(authorCount, fromCount) : authorCount }
}

/** Whether the verifier, where it looked, read the address that is shown; it may write it in another way. */
function isSameAuthor({ from }: Author, { signed }: SignatureResults): boolean {
  if (signed === null) return true
  const [address, ...others] = signed.addresses
  if (from === null || address === undefined || others.length > 0) return false
  return plain(address) === plain(from.address)
}

/** Without quotes, comments and white space. */
function plain(address: string): string {
  const bare = address.replace(/\([^()]*\)|[\s"\\]/g, '').normalize('NFC')
  const at = bare.lastIndexOf('@') + 1
  return `${bare.slice(0, at).toLowerCase()}${asciiDomain(bare.slice(at)).replace(/\.$/, '')}`
}
