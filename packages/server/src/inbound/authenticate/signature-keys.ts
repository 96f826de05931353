import { createPublicKey, hash } from 'node:crypto'
import type { Key, KeyOptions } from 'mailauth/lib/dkim/dkim-verifier.js'
import { getPublicKey } from 'mailauth/lib/tools.js'
import { Cache } from '#platform/cache.ts'
import { SECOND_MS } from '#platform/units.ts'

export const SIGNATURE_KEYS_KEPT_MAX = 1_000

export type KeyAnswer =
  | { readonly kind: 'found'; readonly records: readonly string[]; readonly ttlMs: number }
  | { readonly kind: 'large'; readonly ttlMs: number }
  | { readonly kind: 'none'; readonly isNameMissing: boolean; readonly ttlMs: number }
  | { readonly kind: 'fault'; readonly text: string }

export type FindKeys = (name: string) => Promise<KeyAnswer>

export const SIGNATURE_KEY_KEPT_MS_MAX = 5 * SECOND_MS

/** RFC 8301 §3.2 requires at least 1024 bits. */
export const KEY_BITS_MIN = 1024

type Reading = { type: string; name: string; bitsMin: number; options: KeyOptions }

/** Keys of the cache are digests, so that long records make no larger entries. */
const keptKeys = new Cache<Key>({ entriesMax: SIGNATURE_KEYS_KEPT_MAX })

/** Parsed keys are cached, because parsing costs more than verifying. */
export async function readKey(
  record: string,
  { type, name, bitsMin, options }: Reading,
): Promise<Key> {
  const known = hash('sha256', `${options.hashAlgo} ${bitsMin} ${record}`, 'base64')
  const kept = keptKeys.get(known)
  if (kept !== null) return kept
  const read = await getPublicKey(type, name, bitsMin, async () => [[record]], options)
  const key = { ...read, rr: '', publicKey: createPublicKey(read.publicKey) }
  keptKeys.set(known, key)
  return key
}
