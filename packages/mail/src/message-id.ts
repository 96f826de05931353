import { createHash } from 'node:crypto'
import { cleanLine } from './charset.ts'

/** Longer identifiers are compared by their SHA-256: PostgreSQL indexes at most 2,704 bytes. */
const MESSAGE_ID_KEY_LENGTH_MAX = 250
/** Read of one field: as many as a header of 64 KiB holds, as replies of this service have it. */
export const REFERENCES_MAX = 10_000

/**
 * The identifier of a Message-ID field as `<id>`, without white space. Brackets may be missing around
 * one with an `@`; null when the field holds neither.
 */
export function parseMessageId(field: string): string | null {
  const open = field.indexOf('<')
  if (open < 0) return field.includes('@') ? bracketed(field) : null
  const close = field.indexOf('>', open)
  return bracketed(field.slice(open + 1, close < 0 ? undefined : close))
}

/**
 * The identifiers of an In-Reply-To or References field as `<id>`, in order, as often as written,
 * for the last one names the parent. Where brackets are missing, words with an `@` count. Of more than REFERENCES_MAX the first and the
 * newest are kept, as RFC 5322 §3.6.4 leaves to the sender.
 */
export function parseMessageIds(field: string): string[] {
  const found = field.includes('<') ? bracketedIds(field) : bareIds(field)
  if (found.length <= REFERENCES_MAX) return found
  return [...found.slice(0, 1), ...found.slice(1 - REFERENCES_MAX)]
}

/**
 * What two identifiers are compared by: exact text after trimming brackets and white space. One of
 * more than 250 characters is represented by its SHA-256, so that a key fits any index.
 */
export function messageIdKey(messageId: string): string {
  const id = messageId.replace(/\s+/g, '').replace(/^</, '').replace(/>$/, '')
  if (id.length <= MESSAGE_ID_KEY_LENGTH_MAX) return id
  return `sha256:${createHash('sha256').update(id).digest('hex')}`
}

function bracketedIds(field: string): string[] {
  const found: string[] = []
  let close = -1
  for (let open = field.indexOf('<'); open >= 0; ) {
    // Looked for only once it is passed, or a field of opening brackets would be read again and again.
    if (close < open) close = indexOrEnd(field, '>', open)
    const next = indexOrEnd(field, '<', open + 1)
    // `<a@b <c@d>`: an identifier holds no bracket, so the first one was cut off.
    const id = bracketed(field.slice(open + 1, Math.min(close, next)))
    if (id !== null) found.push(id)
    open = next < field.length ? next : -1
  }
  return found
}

function indexOrEnd(field: string, character: string, from: number): number {
  const index = field.indexOf(character, from)
  return index < 0 ? field.length : index
}

function bareIds(field: string): string[] {
  const found: string[] = []
  for (const word of field.split(/[\s,]+/)) {
    const id = word.includes('@') ? bracketed(word) : null
    if (id !== null) found.push(id)
  }
  return found
}

function bracketed(text: string): string | null {
  const id = cleanLine(text).replace(/[\s<>]+/g, '')
  return id === '' ? null : `<${id}>`
}
