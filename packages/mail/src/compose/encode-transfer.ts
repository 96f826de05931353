import { setImmediate } from 'node:timers/promises'
import { bufferOf } from '#charset.ts'

/** Octets encoded, hashed or copied before yielding to the event loop (about 5 ms). */
export const COMPOSE_STEP_BYTES = 1024 * 1024

export type TransferName = '7bit' | 'quoted-printable' | 'base64'

const LINE_LENGTH_MAX = 76
/** A soft line break needs one octet for its equals sign. */
const BROKEN_LENGTH_MAX = LINE_LENGTH_MAX - 1
const BASE64_LINE_OCTETS = 57
const HEX = '0123456789ABCDEF'
const [CR, LF, SPACE, TAB, EQUALS] = [0x0d, 0x0a, 0x20, 0x09, 0x3d]

/** Normalises text as any mail server may: removes NUL and ends lines with CRLF. */
export function normaliseText(text: string): string {
  const clean = text.includes('\0') ? text.replaceAll('\0', '') : text
  return clean.toWellFormed().replace(/\r\n|\r|\n/g, '\r\n')
}

/** The shortest encoding for text from `normaliseText`; quoted-printable for empty text. */
export function transferOf(text: string): TransferName {
  if (text !== '' && isPlain(text)) return '7bit'
  let escaped = 0
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code > 0x7e || code === EQUALS) escaped += code < 0x80 ? 1 : code < 0x800 ? 2 : 3
  }
  return escaped * 6 > text.length + escaped ? 'base64' : 'quoted-printable'
}

/** Encodes a text in lines of at most 76 octets; every line but the last ends with CRLF. */
export function encodeTransfer(
  content: Uint8Array,
  transfer: Exclude<TransferName, 'base64'>,
): Buffer {
  return transfer === '7bit' ? bufferOf(content) : encodeQuotedPrintable(content)
}

/** Number of octets that `writeBase64` writes for `sizeBytes` octets. */
export function base64Length(sizeBytes: number): number {
  const lines = Math.ceil(sizeBytes / BASE64_LINE_OCTETS)
  return Math.ceil(sizeBytes / 3) * 4 + Math.max(0, lines - 1) * 2
}

/** Writes lines of base64 into `target` from `start`, yielding after every COMPOSE_STEP_BYTES. */
export async function writeBase64(
  content: Uint8Array,
  target: Buffer,
  start: number,
): Promise<void> {
  const source = bufferOf(content)
  let length = start
  let stepEnd = COMPOSE_STEP_BYTES
  for (let at = 0; at < source.length; at += BASE64_LINE_OCTETS) {
    if (at > stepEnd) {
      await setImmediate()
      stepEnd = at + COMPOSE_STEP_BYTES
    }
    if (at > 0) {
      target[length++] = CR
      target[length++] = LF
    }
    const line = source.toString('base64', at, Math.min(at + BASE64_LINE_OCTETS, source.length))
    length += target.write(line, length, 'latin1')
  }
}

/**
 * Whether a text can be sent as 7bit: ASCII in short lines without trailing blanks (some servers
 * strip them), without `From ` at the start of a line (mailboxes escape it), and without anything
 * that looks like a boundary.
 */
function isPlain(text: string): boolean {
  return !hasLongLine(text) && !/[^\x20-\x7e\r\n]/.test(text) && !/ $|^From |^--/m.test(text)
}

function hasLongLine(text: string): boolean {
  let start = 0
  while (start < text.length) {
    let end = text.indexOf('\r\n', start)
    if (end < 0) end = text.length
    if (end - start > LINE_LENGTH_MAX) return true
    start = end + 2
  }
  return false
}

function encodeQuotedPrintable(content: Uint8Array): Buffer {
  const target = Buffer.allocUnsafe(content.length * 3 + Math.ceil((content.length * 3) / 70) * 3)
  let length = 0
  let column = 0
  for (let at = 0; at < content.length; at += 1) {
    const octet = content[at] ?? 0
    if (octet === CR && content[at + 1] === LF) {
      target[length++] = CR
      target[length++] = LF
      at += 1
      column = 0
      continue
    }
    const isEscaped = mustEscape(content, at, column)
    if (column + (isEscaped ? 3 : 1) > BROKEN_LENGTH_MAX) {
      target[length++] = EQUALS
      target[length++] = CR
      target[length++] = LF
      column = 0
    }
    if (isEscaped) {
      target[length++] = EQUALS
      target[length++] = HEX.charCodeAt(octet >> 4)
      target[length++] = HEX.charCodeAt(octet & 0x0f)
      column += 3
    } else {
      target[length++] = octet
      column += 1
    }
  }
  return target.subarray(0, length)
}

function mustEscape(content: Uint8Array, at: number, column: number): boolean {
  const octet = content[at] ?? 0
  if (octet === SPACE || octet === TAB) {
    const next = content[at + 1]
    return next === undefined || next === CR || next === LF
  }
  if (octet < 0x21 || octet > 0x7e || octet === EQUALS) return true
  // Mailboxes escape `From ` at the start of a line, and SMTP doubles a leading dot.
  return column === 0 && (octet === 0x46 || octet === 0x2e)
}

type LineEnds = {
  readonly bareLineFeeds: number
  readonly bareCarriageReturns: number
}

/** Counts the carriage returns and line feeds outside CRLF, which clients must not send. */
export async function countLineEnds(raw: Uint8Array): Promise<LineEnds> {
  let bareLineFeeds = 0
  let bareCarriageReturns = 0
  for (let start = 0; start < raw.length; start += COMPOSE_STEP_BYTES) {
    if (start > 0) await setImmediate()
    const end = Math.min(start + COMPOSE_STEP_BYTES, raw.length)
    for (let at = start; at < end; at += 1) {
      const octet = raw[at]
      if (octet === LF && raw[at - 1] !== CR) bareLineFeeds += 1
      else if (octet === CR && raw[at + 1] !== LF) bareCarriageReturns += 1
    }
  }
  return { bareLineFeeds, bareCarriageReturns }
}

/** Inserts a carriage return before each bare line feed; `bareLineFeeds` is their count. */
export async function completeLineFeeds(
  raw: Uint8Array,
  bareLineFeeds: number,
): Promise<Uint8Array> {
  if (bareLineFeeds === 0) return raw
  const complete = Buffer.allocUnsafeSlow(raw.length + bareLineFeeds)
  let length = 0
  for (let start = 0; start < raw.length; start += COMPOSE_STEP_BYTES) {
    if (start > 0) await setImmediate()
    const end = Math.min(start + COMPOSE_STEP_BYTES, raw.length)
    for (let at = start; at < end; at += 1) {
      const octet = raw[at] as number
      if (octet === LF && raw[at - 1] !== CR) complete[length++] = CR
      complete[length++] = octet
    }
  }
  return complete
}
