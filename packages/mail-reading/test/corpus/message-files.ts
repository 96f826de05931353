// Walks a folder of message files kept outside the repository. Knows which files are messages and
// that one may begin with an mbox line; refuses to know what is expected of them.

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join, relative } from 'node:path'
import { firstField, readHeaderSection } from '@mailroom/mail/header-fields.ts'
import { firstAddress } from '#report/report-words.ts'

export type MessageFile = {
  /** Path below the folder, with `/`. */
  readonly path: string
  /** Without the mbox `From ` line. */
  readonly raw: Uint8Array
}

/** Licences, descriptions and expected results that lie beside the messages. */
const NO_MESSAGE = new Set(
  '.jsonl .json .xml .dns .result .error .md .html .py .rb .zone .key .pem .yml .yaml .lua .jpg .png .gif .pdf .zip .tnef'.split(
    ' ',
  ),
)
const DIRECTORY_DEPTH_MAX = 20

/** Every message file below `folder`, in the order of its path; reads one at a time. */
export function* messageFiles(folder: string): Generator<MessageFile> {
  for (const file of walk(folder, 0)) {
    yield { path: relative(folder, file).replaceAll('\\', '/'), raw: readMessageFile(file) }
  }
}

/** The octets of a message file without its mbox line. */
export function readMessageFile(file: string): Uint8Array {
  const bytes = readFileSync(file)
  if (!bytes.subarray(0, 5).equals(Buffer.from('From '))) return bytes
  // Lines may end in carriage returns alone.
  const lineEnd = bytes.findIndex((octet) => octet === 0x0a || octet === 0x0d)
  if (lineEnd < 0) return new Uint8Array()
  const isPair = bytes[lineEnd] === 0x0d && bytes[lineEnd + 1] === 0x0a
  return bytes.subarray(lineEnd + (isPair ? 2 : 1))
}

/** Of the envelope that it came in, by its Return-Path; null where none is kept. '' is the null path. */
export function reversePathOf(raw: Uint8Array): string | null {
  const field = firstField(readHeaderSection(raw).fields, 'return-path')
  return field === null ? null : (firstAddress(field) ?? '')
}

/** RFC 5321 §2.3.8: every line ends in CRLF, however the file wrote it. */
export function asClientSends(raw: Uint8Array): Buffer {
  const text = Buffer.from(raw)
    .toString('latin1')
    .replace(/\r\n|\r|\n/g, '\r\n')
  return Buffer.from(text.endsWith('\r\n') ? text : `${text}\r\n`, 'latin1')
}

function* walk(folder: string, depth: number): Generator<string> {
  if (depth > DIRECTORY_DEPTH_MAX) return
  for (const name of readdirSync(folder).sort()) {
    const file = join(folder, name)
    if (statSync(file).isDirectory()) {
      if (name !== '_licence') yield* walk(file, depth + 1)
    } else if (isMessageName(name)) yield file
  }
}

function isMessageName(name: string): boolean {
  return name !== 'INDEX.md' && !NO_MESSAGE.has(extname(name)) && !name.startsWith('_decoded')
}
