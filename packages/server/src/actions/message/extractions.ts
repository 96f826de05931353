// What was found in messages, kept for a while for whoever reads them again. A message never changes,
// so what was found in it once holds.

import { setImmediate } from 'node:timers/promises'
import { type Clock, systemClock } from '#base/clock.ts'
import { EXTRACTED_BYTES_KEPT, EXTRACTING_TURN_MS } from '#base/limits.ts'
import type { Extracted } from '#mail/extract/extracted.ts'
import type { Message } from '#model/message.ts'

export type Extractions = {
  /**
   * Codes and links of an inbound message, found now or before; null of an outbound one. Where finding
   * has taken EXTRACTING_TURN_MS since others had their turn, they have it first.
   */
  of(
    message: Pick<Message, 'id' | 'direction' | 'subject' | 'bodyText' | 'bodyHtml'>,
  ): Promise<Extracted | null>
}

/** One for a process; `bytesKept` bounds about how much memory it holds on to. */
export function openExtractions(
  bytesKept: number = EXTRACTED_BYTES_KEPT,
  clock: Clock = systemClock,
): Extractions {
  /** The one asked for last stands last. */
  const kept = new Map<string, { extracted: Extracted; sizeBytes: number }>()
  let totalBytes = 0
  let spentMs = 0

  function recall(id: string): Extracted | null {
    const known = kept.get(id)
    if (known === undefined) return null
    kept.delete(id)
    kept.set(id, known)
    return known.extracted
  }

  return {
    async of({ id, direction, subject, bodyText, bodyHtml }) {
      if (direction !== 'inbound') return null
      const known = recall(id)
      if (known !== null) return known
      if (spentMs >= EXTRACTING_TURN_MS) {
        await setImmediate()
        spentMs = 0
      }
      // Its words of thirty languages are for services with readers.
      const { extractFrom } = await import('#mail/extract/extract.ts')
      // Somebody else may have asked for the same meanwhile.
      const found = recall(id)
      if (found !== null) return found
      const startMs = clock.monotonic()
      const extracted = extractFrom({ subject, text: bodyText, html: bodyHtml })
      spentMs += clock.monotonic() - startMs
      const sizeBytes = sizeOf(extracted)
      kept.set(id, { extracted, sizeBytes })
      totalBytes += sizeBytes
      for (const [oldest, { sizeBytes: freed }] of kept) {
        if (totalBytes <= bytesKept) break
        kept.delete(oldest)
        totalBytes -= freed
      }
      return extracted
    },
  }
}

/** What an entry takes beside its text, and what an object with its strings does. */
const ENTRY_BYTES = 300
const ITEM_BYTES = 120

function sizeOf({ codes, links }: Extracted): number {
  let characters = 0
  for (const { value, source } of codes) characters += value.length + source.length
  for (const { url } of links) characters += url.length
  return ENTRY_BYTES + ITEM_BYTES * (codes.length + links.length) + 2 * characters
}
