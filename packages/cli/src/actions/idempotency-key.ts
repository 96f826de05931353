// The Idempotency-Key of a send, which makes repeating it harmless.

import { randomUUID } from 'node:crypto'
import type { Output } from '#base/output.ts'

/** The given key, or a new one, which is printed. */
export function chooseKey(output: Output, given: string | undefined): string {
  if (given !== undefined) return given
  const key = randomUUID()
  output.note(output.noteColors.dim(`Idempotency-Key: ${key}`))
  return key
}

export function noteKey(output: Output, key: string): void {
  output.note(
    `There was no response, so the message may have been sent. Retrying with --idempotency-key ${key} never sends twice.`,
  )
}
