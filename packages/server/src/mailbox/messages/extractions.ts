// Codes, links and hidden text of messages, cached for later reads: a message never changes.

import { setImmediate } from 'node:timers/promises'
import type { ExtractedFrom, MessageReading } from '@mailroom/mail-reading/extract/extract.ts'
import type { Message } from '#mailbox/messages/store/messages.ts'
import type { Parser } from '#parser/parser.ts'
import { Cache } from '#platform/cache.ts'
import { type Clock, systemClock } from '#platform/clock.ts'

const EXTRACTED_BYTES_KEPT = 4 * 1024 * 1024
/** After extracting for so long, this thread serves other requests first. */
const EXTRACTING_SLICE_MS = 8

export type Extractions = {
  /**
   * Codes, links and hidden text of an inbound message; null for an outbound one. Yields to other requests after
   * EXTRACTING_SLICE_MS of work.
   */
  of(
    message: Pick<Message, 'id' | 'direction' | 'subject' | 'bodyText' | 'bodyHtml' | 'defects'>,
  ): Promise<MessageReading | null>
}

/**
 * One for a process; `bytesKept` roughly bounds its memory. A thread of the `parser` reads long messages; this
 * thread does without a parser and while the parser's queue is full.
 */
export function openExtractions(
  bytesKept: number = EXTRACTED_BYTES_KEPT,
  clock: Clock = systemClock,
  parser: Pick<Parser, 'readContent'> | null = null,
): Extractions {
  const kept = new Cache<MessageReading>({ sizeMax: bytesKept })
  let spentMs = 0

  async function find(source: ExtractedFrom): Promise<MessageReading> {
    if (parser !== null && !isQuick(source)) {
      try {
        return await parser.readContent(source)
      } catch {
        // The parser's queue is full; extraction has bounds of its own.
      }
    }
    // Loaded with the first use: it has words of thirty languages.
    const { readContent } = await import('@mailroom/mail-reading/extract/extract.ts')
    const startMs = clock.monotonic()
    const read = readContent(source)
    spentMs += clock.monotonic() - startMs
    return read
  }

  return {
    async of({ id, direction, subject, bodyText, bodyHtml, defects }) {
      if (direction !== 'inbound') return null
      const known = kept.get(id)
      if (known !== null) return known
      if (spentMs >= EXTRACTING_SLICE_MS) {
        await setImmediate()
        spentMs = 0
      }
      const read = await find({ subject, text: bodyText, html: bodyHtml, defects })
      // Another request may have read the same message meanwhile.
      const found = kept.get(id)
      if (found !== null) return found
      kept.set(id, read, { size: sizeOf(read) })
      return read
    },
  }
}

/** In characters: such a message takes a millisecond or two. */
const QUICK_LENGTH_MAX = 8 * 1024

/** Styles need the tables of CSS, which only the parser's threads load. */
function isQuick({ text, html }: ExtractedFrom): boolean {
  return text.length + html.length <= QUICK_LENGTH_MAX && !/style/i.test(html)
}

/** Memory of an entry, and of an object with its strings, beside the text. */
const ENTRY_BYTES = 300
const ITEM_BYTES = 120

function sizeOf({ extracted: { codes, links }, hidden }: MessageReading): number {
  let characters = 0
  for (const { value, source } of codes) characters += value.length + source.length
  for (const { url } of links) characters += url.length
  return ENTRY_BYTES + ITEM_BYTES * (codes.length + links.length + hidden.length) + 2 * characters
}
