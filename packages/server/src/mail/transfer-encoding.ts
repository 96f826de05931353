// Content-Transfer-Encoding (RFC 2045 §6): encoded octets to octets. What is not valid is kept or
// skipped as mail programs do; nothing throws.

import { hexValue } from './encoded-word.ts'
import { stripComments } from './parameters.ts'

export type TransferEncoding = 'base64' | 'quoted-printable' | 'identity'

/** The encoding that a field names first; 7bit, 8bit, binary and unknown ones are the identity. */
export function transferEncodingOf(field: string | null): TransferEncoding {
  const name = field === null ? '' : (/[\w-]+/.exec(stripComments(field))?.[0] ?? '')
  if (/base64/i.test(name)) return 'base64'
  return /quoted-printable/i.test(name) ? 'quoted-printable' : 'identity'
}

/** Characters outside the alphabet are skipped; padding within ends a unit, and the next begins. */
export function decodeBase64(encoded: Buffer): Buffer {
  const text = encoded.toString('latin1')
  const clean = /[^A-Za-z0-9+/=\r\n]/.test(text) ? text.replace(/[^A-Za-z0-9+/=]+/g, '') : text
  const padding = clean.indexOf('=')
  if (padding < 0 || !/[^=\r\n]/.test(clean.slice(padding))) return Buffer.from(clean, 'base64')
  return Buffer.concat(clean.split(/=+/).map((unit) => Buffer.from(unit, 'base64')))
}

/**
 * RFC 2045 §6.7, lines ended by LF. An `=` that begins no octet and ends no line stands for itself.
 * Line ends that are not encoded come out as LF.
 */
export function decodeQuotedPrintable(encoded: Buffer): Buffer {
  const decoded = Buffer.allocUnsafe(encoded.length)
  let length = 0
  for (let index = 0; index < encoded.length; index += 1) {
    let octet = encoded[index] ?? 0
    if (octet === 0x0d) {
      const end = endOfReturns(encoded, index)
      if (encoded[end] !== 0x0a && end < encoded.length) {
        length += encoded.copy(decoded, length, index, end)
        index = end - 1
        continue
      }
      index = end
      octet = 0x0a
    } else if (octet === 0x3d) {
      const high = hexValue(encoded[index + 1])
      const low = hexValue(encoded[index + 2])
      const lineEnd = endOfReturns(encoded, index + 1)
      if (high >= 0 && low >= 0) {
        octet = high * 16 + low
        index += 2
      } else if (encoded[lineEnd] === 0x0a || lineEnd >= encoded.length) {
        index = lineEnd
        continue
      }
    }
    decoded[length++] = octet
  }
  return decoded.subarray(0, length)
}

function endOfReturns(octets: Buffer, from: number): number {
  let end = from
  while (octets[end] === 0x0d) end += 1
  return end
}
