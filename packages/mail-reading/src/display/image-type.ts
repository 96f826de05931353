// What kind of image some octets are, by their beginning alone: what a server or a sender says of them
// is not asked. Formats that hold nothing but a picture; so no SVG.

const latin = (bytes: Uint8Array, start: number, end: number): string =>
  String.fromCharCode(...bytes.subarray(start, end))

/** The media type, or null for what is none of these (WHATWG MIME Sniffing §6.1). */
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

/** ISO/IEC 14496-12 §4.3: the first box names what it can be read as. */
function isAvif(bytes: Uint8Array): boolean {
  if (bytes.length < 16 || latin(bytes, 4, 8) !== 'ftyp') return false
  const size = ((bytes[2] ?? 0) << 8) | (bytes[3] ?? 0)
  const brands = latin(bytes, 8, Math.min(size, bytes.length, BRANDS_BYTES_MAX)).match(/.{4}/gs)
  return brands?.some((brand) => brand === 'avif' || brand === 'avis') ?? false
}

const BRANDS_BYTES_MAX = 128
