import { bufferOf, cleanLine, cleanText, percentDecoded } from '#charset.ts'
import { isUtf7 } from '#charset-names.ts'
import { safeFileNames } from '#file-name.ts'
import {
  charsetsNamed,
  duplicateDefects,
  type HeaderField,
  type HeaderSection,
  readHeaderSection,
} from '#header-fields.ts'
import { textFromHtml } from '#html/text.ts'
import { HTML_LENGTH_MAX } from '#html/tree.ts'
import { readHeaders } from '#message-headers.ts'
import {
  decodedSize,
  decodeTextBody,
  decodeTransfer,
  MIME_LINES_MAX,
  type TransferEncoding,
  trueEncoding,
} from './decode-body.ts'
import {
  isHtmlPart,
  kindOf,
  MIME_PARTS_MAX,
  type MimePart,
  nameOfPart,
  type PartHead,
  readPartHead,
  scanMime,
  TEXT_BYTES_MAX,
} from './mime-parts.ts'
import type { Defect, MimeMessage, ParsedAttachment, ParsedHeaders } from './parsed-message.ts'
import { shownParts } from './shown-parts.ts'

/** A plain message up to this size is parsed on the main thread, a larger one in a worker. */
export const INLINE_PARSE_BYTES_MAX = 16 * 1024

export type AttachmentContent = {
  readonly attachment: ParsedAttachment
  readonly content: Uint8Array
}

/** Converts HTML to the text body of a message without text; never throws. */
type TextOfHtml = (html: string) => string

/**
 * Parses a message. Never throws: a message that cannot be parsed within bounds becomes one opaque
 * attachment and a defect. Takes up to seconds for large or hostile input.
 */
export function parseMime(raw: Uint8Array, textOfHtml?: TextOfHtml): MimeMessage {
  return messageOf(dissect(raw, textOfHtml))
}

/** Like `parseMime`, with the wanted attachments decoded one by one on demand. Never throws. */
export function openMime(
  raw: Uint8Array,
  textOfHtml?: TextOfHtml,
): {
  readonly message: MimeMessage
  readFiles(isWanted?: (attachment: ParsedAttachment) => boolean): Generator<AttachmentContent>
} {
  const dissected = dissect(raw, textOfHtml)
  const message = messageOf(dissected)
  return {
    message,
    *readFiles(isWanted = () => true) {
      for (const [index, attachment] of message.attachments.entries()) {
        const file = dissected.files[index]
        if (file === undefined || !isWanted(attachment)) continue
        yield { attachment, content: decodeTransfer(file.octets, file.encoding) }
      }
    },
  }
}

/**
 * One attachment by its listed name, or by its index in the list of `parseMime` for the same bytes.
 * Null if it does not exist. Never throws.
 */
export function readAttachment(
  raw: Uint8Array,
  selector: number | string,
): AttachmentContent | null {
  const { files } = dissect(raw)
  const names = safeFileNames(files)
  const index = typeof selector === 'number' ? selector : names.indexOf(selector)
  const file = files[index]
  if (file === undefined) return null
  const content = decodeTransfer(file.octets, file.encoding)
  return { attachment: attachmentOf(file, names[index] ?? '', content.byteLength), content }
}

/**
 * The result for a message whose parsing did not finish: its header fields, and the complete
 * message as one opaque attachment. Takes time bounded by HEADER_BYTES_MAX; never throws.
 */
export function parseDefeatedMime(raw: Uint8Array, defect: Defect): MimeMessage {
  return messageOf(defeat(raw, defect))
}

/** The attachment of a message that was stored as `parseDefeatedMime` returned it. */
export function readDefeatedAttachment(
  raw: Uint8Array,
  selector: number | string,
): AttachmentContent | null {
  const [attachment] = attachmentsOf([opaqueFile(raw)])
  if (attachment === undefined || (selector !== 0 && selector !== attachment.filename)) return null
  return { attachment, content: raw }
}

/**
 * Like `parseMime`, for one text/plain part of at most INLINE_PARSE_BYTES_MAX octets, else null.
 * Fast enough for the main thread: about ten microseconds for 2 KiB.
 */
export function parseMimeIfPlainAndSmall(raw: Uint8Array): MimeMessage | null {
  if (raw.length > INLINE_PARSE_BYTES_MAX) return null
  const plain = dissectPlain(raw)
  return plain === null ? null : messageOf(plain)
}

type File = {
  /** The sender's file name, decoded; not safe to use. */
  readonly filename: string | null
  /** The media type in lower case, without parameters. */
  readonly contentType: string
  /** The declared charset; null if undeclared. */
  readonly charset: string | null
  readonly contentId: string | null
  readonly isInline: boolean
  /** The content as sent, still encoded. */
  readonly octets: Buffer
  readonly encoding: TransferEncoding
}

type Bodies = { readonly text: string; readonly html: string }

type Dissected = Bodies & {
  readonly headers: ParsedHeaders
  readonly files: readonly File[]
  readonly defects: readonly Defect[]
}

function dissect(
  raw: Uint8Array,
  textOfHtml: TextOfHtml = (html) => textFromHtml(html),
): Dissected {
  try {
    return dissectPlain(raw) ?? dissectParts(raw, textOfHtml)
  } catch {
    return defeat(raw, 'parse-failed')
  }
}

/** Null unless the message is one text/plain part with too few octets to exceed a bound. */
function dissectPlain(raw: Uint8Array): Dissected | null {
  if (raw.length > MIME_LINES_MAX) return null
  const section = readHeaderSection(raw)
  const head = plainPartOf(section)
  if (head === null) return null
  const { body, defects } = readText(
    head,
    bufferOf(raw).subarray(section.bodyStart),
    section.fields,
  )
  return assemble(section, { text: withoutLastLineEnd(body), html: '' }, [], defects)
}

/** The message as one text/plain part, or null for any other message. */
function plainPartOf(section: HeaderSection): PartHead | null {
  if (section.defect !== null) return null
  const head = readPartHead(section.fields)
  return kindOf(head) === 'text' && !isHtmlPart(head) ? head : null
}

function dissectParts(raw: Uint8Array, textOfHtml: TextOfHtml): Dissected {
  const { breach, parts, hasLargeText } = scanMime(raw)
  const octets = bufferOf(raw).subarray(0, breach?.cutAt)
  const section = readHeaderSection(octets)
  const [root] = parts
  const defects: Defect[] = breach === null ? [] : [breach.defect]
  const files: File[] = []
  let bodies: Bodies = { text: '', html: '' }
  if (root === undefined || (root.kind === 'multipart' && parts.length === 1)) {
    // The header is cut or the boundary never occurs, so the raw text is shown.
    const head = root === undefined ? plainPartOf(section) : readPartHead([])
    const content = octets.subarray(section.bodyStart)
    if (content.length > TEXT_BYTES_MAX) {
      files.push(opaqueFile(content, null))
      defects.push('text-too-large')
    } else if (head !== null) {
      const { body } = readText(head, content, section.fields)
      bodies = { text: withoutLastLineEnd(body), html: '' }
    }
  } else {
    const { shown, hasUnseen } = shownParts(parts, octets)
    if (hasUnseen) defects.push('unseen-part')
    const texts = readTexts(octets, shown, section.fields)
    defects.push(...new Set(texts.flatMap((text) => text.defects)))
    bodies = joinBodies(texts, textOfHtml)
    const references = contentIdsIn(bodies.html)
    for (const part of shown) {
      if (part.kind === 'file' || isNamedText(part, shown))
        files.push(fileOf(part, octets, references))
    }
  }
  if (isBlank(bodies.text) && bodies.html !== '') {
    const shown = textOfHtml(cleanText(bodies.html))
    if (bodies.text === '' || !isBlank(shown)) bodies = { ...bodies, text: shown }
  }
  if (hasLargeText) defects.push('text-too-large')
  if (breach !== null) files.push(opaqueFile(raw.subarray(breach.cutAt)))
  return assemble(section, bodies, files, defects)
}

/**
 * Whether a text that is shown inline can also be downloaded, such as a log, a patch or a page in
 * the middle of a message. A name on the body itself is ignored.
 */
function isNamedText(part: MimePart, parts: readonly MimePart[]): boolean {
  if (part.kind !== 'text' || part.isVersion || parts.length === 1) return false
  if (nameOfPart(part) === null) return false
  const isBody = part === parts.find(({ kind }) => kind === 'text')
  return !isBody || part.disposition?.parameters.has('filename') === true
}

type Text = {
  readonly isHtml: boolean
  readonly body: string
  /** The parts of an alternative share one group. Every other part has its own group. */
  readonly group: number
  readonly defects: readonly Defect[]
}

/** Drops a blank text if there is another text. */
function readTexts(
  raw: Buffer,
  parts: readonly MimePart[],
  fields: readonly HeaderField[],
): readonly Text[] {
  const texts: Text[] = []
  for (const [index, part] of parts.entries()) {
    if (part.kind !== 'text') continue
    // The line end of the delimiter is included, so that joined texts begin on separate lines.
    const { start, end } = part.content
    const octets = raw.subarray(start, parts.length === 1 ? end : endOfLineAt(raw, end))
    const { body, defects } = readText(part, octets, fields)
    texts.push({ isHtml: isHtmlPart(part), body, group: part.alternative ?? index, defects })
  }
  const filled = texts.filter(({ isHtml, body }) => isHtml || !isBlank(body))
  return filled.some(({ body }) => !isBlank(body)) ? filled : texts
}

/** Whether the text has only white space and zero-width characters, possibly as HTML entities. */
function isBlank(text: string): boolean {
  return !/[^\s\u2800\p{Default_Ignorable_Code_Point}]/u.test(text.replace(BLANK_ENTITIES, ''))
}

const BLANK_ENTITIES =
  /&(?:nbsp|ensp|emsp|thinsp|zwnj|zwj|shy|#(?:160|173|820[1-4]|xa0|xad|x200[9a-c]));/gi

/**
 * Joins the text parts into a plain text and an HTML body. From an alternative, only the parts of
 * the wanted type are used. A single part, or an alternative without that type, is converted, up to
 * HTML_LENGTH_MAX.
 */
function joinBodies(texts: readonly Text[], textOfHtml: TextOfHtml): Bodies {
  const groups = Map.groupBy(texts, ({ group }) => group)
  const joined = (isHtml: boolean, convert: (body: string) => string): string => {
    if (!texts.some((text) => text.isHtml === isHtml)) return ''
    let room = HTML_LENGTH_MAX
    const pieces: string[] = []
    for (const group of groups.values()) {
      const own = group.filter((text) => text.isHtml === isHtml)
      pieces.push(...own.map(({ body }) => body))
      for (const { body } of own.length === 0 ? group : []) {
        const shown = body.slice(0, room)
        room -= shown.length
        pieces.push(convert(shown))
      }
    }
    return withoutLastLineEnd(pieces.join('\n'))
  }
  return { text: joined(false, textOfHtml), html: joined(true, htmlFromText) }
}

/**
 * Decodes a part. Without a declared charset, those declared elsewhere in the message are tried.
 */
function readText(
  { contentType, encoding }: PartHead,
  octets: Buffer,
  fields: readonly HeaderField[],
): { readonly body: string; readonly defects: readonly Defect[] } {
  const actual = trueEncoding(octets, encoding)
  const body = decodeTextBody(octets, actual, contentType, () => charsetsNamed(fields))
  const defects: Defect[] = actual === encoding ? [] : ['not-base64']
  // Many programs do not decode UTF-7.
  const isInUtf7 = isUtf7(contentType.parameters.get('charset')?.trim() ?? null)
  if (isInUtf7 && contentType.value !== 'text/html' && octets.includes('+')) defects.push('utf-7')
  return { body, defects }
}

function endOfLineAt(raw: Buffer, position: number): number {
  const lineFeed = raw[position] === 0x0d ? position + 1 : position
  return raw[lineFeed] === 0x0a ? lineFeed + 1 : position
}

function htmlFromText(text: string): string {
  const escaped = text
    .trim()
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\n', '<br>\n')
  return `<div>${escaped}</div>`
}

function fileOf(part: MimePart, raw: Buffer, references: ReadonlySet<string>): File {
  const { disposition, content } = part
  const type = part.contentType.value
  const contentId = part.contentId?.replace(/^<|>$/g, '') || null
  // A text that became a file because of its size is not shown inline.
  const isInline = disposition?.value === 'inline' && kindOf(part) === 'file'
  const isShown = part.isRelated && contentId !== null && references.has(contentId.toLowerCase())
  const octets = raw.subarray(content.start, content.end)
  return {
    filename: nameOfPart(part),
    contentType: type.startsWith('multipart/') ? OPAQUE_TYPE : type,
    charset: part.contentType.parameters.get('charset')?.slice(0, LABEL_LENGTH_MAX) ?? null,
    contentId,
    isInline: isInline || isShown || part.kind === 'text',
    octets,
    encoding: type.startsWith('text/') ? trueEncoding(octets, part.encoding) : part.encoding,
  }
}

const OPAQUE_TYPE = 'application/octet-stream'
const LABEL_LENGTH_MAX = 100

/** The `cid:` references in the HTML (RFC 2392) in lower case, at most one per possible part. */
function contentIdsIn(html: string): Set<string> {
  const found = new Set<string>()
  for (const match of html.matchAll(/\bcid:([^\s"'<>)]{1,250})/gi)) {
    if (found.size >= MIME_PARTS_MAX) break
    const id = (match[1] ?? '').toLowerCase()
    found.add(id)
    if (id.includes('%')) found.add(percentDecoded(id))
  }
  return found
}

/**
 * The line end before a boundary belongs to the boundary, and the last line end to the protocol.
 */
function withoutLastLineEnd(text: string): string {
  let end = text.endsWith('\n') ? text.length - 1 : text.length
  while (end > 0 && text.charCodeAt(end - 1) === 0x0d) end -= 1
  return text.slice(0, end)
}

function assemble(
  section: HeaderSection,
  bodies: Bodies,
  files: readonly File[],
  structural: readonly Defect[],
): Dissected {
  const headers = readHeaders(section.fields)
  const html = cleanText(bodies.html)
  const text = cleanText(bodies.text)
  const defects = [...structural, ...duplicateDefects(section.fields)]
  if (headers.from === null) defects.push('missing-from')
  return { headers, text, html, files, defects }
}

function defeat(raw: Uint8Array, defect: Defect): Dissected {
  return assemble(readHeaderSection(raw), { text: '', html: '' }, [opaqueFile(raw)], [defect])
}

function messageOf({ files, ...rest }: Dissected): MimeMessage {
  return { ...rest, attachments: attachmentsOf(files) }
}

function attachmentsOf(files: readonly File[]): ParsedAttachment[] {
  if (files.length === 0) return []
  const names = safeFileNames(files)
  return files.map((file, index) =>
    attachmentOf(file, names[index] ?? '', decodedSize(file.octets, file.encoding)),
  )
}

function attachmentOf(file: File, filename: string, sizeBytes: number): ParsedAttachment {
  return {
    filename,
    contentType: cleanLine(file.contentType),
    ...(file.charset !== null && { charset: cleanLine(file.charset) }),
    sizeBytes,
    contentId: file.contentId === null ? null : cleanLine(file.contentId),
    isInline: file.isInline,
  }
}

function opaqueFile(content: Uint8Array, filename: string | null = 'unparsed.eml'): File {
  return {
    filename,
    contentType: OPAQUE_TYPE,
    charset: null,
    contentId: null,
    isInline: false,
    octets: bufferOf(content),
    encoding: 'identity',
  }
}
