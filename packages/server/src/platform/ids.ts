// Identifiers: TypeIDs, which are a prefix, an underscore and a UUIDv7 (RFC 9562 §5.7) in base32.

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
  | 'aud'
  | 'drf'
  | 'att'
  | 'exp'
  | 'imp'
  | 'chk'
  | 'ers'

export type MakeId = (prefix: IdPrefix) => string

/** Crockford's base32, in lower case. */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'
/** Both digits of each number of ten bits. */
const PAIRS = Array.from({ length: 1024 }, (_, bits) => `${DIGITS[bits >>> 5]}${DIGITS[bits & 31]}`)

/**
 * Returns a generator of time-ordered identifiers. Each sorts after all earlier ones of the same generator,
 * also within a millisecond and when the clock steps back (RFC 9562 §6.2, method 1: a 12-bit counter in
 * rand_a that borrows from the next millisecond when it is full).
 */
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
    return formatId(prefix, { timeMs: lastMs, counter, random: chance.bytes(8) })
  }
}

/** `counter` has 12 bits, `random` 8 octets, of which two bits do not count. */
function formatId(
  prefix: IdPrefix,
  { timeMs, counter, random }: { timeMs: number; counter: number; random: Uint8Array },
): string {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = random
  const version = 0x7000 | counter
  const variant = 0x80 | (a & 0x3f)
  return (
    `${prefix}_${timeDigits(timeMs)}` +
    pair(version >>> 6) +
    pair((version << 4) | (variant >>> 4)) +
    pair((variant << 6) | (b >>> 2)) +
    pair((b << 8) | c) +
    pair((d << 2) | (e >>> 6)) +
    pair((e << 4) | (f >>> 4)) +
    pair((f << 6) | (g >>> 2)) +
    pair((g << 8) | h)
  )
}

/** The identifier that follows from the first 16 octets of `digest`; its time is that of the identifier `of`. */
export function derivedId(prefix: IdPrefix, of: string, digest: Uint8Array): string {
  const [high = 0, low = 0] = digest.subarray(6)
  const counter = ((high & 0x0f) << 8) | low
  return formatId(prefix, { timeMs: idTimeMs(of), counter, random: digest.subarray(8, 16) })
}

/** The lowest id of this time: all earlier ones are lower. */
export function lowestIdAt(prefix: IdPrefix, timeMs: number): string {
  return `${prefix}_${timeDigits(Math.max(0, timeMs))}${'0'.repeat(16)}`
}

function timeDigits(timeMs: number): string {
  return (
    pair(timeMs / 2 ** 40) +
    pair(timeMs / 2 ** 30) +
    pair(timeMs / 2 ** 20) +
    pair(timeMs / 2 ** 10) +
    pair(timeMs)
  )
}

/** Of the ten lowest bits. */
function pair(value: number): string {
  return PAIRS[value & 1023] ?? ''
}

const ID_FORM = /^[a-z]{3}_[0-7][0-9a-hjkmnp-tv-z]{25}$/

/** Whether `text` has the form of an identifier with this prefix; it may not exist. */
export function isIdOf(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && ID_FORM.test(text)
}

export function idTimeMs(id: string): number {
  const start = id.indexOf('_') + 1
  let timeMs = 0
  for (const digit of id.slice(start, start + 10)) timeMs = timeMs * 32 + DIGITS.indexOf(digit)
  return timeMs
}
