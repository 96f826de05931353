// Addresses within the words of a report. Goes from every `@` outwards, so that no line costs more
// than its length; refuses to say whether mail may go there.

import { ADDRESS_TEXT_LENGTH_MAX } from '@mailroom/mail/angle-address.ts'

export type FoundAddress = {
  readonly address: string
  /** Offsets of the address within the line, without brackets. */
  readonly start: number
  readonly end: number
}

const NOT_LOCAL = /[\s<>()[\]{}:;,"'`@\\|]/
const NOT_DOMAIN = /[^\p{L}\p{N}.\-_]/u

/** In order; those without a dot in the domain and in angle brackets are taken, bare ones are not. */
export function findAddresses(line: string): FoundAddress[] {
  const found: FoundAddress[] = []
  let floor = 0
  for (let at = line.indexOf('@'); at >= 0; at = line.indexOf('@', at + 1)) {
    const address = addressAround(line, at, floor)
    if (address === null) continue
    found.push(address)
    floor = address.end
    at = Math.max(at, address.end - 1)
  }
  return found
}

/** The first address of a text that should be one, bare: `<a@b>`, `rfc822; a@b`, `a@b (Name)`. */
export function firstAddress(text: string): string | null {
  const whole = text.trim()
  const bracketed = /^[^<>]*<([^<>]*)>/.exec(whole)?.[1]?.trim()
  const candidate = bracketed ?? whole
  if (candidate.length > ADDRESS_TEXT_LENGTH_MAX) return null
  const found = findAddresses(candidate)[0]?.address
  if (found !== undefined) return found
  return /^[^\s@]+@[^\s@]+$/.test(candidate) ? candidate : null
}

function addressAround(line: string, at: number, floor: number): FoundAddress | null {
  const start = localStart(line, at, floor)
  let end = at + 1
  while (end < line.length && !NOT_DOMAIN.test(line[end] ?? '')) end += 1
  while (end > at + 1 && /[.\-_]/.test(line[end - 1] ?? '')) end -= 1
  const isBracketed = line[start - 1] === '<' && line[end] === '>'
  if (start === at || end === at + 1 || end - start > ADDRESS_TEXT_LENGTH_MAX) return null
  if (!isBracketed && !line.slice(at, end).includes('.')) return null
  return { address: line.slice(start, end), start, end }
}

function localStart(line: string, at: number, floor: number): number {
  if (line[at - 1] === '"') {
    const open = line.lastIndexOf('"', at - 2)
    // Only a quoted local part stands so; `"a"@b` within other quotes does not occur.
    if (open >= floor && at - open < ADDRESS_TEXT_LENGTH_MAX) return open
  }
  let start = at
  while (start > floor && !NOT_LOCAL.test(line[start - 1] ?? '')) start -= 1
  while (start < at && /[.*=/-]/.test(line[start] ?? '') && line[start + 1] !== '?') start += 1
  return start
}
