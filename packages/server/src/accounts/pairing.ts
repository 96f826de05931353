// The pairing of a client with an account: what the client knows alone, and what a person compares.

import { hash } from 'node:crypto'
import { type Chance, randomText } from '#platform/chance.ts'

export type Pairing = {
  userCode: string
  clientName: string | null
  clientAddress: string
  createdAtMs: number
  expiresAtMs: number
}

/** Consonants, so that no words come of it, and digits that look like no letter (RFC 8628 §6.1). */
const CODE_ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ3479'
const CODE_LENGTH = 8
const REQUEST_ID_BYTES = 32

/** Known to the client alone, who takes the key with it. */
export function makeRequestId(chance: Chance): string {
  return Buffer.from(chance.bytes(REQUEST_ID_BYTES)).toString('base64url')
}

/** What is kept of it: 256 random bits need no salt. */
export function hashRequestId(requestId: string): Uint8Array {
  return hash('sha256', requestId, 'buffer')
}

/** `XXXX-XXXX`. */
export function makeUserCode(chance: Chance): string {
  return grouped(randomText(chance, CODE_ALPHABET, CODE_LENGTH))
}

/** As people type it: in any case, with or without the hyphen. Null for what cannot be one. */
export function readUserCode(text: string): string | null {
  if (text.length > 2 * CODE_LENGTH) return null
  const code = text.toUpperCase().replace(/[\s-]/g, '')
  const isCode =
    code.length === CODE_LENGTH && [...code].every((one) => CODE_ALPHABET.includes(one))
  return isCode ? grouped(code) : null
}

function grouped(code: string): string {
  return `${code.slice(0, 4)}-${code.slice(4)}`
}
