// Encrypts secrets at rest, so that a copy of the database reveals none. Knows a key and bytes, not their
// meaning. The sealed form: one octet 1 (the version), a nonce of 12 octets, the ciphertext of AES-256-GCM,
// which is as long as the plain text, and a tag of 16 octets. The context is authenticated and not stored.

import { createCipheriv, createDecipheriv, createSecretKey } from 'node:crypto'
import { type Chance, systemChance } from './chance.ts'

export type Sealer = {
  /**
   * `context` says where the secret belongs, such as `dkim:example.com`, and must be the same to open it.
   * Sealing a secret twice gives different octets.
   */
  seal(plain: Uint8Array, context: string): Uint8Array
  /** Null when the octets were sealed with another key or context, changed, or never sealed. */
  open(sealed: Uint8Array, context: string): Uint8Array | null
}

export const SEALING_KEY_BYTES = 32

const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16
const CIPHER = 'aes-256-gcm'

/** Throws unless the key has 32 octets. Safe for 2^32 secrets (SP 800-38D §8.3). */
export function sealer(key: Uint8Array, chance: Chance = systemChance): Sealer {
  if (key.length !== SEALING_KEY_BYTES) throw new RangeError('A sealing key has 32 octets.')
  // Created once, because it costs more than opening a secret.
  const secretKey = createSecretKey(key)
  return {
    seal(plain, context) {
      const nonce = chance.bytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, secretKey, nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(Buffer.from(context))
      const parts = [Uint8Array.of(VERSION), nonce, cipher.update(plain), cipher.final()]
      return Buffer.concat([...parts, cipher.getAuthTag()])
    },
    open(sealed, context) {
      const end = sealed.length - TAG_BYTES
      if (sealed[0] !== VERSION || end < 1 + NONCE_BYTES) return null
      const nonce = sealed.subarray(1, 1 + NONCE_BYTES)
      const decipher = createDecipheriv(CIPHER, secretKey, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(Buffer.from(context))
      decipher.setAuthTag(sealed.subarray(end))
      const plain = decipher.update(sealed.subarray(1 + NONCE_BYTES, end))
      try {
        return Buffer.concat([plain, decipher.final()])
      } catch {
        return null
      }
    },
  }
}

/** In characters. The longest are links with an address, of some 600. */
const SEALED_TEXT_LENGTH_MAX = 1_000

/** The sealed form as a part of a URL. */
export function sealText(sealer: Sealer, plain: string, context: string): string {
  return Buffer.from(sealer.seal(Buffer.from(plain), context)).toString('base64url')
}

/** Null for what `sealText` did not make in this context. */
export function openText(sealer: Sealer, sealed: string, context: string): string | null {
  if (sealed.length > SEALED_TEXT_LENGTH_MAX) return null
  const octets = Buffer.from(sealed, 'base64url')
  // Decoding skips characters that are no base64url.
  if (octets.toString('base64url') !== sealed) return null
  const plain = sealer.open(octets, context)
  return plain === null ? null : Buffer.from(plain).toString()
}
