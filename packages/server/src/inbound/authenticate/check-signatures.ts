// Checks DKIM (RFC 6376) and ARC (RFC 8617) with mailauth's verifier, within fixed bounds.

import { setImmediate } from 'node:timers/promises'
import {
  type AuthenticationResult,
  cleanIdentifier,
  type DkimResult,
  IDENTIFIER_LENGTH_MAX,
  SIGNATURES_SHOWN_MAX,
} from '@mailroom/mail/authentication.ts'
import { arc as checkChain } from 'mailauth/lib/arc/index.js'
import {
  DkimVerifier,
  type Key,
  type KeyCache,
  type KeyOptions,
  type SignatureHeader,
} from 'mailauth/lib/dkim/dkim-verifier.js'
import { getAlignment, toALabel } from 'mailauth/lib/tools.js'
import { lookupError, resultWord } from './lookups.ts'
import { type FindKeys, KEY_BITS_MIN, type KeyAnswer, readKey } from './signature-keys.ts'

/** Bounds the number of DKIM signatures and ARC sets. Real mail has up to six. */
export const SIGNATURES_CHECKED_MAX = 10
const SIGNATURE_NAMES_MAX = 200
const SIGNATURE_BODY_HASHES_MAX = 2
const SIGNATURE_BODY_LINE_BYTES_MAX = 100 * 1024
const SIGNATURE_BODY_LINES_MAX = 1_000_000

export type SignatureResults = {
  readonly dkim: readonly DkimResult[]
  readonly arc: AuthenticationResult
  /** Indexes in `dkim` of signatures that omit an occurrence of a repeated shown field. */
  readonly outgrown: readonly number[]
  /** This is null if the verifier did not run. */
  readonly signed: { readonly fromCount: number; readonly addresses: readonly string[] } | null
}

type CheckOptions = {
  readonly findKeys: FindKeys
  readonly nowMs: number
  /** An exception from this callback ends the check. */
  readonly onWork?: () => void
}

/**
 * Requires a header section that is `isCheckable`. Signatures and ARC sets beyond a bound are not
 * checked and get `policy`, as does a signature of a part of the body (RFC 6376 §8.2). Rejects if
 * the verifier throws.
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
  requestKeys(check, signed.addresses[0])
  verifier.headerFrom = []
  for await (const [from, to] of steps(bodyStart, bytes.length)) {
    onWork()
    await verifier.nextChunk(bytes.subarray(from, to))
  }
  await verifier.finish()
  onWork()
  return { ...readResults(check), arc: await checkArc(check), signed }
}

type Check = {
  readonly verifier: DkimVerifier
  readonly keys: MessageKeys
  readonly skipped: ReadonlySet<SignatureHeader>
}

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
  const skipped = new Set<SignatureHeader>()
  const isPastBound = openBounds({ isRelaxable })
  verifier.prepareSignature = (header) => {
    prepare(header)
    if (header.type === 'ARC') allowEmptyList(header)
    if (!isPastBound(header)) return
    header.skip = 'past a bound'
    skipped.add(header)
  }
  return { verifier, keys, skipped }
}

/** RFC 8617 §4.1.2 does not require an ARC-Message-Signature to sign From. */
function allowEmptyList(header: SignatureHeader): void {
  const isEmpty = signedNames(header).join('').trim() === '' && header.parsed?.h !== undefined
  if (isEmpty && header.invalid === 'From field not signed') delete header.invalid
}

/** The returned function expects the signatures of one message in order. */
function openBounds({ isRelaxable }: Relaxing) {
  const bodyHashes = new Set<string>()
  let count = 0
  const mayHash = ({ maxBodyLength }: SignatureHeader, canon: string): boolean => {
    if (!isRelaxable && canon === 'relaxed') return false
    const bodyHash = `${canon} ${maxBodyLength}`
    if (!bodyHashes.has(bodyHash) && bodyHashes.size === SIGNATURE_BODY_HASHES_MAX) return false
    bodyHashes.add(bodyHash)
    return true
  }
  return (header: SignatureHeader): boolean => {
    if (header.type === 'DKIM') count += 1
    if (count > SIGNATURES_CHECKED_MAX) return true
    if (header.skip !== undefined) return false
    // RFC 8301 §3.1 makes SHA-1 signatures invalid, so hashing the body would be wasted.
    if (header.hashAlgo === 'sha1') return true
    if (signedNames(header).length > SIGNATURE_NAMES_MAX) return true
    if (header.invalid !== undefined) return false
    if (!mayHash(header, header.bodyCanon)) return true
    // Sealers that follow drafts of RFC 8617 omit `c=` and mean relaxed/relaxed.
    const isUnsaid = header.type === 'ARC' && header.parsed?.c === undefined
    if (isUnsaid && mayHash(header, 'relaxed')) header.fallbackCanonicalization = 'relaxed/relaxed'
    return false
  }
}

/** Requests all keys in parallel, starting with the author's domain. */
function requestKeys({ verifier, keys }: Check, author: string | undefined): void {
  const domain = author?.slice(author.lastIndexOf('@') + 1).slice(0, IDENTIFIER_LENGTH_MAX) ?? ''
  const asked = verifier.signatureHeaders.filter(({ skip, invalid }) => !(skip ?? invalid))
  const isOther = ({ signingDomain }: SignatureHeader) =>
    signingDomain !== domain && getAlignment(domain, [signingDomain], false) === false
  const ordered = [...asked.filter((one) => !isOther(one)), ...asked.filter(isOther)]
  for (const header of ordered) keys.prepare(keyName(header))
}

function readResults({ verifier, skipped }: Check) {
  const headers = verifier.signatureHeaders.filter(({ type }) => type === 'DKIM')
  if (headers.length === 0) return { dkim: [], outgrown: [] }
  const counts = countFields(verifier)
  const outgrown: number[] = []
  const dkim = headers.slice(0, SIGNATURES_SHOWN_MAX).map((header, index): DkimResult => {
    const { result, underSized = 0 } = verifier.results[index]?.status ?? { result: 'permerror' }
    const isOpen = result === 'pass' && underSized > 0
    if (isOutgrown(header, counts)) outgrown.push(index)
    return {
      result: skipped.has(header) || isOpen ? 'policy' : resultWord(result),
      domain: cleanIdentifier(header.signingDomain),
      selector: cleanIdentifier(header.selector),
    }
  })
  return { dkim, outgrown }
}

/** If such a field is repeated, clients show the first, but a signature covers the last. */
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

async function checkArc({ verifier, keys, skipped }: Check): Promise<AuthenticationResult> {
  const { arc, signatureHeaders } = verifier
  if (arc.chain === false && arc.error === undefined) return 'none'
  if (arc.chain !== false && arc.chain.length > SIGNATURES_CHECKED_MAX) return 'policy'
  if (signatureHeaders.some((one) => one.type === 'ARC' && skipped.has(one))) return 'policy'
  const { status } = await checkChain(arc, {
    resolver: keys.resolver,
    minBitLength: KEY_BITS_MIN,
    strict: true,
  })
  const result = resultWord(status.result)
  // mailauth reports even DNS failures as permanent.
  const isUnknown = result === 'fail' && (keys.hasFault('AS') || keys.hasFault('ARC'))
  return isUnknown ? 'temperror' : result
}

type SignedBytes = {
  readonly bytes: Uint8Array
  readonly bodyStart: number
  readonly body: { readonly lineBytesMax: number; readonly lines: number }
}

const LF = 0x0a
const CR = 0x0d

/** Ends every line with CRLF, as signatures require (RFC 6376 §5.3). May return `raw` itself. */
async function readSignedBytes(raw: Uint8Array): Promise<SignedBytes> {
  const missing = await countMissingReturns(raw)
  const bytes = missing === 0 ? raw : await addReturns(raw, missing)
  const bodyStart = findBody(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  return { bytes, bodyStart, body: await measureLines(bytes, bodyStart) }
}

/** Work is split into steps of this size, so that small messages need not wait for a large one. */
const STEP_BYTES = 256 * 1024

async function* steps(start: number, end: number): AsyncGenerator<[from: number, to: number]> {
  for (let from = start; from < end; from += STEP_BYTES) {
    if (from > start) await setImmediate()
    yield [from, Math.min(end, from + STEP_BYTES)]
  }
}

async function countMissingReturns(raw: Uint8Array): Promise<number> {
  let count = 0
  for await (const [from, to] of steps(0, raw.length)) {
    for (let at = from; at < to; at += 1) {
      if (raw[at] === LF && (at === 0 || raw[at - 1] !== CR)) count += 1
    }
  }
  return count
}

async function addReturns(raw: Uint8Array, count: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(raw.length + count)
  let length = 0
  for await (const [from, to] of steps(0, raw.length)) {
    for (let at = from; at < to; at += 1) {
      const octet = raw[at] ?? 0
      if (octet === LF && (at === 0 || raw[at - 1] !== CR)) bytes[length++] = CR
      bytes[length++] = octet
    }
  }
  return bytes
}

async function measureLines(bytes: Uint8Array, bodyStart: number): Promise<SignedBytes['body']> {
  let lines = 1
  let longest = 0
  let lineStart = bodyStart
  for await (const [from, to] of steps(bodyStart, bytes.length)) {
    for (let at = from; at < to; at += 1) {
      if (bytes[at] !== LF) continue
      if (at - lineStart > longest) longest = at - lineStart
      lineStart = at + 1
      lines += 1
    }
  }
  return { lineBytesMax: Math.max(longest, bytes.length - lineStart), lines }
}

function findBody(message: Buffer): number {
  if (message[0] === CR && message[1] === LF) return 2
  const end = message.indexOf('\r\n\r\n')
  return end < 0 ? message.length : end + 4
}

type MessageKeys = KeyCache & {
  prepare(name: string): void
  hasFault(type: string): boolean
}

function openMessageKeys(
  findKeys: FindKeys,
  {
    algorithmsAt,
    onWork,
  }: {
    algorithmsAt(name: string): readonly string[]
    onWork(): void
  },
): MessageKeys {
  const faults = new Set<string>()
  const answers = new Map<string, Promise<KeyAnswer>>()
  const ask = (written: string) => {
    const known = answers.get(written)
    if (known !== undefined) return known
    const answer = findKeys(toALabel(written))
    answers.set(written, answer)
    return answer
  }
  const find = async (type: string, written: string, bitsMin: number, options?: KeyOptions) => {
    const answer = await ask(written)
    onWork()
    if (answer.kind === 'fault') faults.add(type)
    // This is mailauth's code for a key that exists but is invalid.
    if (answer.kind === 'large') throw Object.assign(new Error('too long'), { code: 'ESHORTKEY' })
    if (answer.kind !== 'found') throw lookupError(answer)
    const name = toALabel(written)
    return chooseKey(answer.records, algorithmsAt(written), (record) =>
      readKey(record, { type, name, bitsMin: bitsMin || KEY_BITS_MIN, options: options ?? {} }),
    )
  }
  const get: KeyCache['get'] = (...question) => {
    const finding = find(...question)
    finding.catch(() => {})
    return finding
  }
  const resolver: KeyCache['resolver'] = () => {
    throw new Error('Keys are found by their cache.')
  }
  const prepare = (written: string) => void ask(written).catch(() => {})
  return { resolver, get, prepare, hasFault: (type) => faults.has(type) }
}

/** Prefers a suitable algorithm. RFC 6376 §3.6.2.2 leaves open which record to use. */
async function chooseKey(
  records: readonly string[],
  algorithms: readonly string[],
  read: (record: string) => Promise<Key>,
): Promise<Key> {
  if (records.length === 1) return read(records[0] ?? '')
  const readings = await Promise.allSettled(records.map(read))
  const keys = readings.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const key = keys.find(({ keyType }) => algorithms.includes(keyType)) ?? keys[0]
  if (key !== undefined) return key
  throw readings.find((one) => one.status === 'rejected')?.reason
}
