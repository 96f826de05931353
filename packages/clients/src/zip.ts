// A zip file (APPNOTE 6.3) without directories, encryption or zip64. The same files make the same bytes.

import { crc32, deflateRawSync } from 'node:zlib'
import type { PackedFile } from '#packed-file.ts'

const LOCAL = 0x04034b50
const CENTRAL = 0x02014b50
const END = 0x06054b50
/** Version 2.0, which has deflate; in the central directory made on Unix (3). */
const NEEDED = 20
const MADE_BY = (3 << 8) | NEEDED
const UTF8_NAMES = 0x800
const DEFLATE = 8
/** 1980-01-01, the first day that the format knows. */
const DOS_DATE = 0x21
const UNIX_MODE = 0o100644 * 0x10000

export function zipOf(files: readonly PackedFile[]): Buffer {
  const locals: Buffer[] = []
  const centrals: Buffer[] = []
  let offset = 0
  for (const { path, content } of files) {
    const name = Buffer.from(path)
    const data = deflateRawSync(content, { level: 9 })
    const shared = sharedFields(name, content, data)
    const local = Buffer.concat([uint32(LOCAL), shared, name, data])
    centrals.push(
      Buffer.concat([
        ...[uint32(CENTRAL), uint16(MADE_BY), shared],
        ...[uint16(0), uint16(0), uint16(0), uint32(UNIX_MODE), uint32(offset), name],
      ]),
    )
    locals.push(local)
    offset += local.length
  }
  const directory = Buffer.concat(centrals)
  const count = uint16(files.length)
  const end = [uint32(END), uint16(0), uint16(0), count, count]
  const place = [uint32(directory.length), uint32(offset), uint16(0)]
  return Buffer.concat([...locals, directory, ...end, ...place])
}

/** The fields from "version needed" to "extra field length", which both headers have. */
function sharedFields(name: Buffer, content: Buffer, data: Buffer): Buffer {
  return Buffer.concat([
    ...[uint16(NEEDED), uint16(UTF8_NAMES), uint16(DEFLATE), uint16(0), uint16(DOS_DATE)],
    ...[uint32(crc32(content)), uint32(data.length), uint32(content.length)],
    ...[uint16(name.length), uint16(0)],
  ])
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
