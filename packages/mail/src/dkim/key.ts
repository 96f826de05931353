import { createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'

/** RFC 8301 §3.2; a longer key's record does not fit into one DNS answer over UDP everywhere. */
const MODULUS_BITS = 2048

const generate = promisify(generateKeyPair)

/** A new private key, made in the thread pool: 15 to 500 ms. */
export async function makeDkimKey(): Promise<KeyObject> {
  const { privateKey } = await generate('rsa', { modulusLength: MODULUS_BITS })
  return privateKey
}

/** The SubjectPublicKeyInfo of its public half in base64, as the record has it. */
export function publicKeyOf(privateKey: KeyObject): string {
  return createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).toString('base64')
}

/** The value of the TXT record at `<selector>._domainkey.<domain>` (RFC 6376 §3.6.1). */
export function formatKeyRecord(publicKey: string): string {
  return `v=DKIM1; k=rsa; p=${publicKey}`
}

/**
 * Whether a verifier that finds these TXT records believes an rsa-sha256 signature of a mail made
 * with this key. It may take any of several (RFC 6376 §3.6.2.2), so all have to be good.
 */
export function recordsHoldKey(texts: readonly string[], publicKey: string): boolean {
  return texts.length > 0 && texts.every((text) => findKeyDefect(text, publicKey) === null)
}

/** `key`: another key, or none; `test`: the key, only tried out; `tags`: the key, for something else. */
export type KeyDefect = 'key' | 'test' | 'tags'

/** Why a verifier that finds this record believes no such signature; null when it does. */
export function findKeyDefect(text: string, publicKey: string): KeyDefect | null {
  const tags = readTags(text)
  const isAmong = (tag: string, name: string, wild?: string): boolean => {
    const names = tags.get(tag)?.split(':')
    return names === undefined || names.some((each) => each === name || each === wild)
  }
  const isTest = tags.get('t')?.split(':').includes('y') ?? false
  if (tags.get('p') !== publicKey) return 'key'
  const isForMail =
    (tags.get('v') ?? 'DKIM1') === 'DKIM1' &&
    (tags.get('k') ?? 'rsa') === 'rsa' &&
    isAmong('h', 'sha256') &&
    isAmong('s', 'email', '*')
  if (!isForMail) return 'tags'
  return isTest ? 'test' : null
}

/** RFC 6376 §3.2, without the white space, which stands for nothing in the values of a key record. */
function readTags(text: string): ReadonlyMap<string, string> {
  const tags = new Map<string, string>()
  for (const part of text.split(';')) {
    const at = part.indexOf('=')
    if (at > 0) tags.set(part.slice(0, at).trim(), part.slice(at + 1).replace(/\s+/g, ''))
  }
  return tags
}
