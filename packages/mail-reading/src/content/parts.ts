// The texts of a message: subject, bodies and textual files, including those of attached messages.

import { isUtf8 } from 'node:buffer'
import { openMime } from '@mailroom/mail/mime/mime-message.ts'

type ContentFile = {
  readonly filename: string
  readonly contentType: string
  readonly content: Uint8Array
}

export type MailContent = {
  /** Free text from a received message's header. For attached messages, also their addresses. */
  readonly headers?: string
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly attachments: Iterable<ContentFile>
}

export type SendContent = MailContent & { readonly attachments: readonly ContentFile[] }

export type ContentPart = {
  /**
   * `headers`, `subject`, `bodyText`, `bodyHtml`, `attachment:<index>` for the text of a file,
   * `attachment:<index>/filename` for its name, and `attachment:<index>/<part>` within an attached
   * message.
   */
  readonly part: string
  readonly isHtml: boolean
  windows(): Generator<TextWindow>
}

type TextWindow = {
  readonly text: string
  /** Number of UTF-16 units before the part's text. */
  readonly offset: number
  readonly isLast: boolean
}

/** Maximum of octets of files plus UTF-16 units of other texts. A message of 25 MiB has fewer. */
export const CONTENT_LENGTH_MAX = 32 * 1024 * 1024
const MESSAGE_DEPTH_MAX = 5

/** Null if the texts exceed CONTENT_LENGTH_MAX or messages are nested beyond MESSAGE_DEPTH_MAX. */
export function partsOf(content: MailContent): ContentPart[] | null {
  const parts: ContentPart[] = []
  let length = 0
  const add = (part: string, text: string | ContentFile, isHtml = false): boolean => {
    const size = typeof text === 'string' ? text.length : text.content.length
    length += size
    const pieces = () => (typeof text === 'string' ? piecesOf(text) : decodedPieces(text.content))
    if (size > 0) parts.push({ part, isHtml, windows: () => windowsOf(pieces()) })
    return length <= CONTENT_LENGTH_MAX
  }
  const addMail = (mail: MailContent, path: string): boolean => {
    const { headers = '', subject, text, html, attachments } = mail
    if (path.split('/').length > MESSAGE_DEPTH_MAX) return false
    if (!add(`${path}headers`, headers) || !add(`${path}subject`, subject)) return false
    if (!add(`${path}bodyText`, text) || !add(`${path}bodyHtml`, html, true)) return false
    let index = 0
    for (const file of attachments) {
      const name = `${path}attachment:${index++}`
      if (!add(`${name}/filename`, file.filename)) return false
      if (isMessage(file)) {
        const { people, ...attached } = contentOf(openMime(file.content))
        const fields = `${people}\n${attached.headers}`
        if (!addMail({ ...attached, headers: fields }, `${name}/`)) return false
      } else if (isReadAsText(file) && !add(name, file, isMarkup(file))) return false
    }
    return true
  }
  return addMail(content, '') ? parts : null
}

/**
 * Text is searched in pieces of this many units: V8 ends the process, not just the thread, if a
 * text of many MiB and its copies exceed the thread's memory. The HTML of a send is one piece.
 */
const PIECE_LENGTH = 512 * 1024
/** Overlap of two windows, longer than any token. */
const OVERLAP_LENGTH = 16 * 1024

function* windowsOf(pieces: Iterable<string>): Generator<TextWindow> {
  let text = ''
  let offset = 0
  for (const piece of pieces) {
    text += piece
    if (text.length <= PIECE_LENGTH) continue
    yield { text, offset, isLast: false }
    // The text is cut at white space, so that no window begins within a word.
    const overlap = text.slice(-OVERLAP_LENGTH)
    const next = text.length - overlap.length + (/\s/.exec(overlap)?.index ?? 0)
    offset += next
    text = text.slice(next)
  }
  yield { text, offset, isLast: true }
}

function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += PIECE_LENGTH) yield text.slice(at, at + PIECE_LENGTH)
}

function* decodedPieces(content: Uint8Array): Generator<string> {
  const decoder = new TextDecoder(utf16Of(content) ?? (isUtf8(content) ? 'utf-8' : 'windows-1252'))
  for (let at = 0; at < content.length; at += PIECE_LENGTH) {
    const end = at + PIECE_LENGTH
    yield decoder.decode(content.subarray(at, end), { stream: end < content.length })
  }
}

/** The content of a message, including the addresses in its header. */
export function contentOf({ message, readFiles }: ReturnType<typeof openMime>) {
  const { headers, text, html } = message
  const { from, to, cc, replyTo, subject, freeText } = headers
  const people = [...(from === null ? [] : [from]), ...to, ...cc, ...replyTo]
  return {
    headers: freeText,
    people: people.map(({ address }) => address).join('\n'),
    subject,
    text,
    html,
    attachments: filesOf(readFiles()),
  }
}

function* filesOf(files: ReturnType<ReturnType<typeof openMime>['readFiles']>) {
  for (const { attachment, content } of files) {
    yield { filename: attachment.filename, contentType: attachment.contentType, content }
  }
}

export function isMessage({
  filename,
  contentType,
}: Pick<ContentFile, 'filename' | 'contentType'>): boolean {
  return /^message\/(?:rfc822|global)$/i.test(contentType) || /\.eml$/i.test(filename)
}

const MARKUP_TYPE = /^(?:text\/(?:html|xml)|application\/(?:xml|[\w.-]+\+xml)|image\/svg\+xml)\b/i

function isMarkup({ filename, contentType }: ContentFile): boolean {
  return MARKUP_TYPE.test(contentType) || /\.(?:x?html?|xml|svg)$/i.test(filename)
}

const TEXT_TYPE =
  /^(?:text\/|application\/(?:json|xml|javascript|yaml|x-sh|x-pem-file|[\w.-]+\+(?:json|xml))\b)/i
const PDF = Buffer.from('%PDF-')

/** Whether the file is text, whatever its declared type. */
export function isReadAsText({ contentType, content }: ContentFile): boolean {
  if (TEXT_TYPE.test(contentType) || utf16Of(content) !== null) return true
  return isUtf8(content) && !content.includes(0) && !PDF.equals(content.subarray(0, PDF.length))
}

/** The UTF-16 encoding that the byte order mark indicates, or null. */
function utf16Of([first, second]: Uint8Array): 'utf-16le' | 'utf-16be' | null {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : null
}
