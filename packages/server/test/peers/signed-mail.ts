// Mail signed by mailauth, independent of our own signer.

import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { sealMessage } from 'mailauth/lib/arc/index.js'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'

export type SigningKey = { readonly pem: string; readonly record: string }

export function makeSigningKey(bits = 2048): SigningKey {
  const pair = generateKeyPairSync('rsa', { modulusLength: bits })
  const key = pair.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
  return { pem: toPem(pair.privateKey), record: `v=DKIM1; k=rsa; p=${key}` }
}

/** RFC 8463: the record holds the 32 octets of the key. */
export function makeEdwardsKey(): SigningKey {
  const pair = generateKeyPairSync('ed25519')
  const der = pair.publicKey.export({ type: 'spki', format: 'der' })
  const key = der.subarray(-32).toString('base64')
  return { pem: toPem(pair.privateKey), record: `v=DKIM1; k=ed25519; p=${key}` }
}

function toPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

export type Signing = {
  readonly key: SigningKey
  readonly domain?: string
  readonly selector?: string
  readonly algorithm?: string
  readonly signTime?: Date
  readonly expires?: Date
  /** The tag l=. */
  readonly maxBodyLength?: number
  readonly canonicalization?: string
}

/** The message with a signature of `sender.example` and selector `s1` on top, by default. */
export async function signMail(raw: string | Buffer, signing: Signing): Promise<Buffer> {
  const { key, domain = 'sender.example', selector = 's1', maxBodyLength, expires } = signing
  const signer = { signingDomain: domain, selector, privateKey: key.pem }
  const { signatures, errors } = await dkimSign(Buffer.from(raw), {
    canonicalization: signing.canonicalization ?? 'relaxed/relaxed',
    algorithm: signing.algorithm ?? 'rsa-sha256',
    signTime: signing.signTime ?? new Date(),
    ...(expires === undefined ? {} : { expires }),
    ...signer,
    signatureData: [{ ...signer, ...(maxBodyLength === undefined ? {} : { maxBodyLength }) }],
  })
  if (errors.length > 0) throw new Error(JSON.stringify(errors))
  return Buffer.concat([Buffer.from(signatures), Buffer.from(raw)])
}

/** The message with the first set of an ARC chain on top. */
export async function sealMail(
  raw: string | Buffer,
  { key, domain }: { key: SigningKey; domain: string },
): Promise<Buffer> {
  const set = await sealMessage(Buffer.from(raw), {
    signingDomain: domain,
    selector: 's1',
    privateKey: key.pem,
    authResults: `${domain}; spf=pass`,
    cv: 'none',
  })
  return Buffer.concat([Buffer.from(set), Buffer.from(raw)])
}
