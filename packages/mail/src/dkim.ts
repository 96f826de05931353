import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  sign as signWithCallback,
} from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { bufferOf } from './charset.ts'

/** Octets of a body that are hashed before yielding to the event loop (4 ms). */
const DKIM_BODY_STEP_BYTES = 1024 * 1024
/** Node's thread pool has four threads. */
const SIGNATURES_AT_ONCE = 4
/** RFC 5322 §2.1.1 recommends at most 78. A piece that cannot be folded (d=) may exceed it. */
const DKIM_LINE_LENGTH_MAX = 76

export type Signer = {
  /**
   * Prepends a DKIM-Signature field and leaves every other octet unchanged. `raw` has CRLF line
   * ends; `nowMs` is the signing time in milliseconds since the epoch. A message can be signed
   * twice, and both signatures verify.
   */
  sign(raw: Uint8Array, nowMs: number): Promise<Uint8Array>
}

type SignerOptions = {
  /** The signing domain in A-labels, like `selector`. */
  domain: string
  selector: string
  /** An RSA key of at least 1024 bits (RFC 8301 §3.2). */
  privateKey: KeyObject
}

// Each is listed once more than it occurs, so that none can be added (RFC 6376 §5.4.2, §8.15).
const OVERSIGNED = ['From', 'To', 'Cc', 'Subject', 'Date', 'Message-ID', 'Reply-To']
/** These fields are oversigned if present: a second field could redirect unsubscriptions. */
const OVERSIGNED_IF_PRESENT = ['List-Unsubscribe', 'List-Unsubscribe-Post']
const SIGNED = [
  ...OVERSIGNED,
  'In-Reply-To',
  'References',
  'MIME-Version',
  'Content-Type',
  'Content-Transfer-Encoding',
  ...OVERSIGNED_IF_PRESENT,
]

// The callback form signs in the thread pool and does not block the event loop for 0.3 ms.
const signInPool = promisify(
  (data: Uint8Array, key: KeyObject, done: (error: Error | null, signature: Buffer) => void) =>
    signWithCallback('sha256', data, key, done),
)

/**
 * One copy of the key per concurrent signature. A key is locked while it signs, and starting
 * another signature would block the main thread on that lock.
 */
class KeyCopies {
  readonly #free: KeyObject[]
  readonly #waiting: ((key: KeyObject) => void)[] = []

  constructor(privateKey: KeyObject) {
    const key = privateKey.export({ format: 'der', type: 'pkcs8' })
    this.#free = Array.from({ length: SIGNATURES_AT_ONCE }, () =>
      createPrivateKey({ key, format: 'der', type: 'pkcs8' }),
    )
  }

  async sign(data: Uint8Array): Promise<Buffer> {
    const key =
      this.#free.pop() ?? (await new Promise<KeyObject>((resolve) => this.#waiting.push(resolve)))
    try {
      return await signInPool(data, key)
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free.push(key)
      else next(key)
    }
  }
}

export function openSigner({ domain, selector, privateKey }: SignerOptions): Signer {
  const copies = new KeyCopies(privateKey)
  return {
    async sign(raw, nowMs) {
      const { fields, body } = splitMessage(raw)
      const { names, signedFields } = chooseFields(fields)
      const unsigned = foldTags([
        'v=1;',
        ' a=rsa-sha256;',
        ' c=relaxed/relaxed;',
        ` d=${domain};`,
        ` s=${selector};`,
        ` t=${Math.floor(nowMs / 1000)};`,
        ...names.map((name, index) => (index === 0 ? ' h=' : '') + name),
        ` bh=${await hashRelaxedBody(body)};`,
        ' b=',
      ])
      const signed = signedFields.map(({ text }) => `${relaxField(text)}\r\n`)
      const data = Buffer.from(signed.join('') + relaxField(unsigned), 'latin1')
      const signature = (await copies.sign(data)).toString('base64')
      return Buffer.concat([Buffer.from(`${unsigned}${foldSignature(signature)}\r\n`), raw])
    },
  }
}

/** The entries of `h=` with their separators, and the fields they refer to, in hashing order. */
function chooseFields(fields: readonly RawField[]): { names: string[]; signedFields: RawField[] } {
  const names: string[] = []
  const signedFields: RawField[] = []
  for (const name of SIGNED) {
    // If a field name is repeated, the last field is signed first (RFC 6376 §5.4.2).
    const present = fields.filter((field) => field.name === name.toLowerCase()).reverse()
    const isOversigned =
      OVERSIGNED.includes(name) || (present.length > 0 && OVERSIGNED_IF_PRESENT.includes(name))
    const count = present.length + (isOversigned ? 1 : 0)
    for (let i = 0; i < count; i += 1) names.push(name)
    signedFields.push(...present)
  }
  const separated = names.map((name, index) => name + (index === names.length - 1 ? ';' : ':'))
  return { names: separated, signedFields }
}

/** Joins the pieces, with a line end before each piece that would make its line too long. */
function foldTags(pieces: readonly string[]): string {
  let text = 'DKIM-Signature: '
  let lineLength = text.length
  for (const piece of pieces) {
    if (lineLength + piece.length > DKIM_LINE_LENGTH_MAX) {
      const rest = piece.trimStart()
      text += `\r\n ${rest}`
      lineLength = 1 + rest.length
    } else {
      text += piece
      lineLength += piece.length
    }
  }
  return text
}

/** White space within `b=` is ignored (RFC 6376 §3.5). */
function foldSignature(signature: string): string {
  const lines = signature.match(new RegExp(`.{1,${DKIM_LINE_LENGTH_MAX - 1}}`, 'g')) ?? []
  return lines.map((line) => `\r\n ${line}`).join('')
}

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20

/** A header field of a message, one character per octet, without its last CRLF. */
export type RawField = {
  /** The field's name in lower case. */
  readonly name: string
  readonly text: string
}

type RawMessage = {
  readonly fields: readonly RawField[]
  /** A view of the message's body; empty if no empty line ends the header section. */
  readonly body: Uint8Array
}

/** Splits a message with CRLF line ends. Lines without a field name are skipped. */
function splitMessage(raw: Uint8Array): RawMessage {
  const bytes = bufferOf(raw)
  const isBare = bytes.length >= 2 && bytes[0] === CR && bytes[1] === LF
  const end = isBare ? -2 : bytes.indexOf('\r\n\r\n')
  if (end === -1)
    return { fields: readFields(bytes.toString('latin1')), body: bytes.subarray(0, 0) }
  return {
    fields: isBare ? [] : readFields(bytes.toString('latin1', 0, end)),
    body: bytes.subarray(end + 4),
  }
}

/**
 * Relaxed canonicalization of a header field (RFC 6376 §3.4.2), without the final CRLF. `text` is a
 * complete field, one character per octet.
 */
export function relaxField(text: string): string {
  const colon = text.indexOf(':')
  const name = text.slice(0, colon).replace(/[ \t]+$/, '')
  const value = text
    .slice(colon + 1)
    .replace(/\r\n(?=[ \t])/g, '')
    .replace(/[ \t]+/g, ' ')
  return `${name.toLowerCase()}:${trimSpace(value)}`
}

/**
 * Base64 SHA-256 of a body in relaxed canonicalization (RFC 6376 §3.4.4). Lines end in CRLF; a lone
 * CR or LF is content. Yields to the event loop after every DKIM_BODY_STEP_BYTES.
 */
async function hashRelaxedBody(body: Uint8Array): Promise<string> {
  const hash = createHash('sha256')
  const end = contentEnd(body)
  const step = Math.min(end, DKIM_BODY_STEP_BYTES)
  // White space at the end of a step is written in the next step, which needs one more octet.
  const relaxed = new Uint8Array(step + 1)
  for (let start = 0; start < end; start += step) {
    if (start > 0) await setImmediate()
    const length = relaxOctets(body, { start, end: Math.min(start + step, end) }, relaxed)
    hash.update(relaxed.subarray(0, length))
  }
  if (end > 0) hash.update('\r\n')
  return hash.digest('base64')
}

/** Writes a range of `body` into `relaxed` in relaxed form and returns the resulting length. */
export function relaxOctets(
  body: Uint8Array,
  { start, end }: { start: number; end: number },
  relaxed: Uint8Array,
): number {
  let length = 0
  let isSpaceDue = start > 0 && isSpace(body[start - 1])
  for (let at = start; at < end; at += 1) {
    const octet = body[at] as number
    // Most octets are greater than SPACE; this test saves a third of the time.
    if (octet <= SPACE && isSpace(octet)) {
      isSpaceDue = true
      continue
    }
    if (isSpaceDue) {
      isSpaceDue = false
      if (octet !== CR || body[at + 1] !== LF) relaxed[length++] = SPACE
    }
    relaxed[length++] = octet
  }
  return length
}

function isSpace(octet: number | undefined): boolean {
  return octet === SPACE || octet === TAB
}

/** End of the last line with content; trailing empty lines and white space are excluded. */
export function contentEnd(body: Uint8Array): number {
  let end = body.length
  for (;;) {
    const last = body[end - 1]
    if (isSpace(last)) end -= 1
    else if (last === LF && body[end - 2] === CR) end -= 2
    else return end
  }
}

export function readFields(section: string): RawField[] {
  const fields: RawField[] = []
  for (const text of section.split(/\r\n(?![ \t])/)) {
    const name = /^([\x21-\x39\x3b-\x7e]+)[ \t]*:/.exec(text)?.[1]
    if (name !== undefined) fields.push({ name: name.toLowerCase(), text })
  }
  return fields
}

/** `text` is already collapsed, with at most one space at either end. */
function trimSpace(text: string): string {
  return text.slice(text.startsWith(' ') ? 1 : 0, text.endsWith(' ') ? -1 : undefined)
}

/** RFC 8301 §3.2. The record of a longer key may not fit into a DNS answer over UDP. */
const MODULUS_BITS = 2048

const generate = promisify(generateKeyPair)

/** Generates a private key in the thread pool, which takes 15 to 500 ms. */
export async function makeDkimKey(): Promise<KeyObject> {
  const { privateKey } = await generate('rsa', { modulusLength: MODULUS_BITS })
  return privateKey
}

/** The SubjectPublicKeyInfo of the public key in base64, as in the DNS record. */
export function publicKeyOf(privateKey: KeyObject): string {
  return createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).toString('base64')
}

/** The value of the TXT record at `<selector>._domainkey.<domain>` (RFC 6376 §3.6.1). */
export function formatKeyRecord(publicKey: string): string {
  return `v=DKIM1; k=rsa; p=${publicKey}`
}

/**
 * Whether a verifier that finds these TXT records accepts an rsa-sha256 signature made with this
 * key. A verifier may use any one of several records (RFC 6376 §3.6.2.2), so all of them must be
 * valid.
 */
export function recordsHoldKey(texts: readonly string[], publicKey: string): boolean {
  return texts.length > 0 && texts.every((text) => findKeyDefect(text, publicKey) === null)
}

/** `key`: another key or none; `test`: a key in test mode; `tags`: a key for another purpose. */
export type KeyDefect = 'key' | 'test' | 'tags'

/** Why a verifier with this record rejects signatures of the key; null if it accepts them. */
export function findKeyDefect(text: string, publicKey: string): KeyDefect | null {
  const tags = readTags(text)
  const isAmong = (tag: string, name: string, wild?: string): boolean => {
    const names = tags.get(tag)?.split(':')
    return names === undefined || names.some((each) => each === name || each === wild)
  }
  const isTest = tags.get('t')?.split(':').includes('y') ?? false
  if (tags.get('p') !== publicKey) return 'key'
  const isForMail =
    (tags.get('v') ?? 'DKIM1') === 'DKIM1' &&
    (tags.get('k') ?? 'rsa') === 'rsa' &&
    isAmong('h', 'sha256') &&
    isAmong('s', 'email', '*')
  if (!isForMail) return 'tags'
  return isTest ? 'test' : null
}

/** Parses a tag list (RFC 6376 §3.2) without white space, which is ignored in key records. */
function readTags(text: string): ReadonlyMap<string, string> {
  const tags = new Map<string, string>()
  for (const part of text.split(';')) {
    const at = part.indexOf('=')
    if (at > 0) tags.set(part.slice(0, at).trim(), part.slice(at + 1).replace(/\s+/g, ''))
  }
  return tags
}
