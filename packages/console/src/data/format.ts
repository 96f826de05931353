// Formats numbers, sizes, times and addresses.

import { shownLine } from '@mailroom/mail/unseen.ts'
import type { Pod } from '@mailroom/sdk'

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' })
const clockTime = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const dayOfYear = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const wholeDay = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
})
const whole = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long' })
const moment = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZoneName: 'short',
})
const exactTime = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
})
const numbers = new Intl.NumberFormat('en')

const STEPS = [
  ['minute', 60_000],
  ['hour', 3_600_000],
  ['day', 86_400_000],
] as const
const WEEK_MS = 7 * 86_400_000

export function formatNumber(value: number): string {
  return numbers.format(value)
}

export function formatClock(iso: string): string {
  return clockTime.format(new Date(iso))
}

/** The time if it is today, the day if it is this year, else the full date. */
export function formatListTime(iso: string): string {
  const at = new Date(iso)
  const now = new Date()
  if (at.toDateString() === now.toDateString()) return clockTime.format(at)
  return at.getFullYear() === now.getFullYear() ? dayOfYear.format(at) : wholeDay.format(at)
}

export function formatDay(at: Date | string): string {
  return wholeDay.format(new Date(at))
}

/** `5 min. ago` or `in 3 hr.`; a date from one week on. */
export function formatRelative(iso: string): string {
  const ms = Date.parse(iso) - Date.now()
  const size = Math.abs(ms)
  if (size < 45_000) return ms > 0 ? 'in a moment' : 'just now'
  if (size >= WEEK_MS) return formatListTime(iso)
  const [unit, unitMs] = STEPS.findLast(([, length]) => size >= length * 0.75) ?? STEPS[0]
  return relative.format(Math.round(ms / unitMs), unit)
}

export function formatWhole(iso: string): string {
  return whole.format(new Date(iso))
}

/** Formats a time to the minute, with the zone: `Tue, 24 Nov 2026, 08:00 CET`. */
export function formatMoment(at: Date | string): string {
  return moment.format(new Date(at))
}

/** Formats a time to the millisecond, with the date unless it is today. */
export function formatExact(iso: string): string {
  const at = new Date(iso)
  const isToday = at.toDateString() === new Date().toDateString()
  return isToday ? exactTime.format(at) : `${dayOfYear.format(at)} ${exactTime.format(at)}`
}

export function formatSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(bytes < 10_000 ? 1 : 0)} kB`
  if (bytes < 1_000_000_000) return `${(bytes / 1_000_000).toFixed(1)} MB`
  return `${(bytes / 1_000_000_000).toFixed(1)} GB`
}

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`
  return ms < 3_600_000 ? `${Math.round(ms / 60_000)} min` : `${(ms / 3_600_000).toFixed(1)} h`
}

const NAMED = /^\s*(.*?)\s*<([^<>]*)>\s*$/

export type Person = { name: string | null; address: string }

/** Reads `Name <address>` or a bare address. */
export function readPerson(text: string): Person {
  const match = NAMED.exec(text)
  if (match === null) return { name: null, address: text.trim() }
  const name = match[1]?.replace(/^"(.*)"$/, '$1').replaceAll('\\"', '"') ?? ''
  return { name: name === '' ? null : name, address: match[2] ?? '' }
}

/** The reverse of readPerson: a name with special characters is quoted. */
export function formatPerson({ name, address }: Person): string {
  if (name === null || name === '') return address
  const isPlain = !/[()<>[\]:;@\\,."]/.test(name)
  return `${isPlain ? name : `"${name.replace(/["\\]/g, '\\$&')}"`} <${address}>`
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`
}

export function subjectOf({ subject }: { subject?: string | null | undefined }): string {
  return shownLine(subject || '(no subject)')
}

/** The subject in quotation marks, shortened. */
export function quoteSubject(mail: Parameters<typeof subjectOf>[0]): string {
  return `“${subjectOf(mail).replace(/^(.{120}).+$/su, '$1…')}”`
}

export function podName({ name, clientId, isDefault, id }: Pod): string {
  return name ?? clientId ?? (isDefault ? 'Default' : id)
}

/** The value of a `datetime-local` field, in the person's time zone. */
export function localMinute(at: Date): string {
  const two = (number: number) => String(number).padStart(2, '0')
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`
}
