// The parts of a ZIP file (APPNOTE 6.3), inflated piece by piece, so that a bomb is stopped at the
// bound.

import { inflateRawSync } from 'node:zlib'
import { FILE_INFLATED_BYTES_MAX, FileFault } from './file-text.ts'

type Entry = {
  readonly method: number
  readonly isEncrypted: boolean
  readonly compressedBytes: number
  readonly offset: number
}

const END_BYTES = 22
const END_SIGNATURE = 0x06054b50
const ENTRY_BYTES = 46
const ENTRY_SIGNATURE = 0x02014b50
const LOCAL_BYTES = 30
const LOCAL_SIGNATURE = 0x04034b50
const COMMENT_BYTES_MAX = 65_535
/** Maximum parts of a file; a workbook of 10,000 sheets has 20,000. */
const ENTRIES_MAX = 65_535
const PIECE_BYTES = 64 * 1024
const STORED = 0
const DEFLATED = 8
const UNKNOWN_SIZE = 0xffffffff

export class ZipFile {
  readonly #content: Uint8Array
  readonly #view: DataView
  readonly #entries: ReadonlyMap<string, Entry>
  #inflatedBytes = 0

  /** Reads the directory. Throws FileFault if the file is damaged. */
  constructor(content: Uint8Array) {
    this.#content = content
    this.#view = new DataView(content.buffer, content.byteOffset, content.length)
    this.#entries = readDirectory(this.#view, content)
  }

  has(name: string): boolean {
    return this.#entries.has(name)
  }

  /**
   * Calls `take` with the octets of a part, piece by piece. Throws FileFault if the part is missing
   * or damaged, and once all parts together exceed FILE_INFLATED_BYTES_MAX.
   */
  read(name: string, take: (piece: Uint8Array) => void): void {
    const entry = this.#entries.get(name)
    if (entry === undefined) throw new FileFault('failed', `It has no part ${name}.`)
    if (entry.isEncrypted) throw encrypted()
    const inflated = this.#inflate(entry)
    for (let at = 0; at < inflated.length; at += PIECE_BYTES) {
      take(inflated.subarray(at, at + PIECE_BYTES))
    }
  }

  /** The first `bytesMax` octets of a part as text; '' if it is missing. */
  readText(name: string, bytesMax: number): string {
    if (!this.has(name)) return ''
    const pieces: Uint8Array[] = []
    let bytes = 0
    this.read(name, (piece) => {
      if (bytes < bytesMax) pieces.push(piece)
      bytes += piece.length
    })
    return new TextDecoder().decode(Buffer.concat(pieces).subarray(0, bytesMax))
  }

  #inflate(entry: Entry): Uint8Array {
    const packed = this.#packed(entry)
    const room = FILE_INFLATED_BYTES_MAX - this.#inflatedBytes
    const inflated = entry.method === STORED ? packed : inflateWithin(packed, { entry, room })
    if (inflated.length > room) throw inflatedTooLarge()
    this.#inflatedBytes += inflated.length
    return inflated
  }

  #packed({ offset, compressedBytes }: Entry): Uint8Array {
    const view = this.#view
    const isHere = offset + LOCAL_BYTES <= view.byteLength
    if (!isHere || view.getUint32(offset, true) !== LOCAL_SIGNATURE) throw damaged()
    const start =
      offset + LOCAL_BYTES + view.getUint16(offset + 26, true) + view.getUint16(offset + 28, true)
    if (start + compressedBytes > view.byteLength) throw damaged()
    return this.#content.subarray(start, start + compressedBytes)
  }
}

function inflateWithin(
  packed: Uint8Array,
  { entry, room }: { entry: Entry; room: number },
): Uint8Array {
  if (entry.method !== DEFLATED) {
    throw new FileFault('failed', 'It is compressed by a method that is not read.')
  }
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, room) })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw code === 'ERR_BUFFER_TOO_LARGE' ? inflatedTooLarge() : damaged()
  }
}

function inflatedTooLarge(): FileFault {
  const mebibytes = FILE_INFLATED_BYTES_MAX / 1024 / 1024
  return new FileFault('too_large', `It has more than ${mebibytes} MiB when inflated.`)
}

function readDirectory(view: DataView, content: Uint8Array): Map<string, Entry> {
  const end = findEnd(view)
  const count = view.getUint16(end + 10, true)
  const entries = new Map<string, Entry>()
  let at = view.getUint32(end + 16, true)
  for (let index = 0; index < Math.min(count, ENTRIES_MAX); index++) {
    if (at + ENTRY_BYTES > view.byteLength || view.getUint32(at, true) !== ENTRY_SIGNATURE) {
      throw damaged()
    }
    const nameBytes = view.getUint16(at + 28, true)
    const extraBytes = view.getUint16(at + 30, true)
    const name = content.subarray(at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes)
    const extraAt = at + ENTRY_BYTES + nameBytes
    const sizes = {
      inflated: view.getUint32(at + 24, true),
      compressed: view.getUint32(at + 20, true),
      offset: view.getUint32(at + 42, true),
    }
    const { compressed, offset } = wideSizes(view, sizes, { start: extraAt, bytes: extraBytes })
    entries.set(Buffer.from(name).toString('utf8').replaceAll('\\', '/'), {
      method: view.getUint16(at + 10, true),
      isEncrypted: (view.getUint16(at + 8, true) & 1) === 1,
      compressedBytes: compressed,
      offset,
    })
    at = extraAt + extraBytes + view.getUint16(at + 32, true)
  }
  return entries
}

function findEnd(view: DataView): number {
  const last = view.byteLength - END_BYTES
  for (let at = last; at >= Math.max(0, last - COMMENT_BYTES_MAX); at--) {
    if (view.getUint32(at, true) === END_SIGNATURE) return at
  }
  throw damaged()
}

type Sizes = { inflated: number; compressed: number; offset: number }

/** ZIP64 (APPNOTE 4.5.3); streaming writers use its fields for small files too. */
function wideSizes(
  view: DataView,
  sizes: Sizes,
  { start, bytes }: { start: number; bytes: number },
): Sizes {
  const end = Math.min(start + bytes, view.byteLength)
  for (let at = start; at + 4 <= end; at += 4 + view.getUint16(at + 2, true)) {
    if (view.getUint16(at, true) !== 1) continue
    let field = at + 4
    const wide = { ...sizes }
    for (const name of ['inflated', 'compressed', 'offset'] as const) {
      if (sizes[name] !== UNKNOWN_SIZE) continue
      if (field + 8 > end) throw damaged()
      wide[name] = Number(view.getBigUint64(field, true))
      field += 8
    }
    return wide
  }
  return sizes
}

function damaged(): FileFault {
  return new FileFault('failed', 'It is damaged or incomplete.')
}

export function encrypted(): FileFault {
  return new FileFault('failed', 'It is encrypted.')
}
