// Keys of signatures, from the records that publish them, as mailauth asks for them. A key that was
// read once is not read again from the same text.

import { createPublicKey, hash } from 'node:crypto'
import type { Key, KeyCache, KeyOptions } from 'mailauth/lib/dkim/dkim-verifier.js'
import { getPublicKey, toALabel } from 'mailauth/lib/tools.js'
import { Cache } from '#platform/cache.ts'
import { lookupError } from './lookups.ts'

/** Keys that a thread keeps read, and answers of DNS that the one for signatures keeps by itself. */
export const SIGNATURE_KEYS_KEPT_MAX = 1_000

/** What stands at the name of a key; `ttlMs` for how long it may be kept. */
export type KeyAnswer =
  | { readonly kind: 'found'; readonly records: readonly string[]; readonly ttlMs: number }
  /** Nothing but records past SIGNATURE_KEY_LENGTH_MAX. */
  | { readonly kind: 'large'; readonly ttlMs: number }
  | { readonly kind: 'none'; readonly isNameMissing: boolean; readonly ttlMs: number }
  | { readonly kind: 'fault'; readonly text: string }

export type FindKeys = (name: string) => Promise<KeyAnswer>

/** RFC 8301 §3.2. */
export const KEY_BITS_MIN = 1024

export type MessageKeys = KeyCache & {
  /** Has the record asked for that will be needed. */
  prepare(name: string): void
  /** Whether DNS failed to answer for a key of this type. */
  hasFault(type: string): boolean
}

export type MessageKeysOptions = {
  /** The key algorithms of the signatures that name this record. */
  algorithmsAt(name: string): readonly string[]
  /** Called when an answer has come. */
  onWork(): void
}

/** For one message: what was answered once counts for all of it. */
export function openMessageKeys(
  findKeys: FindKeys,
  { algorithmsAt, onWork }: MessageKeysOptions,
): MessageKeys {
  const faults = new Set<string>()
  const answers = new Map<string, Promise<KeyAnswer>>()
  const ask = (written: string) => {
    const known = answers.get(written)
    if (known !== undefined) return known
    const answer = findKeys(toALabel(written))
    answers.set(written, answer)
    return answer
  }
  const find = async (type: string, written: string, bitsMin: number, options?: KeyOptions) => {
    const answer = await ask(written)
    onWork()
    if (answer.kind === 'fault') faults.add(type)
    // In mailauth's words: a key that is there, and against the rules.
    if (answer.kind === 'large') throw Object.assign(new Error('too long'), { code: 'ESHORTKEY' })
    if (answer.kind !== 'found') throw lookupError(answer)
    const name = toALabel(written)
    return chooseKey(answer.records, algorithmsAt(written), (record) =>
      readKey(record, { type, name, bitsMin: bitsMin || KEY_BITS_MIN, options: options ?? {} }),
    )
  }
  const get: KeyCache['get'] = (...question) => {
    const finding = find(...question)
    // mailauth asks for some keys ahead, and waits for no answer.
    finding.catch(() => {})
    return finding
  }
  const resolver: KeyCache['resolver'] = () => {
    throw new Error('Keys are found by their cache.')
  }
  const prepare = (written: string) => void ask(written).catch(() => {})
  return { resolver, get, prepare, hasFault: (type) => faults.has(type) }
}

/** RFC 6376 §3.6.2.2 leaves open which of several records counts: the one that suits. */
async function chooseKey(
  records: readonly string[],
  algorithms: readonly string[],
  read: (record: string) => Promise<Key>,
): Promise<Key> {
  if (records.length === 1) return read(records[0] ?? '')
  const readings = await Promise.allSettled(records.map(read))
  const keys = readings.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const key = keys.find(({ keyType }) => algorithms.includes(keyType)) ?? keys[0]
  if (key !== undefined) return key
  throw readings.find((one) => one.status === 'rejected')?.reason
}

type Reading = { type: string; name: string; bitsMin: number; options: KeyOptions }

/** By digests, so that no record makes one larger than another. */
const keptKeys = new Cache<Key>({ entriesMax: SIGNATURE_KEYS_KEPT_MAX })

/** Reading a key costs more than verifying with it. */
async function readKey(record: string, { type, name, bitsMin, options }: Reading): Promise<Key> {
  const known = hash('sha256', `${options.hashAlgo} ${bitsMin} ${record}`, 'base64')
  const kept = keptKeys.get(known)
  if (kept !== null) return kept
  const read = await getPublicKey(type, name, bitsMin, async () => [[record]], options)
  // Of what is read along with it, such as the record, nothing is kept.
  const key = { ...read, rr: '', publicKey: createPublicKey(read.publicKey) }
  keptKeys.set(known, key)
  return key
}
