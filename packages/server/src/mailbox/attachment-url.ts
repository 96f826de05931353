// Signed addresses of attachments: whoever holds one may download until it expires.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { MINUTE_MS } from '#platform/units.ts'

export const SIGNED_URL_MS = 15 * MINUTE_MS

export type UrlSigner = { publicUrl: string; urlKey: Uint8Array }

/** The absolute URL of an attachment, good for fifteen minutes from `nowMs`. */
export function attachmentUrl(
  signer: UrlSigner,
  input: { messageId: string; filename: string; nowMs: number },
): string {
  const expires = String(Math.ceil((input.nowMs + SIGNED_URL_MS) / 1000))
  const signature = sign(signer.urlKey, input.messageId, input.filename, expires)
  const path = `/v1/attachments/${input.messageId}/${encodeURIComponent(input.filename)}`
  return `${signer.publicUrl}${path}?expires=${expires}&signature=${signature}`
}

/** Whether the service made this signature and its time is not over; in constant time. */
export function isAttachmentUrlGood(
  urlKey: Uint8Array,
  input: {
    messageId: string
    filename: string
    expires: string | undefined
    signature: string | undefined
    nowMs: number
  },
): boolean {
  const expires = input.expires ?? ''
  const expected = Buffer.from(sign(urlKey, input.messageId, input.filename, expires))
  const given = Buffer.from(input.signature ?? '')
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false
  return /^\d{1,12}$/.test(expires) && Number(expires) * 1000 >= input.nowMs
}

function sign(urlKey: Uint8Array, messageId: string, filename: string, expires: string): string {
  // The file name stands last: it is the only part that may hold a line break.
  return createHmac('sha256', urlKey)
    .update(`${messageId}\n${expires}\n${filename}`)
    .digest('base64url')
}
