// Signing messages with DKIM (RFC 6376): rsa-sha256, relaxed/relaxed. Knows a domain, a selector and
// a key; refuses to know where keys are kept and whose mail it is.

import { createPrivateKey, type KeyObject, sign as signWithCallback } from 'node:crypto'
import { promisify } from 'node:util'
import { Semaphore } from '@mailroom/server/platform/semaphore.ts'
import { hashRelaxedBody, type RawField, relaxField, splitMessage } from './relaxed.ts'

/** As many as Node's thread pool has threads. */
const SIGNATURES_AT_ONCE = 4
/** RFC 5322 §2.1.1 asks for at most 78; a piece that cannot be folded, such as d=, may exceed it. */
const DKIM_LINE_LENGTH_MAX = 76

export type Signer = {
  /**
   * The message with a DKIM-Signature field in front, every other octet as it was. `raw` has CRLF
   * line ends; `nowMs` is the time of the signature, in milliseconds since the epoch. A message
   * signed twice carries two signatures, and both are good.
   */
  sign(raw: Uint8Array, nowMs: number): Promise<Uint8Array>
}

export type SignerOptions = {
  /** In A-labels, as the next. */
  domain: string
  selector: string
  /** An RSA key of at least 1024 bits (RFC 8301 §3.2). */
  privateKey: KeyObject
}

// Signed once more than they occur, so that nobody can add one above (RFC 6376 §5.4.2, §8.15).
const OVERSIGNED = ['From', 'To', 'Cc', 'Subject', 'Date', 'Message-ID', 'Reply-To']
/** The same where there is one: a second beside it would let others say where to unsubscribe. */
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

// With a callback it works in the thread pool: 0.3 ms that other connections do not wait for.
const signInPool = promisify(
  (data: Uint8Array, key: KeyObject, done: (error: Error | null, signature: Buffer) => void) =>
    signWithCallback('sha256', data, key, done),
)

/**
 * Each signature under way has a copy of the key: a key is locked while it signs, and even to begin
 * another signature with it the main thread would wait for that.
 */
class KeyCopies {
  readonly #pkcs8: Buffer
  readonly #semaphore = new Semaphore({ limit: SIGNATURES_AT_ONCE })
  readonly #free: KeyObject[] = []

  constructor(privateKey: KeyObject) {
    this.#pkcs8 = privateKey.export({ format: 'der', type: 'pkcs8' })
  }

  sign(data: Uint8Array): Promise<Buffer> {
    return this.#semaphore.run({}, async () => {
      const key =
        this.#free.pop() ?? createPrivateKey({ key: this.#pkcs8, format: 'der', type: 'pkcs8' })
      try {
        return await signInPool(data, key)
      } finally {
        this.#free.push(key)
      }
    })
  }
}

/** A signer for the mail of one domain. */
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

/** Entries of `h=` with their separators, and the fields they stand for, in the order of hashing. */
function chooseFields(fields: readonly RawField[]): { names: string[]; signedFields: RawField[] } {
  const names: string[] = []
  const signedFields: RawField[] = []
  for (const name of SIGNED) {
    // Of several with one name the last is signed first (RFC 6376 §5.4.2).
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

/** The field with a line end before every piece that would make its line too long. */
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

/** White space within `b=` does not count (RFC 6376 §3.5). */
function foldSignature(signature: string): string {
  const lines = signature.match(new RegExp(`.{1,${DKIM_LINE_LENGTH_MAX - 1}}`, 'g')) ?? []
  return lines.map((line) => `\r\n ${line}`).join('')
}
