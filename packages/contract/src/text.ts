// Building blocks of schemas: nullable values, enumerations, times, and text that is safe in a
// header field or log line. Lengths are in Unicode code points.

import { type TUnsafe, Type } from './schema.ts'

/** Schema annotation: the rule of a pattern in words, which follow the field name in an error. */
export const RULE = 'x-rule'

export const TRIMMED = 'x-trimmed'

/**
 * Schema annotation: the text has one mailbox. With `address` only its address is used, with `named`
 * its name as well.
 */
export const MAILBOX = 'x-mailbox'

// C0, DEL, C1 and the Unicode line ends: everything that may end a line.
const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029'

export const LINE_PATTERN = `^[^${CONTROL}]*$`
export const LINE_RULE = 'must not contain control characters or line breaks'

// Characters that change the writing direction. In a name, they could make the following address
// read backwards.
const BIDI = '\\u202a-\\u202e\\u2066-\\u2069'

const NAME_PATTERN = `^[^${CONTROL}${BIDI}]*$`
const NAME_RULE = 'must not contain control characters, line breaks or bidirectional controls'

// URL parsers resolve '.' and '..' in paths, so a pod with such a name could not be addressed.
export const CLIENT_ID_PATTERN = `^(?!\\.{1,2}$)(?!pod_[0-7][0-9a-hjkmnp-tv-z]{25}$)[^/${CONTROL}]*$`
export const CLIENT_ID_RULE =
  "must not be '.' or '..', contain '/', control characters or line breaks, or look like a pod id"

const PORTABLE_LINE = '^[^\\x00-\\x1f\\x7f-\\x9f]*$'

/**
 * Maps each pattern to the simpler one in the API description, which works in JavaScript, Python,
 * Go, Rust and Java: some generators copy `\u2028` unescaped into their code, and not every
 * language has look-ahead. The rule in words is complete.
 */
export const portablePatterns: ReadonlyMap<unknown, string> = new Map([
  [LINE_PATTERN, PORTABLE_LINE],
  [NAME_PATTERN, PORTABLE_LINE],
  [CLIENT_ID_PATTERN, '^[^\\x00-\\x1f\\x2f\\x7f-\\x9f]*$'],
])

type TextBounds = {
  description: string
  minLength?: number
  maxLength?: number
  [TRIMMED]?: true
}

/** One line of text without control characters, at most `maxLength` code points. */
export function line(bounds: TextBounds) {
  return Type.String({ ...bounds, pattern: LINE_PATTERN, [RULE]: LINE_RULE })
}

export function nullableLine(bounds: TextBounds): TUnsafe<string | null> {
  return Type.Unsafe<string | null>({
    type: ['string', 'null'],
    ...bounds,
    pattern: LINE_PATTERN,
    [RULE]: LINE_RULE,
  })
}

/** The display name before an address in a header field. */
export function displayName(bounds: TextBounds) {
  return Type.String({ ...bounds, pattern: NAME_PATTERN, [RULE]: NAME_RULE })
}

export function nullableDisplayName(bounds: TextBounds): TUnsafe<string | null> {
  return Type.Unsafe<string | null>({
    type: ['string', 'null'],
    ...bounds,
    pattern: NAME_PATTERN,
    [RULE]: NAME_RULE,
  })
}

export function text(description: string) {
  return Type.String({ description })
}

export function nullableText(description: string): TUnsafe<string | null> {
  return Type.Unsafe<string | null>({ type: ['string', 'null'], description })
}

export function oneOf<const Words extends readonly string[]>(
  words: Words,
  description: string,
): TUnsafe<Words[number]> {
  return Type.Unsafe<Words[number]>({ type: 'string', enum: [...words], description })
}

export function nullableOneOf<const Words extends readonly string[]>(
  words: Words,
  description: string,
): TUnsafe<Words[number] | null> {
  return Type.Unsafe<Words[number] | null>({
    type: ['string', 'null'],
    enum: [...words, null],
    description,
  })
}

/** ISO 8601 in UTC with milliseconds: `2026-11-20T07:19:00.000Z`. */
export function time(description: string) {
  return Type.String({ format: 'date-time', description })
}

export function nullableTime(description: string): TUnsafe<string | null> {
  return Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', description })
}

export function count(description: string) {
  return Type.Integer({ minimum: 0, description })
}

export function nullableCount(description: string): TUnsafe<number | null> {
  return Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 0, description })
}

const RETENTION_DAYS_MAX = 36_500

/** The retention setting of an account, a pod or an inbox. */
export function retentionDays(description: string): TUnsafe<number | null> {
  return Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    minimum: 1,
    maximum: RETENTION_DAYS_MAX,
    description,
  })
}

const UNDO_SECONDS_MAX = 600
export const undoBounds = { minimum: 0, maximum: UNDO_SECONDS_MAX } as const

/**
 * One mailbox: a bare address, or `Name <address>` for its address. The schema has no format
 * `email`, because generated clients would reject the second form. The server validates the address.
 */
export function emailAddress(description: string) {
  return Type.String({ [MAILBOX]: 'address', description })
}

/** One mailbox like `emailAddress`, with its name. */
export function mailbox(description: string) {
  return Type.String({ [MAILBOX]: 'named', description })
}

/** One mailbox or an array of up to `maxItems`. */
export function mailboxes(
  description: string,
  { maxItems }: { maxItems: number },
): TUnsafe<string | string[]> {
  const items = mailbox('One address, or Name <address>.')
  const list = { items, minItems: 1, maxItems }
  return Type.Unsafe({ type: ['string', 'array'], [MAILBOX]: 'named', ...list, description })
}
