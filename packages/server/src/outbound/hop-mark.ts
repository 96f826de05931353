// The mark on what an inbox sends, by which that inbox knows its own mail should it come back by way of
// others. Nobody can make the mark of an inbox, and so have mail to it refused, without mail from it.

import { createHmac } from 'node:crypto'

const MAC_BYTES = 16
const MAC_LENGTH = 26

/** 26 lower-case letters and digits: a MAC of 128 bits. `key` is of the purpose `hop-mark`. */
export function hopMarkOf(key: Uint8Array, inboxId: string): string {
  const digest = createHmac('sha256', key).update(inboxId).digest().subarray(0, MAC_BYTES)
  return BigInt(`0x${digest.toString('hex')}`)
    .toString(32)
    .padStart(MAC_LENGTH, '0')
}

/** Of all marks; a lookup of a few microseconds. */
export function hopMarkKey({
  deriveKey,
}: {
  deriveKey: (purpose: string) => Uint8Array
}): Uint8Array {
  return deriveKey('hop-mark')
}
