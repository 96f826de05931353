// TypeIDs: a prefix, an underscore and a UUIDv7 (RFC 9562 §5.7) in base32.

import { TypeID } from 'typeid-js'
import type { Chance } from './chance.ts'
import type { Clock } from './clock.ts'

type IdPrefix =
  | 'acc'
  | 'key'
  | 'apr'
  | 'rmt'
  | 'pod'
  | 'inb'
  | 'thr'
  | 'msg'
  | 'raw'
  | 'dom'
  | 'whk'
  | 'evt'
  | 'sup'
  | 'dlv'
  | 'cap'
  | 'job'
  | 'dkm'
  | 'rul'
  | 'qua'
  | 'hld'
  | 'cmt'
  | 'aud'
  | 'drf'
  | 'att'
  | 'exp'
  | 'imp'
  | 'upl'
  | 'chk'
  | 'ers'
  | 'con'
  | 'ocl'
  | 'stp'

export type MakeId = (prefix: IdPrefix) => string

/** Ids ascend even when the clock steps back (RFC 9562 §6.2 method 1, with a 12-bit counter). */
export function idMaker(clock: Clock, chance: Chance): MakeId {
  let lastMs = 0
  let counter = 0
  return (prefix) => {
    const nowMs = clock.now()
    if (nowMs > lastMs) {
      lastMs = nowMs
      counter = 0
    } else if (++counter > 0xfff) {
      lastMs += 1
      counter = 0
    }
    const bytes = new Uint8Array(16)
    const random = chance.bytes(8)
    bytes[0] = Math.floor(lastMs / 2 ** 40)
    bytes[1] = Math.floor(lastMs / 2 ** 32)
    bytes[2] = lastMs >>> 24
    bytes[3] = lastMs >>> 16
    bytes[4] = lastMs >>> 8
    bytes[5] = lastMs
    bytes[6] = 0x70 | (counter >>> 8)
    bytes[7] = counter
    bytes.set(random, 8)
    bytes[8] = 0x80 | ((random[0] ?? 0) & 0x3f)
    return TypeID.fromUUIDBytes(prefix, bytes).toString()
  }
}

/** Derived from the first 16 octets of `digest`, with the time of the identifier `of`. */
export function derivedId(prefix: IdPrefix, of: string, digest: Uint8Array): string {
  const bytes = new Uint8Array(digest.subarray(0, 16))
  bytes.set(TypeID.fromString(of).toUUIDBytes().subarray(0, 6))
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f)
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f)
  return TypeID.fromUUIDBytes(prefix, bytes).toString()
}

/** Higher than every identifier of an earlier time. */
export function lowestIdAt(prefix: IdPrefix, timeMs: number): string {
  const bytes = new Uint8Array(16)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(Math.max(0, timeMs)) << 16n)
  return TypeID.fromUUIDBytes(prefix, bytes).toString()
}

const ID_FORM = /^[a-z]{3}_[0-7][0-9a-hjkmnp-tv-z]{25}$/

export function isIdOf(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && ID_FORM.test(text)
}

export function idTimeMs(id: string): number {
  const bytes = TypeID.fromString(id).toUUIDBytes()
  return bytes.subarray(0, 6).reduce((timeMs, byte) => timeMs * 256 + byte, 0)
}
