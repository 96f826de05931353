// The common part of the DKIM tests: one key for a test file, its record as a resolver returns it, and the verdict of
// an independent verifier.

import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { formatKeyRecord, makeDkimKey, openSigner, publicKeyOf } from '#dkim.ts'

export const DOMAIN = 'sender.example'
export const SELECTOR = 'mr1'
export const NOW_MS = Date.UTC(2024, 0, 1)

export const privateKey = await makeDkimKey()
export const signer = openSigner({ domain: DOMAIN, selector: SELECTOR, privateKey })

/** The results of all signatures, in the verifier's words: `pass`, `fail`, … */
export async function verdicts(raw: Uint8Array): Promise<string[]> {
  const { results } = await dkimVerify(Buffer.from(raw), { resolver: answer, curTime: NOW_MS })
  return results.map(({ status }) => status.result)
}

/** Lines joined by CRLF as octets, one character each. */
export function octets(...lines: readonly string[]): Buffer {
  return Buffer.from(lines.join('\r\n'), 'latin1')
}

/** The field that signing prepended, without its CRLF, and the rest of the message. */
export function splitSigned(signed: Uint8Array): { field: string; rest: Buffer } {
  const bytes = Buffer.from(signed)
  const field = /^DKIM-Signature:.*(?:\r\n[ \t].*)*\r\n/.exec(bytes.toString('latin1'))?.[0] ?? ''
  return { field: field.slice(0, -2), rest: bytes.subarray(field.length) }
}

/** The value of a tag of the field without white space; '' when it is absent. */
export function tag(field: string, name: string): string {
  const value = field.slice(field.indexOf(':') + 1).replace(/[ \t\r\n]/g, '')
  const tags = value.split(';').map((text) => text.split(/=(.*)/s))
  return tags.find(([key]) => key === name)?.[1] ?? ''
}

async function answer(name: string, type: string): Promise<string[][]> {
  if (name !== `${SELECTOR}._domainkey.${DOMAIN}` || type !== 'TXT') throw new Error(name)
  // In two strings, as it is published.
  const record = formatKeyRecord(publicKeyOf(privateKey))
  return [[record.slice(0, 255), record.slice(255)]]
}
