// A package for npm: a gzip of POSIX.1-1988 ustar. The same files make the same bytes.

import { gzipSync } from 'node:zlib'
import type { PackedFile } from '#packed-file.ts'

const BLOCK = 512
/** The time that npm itself writes: zip formats cannot go back further than 1980. */
const MTIME_SECONDS = 499_162_500
const NAME_LENGTH_MAX = 100

export function tarballOf(files: readonly PackedFile[]): Buffer {
  const blocks = files.flatMap((file) => [headerOf(file), padded(file.content)])
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level: 9 })
}

function headerOf({ path, content, isProgram = false }: PackedFile): Buffer {
  const name = `package/${path}`
  if (Buffer.byteLength(name) > NAME_LENGTH_MAX) throw new Error(`${name} is too long for ustar`)
  const header = Buffer.alloc(BLOCK)
  const octal = (value: number, length: number) =>
    `${value.toString(8).padStart(length - 1, '0')}\0`
  header.write(name, 0)
  header.write(octal(isProgram ? 0o755 : 0o644, 8), 100)
  header.write(octal(0, 8), 108)
  header.write(octal(0, 8), 116)
  header.write(octal(content.length, 12), 124)
  header.write(octal(MTIME_SECONDS, 12), 136)
  // The checksum counts its own field as spaces.
  header.write(' '.repeat(8), 148)
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

function padded(content: Buffer): Buffer {
  return Buffer.concat([content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)])
}
