// Time zone offsets, in the format used for message times. Loads no library.

export const DAY_MS = 24 * 60 * 60_000
const MINUTE_MS = 60_000
const ZONE_NAME = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+){0,2}$/
const ZONE_NAME_LENGTH_MAX = 64

/** Whether Node's own database contains the zone. */
export function isZoneName(name: string): boolean {
  if (name.length > ZONE_NAME_LENGTH_MAX || !ZONE_NAME.test(name)) return false
  return formatOf(name) !== null
}

const FORMATS_MAX = 100
const formats = new Map<string, Intl.DateTimeFormat | null>()

function formatOf(zone: string): Intl.DateTimeFormat | null {
  const known = formats.get(zone)
  if (known !== undefined) return known
  if (formats.size >= FORMATS_MAX) formats.clear()
  let format: Intl.DateTimeFormat | null = null
  try {
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
  } catch {
    // The zone does not exist.
  }
  formats.set(zone, format)
  return format
}

function offsetAt(format: Intl.DateTimeFormat, timeMs: number): number {
  const parts = format.formatToParts(timeMs)
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? 'GMT'
  const [, sign, hours, minutes] = /^GMT([+-])(\d\d):(\d\d)/.exec(name) ?? []
  const offset = Number(hours ?? 0) * 60 + Number(minutes ?? 0)
  return sign === '-' ? -offset : offset
}

export function localTimeIn(zone: string, timeMs: number): string {
  const format = formatOf(zone)
  const offset = format === null ? 0 : offsetAt(format, timeMs)
  return new Date(timeMs + offset * MINUTE_MS).toISOString().slice(0, 19)
}

/**
 * Minutes ahead of UTC in an IANA zone. A repeated local time means its first occurrence, and a
 * skipped one uses the offset before the gap (RFC 5545 §3.3.5).
 */
export function offsetIn(zone: string, localMs: number): number {
  const format = formatOf(zone)
  if (format === null) return 0
  const before = offsetAt(format, localMs - DAY_MS)
  const after = offsetAt(format, localMs + DAY_MS)
  const isAfter = offsetAt(format, localMs - before * MINUTE_MS) !== before
  if (before === after || !isAfter) return before
  return offsetAt(format, localMs - after * MINUTE_MS) === after ? after : before
}

const LOCAL_TIME = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)$/

/** Milliseconds of a local time as if it were in UTC; null for other text and impossible times. */
export function localMsOf(text: string): number | null {
  if (!LOCAL_TIME.test(text)) return null
  const timeMs = Date.parse(`${text}Z`)
  // Date.parse accepts some days that do not exist in the month.
  const isExact = !Number.isNaN(timeMs) && new Date(timeMs).toISOString().startsWith(text)
  return isExact ? timeMs : null
}

/** `+01:00`, or `Z` for UTC (RFC 3339). */
export function offsetText(minutes: number): string {
  if (minutes === 0) return 'Z'
  const size = Math.abs(minutes)
  const [hours, rest] = [Math.floor(size / 60), size % 60]
  return `${minutes < 0 ? '-' : '+'}${twoDigits(hours)}:${twoDigits(rest)}`
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}
