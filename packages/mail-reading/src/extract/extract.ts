import { extractReply } from '#reply/reply-text.ts'
import { type FoundCode, findCodes } from './find-codes.ts'
import { type FoundLink, findLinks, linksOfText } from './find-links.ts'
import { type HtmlLayout, layOutHtml } from './lay-out-html.ts'
import { ReadLine, readLines } from './lines.ts'
import { visibleText } from './word-tables.ts'

/** Of the text and of the HTML as far as they are looked at, in characters; less than an event tells. */
export const EXTRACTED_TEXT_LENGTH_MAX = 32 * 1024
export const EXTRACTED_HTML_LENGTH_MAX = 128 * 1024

export type Extracted = { readonly codes: FoundCode[]; readonly links: FoundLink[] }

export type ExtractedFrom = {
  readonly subject: string
  readonly text: string
  readonly html: string
}

const SUBJECT_LENGTH_MAX = 1_000
const NOTHING: HtmlLayout = { lines: [], links: [], unseenHrefs: new Set(), hidden: '' }

/**
 * Of the text the first EXTRACTED_TEXT_LENGTH_MAX characters are looked at, of the HTML the first
 * EXTRACTED_HTML_LENGTH_MAX. What is quoted from earlier messages, and what is hidden, counts for
 * nothing. Never throws; time is linear in what is looked at.
 */
export function extractFrom(message: ExtractedFrom): Extracted {
  const subject = visibleText(message.subject.slice(0, SUBJECT_LENGTH_MAX))
  const text = visibleText(message.text.slice(0, EXTRACTED_TEXT_LENGTH_MAX))
  const layout = layOut(message.html.slice(0, EXTRACTED_HTML_LENGTH_MAX))
  const bodies = [readLines(extractReply(text)), readLines(extractReply(layout.lines.join('\n')))]
  const codes = findCodes({ subject: [new ReadLine(subject)], bodies })
  const links = findLinks(layout, linksOfText(text.split(/\r\n|\r|\n/)))
  return { codes: codes.filter((code) => isSeen(code, layout, subject)), links }
}

function layOut(html: string): HtmlLayout {
  if (html === '') return NOTHING
  try {
    return layOutHtml(html)
  } catch {
    return NOTHING
  }
}

/** A text part may say what the HTML hides: then it is no code there either. */
function isSeen({ value }: FoundCode, { lines, hidden }: HtmlLayout, subject: string): boolean {
  if (hidden === '' || !hidden.includes(value)) return true
  return subject.includes(value) || lines.some((line) => line.includes(value))
}
