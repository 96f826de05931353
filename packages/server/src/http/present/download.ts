// Attachments as downloads: safe headers, validators and ranges (RFC 9110 §13 and §14).

import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { BinaryResponse } from '#http/handler.ts'
import type { ParsedAttachment } from '#mail/parsed-message.ts'

/** The content of an attachment, or the part of it that the request asks for. */
export function presentDownload(
  attachment: ParsedAttachment,
  content: Uint8Array,
  request: IncomingHttpHeaders,
): BinaryResponse {
  const etag = `"${hash('sha256', content, 'base64url').slice(0, 27)}"`
  const headers = { ...safeHeaders(attachment), etag, 'accept-ranges': 'bytes' }
  if (isListed(request['if-none-match'], etag)) return { status: 304, headers, content: null }
  const isRangeValid = request['if-range'] === undefined || request['if-range'] === etag
  const range = isRangeValid ? readRange(request.range, content.length) : 'whole'
  if (range === 'whole') return { headers, content }
  if (range === 'unsatisfiable') {
    return { status: 416, headers: { 'content-range': `bytes */${content.length}` }, content: null }
  }
  return {
    status: 206,
    headers: {
      ...headers,
      'content-range': `bytes ${range.first}-${range.last}/${content.length}`,
    },
    content: content.subarray(range.first, range.last + 1),
  }
}

/** What keeps a hostile file from being anything but a file. */
function safeHeaders(attachment: ParsedAttachment): Record<string, string> {
  return {
    'content-type': servedType(attachment.contentType),
    'content-disposition': contentDisposition(attachment.filename),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'cache-control': 'private, no-store',
  }
}

/** RFC 9110 §8.3.1; whatever is not a media type is served as octets. */
function servedType(contentType: string): string {
  return /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/.test(contentType)
    ? contentType
    : 'application/octet-stream'
}

/** RFC 6266: an ASCII form for old clients and the exact name in RFC 8187 encoding. */
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

/** RFC 9110 §14.2: a form that is not understood, or several ranges, get the whole. */
function readRange(field: string | undefined, sizeBytes: number): Range {
  const match = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/.exec(field ?? '')
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
