// Attachments as downloads: safe headers, validators and ranges (RFC 9110 §13 and §14).

import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { ParsedAttachment } from '@mailroom/mail/mime/parsed-message.ts'
import { problem } from '#platform/problem.ts'
import type { BinaryResponse } from './handler.ts'

export type Download = Pick<BinaryResponse, 'headers'> & {
  readonly status: 200 | 206 | 304
  readonly part: { readonly start: number; readonly end: number } | null
}

/** Throws `range_not_satisfiable`. */
export function planDownload(
  attachment: ParsedAttachment & { readonly messageId: string },
  request: IncomingHttpHeaders,
): Download {
  const { sizeBytes } = attachment
  const etag = etagOf(attachment)
  const headers = {
    ...fileHeaders(attachment.contentType, attachment.filename),
    etag,
    'accept-ranges': 'bytes',
  }
  if (isListed(request['if-none-match'], etag)) return { status: 304, headers, part: null }
  const isRangeValid = request['if-range'] === undefined || request['if-range'] === etag
  const range = isRangeValid ? readRange(request.range, sizeBytes) : 'whole'
  if (range === 'unsatisfiable') {
    throw problem('range_not_satisfiable', `The file has ${sizeBytes} bytes.`, {
      headers: { 'content-range': `bytes */${sizeBytes}` },
    })
  }
  const part =
    range === 'whole' ? { start: 0, end: sizeBytes } : { start: range.first, end: range.last + 1 }
  const lengthed = { ...headers, 'content-length': String(part.end - part.start) }
  if (range === 'whole') return { status: 200, headers: lengthed, part }
  const contentRange = `bytes ${range.first}-${range.last}/${sizeBytes}`
  return { status: 206, headers: { ...lengthed, 'content-range': contentRange }, part }
}

/** Makes browsers save a hostile file instead of rendering it. */
export function fileHeaders(contentType: string, filename: string): Record<string, string> {
  return {
    'content-type': servedType(contentType),
    'content-disposition': contentDisposition(filename),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'cache-control': 'private, no-store',
  }
}

/** A message never changes, so its id and the file name identify the content. */
function etagOf({ messageId, filename }: { messageId: string; filename: string }): string {
  return `"${hash('sha256', `${messageId} ${filename}`, 'base64url').slice(0, 27)}"`
}

function servedType(contentType: string): string {
  return /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/.test(contentType)
    ? contentType
    : 'application/octet-stream'
}

/** An ASCII form for old clients and the exact name in RFC 8187 encoding, as in RFC 6266. */
function contentDisposition(filename: string): string {
  const ascii = filename.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const exact = encodeURIComponent(filename).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${exact}`
}

function isListed(field: string | undefined, etag: string): boolean {
  if (field === undefined) return false
  return field.split(',').some((tag) => ['*', etag, `W/${etag}`].includes(tag.trim()))
}

type Range = { first: number; last: number } | 'whole' | 'unsatisfiable'

/** For an unknown form or several ranges, the response is the complete content (RFC 9110 §14.2). */
function readRange(field: string | undefined, sizeBytes: number): Range {
  const match = /^bytes=\s*(\d*)-(\d*)\s*$/.exec(field ?? '')
  if (match === null || (match[1] === '' && match[2] === '')) return 'whole'
  const [, from, to] = match
  if (from === '') {
    const length = Math.min(Number(to), sizeBytes)
    return length === 0 ? 'unsatisfiable' : { first: sizeBytes - length, last: sizeBytes - 1 }
  }
  const first = Number(from)
  const last = to === '' ? sizeBytes - 1 : Math.min(Number(to), sizeBytes - 1)
  if (to !== '' && Number(to) < first) return 'whole'
  return first >= sizeBytes ? 'unsatisfiable' : { first, last }
}
