// Verifies signatures of the usual form in the calling thread. Most signed mail needs no other.

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

/** Larger keys and other exponents take longer than 0.05 ms. */
const USUAL_KEY_BITS_MAX = 2048
const USUAL_EXPONENT = 65_537n
/** A record with a key of USUAL_KEY_BITS_MAX has 420 characters, plus notes. */
const USUAL_RECORD_LENGTH_MAX = 700

type Published = { readonly record: string; key: Promise<KeyObject | null> | null }

export class UsualSignatures {
  readonly #published = new Cache<Published>({ entriesMax: SIGNATURE_KEYS_KEPT_MAX })

  /** The key is not parsed here: parsing is slow, and a message may name many keys. */
  learn(name: string, answer: KeyAnswer): void {
    const [record = '', ...others] = answer.kind === 'found' ? answer.records : []
    const isUsual = others.length === 0 && record.length <= USUAL_RECORD_LENGTH_MAX
    const isFound = answer.kind === 'found' && isUsual
    const ttlMs = isFound ? Math.min(answer.ttlMs, SIGNATURE_KEY_KEPT_MS_MAX) : 0
    // If there is no TTL, this only removes the earlier record.
    this.#published.set(name.toLowerCase(), { record, key: null }, { ttlMs })
  }

  /** Returns null unless the message has one valid signature. Parses at most one key. */
  async check(
    raw: Uint8Array,
    fields: SignatureFields,
    nowMs: number,
  ): Promise<SignatureResults | null> {
    const { count, signers, hasArc, fromCount } = fields
    const [signer] = signers
    if (count !== 1 || hasArc || fromCount !== 1 || signer === undefined) return null
    const name = `${signer.selector}._domainkey.${signer.domain}`
    const published = this.#published.get(name)
    const found = published === null ? null : readUsualSignature(raw, nowMs)
    if (published === null || found === null) return null
    const { domain, selector, data, signature, author } = found
    if (domain !== signer.domain || selector !== signer.selector) return null
    published.key ??= readUsualKey(name, published.record)
    const key = await published.key
    if (key === null || !verify('sha256', data, key, signature)) return null
    return {
      dkim: [{ result: 'pass', domain, selector }],
      arc: 'none',
      outgrown: [],
      signed: { fromCount, addresses: [author] },
    }
  }
}

/** The promise never rejects. */
async function readUsualKey(name: string, record: string): Promise<KeyObject | null> {
  const options = { strict: true, hashAlgo: 'sha256' }
  const reading = { type: 'DKIM', name, bitsMin: KEY_BITS_MIN, options }
  const key = await readKey(record, reading).catch(() => null)
  const publicKey = key?.publicKey
  if (!(publicKey instanceof KeyObject) || publicKey.asymmetricKeyType !== 'rsa') return null
  const { modulusLength = 0, publicExponent } = publicKey.asymmetricKeyDetails ?? {}
  return modulusLength <= USUAL_KEY_BITS_MAX && publicExponent === USUAL_EXPONENT ? publicKey : null
}
