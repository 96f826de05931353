// Signed URLs of attachments and remote images. Each URL gives access until it expires.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { MINUTE_MS } from '#platform/units.ts'

/** URLs can expire soon because every response signs new ones. */
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

/** The URL contains no character that could end an HTML attribute or a CSS string. */
export function imageUrl(
  imageKey: Uint8Array,
  { messageId, url, nowMs }: { messageId: string; url: string; nowMs: number },
): string {
  const query = signedQuery(imageKey, { messageId, name: url, nowMs })
  return `/v1/messages/${messageId}/image?url=${encodeAll(url)}&${query}`
}

/** The signature covers `id` and `name`, not `path`. */
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

/** Checks the signature and its expiry in constant time. */
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

/** The name is a file name or a URL. */
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
  // The name must be last, because only the name may contain a line break.
  return createHmac('sha256', key).update(`${messageId}\n${expires}\n${name}`).digest('base64url')
}
