import { cleanText } from '@mailroom/mail/charset.ts'
import { hasTooManyLines } from '@mailroom/mail/mime/decode-body.ts'
import {
  openMime,
  parseDefeatedMime,
  parseMimeIfPlainAndSmall,
} from '@mailroom/mail/mime/mime-message.ts'
import type { Defect, MimeMessage, ParsedMessage } from '@mailroom/mail/mime/parsed-message.ts'
import { contentOf } from '#content/parts.ts'
import { mayHide } from '#html/hidden.ts'
import { holdsAll, unsaidIn, unsaidLength } from '#html/unsaid-text.ts'
import { visibleTextOf } from '#html/visible-text.ts'
import { indexMentions } from '#mentions/mention-index.ts'
import { isForward } from '#reply/forward-subject.ts'
import { extractReply } from '#reply/reply-text.ts'

/**
 * Parses a message without its invitations, which `readInvites` reads. If a message has only HTML,
 * its text is the visible text of the HTML. Never throws. Takes up to seconds for large or hostile
 * input.
 */
export function parseMessage(raw: Uint8Array): ParsedMessage {
  const opened = openMime(raw, visibleTextOf)
  const { message } = opened
  const mentions = indexMentions(contentOf(opened))
  const { text, html } = message
  const seen = mayHide(html) ? visibleTextOf(html) : null
  const isSaid = (one: string) =>
    unsaidLength(one, html) === 0 && (seen === null || unsaidIn(one, seen) === 0)
  if (isSaid(text)) return withExtractedText(message, mentions)
  const shown = seen ?? visibleTextOf(html)
  // Some programs omit the quote from the HTML, so a text part with additional text is accepted.
  const read = withExtractedText(message, mentions, holdsAll(text, shown) ? text : shown)
  const isSeen = read.extractedText !== '' && isSaid(read.extractedText)
  return isSeen ? read : { ...read, defects: [...read.defects, 'unsaid-text'] }
}

/**
 * Like `parseMessage`, for a small message of one text/plain part; null for any other message. Fast
 * enough for the main thread.
 */
export function parseIfPlainAndSmall(raw: Uint8Array): ParsedMessage | null {
  const message = parseMimeIfPlainAndSmall(raw)
  if (message === null) return null
  const content = contentOf({ message, readFiles: noFiles })
  return withExtractedText(message, indexMentions(content))
}

function* noFiles() {}

/**
 * The header fields, and the message as one opaque attachment. Takes bounded time; never throws.
 */
export function parseDefeated(raw: Uint8Array, defect: Defect): ParsedMessage {
  return withExtractedText(parseDefeatedMime(raw, defect), null)
}

/**
 * Uses the new text of the text part only if that part contains all the visible text of the HTML.
 */
function withExtractedText(
  message: MimeMessage,
  mentions: string | null,
  text = message.text,
): ParsedMessage {
  const extractedText = hasTooManyLines(text)
    ? text
    : cleanText(extractReply(text, { isForward: isForward(message.headers) }))
  return { ...message, extractedText, invites: [], mentions }
}
