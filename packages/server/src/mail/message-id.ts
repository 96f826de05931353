// Message identifiers (RFC 5322 §3.6.4) out of the fields that carry them, in the one form in which
// they are stored and compared.

import { createHash } from 'node:crypto'
import { REFERENCES_MAX } from '#base/limits.ts'
import { cleanLine } from './safe-text.ts'

/** Longer keys do not fit into a database's index entry (PostgreSQL: about 2,700 octets). */
const KEY_LENGTH_MAX = 250

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
 * The identifiers of an In-Reply-To or References field as `<id>`, each once, in order. Where
 * brackets are missing, words with an `@` count. Of more than REFERENCES_MAX the first and the
 * newest are kept, as RFC 5322 §3.6.4 leaves to the sender.
 */
export function parseMessageIds(field: string): string[] {
  const found = field.includes('<') ? bracketedIds(field) : bareIds(field)
  if (found.size <= REFERENCES_MAX) return [...found]
  const all = [...found]
  return [...all.slice(0, 1), ...all.slice(1 - REFERENCES_MAX)]
}

/**
 * What two identifiers are compared by: exact text after trimming brackets and white space. One of
 * more than 250 characters is represented by its SHA-256, so that a key fits any index.
 */
export function messageIdKey(messageId: string): string {
  const id = messageId.replace(/\s+/g, '').replace(/^</, '').replace(/>$/, '')
  if (id.length <= KEY_LENGTH_MAX) return id
  return `sha256:${createHash('sha256').update(id).digest('hex')}`
}

function bracketedIds(field: string): Set<string> {
  const found = new Set<string>()
  let open = field.indexOf('<')
  while (open >= 0) {
    const close = field.indexOf('>', open)
    const end = close < 0 ? field.length : close
    // `<a@b <c@d>`: an identifier holds no bracket, so the first one was cut off.
    const next = field.indexOf('<', open + 1)
    const id = bracketed(field.slice(open + 1, next >= 0 && next < end ? next : end))
    if (id !== null) found.add(id)
    open = next >= 0 && next < end ? next : field.indexOf('<', end)
  }
  return found
}

function bareIds(field: string): Set<string> {
  const found = new Set<string>()
  for (const word of field.split(/[\s,]+/)) {
    const id = word.includes('@') ? bracketed(word) : null
    if (id !== null) found.add(id)
  }
  return found
}

function bracketed(text: string): string | null {
  const id = cleanLine(text).replace(/[\s<>]+/g, '')
  return id === '' ? null : `<${id}>`
}
