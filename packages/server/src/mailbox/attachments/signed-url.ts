// Signed URLs of attachments and of remote images in messages. A URL gives access until it expires.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { MINUTE_MS } from '#platform/units.ts'

/** Responses sign their URLs anew, so a short life is enough. */
export const SIGNED_URL_MS = 15 * MINUTE_MS

export type UrlSigner = { publicUrl: () => string; urlKey: Uint8Array }

export type Signature = { expires: string | undefined; signature: string | undefined }

export function attachmentUrl(
  { publicUrl, urlKey }: UrlSigner,
  { messageId, filename, nowMs }: { messageId: string; filename: string; nowMs: number },
): string {
  const query = signedQuery(urlKey, { messageId, name: filename, nowMs })
  return `${publicUrl()}/v1/attachments/${messageId}/${encodeURIComponent(filename)}?${query}`
}

/** Contains no character that would end an HTML attribute or a CSS string. */
export function imageUrl(
  imageKey: Uint8Array,
  { messageId, url, nowMs }: { messageId: string; url: string; nowMs: number },
): string {
  const query = signedQuery(imageKey, { messageId, name: url, nowMs })
  return `/v1/messages/${messageId}/image?url=${encodeAll(url)}&${query}`
}

/** Signs `id` and `name`; `path` is not signed. */
export function signedFileUrl(
  { publicUrl, urlKey }: UrlSigner,
  { path, id, name, expiresAtMs }: { path: string; id: string; name: string; expiresAtMs: number },
): string {
  const query = signedUntil(urlKey, { messageId: id, name, expiresAtMs })
  return `${publicUrl()}${path}?${query}`
}

export function encodeAll(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** Whether the service made this signature for the name and it has not expired; constant time. */
export function isSignatureGood(
  key: Uint8Array,
  { expires = '', signature = '' }: Signature,
  { messageId, name, nowMs }: Signed & { nowMs: number },
): boolean {
  const expected = Buffer.from(sign(key, expires, { messageId, name }))
  const received = Buffer.from(signature)
  if (received.length !== expected.length || !timingSafeEqual(received, expected)) return false
  return /^\d{1,12}$/.test(expires) && Number(expires) * 1000 >= nowMs
}

/** `name` is a file name or URL. */
type Signed = { messageId: string; name: string }

function signedQuery(key: Uint8Array, { nowMs, ...signed }: Signed & { nowMs: number }): string {
  return signedUntil(key, { ...signed, expiresAtMs: nowMs + SIGNED_URL_MS })
}

function signedUntil(
  key: Uint8Array,
  { expiresAtMs, ...signed }: Signed & { expiresAtMs: number },
): string {
  const expires = String(Math.ceil(expiresAtMs / 1000))
  return `expires=${expires}&signature=${sign(key, expires, signed)}`
}

function sign(key: Uint8Array, expires: string, { messageId, name }: Signed): string {
  // The name comes last: it is the only part that may contain a line break.
  return createHmac('sha256', key).update(`${messageId}\n${expires}\n${name}`).digest('base64url')
}
