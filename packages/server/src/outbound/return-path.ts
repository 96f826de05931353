// Return paths: the reverse-path of what is sent, an address that only the service can have made, so
// that a report that comes to it is about the delivery that it names.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { idTimeMs, isIdOf } from '#platform/ids.ts'
import { DAY_MS } from '#platform/units.ts'

/** How long a return path takes reports: later than that no server tells of a message. */
export const RETURN_PATH_MS = 30 * DAY_MS

export type ReturnPath =
  | { kind: 'delivery'; deliveryId: string }
  /** Ours, and too old. */
  | { kind: 'expired' }
  /** Of the form, and not made here. */
  | { kind: 'forged' }

/** With the tag's plus sign; an inbox's name is longer than this one. */
const PREFIX = 'b+'
const MAC_LENGTH = 10
/** RFC 4648 gives case no meaning either, but has letters that are taken for digits. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const ID_PREFIX = 'dlv_'

/**
 * `b+<id>.<mac>@domain`, in lower case, since some servers fold it: 39 octets before the @. `key` is
 * of the purpose `return-path`.
 */
export function makeReturnPath(
  key: Uint8Array,
  { deliveryId, domain }: { deliveryId: string; domain: string },
): string {
  const id = deliveryId.slice(ID_PREFIX.length)
  return `${PREFIX}${id}.${macOf(key, id)}@${domain.toLowerCase()}`
}

/** What a local part says as a return path; null when it has not the form of one. Case is nothing. */
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

/** Whether a local part is one of the service's for return paths, whoever made it. */
export function isReturnPath(localPart: string): boolean {
  return localPart.slice(0, PREFIX.length).toLowerCase() === PREFIX
}

/** 50 bits: the address is on every message sent, and whoever guesses has to guess it by SMTP. */
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
