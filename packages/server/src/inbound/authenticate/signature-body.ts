// The octets that signatures are of, as they are checked: with CRLF at the end of every line
// (RFC 6376 §5.3). Read in steps, between which the thread does other work.

import { setImmediate } from 'node:timers/promises'

/** Hashed at a time, so that small messages need not wait for a large one. */
export const SIGNATURE_STEP_BYTES = 256 * 1024

export type SignedBytes = {
  readonly bytes: Uint8Array
  /** The first octet after the empty line that ends the header section. */
  readonly bodyStart: number
  /** Octets of the longest line of the body, and how many lines it has. */
  readonly body: { readonly lineBytesMax: number; readonly lines: number }
}

const LF = 0x0a
const CR = 0x0d

/** `raw` itself where all its lines end in CRLF already. */
export async function readSignedBytes(raw: Uint8Array): Promise<SignedBytes> {
  const missing = await countMissingReturns(raw)
  const bytes = missing === 0 ? raw : await addReturns(raw, missing)
  const bodyStart = findBody(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  return { bytes, bodyStart, body: await measureLines(bytes, bodyStart) }
}

async function countMissingReturns(raw: Uint8Array): Promise<number> {
  let count = 0
  for (let start = 0; start < raw.length; start += SIGNATURE_STEP_BYTES) {
    if (start > 0) await setImmediate()
    const end = Math.min(raw.length, start + SIGNATURE_STEP_BYTES)
    for (let at = start; at < end; at += 1) {
      if (raw[at] === LF && (at === 0 || raw[at - 1] !== CR)) count += 1
    }
  }
  return count
}

async function addReturns(raw: Uint8Array, count: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(raw.length + count)
  let to = 0
  for (let start = 0; start < raw.length; start += SIGNATURE_STEP_BYTES) {
    if (start > 0) await setImmediate()
    const end = Math.min(raw.length, start + SIGNATURE_STEP_BYTES)
    for (let at = start; at < end; at += 1) {
      const octet = raw[at] ?? 0
      if (octet === LF && (at === 0 || raw[at - 1] !== CR)) bytes[to++] = CR
      bytes[to++] = octet
    }
  }
  return bytes
}

async function measureLines(bytes: Uint8Array, bodyStart: number): Promise<SignedBytes['body']> {
  let lines = 1
  let longest = 0
  let lineStart = bodyStart
  for (let start = bodyStart; start < bytes.length; start += SIGNATURE_STEP_BYTES) {
    if (start > bodyStart) await setImmediate()
    const end = Math.min(bytes.length, start + SIGNATURE_STEP_BYTES)
    for (let at = start; at < end; at += 1) {
      if (bytes[at] !== LF) continue
      if (at - lineStart > longest) longest = at - lineStart
      lineStart = at + 1
      lines += 1
    }
  }
  return { lineBytesMax: Math.max(longest, bytes.length - lineStart), lines }
}

function findBody(message: Buffer): number {
  if (message[0] === CR && message[1] === LF) return 2
  const end = message.indexOf('\r\n\r\n')
  return end < 0 ? message.length : end + 4
}
