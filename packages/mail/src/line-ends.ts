// Lines of a message that did not come over the wire, with the ends that they have there (RFC 5321
// §2.3.8). Works on octets; lets other work have its turn after every COMPOSE_STEP_BYTES.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { COMPOSE_STEP_BYTES } from '#compose/encode-transfer.ts'

type LineEnds = {
  /** Line feeds without a carriage return before them. */
  readonly bareLineFeeds: number
  /** Carriage returns without a line feed after them. */
  readonly bareCarriageReturns: number
}

const LF = 0x0a
const CR = 0x0d

/** What stands in the way of sending these octets; a pair of both is a line end. */
export async function countLineEnds(raw: Uint8Array): Promise<LineEnds> {
  let bareLineFeeds = 0
  let bareCarriageReturns = 0
  for (let start = 0; start < raw.length; start += COMPOSE_STEP_BYTES) {
    if (start > 0) await nextTurn()
    const end = Math.min(start + COMPOSE_STEP_BYTES, raw.length)
    for (let at = start; at < end; at += 1) {
      const octet = raw[at]
      if (octet === LF && raw[at - 1] !== CR) bareLineFeeds += 1
      else if (octet === CR && raw[at + 1] !== LF) bareCarriageReturns += 1
    }
  }
  return { bareLineFeeds, bareCarriageReturns }
}

/** The same octets with a carriage return before each of the `bareLineFeeds` that were counted. */
export async function completeLineFeeds(
  raw: Uint8Array,
  bareLineFeeds: number,
): Promise<Uint8Array> {
  if (bareLineFeeds === 0) return raw
  const complete = Buffer.allocUnsafeSlow(raw.length + bareLineFeeds)
  let length = 0
  for (let start = 0; start < raw.length; start += COMPOSE_STEP_BYTES) {
    if (start > 0) await nextTurn()
    const end = Math.min(start + COMPOSE_STEP_BYTES, raw.length)
    for (let at = start; at < end; at += 1) {
      const octet = raw[at] as number
      if (octet === LF && raw[at - 1] !== CR) complete[length++] = CR
      complete[length++] = octet
    }
  }
  return complete
}
