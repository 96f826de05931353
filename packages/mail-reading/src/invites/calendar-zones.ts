// Time zones of calendar files: their names, including Windows names, and their definitions.

import { findIana } from 'windows-iana'
import { type Calendar, type CalendarZone, type Observance, rawValueOf } from './calendar.ts'
import { DAY_MS, isZoneName, localMsOf } from './zones.ts'

/**
 * The IANA name for a TZID: the TZID itself, the end of a path
 * (`/freeassociation.sourceforge.net/Europe/Berlin`), a name in the definition, or the equivalent
 * of a Windows zone.
 */
export function ianaZoneOf(tzid: string, { zones }: Pick<Calendar, 'zones'>): string | null {
  const names = [tzid, zones.get(tzid)?.location ?? '', ...tailsOf(tzid)]
  for (const name of names) {
    if (isZoneName(name)) return name
    const known = modernNameOf(name)
    if (known !== null) return known
  }
  return null
}

function tailsOf(tzid: string): string[] {
  const parts = tzid.split('/')
  return tzid.startsWith('/') ? [parts.slice(-3).join('/'), parts.slice(-2).join('/')] : []
}

function modernNameOf(windowsName: string): string | null {
  const [name = null] = findIana(windowsName)
  return name === null ? null : (RENAMED.get(name) ?? name)
}

/** Zones that CLDR lists under an older name than the IANA database. */
const RENAMED = new Map([
  ['America/Buenos_Aires', 'America/Argentina/Buenos_Aires'],
  ['America/Godthab', 'America/Nuuk'],
  ['America/Indianapolis', 'America/Indiana/Indianapolis'],
  ['Asia/Calcutta', 'Asia/Kolkata'],
  ['Asia/Katmandu', 'Asia/Kathmandu'],
  ['Asia/Rangoon', 'Asia/Yangon'],
  ['Europe/Kiev', 'Europe/Kyiv'],
])

/**
 * Minutes ahead of UTC according to a VTIMEZONE, for zones without an IANA name. Supports the
 * yearly rules that such definitions use, and applies the one that began last. Null if
 * undetermined.
 */
export function offsetBy({ observances }: CalendarZone, localMs: number): number | null {
  let [latestMs, latest]: [number, Observance | null] = [Number.NEGATIVE_INFINITY, null]
  for (const observance of observances) {
    const onsetMs = lastOnset(observance, localMs)
    if (onsetMs !== null && onsetMs > latestMs) [latestMs, latest] = [onsetMs, observance]
  }
  return latest === null ? null : minutesOf(rawValueOf(latest.get('tzoffsetto')))
}

function minutesOf(offset: string | number | null): number | null {
  const [, sign, hours, minutes] = /^([+-])(\d\d):(\d\d)/.exec(String(offset)) ?? []
  if (sign === undefined) return null
  const total = Number(hours) * 60 + Number(minutes)
  return sign === '-' ? -total : total
}

/** The latest start of the observance up to `localMs`; null for unsupported rules. */
function lastOnset(observance: Observance, localMs: number): number | null {
  const startMs = localMsOf(String(rawValueOf(observance.get('dtstart'))))
  if (startMs === null || startMs > localMs) return null
  if (!observance.has('rrule')) return startMs
  const rule = yearlyRuleOf(observance)
  if (rule === null) return null
  const year = new Date(localMs).getUTCFullYear()
  const onsets = [year, year - 1].map((one) => onsetIn(one, rule, startMs))
  return onsets.find((onsetMs) => onsetMs <= localMs && onsetMs >= startMs) ?? startMs
}

type YearlyRule = { month: number; weekday: number; nth: number }

const WEEKDAYS = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA']

function yearlyRuleOf(observance: Observance): YearlyRule | null {
  const rule: unknown = observance.get('rrule')?.jCal[3]
  if (typeof rule !== 'object' || rule === null) return null
  const { freq, bymonth, byday, until } = rule as Record<string, unknown>
  if (freq !== 'YEARLY' || until !== undefined) return null
  const [, nth, weekday] = /^([+-]?\d)([A-Z]{2})$/.exec(String(byday)) ?? []
  const month = Number(bymonth)
  if (!(month >= 1 && month <= 12) || weekday === undefined) return null
  return { month, weekday: WEEKDAYS.indexOf(weekday), nth: Number(nth) }
}

function onsetIn(year: number, { month, weekday, nth }: YearlyRule, startMs: number): number {
  const timeMs = ((startMs % DAY_MS) + DAY_MS) % DAY_MS
  const edge = new Date(Date.UTC(year, nth > 0 ? month - 1 : month, nth > 0 ? 1 : 0))
  const distance = nth > 0 ? weekday - edge.getUTCDay() : edge.getUTCDay() - weekday
  const days = ((distance + 7) % 7) + (Math.abs(nth) - 1) * 7
  return edge.getTime() + (nth > 0 ? days : -days) * DAY_MS + timeMs
}
