// Keys of DKIM signatures: how one is made, and the record that tells the world its public half.

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

/** The value of the TXT record at `<selector>._domainkey.<domain>` (RFC 6376 §3.6.1). */
export function dkimKeyRecord(privateKey: KeyObject): string {
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  return `v=DKIM1; k=rsa; p=${publicKey.toString('base64')}`
}
