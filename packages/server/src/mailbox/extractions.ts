// What was found in messages, kept for a while for whoever reads them again. A message never changes,
// so what was found in it once holds.

import { setImmediate } from 'node:timers/promises'
import type { Extracted, ExtractedFrom } from '@mailroom/mail-reading/extract/extract.ts'
import { Cache } from '#platform/cache.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import type { ParserPool } from '#platform/workers/parser-pool.ts'
import type { Message } from './message.ts'

/** Of what was found in messages lately, kept for those who read them again. */
const EXTRACTED_BYTES_KEPT = 4 * 1024 * 1024
/** Codes and links of several messages are looked for as long as this before others have their turn. */
const EXTRACTING_TURN_MS = 8

export type Extractions = {
  /**
   * Codes and links of an inbound message, found now or before; null of an outbound one. Where finding
   * has taken EXTRACTING_TURN_MS since others had their turn, they have it first.
   */
  of(
    message: Pick<Message, 'id' | 'direction' | 'subject' | 'bodyText' | 'bodyHtml'>,
  ): Promise<Extracted | null>
}

/**
 * One for a process; `bytesKept` bounds about how much memory it holds on to. What takes long is found by a
 * thread of the `parser`; without one, and while its queue is full, where it was asked for.
 */
export function openExtractions(
  bytesKept: number = EXTRACTED_BYTES_KEPT,
  clock: Clock = systemClock,
  parser: Pick<ParserPool, 'extract'> | null = null,
): Extractions {
  const kept = new Cache<Extracted>({ sizeMax: bytesKept })
  let spentMs = 0

  async function find(source: ExtractedFrom): Promise<Extracted> {
    if (parser !== null && !isQuick(source)) {
      try {
        return await parser.extract(source)
      } catch {
        // Many messages wait for a thread: this one has bounds of its own.
      }
    }
    // Its words of thirty languages are for services with readers.
    const { extractFrom } = await import('@mailroom/mail-reading/extract/extract.ts')
    const startMs = clock.monotonic()
    const extracted = extractFrom(source)
    spentMs += clock.monotonic() - startMs
    return extracted
  }

  return {
    async of({ id, direction, subject, bodyText, bodyHtml }) {
      if (direction !== 'inbound') return null
      const known = kept.get(id)
      if (known !== null) return known
      if (spentMs >= EXTRACTING_TURN_MS) {
        await setImmediate()
        spentMs = 0
      }
      const extracted = await find({ subject, text: bodyText, html: bodyHtml })
      // Somebody else may have asked for the same meanwhile.
      const found = kept.get(id)
      if (found !== null) return found
      kept.set(id, extracted, { size: sizeOf(extracted) })
      return extracted
    },
  }
}

/** In characters: it takes a millisecond or two. */
const QUICK_LENGTH_MAX = 8 * 1024

/** Styles need the tables of CSS, which are for the threads. */
function isQuick({ text, html }: ExtractedFrom): boolean {
  return text.length + html.length <= QUICK_LENGTH_MAX && !/style/i.test(html)
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
