// An API key: a bearer token of which only a SHA-256 is kept, with enough of its text to be
// recognised by its owner.

import { hash } from 'node:crypto'
import { BASE62, type Chance, randomText } from '#platform/chance.ts'

export type Key = {
  id: string
  name: string | null
  tokenPrefix: string
  last4: string
  createdAtMs: number
  lastUsedAtMs: number | null
}

/** 40 base62 characters hold 238 bits, so the digest needs neither salt nor a slow hash. */
export function makeToken(chance: Chance): string {
  return `mr_${randomText(chance, BASE62, 40)}`
}

/** What is stored of a token. */
export function describeToken(token: string) {
  return { tokenHash: hashToken(token), tokenPrefix: token.slice(0, 7), last4: token.slice(-4) }
}

/** SHA-256 of the token's UTF-8 octets. */
export function hashToken(token: string): Uint8Array {
  return hash('sha256', token, 'buffer')
}
