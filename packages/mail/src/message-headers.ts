import { hash } from 'node:crypto'
import type { Mailbox, ParsedHeaders } from '#mime/parsed-message.ts'
import { parseAddressList } from './address-list.ts'
import { cleanLine, cleanText } from './charset.ts'
import { decodeWords } from './encoded-word.ts'
import { firstField, type HeaderField } from './header-fields.ts'
import { isNoReplyName } from './kind-senders.ts'
import { readKindSigns } from './mail-kind.ts'

/** X-Loop fields that are read; every hop may add one, and a message has fewer hops. */
const LOOP_MARKS_MAX = 100
/** Maximum characters; the service's own values have 26. */
const LOOP_MARK_LENGTH_MAX = 100

/** Reads the first field of each name, but every To, Cc and Bcc. Never throws. */
export function readHeaders(fields: readonly HeaderField[]): ParsedHeaders {
  const first = new Map<string, string>()
  const loopMarks: string[] = []
  let receivedCount = 0
  let fromCount = 0
  for (const { name, value } of fields) {
    if (name === 'received') receivedCount += 1
    else if (name === 'x-loop') addLoopMark(loopMarks, value)
    else if (!first.has(name)) first.set(name, value)
    if (name === 'from') fromCount += 1
  }
  const field = (name: string) => first.get(name) ?? ''
  const authors = parseAddressList(field('from'))
  const from = authors[0] ?? null
  const subject = cleanLine(decodeWords(field('subject')))
  const replyTo = parseAddressList(field('reply-to'))
  const to = mailboxesOf(fields, 'to')
  const cc = mailboxesOf(fields, 'cc')
  return {
    messageId: parseMessageId(field('message-id')),
    inReplyTo: parseMessageIds(field('in-reply-to')),
    references: parseMessageIds(field('references')),
    subject,
    from,
    authorCount: authors.length + Math.max(0, fromCount - 1),
    to,
    cc,
    bcc: mailboxesOf(fields, 'bcc'),
    replyTo,
    date: parseDateTime(field('date')),
    automaticReason: automaticReason(fields, from?.address ?? null),
    kindSigns: readKindSigns(fields, { subject, from, replyTo, to, cc }),
    receivedCount,
    loopMarks,
    hasListId: field('list-id') !== '',
    freeText: freeTextOf(fields, [...authors, ...to, ...cc]),
  }
}

/** Fields that a sender fills freely. Other fields are meant for servers or are read separately. */
const FREE_FIELD =
  /^(?:x-.*|list-.*|reply-to|comments|keywords|organization|mail-(?:followup|reply)-to|errors-to|disposition-notification-to|return-receipt-to)$/

function freeTextOf(fields: readonly HeaderField[], people: readonly Mailbox[]): string {
  const names = people.map(({ name }) => name)
  const values = fields
    .filter(({ name }) => FREE_FIELD.test(name))
    .map(({ value }) => (value.includes('=?') ? decodeWords(value) : value))
  return cleanText([...names, ...values].filter((text) => text !== '').join('\n'))
}

/**
 * The mailboxes of all fields with the name, each address once even if several fields contain it.
 */
function mailboxesOf(fields: readonly HeaderField[], name: string): Mailbox[] {
  const lists = fields
    .filter((field) => field.name === name)
    .map(({ value }) => parseAddressList(value))
  const [first = []] = lists
  if (lists.length <= 1) return first
  const known = new Map<string, Mailbox>()
  for (const mailbox of lists.flat()) {
    const key = mailbox.address.toLowerCase()
    if (!known.has(key)) known.set(key, mailbox)
  }
  return [...known.values()]
}

function addLoopMark(marks: string[], value: string): void {
  if (value.length > LOOP_MARK_LENGTH_MAX || marks.length >= LOOP_MARKS_MAX) return
  const mark = cleanLine(value)
  if (mark !== '') marks.push(mark)
}

type Reason = ParsedHeaders['automaticReason']

/** In order of rank: the clearest sign wins if several are present. */
const RANKS: readonly NonNullable<Reason>[] = [
  'auto-submitted',
  'precedence',
  'list',
  'auto-response-suppress',
]
const SYSTEM_LOCAL_PART = /^(?:mailer-?daemon|postmaster|bounces?)(?:[+=].*)?$/i

/**
 * Why a message was sent by a program and gets no automatic reply. The caller checks for a null
 * reverse-path. `fromAddress` is the bare From address, or null if it is absent.
 */
export function automaticReason(
  fields: readonly HeaderField[],
  fromAddress: string | null,
): Reason {
  let best = RANKS.length
  for (const field of fields) {
    const reason = reasonOfField(field)
    if (reason !== null) best = Math.min(best, RANKS.indexOf(reason))
  }
  const named = RANKS[best]
  if (named !== undefined) return named
  const name = senderName(fields, fromAddress)
  return SYSTEM_LOCAL_PART.test(name) || isNoReplyName(name) ? 'system-sender' : null
}

/** The local part of the From address; for `MAILER-DAEMON <>`, the word before the brackets. */
function senderName(fields: readonly HeaderField[], fromAddress: string | null): string {
  if (fromAddress === null) return firstField(fields, 'from')?.split(/[\s<]/, 1)[0] ?? ''
  const at = fromAddress.lastIndexOf('@')
  return at < 0 ? fromAddress : fromAddress.slice(0, at)
}

function reasonOfField({ name, value }: HeaderField): Reason {
  switch (name) {
    case 'auto-submitted':
      // RFC 3834 §5: a keyword, then optional parameters and comments.
      return /^(?:no)?\s*(?:[;(]|$)/i.test(value) ? null : 'auto-submitted'
    case 'x-autoreply':
    case 'x-autorespond':
    case 'x-autoresponder':
    case 'x-auto-reply':
    case 'auto-reply':
      return /^(?:no|false|0)?$/i.test(value) ? null : 'auto-submitted'
    case 'precedence':
    case 'x-precedence':
      return /^(?:bulk|junk|list|auto[_-]reply)\b/i.test(value) ? 'precedence' : null
    case 'list-id':
    case 'list-unsubscribe':
      return value === '' ? null : 'list'
    case 'x-auto-response-suppress':
      return /^(?:none)?$/i.test(value) ? null : 'auto-response-suppress'
    case 'content-type':
      // Replying to delivery, disposition or feedback reports (RFC 6522) causes loops.
      return /^multipart\/report\b/i.test(value) ? 'auto-submitted' : null
    default:
      return null
  }
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const DATE_TIME =
  /(\d{1,2})[\s-]{1,4}([a-z]{3})[a-z]{0,6}\.?[\s-]{1,4}(\d{2,4})[\s,]{1,4}(\d{1,2})[:.](\d{1,2})(?:[:.](\d{1,2}))?(?:\s{0,4}([ap])\.?m\b\.?)?(?:\s{0,4}([+-])(\d{2}):?(\d{2})|\s{0,4}([a-z]{1,5}))?/i
/** Any other zone name is treated as -0000 (RFC 5322 §4.3). */
const ZONE_HOURS = new Map([
  ['EDT', -4],
  ['EST', -5],
  ['CDT', -5],
  ['CST', -6],
  ['MDT', -6],
  ['MST', -7],
  ['PDT', -7],
  ['PST', -8],
])
const FIELD_LENGTH_MAX = 200

/** The time in milliseconds since the epoch; null for a missing or impossible date. */
export function parseDateTime(field: string): number | null {
  const match = DATE_TIME.exec(field.slice(0, FIELD_LENGTH_MAX))
  if (match === null) return null
  const [, day, monthName = '', yearText = '', hour, minute, second, half] = match
  const [, , , , , , , , sign, zoneHour, zoneMinute, zone] = match
  const month = MONTHS.indexOf(monthName.toLowerCase())
  if (month < 0) return null
  const fields = [
    fullYear(yearText),
    month,
    Number(day),
    hourOfDay(Number(hour), half),
    Number(minute),
  ] as const
  const utc = Date.UTC(...fields, Math.min(Number(second ?? 0), 59))
  const checked = new Date(utc)
  if (checked.getUTCDate() !== fields[2] || checked.getUTCHours() !== fields[3]) return null
  if (checked.getUTCMinutes() !== fields[4]) return null
  if (sign === undefined) return utc - (ZONE_HOURS.get(zone?.toUpperCase() ?? '') ?? 0) * 3_600_000
  const offsetMinutes = Number(zoneHour) * 60 + Number(zoneMinute)
  return utc - (sign === '-' ? -offsetMinutes : offsetMinutes) * 60_000
}

/** `half` is the first letter of AM or PM, which some programs write. */
function hourOfDay(hour: number, half: string | undefined): number {
  if (half === undefined || hour > 12) return hour
  return (hour % 12) + (half.toLowerCase() === 'p' ? 12 : 0)
}

/** Two digits below 50 mean this century; three digits are added to 1900 (RFC 5322 §4.3). */
function fullYear(text: string): number {
  const year = Number(text)
  if (text.length === 2) return year < 50 ? 2000 + year : 1900 + year
  return text.length === 3 ? 1900 + year : year
}

/** Longer identifiers are compared by their SHA-256: PostgreSQL indexes at most 2,704 bytes. */
const MESSAGE_ID_KEY_LENGTH_MAX = 250
/** Identifiers read per field: as many as fit in 64 KiB, the maximum of the service's replies. */
export const REFERENCES_MAX = 10_000

/**
 * The identifier of a Message-ID field as `<id>`, without white space. An identifier with an `@`
 * may lack its brackets; otherwise the result is null. Encoded words are decoded, because Python's
 * library encodes long identifiers.
 */
export function parseMessageId(value: string): string | null {
  const field = decodeWords(value)
  const open = field.indexOf('<')
  if (open < 0) return field.includes('@') ? bracketed(field) : null
  const close = field.indexOf('>', open)
  return bracketed(field.slice(open + 1, close < 0 ? undefined : close))
}

/**
 * The identifiers of an In-Reply-To or References field as `<id>`, in order and with repetitions,
 * because the last one names the parent. In a field without brackets, words with an `@` are
 * identifiers. If there are more than REFERENCES_MAX, the first and the newest are kept, as RFC
 * 5322 §3.6.4 permits.
 */
export function parseMessageIds(value: string): string[] {
  const field = decodeWords(value)
  const found = field.includes('<') ? bracketedIds(field) : bareIds(field)
  if (found.length <= REFERENCES_MAX) return found
  return [...found.slice(0, 1), ...found.slice(1 - REFERENCES_MAX)]
}

/**
 * The key for comparing identifiers: the text without brackets and white space, or its SHA-256 if
 * it is longer than 250 characters, so that a key fits any index.
 */
export function messageIdKey(messageId: string): string {
  const id = messageId.replace(/\s+/g, '').replace(/^</, '').replace(/>$/, '')
  if (id.length <= MESSAGE_ID_KEY_LENGTH_MAX) return id
  return `sha256:${hash('sha256', id)}`
}

function bracketedIds(field: string): string[] {
  const found: string[] = []
  let close = -1
  for (let open = field.indexOf('<'); open >= 0; ) {
    // Each bracket is searched for once, so that a field of opening brackets takes linear time.
    if (close < open) close = indexOrEnd(field, '>', open)
    const next = indexOrEnd(field, '<', open + 1)
    // In `<a@b <c@d>` the closing bracket of the first identifier is missing.
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
