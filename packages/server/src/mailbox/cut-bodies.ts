// Messages whose bodies are cut, for lists and events.

import { SHOWN_BODY_BYTES_MAX } from '@mailroom/contract/shapes/message.ts'
import type { Message } from './message.ts'

/**
 * Characters of a long body that are read to show its beginning: one more than is shown, so that what
 * is longer is known to be, and enough for codes and links to be those of the whole message.
 */
export const CUT_READ_LENGTH = SHOWN_BODY_BYTES_MAX + 1

/** At most SHOWN_BODY_BYTES_MAX octets of UTF-8 of each body, and no half of a character. */
export function cutBodies(message: Message): { message: Message; isTruncated: boolean } {
  const bodyText = cut(message.bodyText)
  const bodyHtml = cut(message.bodyHtml)
  const extractedText = cut(message.extractedText)
  const isTruncated =
    bodyText.length < message.bodyText.length ||
    bodyHtml.length < message.bodyHtml.length ||
    extractedText.length < message.extractedText.length
  return isTruncated
    ? { message: { ...message, bodyText, bodyHtml, extractedText }, isTruncated }
    : { message, isTruncated }
}

function cut(text: string): string {
  const bytesMax = SHOWN_BODY_BYTES_MAX
  // A UTF-16 unit has three octets at most.
  if (text.length * 3 <= bytesMax || Buffer.byteLength(text, 'utf8') <= bytesMax) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytesMax))
  // Not a slice of the long text, which would keep all of it in memory.
  return Buffer.from(text.slice(0, read), 'utf8').toString('utf8')
}
