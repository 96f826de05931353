// Signed addresses of images that a message shows from elsewhere: whoever holds one may have the service
// fetch that image until it expires, and nobody can make one up.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { SIGNED_URL_MS } from './attachment-url.ts'

type Signed = { readonly messageId: string; readonly url: string }

/**
 * Path and query, without a host: good for fifteen minutes from `nowMs`. Holds no character that would
 * end an attribute of HTML or a string of CSS.
 */
export function imageUrl(
  imageKey: Uint8Array,
  { messageId, url, nowMs }: Signed & { nowMs: number },
) {
  const expires = String(Math.ceil((nowMs + SIGNED_URL_MS) / 1000))
  const signature = sign(imageKey, { messageId, url, expires })
  return `/v1/messages/${messageId}/image?url=${encodeAll(url)}&expires=${expires}&signature=${signature}`
}

/** Whether the service made this signature and its time is not over; in constant time. */
export function isImageUrlGood(
  imageKey: Uint8Array,
  input: Signed & {
    readonly expires: string | undefined
    readonly signature: string | undefined
    readonly nowMs: number
  },
): boolean {
  const { messageId, url, expires = '', signature = '', nowMs } = input
  const expected = Buffer.from(sign(imageKey, { messageId, url, expires }))
  const given = Buffer.from(signature)
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false
  return /^\d{1,12}$/.test(expires) && Number(expires) * 1000 >= nowMs
}

/** As `encodeURIComponent`, and also what it leaves of punctuation. */
export function encodeAll(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function sign(key: Uint8Array, { messageId, url, expires }: Signed & { expires: string }): string {
  // The URL stands last: it is the only part that could hold a line break.
  return createHmac('sha256', key).update(`${messageId}\n${expires}\n${url}`).digest('base64url')
}
