// A message with its contents taken out, for postal-mime: the same parts with the fields that say
// what they are, and marks in place of what they hold. Contents, and boundaries that mean one thing to
// one program and another to the next, never reach the parser.

import type { MimeOutline, OutlinePart } from './mime-outline.ts'
import { parseStructured, readParameter } from './parameters.ts'

/** The fields of files: as the sender wrote them, or as we read them, in a form read by all alike. */
export type FileFields = 'as-sent' | 'as-read'

/** Texts and files are counted from 0, each kind by itself. */
export function buildSkeleton(outline: MimeOutline, fileFields: FileFields): string {
  const chunks: string[] = []
  let texts = 0
  let files = 0
  for (const entry of outline) {
    if (entry.kind === 'close') {
      chunks.push(`--${boundaryName(entry.multipart)}--\r\n`)
      continue
    }
    if (entry.parent !== null) chunks.push(`--${boundaryName(entry.parent)}\r\n`)
    if (entry.kind === 'text') pushText(chunks, entry, textMark(texts++))
    else if (entry.kind === 'multipart') pushMultipart(chunks, entry)
    else pushFile(chunks, entry, fileMark(files++), fileFields)
  }
  return chunks.join('')
}

/** Text with every mark put through `fill`; no other text of the sender is in what the parser made. */
export function replaceTextMarks(marked: string, fill: (index: number) => string): string {
  return marked.replace(/text-(\d+)\./g, (_, index: string) => fill(Number(index)))
}

/**
 * What stands in the description of the file's attachment. A field and not the content, which the
 * parser decodes by type and charset.
 */
export function fileMark(index: number): string {
  return `file ${index} of the outline`
}

function textMark(index: number): string {
  return `text-${index}.`
}

function boundaryName(multipart: number): string {
  return `multipart-${multipart}`
}

/** In base64, to which the parser adds no line end. */
function pushText(chunks: string[], part: OutlinePart, mark: string): void {
  const type = part.contentType.value === 'text/html' ? 'text/html' : 'text/plain'
  chunks.push(
    `content-type: ${type}\r\ncontent-transfer-encoding: base64\r\n\r\n`,
    `${Buffer.from(mark).toString('base64')}\r\n`,
  )
}

function pushMultipart(chunks: string[], part: OutlinePart): void {
  // The two that the parser treats unlike multipart/mixed.
  const subtype = /^multipart\/(?:alternative|related)$/.test(part.contentType.value)
    ? part.contentType.value
    : 'multipart/mixed'
  chunks.push(`content-type: ${subtype}; boundary="${boundaryName(part.multipart ?? 0)}"\r\n\r\n`)
}

function pushFile(chunks: string[], part: OutlinePart, mark: string, fileFields: FileFields): void {
  const [type, disposition] = fileFields === 'as-sent' ? fieldsAsSent(part) : fieldsAsRead(part)
  chunks.push(`content-description: ${mark}\r\n`, `content-type: ${type}\r\n`)
  if (disposition !== null) chunks.push(`content-disposition: ${disposition}\r\n`)
  if (part.contentIdField !== null) chunks.push(`content-id: ${part.contentIdField}\r\n`)
  chunks.push('\r\n')
}

type TypeAndDisposition = readonly [string, string | null]

function fieldsAsSent(part: OutlinePart): TypeAndDisposition {
  return [part.contentTypeField ?? part.contentType.value, part.dispositionField]
}

function fieldsAsRead(part: OutlinePart): TypeAndDisposition {
  const { value } = part.contentType
  const type = /^(?!multipart\/)[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/.test(value)
    ? value
    : 'application/octet-stream'
  const disposition = parseStructured(part.dispositionField ?? '')
  const name = readParameter(disposition, 'filename') ?? readParameter(part.contentType, 'name')
  const isInline = disposition.value === 'inline' && !type.startsWith('text/')
  const filename = name === null ? '' : `; filename="${name.replace(/["\\]/g, '\\$&')}"`
  return [type, `${isInline ? 'inline' : 'attachment'}${filename.replace(/[\r\n]/g, ' ')}`]
}
