// A DKIM signature (RFC 6376) that many messages share. It covers only fields and a body that are
// identical in all of them, so signing costs the load generator nothing.

import { createHash, generateKeyPairSync, sign } from 'node:crypto'

const DOMAIN = 'sender.example'
const SELECTOR = 'bench'

export type SharedSignature = {
  /** The complete field with its line end. */
  readonly field: string
  /** The name and the text of the DNS record with the public key. */
  readonly record: { readonly name: string; readonly text: string }
}

/**
 * `fields` must have no folding or repeated spaces, and `body` must end with exactly one line end.
 */
export function makeSignature(fields: readonly string[], body: string): SharedSignature {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const names = fields.map((field) => field.slice(0, field.indexOf(':')).toLowerCase())
  const hash = createHash('sha256').update(body).digest('base64')
  const unsigned = [
    'v=1; a=rsa-sha256; c=relaxed/relaxed',
    `d=${DOMAIN}; s=${SELECTOR}`,
    `h=${names.join(':')}`,
    `bh=${hash}`,
    'b=',
  ].join('; ')
  const signed = [
    ...fields.map(
      (field) =>
        `${field.slice(0, field.indexOf(':')).toLowerCase()}:${field.slice(field.indexOf(':') + 2)}`,
    ),
    `dkim-signature:${unsigned}`,
  ].join('\r\n')
  const signature = sign('sha256', Buffer.from(signed), privateKey).toString('base64')
  const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
  return {
    field: `DKIM-Signature: ${unsigned}${signature}\r\n`,
    record: { name: `${SELECTOR}._domainkey.${DOMAIN}`, text: `v=DKIM1; k=rsa; p=${key}` },
  }
}
