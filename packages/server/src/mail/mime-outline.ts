// The parts of a message as a scan found them: where each begins and ends, and the fields that say
// what it is. The octets stay where they are.

import { firstField, type HeaderField } from './header-fields.ts'
import { parseStructured, type StructuredValue } from './parameters.ts'
import { type TransferEncoding, transferEncodingOf } from './transfer-encoding.ts'

export type OctetRange = { readonly start: number; readonly end: number }

/** Parts and the ends of multiparts, in order; the first is the message itself. */
export type MimeOutline = readonly (OutlinePart | OutlineClose)[]

export type OutlinePart = PartHead & {
  readonly kind: 'multipart' | 'text' | 'file'
  /** The multipart that the part is in, null for the message itself. */
  readonly parent: number | null
  /** Number of this multipart, counted up; null for other parts. */
  readonly multipart: number | null
  /** Encoded octets, without the line end that belongs to the delimiter; empty for a multipart. */
  readonly content: OctetRange
}

export type OutlineClose = { readonly kind: 'close'; readonly multipart: number }

export type PartHead = {
  /** That of the field, or the one that its absence means. */
  readonly contentType: StructuredValue
  readonly encoding: TransferEncoding
  readonly contentTypeField: string | null
  readonly dispositionField: string | null
  readonly contentIdField: string | null
}

/** `typeWithoutField`: what a part is that has no Content-Type (RFC 2045 §5.2, RFC 2046 §5.1.5). */
export function readPartHead(
  fields: readonly HeaderField[],
  typeWithoutField = 'text/plain',
): PartHead {
  const contentTypeField = firstField(fields, 'content-type')
  return {
    contentType: parseStructured(contentTypeField ?? typeWithoutField),
    encoding: transferEncodingOf(firstField(fields, 'content-transfer-encoding')),
    contentTypeField,
    dispositionField: firstField(fields, 'content-disposition'),
    contentIdField: firstField(fields, 'content-id'),
  }
}

/** The boundary of a multipart; null for any other part and for a multipart that names none. */
export function boundaryOf({ contentType }: PartHead): string | null {
  if (!contentType.value.startsWith('multipart/')) return null
  return contentType.parameters.get('boundary') || null
}

/**
 * `text` is what the bodies of the message are made of: text/plain and text/html that is not called
 * an attachment. Everything else that has no parts of its own is a `file`.
 */
export function kindOf(head: PartHead): OutlinePart['kind'] {
  if (boundaryOf(head) !== null) return 'multipart'
  // A multipart without a boundary has no parts; its text is all there is to show.
  if (head.contentType.value.startsWith('multipart/')) return 'text'
  const { dispositionField } = head
  const isAttachment =
    dispositionField !== null && parseStructured(dispositionField).value === 'attachment'
  const isText = head.contentType.value === 'text/plain' || head.contentType.value === 'text/html'
  return isText && !isAttachment ? 'text' : 'file'
}
