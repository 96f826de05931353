// The randomness seam.

import { randomBytes } from 'node:crypto'

export type Chance = {
  /** Returns cryptographically strong random bytes. */
  bytes(length: number): Uint8Array
}

/** One call of the generator costs as much as reading 4 KiB, and each message needs a few bytes. */
const POOL_BYTES = 4_096

export const systemChance: Chance = pooledChance()

function pooledChance(): Chance {
  let pool = randomBytes(POOL_BYTES)
  let used = 0
  return {
    bytes(length) {
      if (length > POOL_BYTES) return randomBytes(length)
      if (used + length > POOL_BYTES) {
        pool = randomBytes(POOL_BYTES)
        used = 0
      }
      used += length
      return pool.subarray(used - length, used)
    },
  }
}

/** Drops bytes that would favour the first characters. `alphabet` has 2 to 256 characters. */
export function randomText(chance: Chance, alphabet: string, length: number): string {
  const usable = 256 - (256 % alphabet.length)
  let text = ''
  while (text.length < length) {
    for (const byte of chance.bytes(length * 2)) {
      if (byte < usable && text.length < length) text += alphabet[byte % alphabet.length]
    }
  }
  return text
}

export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
export const LOWER_ALPHANUMERIC = '0123456789abcdefghijklmnopqrstuvwxyz'
