// Classifies the source of an image: a part of the message, a remote address, or a data URI.

import { percentDecoded } from '@mailroom/mail/charset.ts'

/** An image that must be fetched to be displayed. */
export type ImageReference =
  | { readonly kind: 'part'; readonly contentId: string }
  /** The URL is absolute, with the scheme http or https. */
  | { readonly kind: 'remote'; readonly url: string }

type ImageAddress = ImageReference | { readonly kind: 'data'; readonly url: string }

const URL_LENGTH_MAX = 2_000
/** Image formats that cannot contain scripts or links. */
const DATA =
  /^data:image\/(?:png|jpe?g|gif|webp|avif|bmp|x-icon|vnd\.microsoft\.icon);base64,[A-Za-z0-9+/=%]*$/i

/**
 * Includes `octet-stream`, which some mail programs declare for any file; browsers detect images by
 * content.
 */
const PART =
  /^(?:image\/(?:x-)?(?:png|p?jpe?g|gif|webp|avif|bmp|ms-bmp|icon|vnd\.microsoft\.icon)|application\/octet-stream)$/i

/** Whether a part of this type may be shown as an image. Excludes SVG, which can contain links. */
export function isShownType(contentType: string): boolean {
  return PART.test(contentType)
}

/** The image at an address, or null if it is not displayable. `cid:` follows RFC 2392 §2. */
export function readImageAddress(text: string): ImageAddress | null {
  // Browsers also remove these characters (WHATWG URL §4.4).
  const address = text.replace(/[\t\r\n]/g, '').trim()
  if (/^data:/i.test(address)) {
    const url = address.replaceAll(' ', '')
    return DATA.test(url) ? { kind: 'data', url } : null
  }
  if (address.length > URL_LENGTH_MAX) return null
  if (/^cid:/i.test(address)) {
    const contentId = percentDecoded(address.slice(4)).replace(/^<|>$/g, '')
    return contentId === '' ? null : { kind: 'part', contentId }
  }
  const absolute = address.startsWith('//') ? `https:${address}` : address
  if (!/^https?:/i.test(absolute) || !URL.canParse(absolute)) return null
  const { protocol, href } = new URL(absolute)
  const isHttp = protocol === 'http:' || protocol === 'https:'
  return isHttp && href.length <= URL_LENGTH_MAX ? { kind: 'remote', url: href } : null
}

const latin = (bytes: Uint8Array, start: number, end: number): string =>
  String.fromCharCode(...bytes.subarray(start, end))

/** The image media type by content (WHATWG MIME Sniffing §6.1), or null. */
export function imageType(bytes: Uint8Array): string | null {
  const head = latin(bytes, 0, 12)
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'image/gif'
  if (head.startsWith('RIFF') && head.endsWith('WEBP')) return 'image/webp'
  if (head.startsWith('BM')) return 'image/bmp'
  if (head.startsWith('\0\0\x01\0')) return 'image/x-icon'
  return isAvif(bytes) ? 'image/avif' : null
}

/** The first box lists the compatible formats (ISO/IEC 14496-12 §4.3). */
function isAvif(bytes: Uint8Array): boolean {
  if (bytes.length < 16 || latin(bytes, 4, 8) !== 'ftyp') return false
  const size = ((bytes[2] ?? 0) << 8) | (bytes[3] ?? 0)
  const brands = latin(bytes, 8, Math.min(size, bytes.length, BRANDS_BYTES_MAX)).match(/.{4}/gs)
  return brands?.some((brand) => brand === 'avif' || brand === 'avis') ?? false
}

const BRANDS_BYTES_MAX = 128
