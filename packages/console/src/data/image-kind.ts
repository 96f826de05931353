// Recognizes images by their first bytes, because the sender chooses the file name and type.

type ImageKind = {
  readonly type: string
  /** The size in pixels; null if the first bytes do not contain it. */
  readonly width: number | null
  readonly height: number | null
}

/** Returns null for other formats, including SVG, which can run code or load other files. */
export function imageKind(bytes: Uint8Array): ImageKind | null {
  const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const begins = (text: string, at = 0) =>
    bytes.length >= at + text.length &&
    [...text].every((sign, index) => bytes[at + index] === sign.charCodeAt(0))
  if (begins('\x89PNG\r\n\x1a\n') && begins('IHDR', 12) && bytes.length >= 24) {
    return { type: 'image/png', width: data.getUint32(16), height: data.getUint32(20) }
  }
  if ((begins('GIF87a') || begins('GIF89a')) && bytes.length >= 10) {
    return {
      type: 'image/gif',
      width: data.getUint16(6, true),
      height: data.getUint16(8, true),
    }
  }
  if (begins('\xff\xd8\xff')) return { type: 'image/jpeg', ...sizeOfJpeg(data) }
  if (begins('RIFF') && begins('WEBP', 8)) return { type: 'image/webp', ...sizeOfWebp(bytes, data) }
  return null
}

const unknown = { width: null, height: null }

/** The size is in the frame header (ITU T.81 §B.2.2), after segments of variable length. */
function sizeOfJpeg(data: DataView): Omit<ImageKind, 'type'> {
  let at = 2
  while (at + 9 <= data.byteLength && data.getUint8(at) === 0xff) {
    const marker = data.getUint8(at + 1)
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { width: data.getUint16(at + 7), height: data.getUint16(at + 5) }
    at += marker === 0xff ? 1 : 2 + data.getUint16(at + 2)
  }
  return unknown
}

/** The size is in the first chunk, in a form that depends on its kind (RFC 9649 §2). */
function sizeOfWebp(bytes: Uint8Array, data: DataView): Omit<ImageKind, 'type'> {
  if (bytes.length < 30) return unknown
  const kind = String.fromCharCode(...bytes.subarray(12, 16))
  const threeBytes = (at: number) => data.getUint16(at, true) + (data.getUint8(at + 2) << 16)
  if (kind === 'VP8X') return { width: 1 + threeBytes(24), height: 1 + threeBytes(27) }
  if (kind === 'VP8 ') {
    return { width: data.getUint16(26, true) & 0x3fff, height: data.getUint16(28, true) & 0x3fff }
  }
  if (kind !== 'VP8L') return unknown
  const bits = data.getUint32(21, true)
  return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) }
}
