// Caches the codes, links and hidden text of messages, which never change.

import { setImmediate } from 'node:timers/promises'
import type { ExtractedFrom, MessageReading } from '@mailroom/mail-reading/extract/extract.ts'
import type { Message } from '#mailbox/messages/store/messages.ts'
import type { Parser } from '#parser/parser.ts'
import { Cache } from '#platform/cache.ts'
import { type Clock, systemClock } from '#platform/clock.ts'

const EXTRACTED_BYTES_KEPT = 4 * 1024 * 1024
const EXTRACTING_SLICE_MS = 8

export type Extractions = {
  /** Returns null for an outbound message. Yields after each EXTRACTING_SLICE_MS of work. */
  of(
    message: Pick<Message, 'id' | 'direction' | 'subject' | 'bodyText' | 'bodyHtml' | 'defects'>,
  ): Promise<MessageReading | null>
}

/** The parser handles long messages. If it is absent or its queue is full, they run here. */
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
        // The parser's queue is full, so the extraction runs here within its own bounds.
      }
    }
    // This module is loaded on first use, because it contains the words of thirty languages.
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
      const found = kept.get(id)
      if (found !== null) return found
      kept.set(id, read, { size: sizeOf(read) })
      return read
    },
  }
}

/** A message of this many characters takes a millisecond or two. */
const QUICK_LENGTH_MAX = 8 * 1024

/** Only the parser's threads load the CSS tables that styles need. */
function isQuick({ text, html }: ExtractedFrom): boolean {
  return text.length + html.length <= QUICK_LENGTH_MAX && !/style/i.test(html)
}

const ENTRY_BYTES = 300
const ITEM_BYTES = 120

function sizeOf({ extracted: { codes, links }, hidden }: MessageReading): number {
  let characters = 0
  for (const { value, source } of codes) characters += value.length + source.length
  for (const { url } of links) characters += url.length
  return ENTRY_BYTES + ITEM_BYTES * (codes.length + links.length + hidden.length) + 2 * characters
}
