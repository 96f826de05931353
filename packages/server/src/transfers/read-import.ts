// Reads the messages of an imported file one by one. If the rest can still be read, hostile content
// fails only its own message.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ImportFormat, SkipReason } from '@mailroom/contract/transfers.ts'
import { readHeaderSection } from '@mailroom/mail/header-fields.ts'
import { isMbox, readMbox, withCrlf } from '@mailroom/mail/mbox.ts'
import { MESSAGE_BYTES_MAX } from '@mailroom/smtp/server/session.ts'
import { createTarDecoder, type ParsedTarEntry } from 'modern-tar'
import { readStrictJson } from '#platform/strict-json.ts'
import { type MessageLine, REVERSE_PATH } from './export-formats.ts'
import { readNoted } from './program-fields.ts'

type ReadMessage = {
  readonly kind: 'message'
  readonly name: string | null
  readonly raw: Uint8Array
  readonly stated: Stated
}

/** Fields are null if the file does not state them. */
export type Stated = {
  readonly dateMs: number | null
  readonly isRead: boolean | null
  readonly reversePath: string | null
  /** The id in the exporting service. */
  readonly sourceId: string | null
  readonly line: Omit<MessageLine, 'raw'> | null
  /** The labels are added to the message, and to the thread if the message starts it. */
  readonly labels: readonly string[]
}

type ReadSkip = { readonly kind: 'skip'; readonly reason: SkipReason }

type ReadFailure = {
  readonly kind: 'failure'
  readonly name: string | null
  readonly reason: string
}

/** `end` is the number of bytes read so far. */
export type ReadItem = (ReadMessage | ReadFailure | ReadSkip) & { readonly end: number }

export const FORMAT_BYTES = 1024

/** Detects the format by the first bytes, else by the `declared` type. Null if unsupported. */
export function detectFormat(start: Uint8Array, declared: string | null): ImportFormat | null {
  const bytes = Buffer.from(start.buffer, start.byteOffset, start.byteLength)
  if (isMbox(bytes)) return 'mbox'
  if (isTar(bytes)) return 'maildir'
  const text = bytes.toString('latin1')
  if (/^\s*\{\s*"/.test(text)) return 'jsonl'
  if (declared === 'application/mbox' || declared === 'application/x-tar') return null
  if (declared === 'application/x-ndjson') return null
  // A header field begins with a name and a colon (RFC 5322 §2.2).
  return /^[!-9;-~]+[ \t]*:/.test(text) ? 'eml' : null
}

const OTHER_FORMATS: readonly [start: RegExp, advice: string][] = [
  [/^PK(?:\x03\x04|\x05\x06)/, 'is a zip archive: unpack it, and import each file in it'],
  [/^7z\xbc\xaf|^Rar!|^BZh|^\xfd7zXZ|^\x28\xb5\x2f\xfd/, 'is compressed: unpack it, or use gzip'],
  [
    /^!BDN/,
    'is an Outlook data file (pst): export its mail as mbox or eml, as with readpst, and import that',
  ],
  [
    /^\xd0\xcf\x11\xe0/,
    'is an Outlook message (msg): save it as eml or as text with its header, and import that',
  ],
  [
    /^\d{1,10}\s*\n[!-9;-~]+[ \t]*:/,
    'is a message of Apple Mail (emlx): export the mailbox from Mail as mbox, and import the file mbox in it',
  ],
]

/** Returns advice for a file in another program's format, or null for other files. */
export function findOtherFormat(start: Uint8Array): string | null {
  const text = Buffer.from(start.buffer, start.byteOffset, start.byteLength).toString('latin1')
  return OTHER_FORMATS.find(([pattern]) => pattern.test(text))?.[1] ?? null
}

const TAR_BLOCK = 512

/** Checks the checksum of the first header. */
function isTar(bytes: Buffer): boolean {
  if (bytes.length < TAR_BLOCK) return false
  const stored = octalIn(bytes, 148, 156)
  let sum = 0
  for (let at = 0; at < TAR_BLOCK; at += 1) sum += at >= 148 && at < 156 ? 32 : (bytes[at] ?? 0)
  return sum === stored
}

/** Reads up to a NUL, without spaces, as the library does. NaN unless all digits are octal. */
function octalIn(bytes: Buffer, start: number, end: number): number {
  const [text = ''] = bytes.toString('latin1', start, end).split('\0', 1)
  return Number(`0o0${text.replaceAll(' ', '')}`)
}

export function readImport(
  format: ImportFormat,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<ReadItem> {
  switch (format) {
    case 'mbox':
      return readMboxItems(chunks)
    case 'maildir':
      return readMaildir(chunks)
    case 'jsonl':
      return readLines(chunks)
    case 'eml':
      return readOne(chunks)
  }
}

const NOTHING_STATED: Stated = {
  dateMs: null,
  isRead: null,
  reversePath: null,
  sourceId: null,
  line: null,
  labels: [],
}
const TOO_LARGE = `The message is larger than ${MESSAGE_BYTES_MAX} bytes.`

async function* readMboxItems(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ReadItem> {
  for await (const { raw, sender, dateMs, end } of readMbox(chunks, {
    bytesMax: MESSAGE_BYTES_MAX,
  })) {
    if (raw === null) yield { kind: 'failure', name: null, reason: TOO_LARGE, end }
    else
      yield noted({
        name: null,
        raw,
        stated: { ...NOTHING_STATED, dateMs, reversePath: sender },
        end,
      })
  }
}

/** Adds the state that another program recorded, which may be a reason to skip the message. */
function noted({ name, raw, stated, end }: Omit<ReadMessage, 'kind'> & { end: number }): ReadItem {
  const { isRead, labels, skip } = readNoted(raw)
  if (skip !== null) return { kind: 'skip', reason: skip, end }
  const all = [...stated.labels, ...labels]
  return {
    kind: 'message',
    name,
    raw,
    stated: { ...stated, isRead: stated.isRead ?? isRead, labels: all },
    end,
  }
}

async function* readOne(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ReadItem> {
  const parts: Uint8Array[] = []
  let end = 0
  for await (const chunk of chunks) {
    end += chunk.length
    if (end <= MESSAGE_BYTES_MAX) parts.push(chunk)
  }
  if (end > MESSAGE_BYTES_MAX) yield { kind: 'failure', name: null, reason: TOO_LARGE, end }
  else yield noted({ name: null, raw: withCrlf(Buffer.concat(parts)), stated: NOTHING_STATED, end })
}

/** A line contains a message in base64 and some short fields. */
const LINE_BYTES_MAX = Math.ceil((MESSAGE_BYTES_MAX * 4) / 3) + 256 * 1024
const LF = 0x0a

async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ReadItem> {
  let parts: Buffer[] = []
  let length = 0
  let end = 0
  const take = function* (): Generator<ReadItem> {
    const isTooLong = length > LINE_BYTES_MAX
    const line = isTooLong ? Buffer.alloc(0) : Buffer.concat(parts)
    parts = []
    length = 0
    if (isTooLong) yield { kind: 'failure', name: null, reason: TOO_LARGE, end }
    else if (!isBlank(line)) yield { ...readLine(line), end }
  }
  for await (const chunk of chunks) {
    let bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    while (bytes.length > 0) {
      const at = bytes.indexOf(LF)
      const piece = at === -1 ? bytes : bytes.subarray(0, at)
      length += piece.length
      if (length <= LINE_BYTES_MAX) parts.push(piece)
      else parts = []
      bytes = bytes.subarray(piece.length + (at === -1 ? 0 : 1))
      end += piece.length + (at === -1 ? 0 : 1)
      if (at !== -1) yield* take()
    }
  }
  yield* take()
}

function isBlank(line: Buffer): boolean {
  return line.every((octet) => octet === 0x20 || octet === 0x09 || octet === 0x0d)
}

function readLine(bytes: Uint8Array): ReadMessage | ReadFailure {
  const failure = (reason: string): ReadFailure => ({ kind: 'failure', name: null, reason })
  // A line within its length limit could have enough values to exhaust memory.
  const read = readStrictJson(bytes)
  if (read.kind === 'fault') {
    const isTooMuch = read.rule === 'values' || read.rule === 'depth'
    return failure(isTooMuch ? 'The line has too many values or levels.' : 'The line is not JSON.')
  }
  const { value } = read
  if (typeof value !== 'object' || value === null) return failure('The line is not an object.')
  const fields = value as Record<string, unknown>
  if (typeof fields.raw !== 'string') return failure('The line has no "raw".')
  const raw = Buffer.from(fields.raw, 'base64')
  if (raw.length === 0 || raw.length > MESSAGE_BYTES_MAX) {
    return failure(raw.length === 0 ? 'The "raw" of the line is not base64.' : TOO_LARGE)
  }
  const line: Stated['line'] = {
    id: textOf(fields.id) ?? '',
    threadId: textOf(fields.threadId) ?? '',
    inbox: textOf(fields.inbox) ?? '',
    direction: fields.direction === 'outbound' ? 'outbound' : 'inbound',
    status: textOf(fields.status) ?? '',
    failureReason: textOf(fields.failureReason),
    createdAt: textOf(fields.createdAt) ?? '',
    isRead: fields.isRead === true,
    reversePath: textOf(fields.reversePath) ?? '',
    recipient: textOf(fields.recipient),
    to: textsOf(fields.to),
    bcc: textsOf(fields.bcc) ?? [],
    labels: textsOf(fields.labels) ?? [],
    threadLabels: textsOf(fields.threadLabels) ?? [],
  }
  const dateMs = Date.parse(line.createdAt)
  const stated: Stated = {
    dateMs: Number.isNaN(dateMs) ? null : dateMs,
    isRead: typeof fields.isRead === 'boolean' ? fields.isRead : null,
    reversePath: textOf(fields.reversePath),
    sourceId: textOf(fields.id),
    line,
    labels: [],
  }
  return { kind: 'message', name: null, raw, stated }
}

const TEXT_LENGTH_MAX = 998
const LIST_MAX = 1_000

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value.length <= TEXT_LENGTH_MAX && !/[\0\r\n]/.test(value)
    ? value.toWellFormed()
    : null
}

function textsOf(value: unknown): string[] | null {
  if (!Array.isArray(value)) return null
  return value.slice(0, LIST_MAX).flatMap((one) => textOf(one) ?? [])
}

/** Names in the archive are never used as paths. */
async function* readMaildir(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ReadItem> {
  let end = 0
  const source = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next()
        if (done === true) return controller.close()
        end += value.length
        controller.enqueue(new Uint8Array(value))
      },
      async cancel() {
        await iterator.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
  const iterator = boundedTar(chunks)
  const entries = source.pipeThrough(createTarDecoder({ strict: true }))
  for await (const entry of entries) yield* readEntry(entry, () => end)
}

/** The library reads extended headers (names, times) into memory. */
const TAR_EXTENDED_BYTES_MAX = 16 * 1024
/** The step must be a multiple of TAR_BLOCK. */
const TAR_STEP_BYTES = 64 * 1024
/** Types of pax headers for the next or all entries, and of GNU long names. */
const TAR_EXTENDED = new Set(Buffer.from('xgLK'))

/** Throws if an extended header is too long. */
async function* boundedTar(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, undefined> {
  let carried: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([carried, chunk])
    const end = bytes.length - (bytes.length % TAR_BLOCK)
    for (let at = 0; at < end; at += TAR_STEP_BYTES) {
      const step = bytes.subarray(at, Math.min(end, at + TAR_STEP_BYTES))
      for (let start = 0; start < step.length; start += TAR_BLOCK) {
        requireShortHeader(step.subarray(start, start + TAR_BLOCK))
      }
      yield step
      await nextTurn()
    }
    carried = bytes.subarray(end)
  }
  if (carried.length > 0) yield carried
}

function requireShortHeader(block: Buffer): void {
  if (!TAR_EXTENDED.has(block[156] ?? 0) || !isTar(block)) return
  // The size is NaN if it is written in binary, as large sizes may be.
  if (octalIn(block, 124, 136) <= TAR_EXTENDED_BYTES_MAX) return
  throw new Error('An extended header of the archive is too long.')
}

async function* readEntry(
  { header, body }: ParsedTarEntry,
  end: () => number,
): AsyncGenerator<ReadItem> {
  const { name, type = 'file', size } = header
  const isSparse = Object.keys(header.pax ?? {}).some((key) => key.startsWith('GNU.sparse'))
  if ((type !== 'file' && type !== 'directory') || isSparse) {
    await body.cancel()
    const reason = isSparse ? 'Sparse files cannot be read.' : `It is a ${type}, not a file.`
    yield { kind: 'failure', name: shownName(name), reason, end: end() }
    return
  }
  const file = name.split('/').at(-1) ?? ''
  if (type !== 'file' || file === '') return body.cancel()
  const skip = skippedByName(name)
  if (skip !== null) {
    await body.cancel()
    yield { kind: 'skip', reason: skip, end: end() }
    return
  }
  if (size > MESSAGE_BYTES_MAX) {
    await body.cancel()
    yield { kind: 'failure', name: shownName(name), reason: TOO_LARGE, end: end() }
    return
  }
  const parts: Uint8Array[] = []
  for await (const part of body) parts.push(part)
  const raw = withCrlf(Buffer.concat(parts))
  const fault = faultOf(raw)
  if (fault === null) {
    yield noted({ name: shownName(name), raw, stated: statedByEntry(header), end: end() })
  } else if (isInMaildir(name)) {
    yield { kind: 'failure', name: shownName(name), reason: fault, end: end() }
  } else yield { kind: 'skip', reason: 'otherFile', end: end() }
}

function isInMaildir(name: string): boolean {
  return /(?:^|\/)(?:cur|new)\/[^/]+$/.test(name)
}

/** Decides by folders and flags (https://cr.yp.to/proto/maildir.html) and files of servers. */
function skippedByName(name: string): SkipReason | null {
  if (/(?:^|\/)tmp\/[^/]+$/.test(name)) return 'unfinished'
  const flags = isInMaildir(name) ? flagsOf(name) : null
  if (flags?.includes('T') === true) return 'trash'
  if (flags?.includes('D') === true) return 'draft'
  const isOfServer = /(?:^|\/)(?:dovecot|courier|maildirfolder|maildirsize|subscriptions|\.)[^/]*$/
  return isOfServer.test(name) ? 'otherFile' : null
}

/** Text that only begins like a message has none of the usual header fields. */
function faultOf(raw: Uint8Array): string | null {
  if (raw.length === 0) return 'The file is empty.'
  const { fields } = readHeaderSection(raw)
  return fields.some(({ name }) => FIELDS_OF_MAIL.has(name)) ? null : 'The file is not a message.'
}

const FIELDS_OF_MAIL = new Set(
  'from sender reply-to to cc date subject message-id received return-path mime-version'.split(' '),
)

const NAME_LENGTH_MAX = 200

function shownName(name: string): string {
  return name.replace(/[\p{Cc}\p{Cs}]/gu, '?').slice(0, NAME_LENGTH_MAX)
}

const MAILDIR_NAME = /^(\d{9,11})\.(?:M(\d{1,6}))?/

/** Null without flags. Programs replace the colon on systems that do not allow it. */
function flagsOf(name: string): string | null {
  return /[:;!]2,([A-Za-z]*)$/.exec(name)?.[1] ?? null
}

function statedByEntry({ name: path, pax }: ParsedTarEntry['header']): Stated {
  const reversePath = /^<(.*)>$/.exec(pax?.[REVERSE_PATH] ?? '')?.[1] ?? null
  const found = MAILDIR_NAME.exec(path.split('/').at(-1) ?? '')
  const flags = flagsOf(path)
  const isRead = flags?.includes('S') ?? null
  const labels = flags?.includes('F') === true ? ['starred'] : []
  const stated = { ...NOTHING_STATED, reversePath: textOf(reversePath), isRead, labels }
  if (found === null) return stated
  const [, seconds, microseconds = '0'] = found
  const id = /_?(msg_[0-7][0-9a-hjkmnp-tv-z]{25})\.mailroom:/.exec(path)?.[1] ?? null
  return {
    ...stated,
    dateMs: Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000),
    sourceId: id,
  }
}
