// Checksums that distinguish real numbers and tokens from others of the same form.

import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const CRC_DIGITS = 6

/** Whether the last six digits are the base-62 CRC-32 of the rest, as in GitHub and npm tokens. */
export function hasCrc32(body: string): boolean {
  let rest = crc32(body.slice(0, -CRC_DIGITS))
  let digits = ''
  for (let index = 0; index < CRC_DIGITS; index++) {
    digits = BASE62[rest % 62] + digits
    rest = Math.floor(rest / 62)
  }
  return body.slice(-CRC_DIGITS) === digits
}

/** Luhn's checksum (ISO/IEC 7812-1, annex B). The text must be digits only. */
export function isLuhnValid(digits: string): boolean {
  let sum = 0
  for (let index = 0; index < digits.length; index++) {
    const digit = digits.charCodeAt(digits.length - 1 - index) - 0x30
    const doubled = index % 2 === 0 ? digit : 2 * digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

/** ISO 13616 (ISO/IEC 7064, MOD 97-10). The IBAN must be in upper case without separators. */
export function isIbanValid(iban: string): boolean {
  let rest = 0
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(character, 36)
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97
  }
  return rest === 1
}

const BECH32 = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const BECH32_GENERATOR = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3]

/** The checksum of BIP 173. The text must be in lower case; `prefix` precedes the last `1`. */
export function isBech32Valid(prefix: string, data: string): boolean {
  const codes = Buffer.from(prefix)
  const values = [...codes.map((code) => code >> 5), 0, ...codes.map((code) => code & 31)]
  for (const character of data) values.push(BECH32.indexOf(character))
  if (values.includes(-1)) return false
  let sum = 1
  for (const value of values) {
    const top = sum >>> 25
    sum = ((sum & 0x1ffffff) << 5) ^ value
    for (const [bit, factor] of BECH32_GENERATOR.entries()) if ((top >> bit) & 1) sum ^= factor
  }
  return sum === 1
}

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const BASE58_CHECK_BYTES = 4

/** Bitcoin's Base58Check: the last four octets start the double SHA-256 of the other octets. */
export function isBase58CheckValid(text: string): boolean {
  const octets: number[] = []
  for (const character of text) {
    let carry = BASE58.indexOf(character)
    if (carry === -1) return false
    for (let index = 0; index < octets.length; index++) {
      carry += 58 * (octets[index] as number)
      octets[index] = carry & 0xff
      carry >>= 8
    }
    for (; carry > 0; carry >>= 8) octets.push(carry & 0xff)
  }
  const bytes = Buffer.from(octets.reverse())
  const payload = bytes.subarray(0, -BASE58_CHECK_BYTES)
  const once = createHash('sha256').update(payload).digest()
  const twice = createHash('sha256').update(once).digest()
  return twice.subarray(0, BASE58_CHECK_BYTES).equals(bytes.subarray(-BASE58_CHECK_BYTES))
}
