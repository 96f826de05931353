// Finds in the calling thread that a signature of the usual form is good, so that most signed mail needs no other
// thread. Whatever is not found good here is checked there.

import { KeyObject, verify } from 'node:crypto'
import type { SignatureFields } from '@mailroom/mail/authentication.ts'
import { readUsualSignature } from '@mailroom/mail/usual-signature.ts'
import { Cache } from '#platform/cache.ts'
import type { SignatureResults } from './check-signatures.ts'
import {
  KEY_BITS_MIN,
  type KeyAnswer,
  readKey,
  SIGNATURE_KEY_KEPT_MS_MAX,
  SIGNATURE_KEYS_KEPT_MAX,
} from './signature-keys.ts'

/** A signature with a larger key, or another exponent, takes longer than 0.05 ms. */
const USUAL_KEY_BITS_MAX = 2048
const USUAL_EXPONENT = 65_537n

export class UsualSignatures {
  /** By the names at which they are published, in lower case. */
  readonly #keys = new Cache<KeyObject>({ entriesMax: SIGNATURE_KEYS_KEPT_MAX })

  /** Never rejects. `name`: where the key is published. */
  async learn(name: string, answer: KeyAnswer): Promise<void> {
    if (answer.kind !== 'found' || answer.records.length !== 1) return
    const options = { strict: true, hashAlgo: 'sha256' }
    const reading = { type: 'DKIM', name, bitsMin: KEY_BITS_MIN, options }
    const key = await readKey(answer.records[0] ?? '', reading).catch(() => null)
    const publicKey = key?.publicKey
    if (!(publicKey instanceof KeyObject) || publicKey.asymmetricKeyType !== 'rsa') return
    const { modulusLength = 0, publicExponent } = publicKey.asymmetricKeyDetails ?? {}
    if (modulusLength > USUAL_KEY_BITS_MAX || publicExponent !== USUAL_EXPONENT) return
    const ttlMs = Math.min(answer.ttlMs, SIGNATURE_KEY_KEPT_MS_MAX)
    this.#keys.set(name.toLowerCase(), publicKey, { ttlMs })
  }

  /** The results for a message whose one signature is good; null for every other message. */
  check(raw: Uint8Array, fields: SignatureFields, nowMs: number): SignatureResults | null {
    const { count, signers, hasArc, fromCount } = fields
    const [signer] = signers
    if (count !== 1 || hasArc || fromCount !== 1 || signer === undefined) return null
    const key = this.#keys.get(`${signer.selector}._domainkey.${signer.domain}`)
    const found = key === null ? null : readUsualSignature(raw, nowMs)
    if (key === null || found === null) return null
    const { domain, selector, data, signature, author } = found
    if (domain !== signer.domain || selector !== signer.selector) return null
    if (!verify('sha256', data, key, signature)) return null
    return {
      dkim: [{ result: 'pass', domain, selector }],
      arc: 'none',
      outgrown: [],
      signed: { fromCount, addresses: [author] },
    }
  }
}
