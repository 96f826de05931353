// Return paths, by which the service recognizes reports, and hop marks, by which it recognizes
// loops. Both contain a MAC.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { idTimeMs, isIdOf } from '#platform/ids.ts'
import { DAY_MS } from '#platform/units.ts'

/** Return paths accept reports for this long. No server reports later. */
export const RETURN_PATH_MS = 30 * DAY_MS

export type DeriveKey = { deriveKey: (purpose: string) => Uint8Array }

type ReturnPath =
  | { kind: 'delivery'; deliveryId: string }
  | { kind: 'expired' }
  | { kind: 'forged' }

/** No inbox has such a short name before the plus sign. */
const PREFIX = 'b+'
const MAC_LENGTH = 10
/** The alphabet omits letters that people confuse with digits, unlike that of RFC 4648. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const ID_PREFIX = 'dlv_'

/**
 * Makes `b+<id>.<mac>@domain` with 39 octets before the @, in lower case because some servers fold
 * it. `key` is derived for the purpose `return-path`.
 */
export function makeReturnPath(
  key: Uint8Array,
  { deliveryId, domain }: { deliveryId: string; domain: string },
): string {
  const id = deliveryId.slice(ID_PREFIX.length)
  return `${PREFIX}${id}.${macOf(key, id)}@${domain.toLowerCase()}`
}

/** Ignores case. Returns null if the local part does not have the form of a return path. */
export function readReturnPath(
  key: Uint8Array,
  { localPart, nowMs }: { localPart: string; nowMs: number },
): ReturnPath | null {
  if (!isReturnPath(localPart)) return null
  // Some letters beyond ASCII have lower-case forms within it.
  if (/[^\x21-\x7e]/.test(localPart)) return { kind: 'forged' }
  const text = localPart.toLowerCase()
  const [id = '', mac = '', ...more] = text.slice(PREFIX.length).split('.')
  const deliveryId = `${ID_PREFIX}${id}`
  if (more.length > 0 || !isIdOf('dlv', deliveryId)) return { kind: 'forged' }
  if (!isEqual(mac, macOf(key, id))) return { kind: 'forged' }
  if (nowMs - idTimeMs(deliveryId) > RETURN_PATH_MS) return { kind: 'expired' }
  return { kind: 'delivery', deliveryId }
}

/** Returns true for forged return paths as well. */
export function isReturnPath(localPart: string): boolean {
  return localPart.slice(0, PREFIX.length).toLowerCase() === PREFIX
}

/** 50 bits are enough, because every guess costs an SMTP transaction. */
function macOf(key: Uint8Array, id: string): string {
  const digest = createHmac('sha256', key).update(id, 'ascii').digest()
  let bits = digest.readUIntBE(0, 6) * 4 + (digest.readUInt8(6) >>> 6)
  let text = ''
  while (text.length < MAC_LENGTH) {
    text = `${ALPHABET[bits % 32]}${text}`
    bits = Math.floor(bits / 32)
  }
  return text
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/**
 * Makes the value of `X-Loop`, by which an inbox recognizes its own mail: a MAC of 128 bits in 26
 * lower-case letters and digits. Only recipients of the inbox's mail know it, so no stranger can
 * cause mail to the inbox to be refused.
 */
export function hopMarkOf({ deriveKey }: DeriveKey, inboxId: string): string {
  const mac = createHmac('sha256', deriveKey('hop-mark')).update(inboxId).digest()
  return BigInt(`0x${mac.subarray(0, HOP_MARK_BYTES).toString('hex')}`)
    .toString(32)
    .padStart(HOP_MARK_LENGTH, '0')
}

const HOP_MARK_BYTES = 16
const HOP_MARK_LENGTH = 26
