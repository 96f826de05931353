// What stands within the angle brackets of a mailbox (RFC 5322 §3.4), without its comments and white
// space, and where quoted strings and comments end.

import { cleanLine } from './safe-text.ts'

/** In characters; an address beyond it is rubbish, and is not searched for quoted white space. */
export const ADDRESS_TEXT_LENGTH_MAX = 1_000

export type Angle = {
  /** The address, as `cleanAddress` leaves it; any text where it is none. */
  readonly text: string
  /** Where the bracket is that closes it. */
  readonly close: number
  /** Whether a comment was found that nothing closes up to the end of the field. */
  readonly hasOpenComment: boolean
}

/**
 * What follows an opening bracket: `start` is after it, `close` is the first bracket that could close it.
 * Null where that one stands in a quoted string or comment and nothing like an address comes of it.
 * `mayClose`: false where it is known that comments are not closed, so that none is looked for again.
 * What is not closed is text; a comment behind an address that is not closed ends with it.
 */
export function readAngle(
  field: string,
  { start, close: first, mayClose }: { start: number; close: number; mayClose: boolean },
): Angle | null {
  let pieces: string[] = []
  let hasComments = true
  let at = start
  while (at < field.length && field[at] !== '>') {
    const sign = field[at] ?? ''
    const end = sign === '"' && isLocalPart(pieces) ? closingQuote(field, at + 1) : -1
    const commentEnd = sign === '(' && hasComments && mayClose ? closingComment(field, at) : -1
    if (end >= 0) {
      pieces.push(field.slice(at, end + 1))
      at = end + 1
    } else if (commentEnd >= 0) {
      at = commentEnd + 1
    } else if (sign === '(' && hasComments && pieces.some(hasDomain)) {
      hasComments = false
      at = first
    } else {
      if (sign === '(') hasComments = false
      // Of the next mailbox.
      if (sign === '<' && at > first) return null
      // `Name < <a@b>`: the innermost bracket holds the address.
      if (sign === '<') pieces = []
      const next = nextSign(field, at + 1)
      pieces.push(field.slice(sign === '<' ? at + 1 : at, next))
      at = next
    }
  }
  const text = cleanAddress(pieces.join(''))
  const isClosed = at === first || (at < field.length && isLikeAddress(text))
  return isClosed ? { text, close: at, hasOpenComment: !hasComments } : null
}

/** RFC 5322 §4.4: a source route before the address is ignored; so is white space outside quotes. */
export function cleanAddress(angle: string): string {
  const unrouted = angle.trimStart().startsWith('@') ? angle.slice(angle.indexOf(':') + 1) : angle
  const space = unrouted.length > ADDRESS_TEXT_LENGTH_MAX ? /\s+/g : /"(?:[^"\\]|\\.)*"|\s+/g
  const address = cleanLine(
    unrouted.replace(space, (match) => (match.startsWith('"') ? match : '')),
  )
  return address.toLowerCase().startsWith('mailto:') ? address.slice(7) : address
}

/** Of the quoted string whose content begins at `from`; -1 where it has no end. */
export function closingQuote(field: string, from: number): number {
  for (let position = from; position < field.length; position += 1) {
    const code = field.charCodeAt(position)
    if (code === 0x5c) position += 1
    else if (code === 0x22) return position
  }
  return -1
}

/** Of the comment that begins at `from`, with those within it; -1 where it has no end. */
export function closingComment(field: string, from: number): number {
  let depth = 0
  for (let position = from; position < field.length; position += 1) {
    const code = field.charCodeAt(position)
    if (code === 0x5c) position += 1
    else if (code === 0x28) depth += 1
    else if (code === 0x29 && --depth === 0) return position
  }
  return -1
}

/** Whether a quoted word of a local part may follow: at the start, after a route, after a dot. */
function isLocalPart(pieces: readonly string[]): boolean {
  const last = pieces.findLast((piece) => piece.trim() !== '')
  return last === undefined || /[.:]\s*$/.test(last.slice(-10))
}

function hasDomain(piece: string): boolean {
  return /@\s*[^\s@]/.test(piece)
}

function nextSign(field: string, from: number): number {
  SIGN.lastIndex = from
  return SIGN.exec(field)?.index ?? field.length
}

const SIGN = /["(<>]/g

function isLikeAddress(text: string): boolean {
  if (text.length > ADDRESS_TEXT_LENGTH_MAX) return false
  return /^(?:"(?:[^"\\]|\\.)*"|[^"@,;:<>()])+@[^"@,;:<>()]+$/s.test(text)
}
