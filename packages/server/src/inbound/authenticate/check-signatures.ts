// DKIM (RFC 6376) and ARC (RFC 8617) of one message, by mailauth's verifier, within the bounds of what it
// can take. Feeds the verifier by itself: its own reader takes longer than all the rest.

import { setImmediate } from 'node:timers/promises'
import {
  type AuthenticationResult,
  cleanIdentifier,
  type DkimResult,
  IDENTIFIER_LENGTH_MAX,
  SIGNATURES_SHOWN_MAX,
} from '@mailroom/mail/authentication.ts'
import { arc as checkChain } from 'mailauth/lib/arc/index.js'
import { DkimVerifier, type SignatureHeader } from 'mailauth/lib/dkim/dkim-verifier.js'
import { getAlignment } from 'mailauth/lib/tools.js'
import { resultWord } from './result-word.ts'
import { readSignedBytes, SIGNATURE_STEP_BYTES } from './signature-body.ts'
import { type FindKeys, KEY_BITS_MIN, type MessageKeys, openMessageKeys } from './signature-keys.ts'

/** Signatures of a message, and sets of its ARC chain, that are looked at; real mail has up to six. */
export const SIGNATURES_CHECKED_MAX = 10
const SIGNATURE_NAMES_MAX = 200
const SIGNATURE_BODY_HASHES_MAX = 2
const SIGNATURE_BODY_LINE_BYTES_MAX = 100 * 1024
const SIGNATURE_BODY_LINES_MAX = 1_000_000

export type SignatureResults = {
  readonly dkim: readonly DkimResult[]
  readonly arc: AuthenticationResult
  /** Places in `dkim` of signatures that say nothing of what is shown: a field that counts once stands once more in front. */
  readonly outgrown: readonly number[]
  /** What the verifier took for From; null where it did not look. */
  readonly signed: { readonly fromCount: number; readonly addresses: readonly string[] } | null
}

export type CheckOptions = {
  readonly findKeys: FindKeys
  readonly nowMs: number
  /** Called when work on the message is taken up again; what it throws ends that. */
  readonly onWork?: () => void
}

/**
 * Of a message whose header section is `isCheckable`. `policy` are signatures and ARC sets past
 * SIGNATURES_CHECKED_MAX and what is past other bounds, which are not looked at, and a signature that
 * leaves the end of the body open (RFC 6376 §8.2). Rejects where the verifier throws.
 */
export async function checkSignatures(
  raw: Uint8Array,
  { findKeys, nowMs, onWork = () => {} }: CheckOptions,
): Promise<SignatureResults> {
  const { bytes, bodyStart, body } = await readSignedBytes(raw)
  onWork()
  const isRelaxable =
    body.lineBytesMax <= SIGNATURE_BODY_LINE_BYTES_MAX && body.lines <= SIGNATURE_BODY_LINES_MAX
  const check = openCheck({ findKeys, nowMs, onWork, isRelaxable })
  const { verifier } = check
  await verifier.emitHeaders(bytes.subarray(0, bodyStart))
  const signed = { fromCount: verifier.fromFields, addresses: verifier.headerFrom }
  askForKeys(check, signed.addresses[0])
  // Alignment is looked at later, for the address that is shown.
  verifier.headerFrom = []
  for (let at = bodyStart; at < bytes.length; at += SIGNATURE_STEP_BYTES) {
    if (at > bodyStart) await setImmediate()
    onWork()
    await verifier.nextChunk(bytes.subarray(at, at + SIGNATURE_STEP_BYTES))
  }
  await verifier.finish()
  onWork()
  return { ...readResults(check), arc: await checkArc(check), signed }
}

type Check = {
  readonly verifier: DkimVerifier
  readonly keys: MessageKeys
  /** Signatures that are past a bound. */
  readonly unlooked: ReadonlySet<SignatureHeader>
}

/** Whether the lines of the body can be gone through for the relaxed way. */
type Relaxing = { readonly isRelaxable: boolean }

function openCheck(options: Required<CheckOptions> & Relaxing): Check {
  const { findKeys, nowMs, onWork, isRelaxable } = options
  const algorithmsAt = (name: string) =>
    verifier.signatureHeaders
      .filter((header) => name === keyName(header))
      .map(({ signAlgo }) => signAlgo)
  const keys = openMessageKeys(findKeys, { algorithmsAt, onWork })
  const verifier = new DkimVerifier({
    resolver: keys.resolver,
    strict: true,
    minBitLength: KEY_BITS_MIN,
    sender: 'unknown@invalid',
    curTime: new Date(nowMs),
  })
  verifier.keyCache = keys
  verifier.arc.keyCache = keys
  const prepare = verifier.prepareSignature.bind(verifier)
  const unlooked = new Set<SignatureHeader>()
  const isPastBound = openBounds({ isRelaxable })
  verifier.prepareSignature = (header) => {
    prepare(header)
    if (!isPastBound(header)) return
    header.skip = 'past a bound'
    unlooked.add(header)
  }
  return { verifier, keys, unlooked }
}

/** For the signatures of one message, in their order. */
function openBounds({ isRelaxable }: Relaxing) {
  const bodyHashes = new Set<string>()
  let count = 0
  return (header: SignatureHeader): boolean => {
    if (header.type === 'DKIM') count += 1
    if (count > SIGNATURES_CHECKED_MAX) return true
    if (header.skip !== undefined) return false
    // RFC 8301 §3.1: it counts for nothing, so it is not worth hashing the body.
    if (header.hashAlgo === 'sha1') return true
    if (signedNames(header).length > SIGNATURE_NAMES_MAX) return true
    if (header.invalid !== undefined) return false
    if (!isRelaxable && header.bodyCanon === 'relaxed') return true
    const bodyHash = `${header.bodyCanon} ${header.maxBodyLength}`
    if (bodyHashes.has(bodyHash)) return false
    if (bodyHashes.size === SIGNATURE_BODY_HASHES_MAX) return true
    bodyHashes.add(bodyHash)
    return false
  }
}

/** All at once, so that a slow one holds up no other; that of the author's domain first. */
function askForKeys({ verifier, keys }: Check, author: string | undefined): void {
  const domain = author?.slice(author.lastIndexOf('@') + 1).slice(0, IDENTIFIER_LENGTH_MAX) ?? ''
  const asked = verifier.signatureHeaders.filter(({ skip, invalid }) => !(skip ?? invalid))
  const isOther = ({ signingDomain }: SignatureHeader) =>
    signingDomain !== domain && getAlignment(domain, [signingDomain], false) === false
  const ordered = [...asked.filter((one) => !isOther(one)), ...asked.filter(isOther)]
  for (const header of ordered) keys.prepare(keyName(header))
}

function readResults({ verifier, unlooked }: Check) {
  const headers = verifier.signatureHeaders.filter(({ type }) => type === 'DKIM')
  // Without a signature, mailauth says `none` once.
  if (headers.length === 0) return { dkim: [], outgrown: [] }
  const counts = countFields(verifier)
  const outgrown: number[] = []
  const dkim = headers.slice(0, SIGNATURES_SHOWN_MAX).map((header, index): DkimResult => {
    const { result, underSized = 0 } = verifier.results[index]?.status ?? { result: 'permerror' }
    const isOpen = result === 'pass' && underSized > 0
    if (isOutgrown(header, counts)) outgrown.push(index)
    return {
      result: unlooked.has(header) || isOpen ? 'policy' : resultWord(result),
      domain: cleanIdentifier(header.signingDomain),
      selector: cleanIdentifier(header.selector),
    }
  })
  return { dkim, outgrown }
}

/** Of these the first counts where it is shown or read, and a signature is of the last. */
const SHOWN_FIELDS: ReadonlySet<string> = new Set([
  'subject',
  'reply-to',
  'to',
  'cc',
  'date',
  'content-type',
  'mime-version',
  'content-transfer-encoding',
  'message-id',
])

/** Those that stand more than once. */
function countFields({ headers }: DkimVerifier): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { key } of headers.parsed) {
    if (key !== undefined && SHOWN_FIELDS.has(key)) counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  for (const [key, count] of counts) if (count === 1) counts.delete(key)
  return counts
}

function isOutgrown(header: SignatureHeader, counts: ReadonlyMap<string, number>): boolean {
  if (counts.size === 0) return false
  const names = signedNames(header)
  return [...counts].some(([key, count]) => names.filter((name) => name === key).length < count)
}

function signedNames({ parsed }: SignatureHeader): string[] {
  const written = parsed?.h?.value
  return typeof written === 'string' ? written.toLowerCase().split(':') : []
}

function keyName({ selector, signingDomain }: SignatureHeader): string {
  return `${selector}._domainkey.${signingDomain}`
}

async function checkArc({ verifier, keys, unlooked }: Check): Promise<AuthenticationResult> {
  const { arc, signatureHeaders } = verifier
  if (arc.chain === false && arc.error === undefined) return 'none'
  if (arc.chain !== false && arc.chain.length > SIGNATURES_CHECKED_MAX) return 'policy'
  if (signatureHeaders.some((one) => one.type === 'ARC' && unlooked.has(one))) return 'policy'
  const { status } = await checkChain(arc, {
    resolver: keys.resolver,
    minBitLength: KEY_BITS_MIN,
    strict: true,
  })
  const result = resultWord(status.result)
  // mailauth calls every failure final.
  const isUnknown = result === 'fail' && (keys.hasFault('AS') || keys.hasFault('ARC'))
  return isUnknown ? 'temperror' : result
}
