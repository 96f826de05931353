// Encrypts secrets at rest, so that a copy of the database reveals none. A sealed secret is the
// version octet 1, a nonce of 12 octets, the AES-256-GCM ciphertext and a tag of 16 octets. The
// context is authenticated but not stored.

import { createCipheriv, createDecipheriv, createSecretKey } from 'node:crypto'
import { type Chance, systemChance } from './chance.ts'

export type Sealer = {
  /** Opening needs the same `context`, such as `dkim:example.com`. */
  seal(plain: Uint8Array, context: string): Uint8Array
  /** Null if the octets were changed, or sealed with another key or context. */
  open(sealed: Uint8Array, context: string): Uint8Array | null
}

export const SEALING_KEY_BYTES = 32

const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16
const CIPHER = 'aes-256-gcm'

/** Throws unless the key has 32 octets. One key is safe for 2^32 secrets (SP 800-38D §8.3). */
export function sealer(key: Uint8Array, chance: Chance = systemChance): Sealer {
  if (key.length !== SEALING_KEY_BYTES) throw new RangeError('A sealing key has 32 octets.')
  // Creating the key object costs more than opening a secret.
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

/** Maximum characters. The longest texts are links with an address, about 600. */
const SEALED_TEXT_LENGTH_MAX = 1_000

export function sealText(sealer: Sealer, plain: string, context: string): string {
  return Buffer.from(sealer.seal(Buffer.from(plain), context)).toString('base64url')
}

/** Null for any text that `sealText` did not make in this context. */
export function openText(sealer: Sealer, sealed: string, context: string): string | null {
  if (sealed.length > SEALED_TEXT_LENGTH_MAX) return null
  const octets = Buffer.from(sealed, 'base64url')
  // Decoding skips characters outside base64url.
  if (octets.toString('base64url') !== sealed) return null
  const plain = sealer.open(octets, context)
  return plain === null ? null : Buffer.from(plain).toString()
}
