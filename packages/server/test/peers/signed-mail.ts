// Mail signed by mailauth, independent of our own signer.

import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
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

/** The ARC-Message-Signature of `sealByHand`: its tags `c=` and `h=`, and what was really done. */
export type HandSeal = { readonly c?: string; readonly h: string; readonly isRelaxed?: boolean }

/** The message with an ARC set that mailauth would not make; `raw` has CRLF line ends. */
export function sealByHand(
  raw: string,
  { key, domain, c, h, isRelaxed = false }: HandSeal & { key: SigningKey; domain: string },
): string {
  const bodyStart = raw.indexOf('\r\n\r\n') + 4
  const fields = raw.slice(0, bodyStart - 4).split(/\r\n(?![ \t])/)
  const form = isRelaxed ? relaxField : (field: string) => field
  const body = isRelaxed ? relaxLines(raw.slice(bodyStart)) : raw.slice(bodyStart)
  const bodyHash = createHash('sha256').update(`${body.replace(/(?:\r\n)*$/, '')}\r\n`)
  const signed = (data: string) => sign('sha256', Buffer.from(data), key.pem).toString('base64')
  const named = h.split(':').flatMap((name) => fields.filter((one) => nameOf(one) === name))
  const results = `ARC-Authentication-Results: i=1; ${domain}; spf=pass`
  const tags = `i=1; a=rsa-sha256; d=${domain}; s=s1; t=12345;`
  const written = `${c === undefined ? '' : `c=${c}; `}h=${h};\r\n bh=${bodyHash.digest('base64')}; b=`
  const message = `ARC-Message-Signature: ${tags}\r\n ${written}`
  const messageField = message + signed([...named, message].map(form).join('\r\n'))
  const seal = `ARC-Seal: ${tags} cv=none; b=`
  const sealField = seal + signed([results, messageField, seal].map(relaxField).join('\r\n'))
  return [sealField, messageField, results, raw].join('\r\n')
}

function nameOf(field: string): string {
  return field.slice(0, field.indexOf(':')).toLowerCase()
}

/** RFC 6376 §3.4.2. */
function relaxField(field: string): string {
  const value = field.slice(field.indexOf(':') + 1).replace(/\s+/g, ' ')
  return `${nameOf(field)}:${value.trim()}`
}

/** RFC 6376 §3.4.4, without the end of the body. */
function relaxLines(body: string): string {
  return body.replace(/[ \t]+/g, ' ').replace(/ (?=\r\n)/g, '')
}
