// Reads the events in a message's calendar files, with the details that an agent needs.

import { cleanLine, cleanText, decodeText } from '@mailroom/mail/charset.ts'
import { openMime } from '@mailroom/mail/mime/mime-message.ts'
import {
  type attendeeRoles,
  attendeeStatuses,
  eventStatuses,
  type Invite,
  inviteMethods,
} from '@mailroom/mail/mime/parsed-message.ts'
import type ICAL from 'ical.js'
import {
  CALENDAR_LENGTH_MAX,
  type Calendar,
  type CalendarEvent,
  EVENTS_MAX,
  parameterOf,
  rawValueOf,
  readCalendars,
} from './calendar.ts'
import { isCalendarFile } from './calendar-file.ts'
import { ianaZoneOf, offsetBy } from './calendar-zones.ts'
import { addressOfMailto, plainAddress } from './mailto.ts'
import { localMsOf, offsetIn, offsetText } from './zones.ts'

const FILES_MAX = 5
const ATTENDEES_MAX = 200
/** Maximum characters of a UID. */
const UID_LENGTH_MAX = 1_000
const TEXT_LENGTH_MAX = 1_000
const NAME_LENGTH_MAX = 100
const ADDRESS_LENGTH_MAX = 320
const RULE_LENGTH_MAX = 500
const SEQUENCE_MAX = 2 ** 31 - 1

/** The events of a message, at most EVENTS_MAX, without duplicates. Never throws. */
export function readInvites(raw: Uint8Array): Invite[] {
  const found = new Map<string, Invite>()
  let attendeesLeft = ATTENDEES_MAX
  for (const calendar of calendarsOf(raw)) {
    for (const event of calendar.events) {
      const invite = inviteOf(event, calendar)
      const { method, uid, sequence, recurrenceId } = invite
      // Most programs send the same event twice, as an alternative of the text and as a file.
      const key = JSON.stringify([method, uid, sequence, recurrenceId, invite.start])
      if (found.size === EVENTS_MAX) return [...found.values()]
      if (found.has(key)) continue
      const attendees = invite.attendees.slice(0, attendeesLeft)
      attendeesLeft -= attendees.length
      found.set(key, { ...invite, attendees })
    }
  }
  return [...found.values()]
}

/** The calendars of the first FILES_MAX files, up to CALENDAR_LENGTH_MAX. */
export function* calendarsOf(raw: Uint8Array): Generator<Calendar> {
  let count = 0
  let room = CALENDAR_LENGTH_MAX
  for (const { attachment, content } of openMime(raw).readFiles(isCalendarFile)) {
    const text = decodeText(content, attachment.charset ?? null).slice(0, room)
    yield* readCalendars(text)
    count += 1
    room -= text.length
    if (count === FILES_MAX || room === 0) return
  }
}

export function methodOf({ method }: Calendar): Invite['method'] {
  return wordOf(method, inviteMethods)
}

export function inviteOf(event: CalendarEvent, calendar: Calendar): Invite {
  const { properties, attendees } = event
  const get = (name: string) => properties.get(name)
  const start = timeOf(get('dtstart'), calendar)
  const organizer = get('organizer')
  return {
    method: methodOf(calendar),
    uid: textOf(get('uid'), UID_LENGTH_MAX),
    sequence: sequenceOf(event),
    recurrenceId: timeOf(get('recurrence-id'), calendar)?.text ?? null,
    start: start?.text ?? null,
    end: timeOf(get('dtend'), calendar)?.text ?? endAfter(start, get('duration')),
    timezone: start?.zone ?? null,
    summary: textOf(get('summary'), TEXT_LENGTH_MAX),
    location: textOf(get('location'), TEXT_LENGTH_MAX),
    organizer: organizer === undefined ? null : participantOf(organizer),
    attendees: attendees.flatMap((attendee) => attendeeOf(attendee) ?? []),
    recurrence: ruleOf(get('rrule')),
    status: wordOf(String(rawValueOf(get('status'))), eventStatuses),
    comment: linesOf(get('comment')),
  }
}

function wordOf<Word extends string>(text: string | null, words: readonly Word[]): Word | null {
  const lower = text?.trim().toLowerCase()
  return words.find((word) => word === lower) ?? null
}

export function sequenceOf({ properties }: CalendarEvent): number {
  const value = Number(rawValueOf(properties.get('sequence')))
  return Number.isInteger(value) && value > 0 ? Math.min(value, SEQUENCE_MAX) : 0
}

function textOf(property: ICAL.Property | undefined, lengthMax: number): string | null {
  const value = rawValueOf(property)
  if (value === null) return null
  return cleanLine(cut(String(value), lengthMax)) || null
}

function linesOf(property: ICAL.Property | undefined): string | null {
  const value = rawValueOf(property)
  if (value === null) return null
  const text = cleanText(cut(String(value), TEXT_LENGTH_MAX))
  return text.replace(/[\x00-\x09\x0b-\x1f\x7f]/g, ' ').trim() || null
}

function cut(text: string, lengthMax: number): string {
  return text.length > lengthMax ? `${text.slice(0, lengthMax - 1)}…` : text
}

function participantOf(property: ICAL.Property): Invite['organizer'] {
  const address = calendarAddress(property)
  if (address === null) return null
  const name = cleanLine(parameterOf(property, 'cn') ?? '').slice(0, NAME_LENGTH_MAX)
  return { name: name.toWellFormed() || null, address }
}

/** The address in `mailto:`, or in the EMAIL parameter (RFC 7986) beside another URI. */
export function calendarAddress(property: ICAL.Property): string | null {
  const value = String(rawValueOf(property) ?? '')
  const address = /^\s*mailto:/i.test(value)
    ? addressOfMailto(value)
    : plainAddress((parameterOf(property, 'email') ?? value).trim())
  return address !== null && address.length <= ADDRESS_LENGTH_MAX ? cleanLine(address) : null
}

function attendeeOf(property: ICAL.Property): Invite['attendees'][number] | null {
  const participant = participantOf(property)
  if (participant === null) return null
  const role = parameterOf(property, 'role')?.toUpperCase() ?? ''
  return {
    ...participant,
    status: wordOf(parameterOf(property, 'partstat'), attendeeStatuses) ?? 'needs-action',
    role: ROLES.get(role) ?? 'required',
  }
}

const ROLES = new Map<string, (typeof attendeeRoles)[number]>([
  ['OPT-PARTICIPANT', 'optional'],
  ['CHAIR', 'chair'],
  ['NON-PARTICIPANT', 'informational'],
])

function ruleOf(property: ICAL.Property | undefined): string | null {
  if (property === undefined) return null
  try {
    const text = inOrder(String(property.getFirstValue()), property.jCal[3])
    return text.length <= RULE_LENGTH_MAX && /(?:^|;)FREQ=/.test(text) ? text : null
  } catch {
    return null
  }
}

/** The parts of a rule in their original order, which the library does not preserve. */
function inOrder(rule: string, written: unknown): string {
  const names = Object.keys(written ?? {}).map((name) => name.toUpperCase())
  const place = (part: string) => {
    const at = names.indexOf(part.split('=', 1)[0] ?? '')
    return at === -1 ? names.length : at
  }
  return rule
    .split(';')
    .sort((one, other) => place(one) - place(other))
    .join(';')
}

type Time = {
  readonly text: string
  readonly zone: string | null
}

/** Matches a date or time, whatever the declared type, because some programs omit VALUE=DATE. */
const DATE = /^(\d{4}-\d\d-\d\d)(?:T:+)?$/
const DATE_TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(Z?)$/

/** The time in a property; null if the property contains no time. */
export function timeOf(
  property: ICAL.Property | undefined,
  calendar: Pick<Calendar, 'zones'>,
): Time | null {
  const value = String(rawValueOf(property) ?? '')
  const day = DATE.exec(value)?.[1]
  if (day !== undefined) {
    return localMsOf(`${day}T00:00:00`) === null ? null : { text: day, zone: null }
  }
  const [, local, utc] = DATE_TIME.exec(value) ?? []
  if (local === undefined || property === undefined) return null
  const localMs = localMsOf(local)
  if (localMs === null) return null
  if (utc === 'Z') return { text: `${local}Z`, zone: 'UTC' }
  const tzid = parameterOf(property, 'tzid')
  if (tzid === null) return { text: local, zone: null }
  const zone = ianaZoneOf(tzid, calendar)
  if (zone !== null) return { text: `${local}${offsetText(offsetIn(zone, localMs))}`, zone }
  const definition = calendar.zones.get(tzid)
  const offset = definition === undefined ? null : offsetBy(definition, localMs)
  return { text: offset === null ? local : `${local}${offsetText(offset)}`, zone: null }
}

/**
 * A day without an end lasts one day, and a time without an end has no duration (RFC 5545 §3.6.1).
 */
function endAfter(start: Time | null, duration: ICAL.Property | undefined): string | null {
  if (start === null) return null
  const [local = '', offset = ''] =
    /^([^Z+]+?)((?:Z|[+-]\d\d:\d\d)?)$/.exec(start.text)?.slice(1) ?? []
  const isDay = !local.includes('T')
  const seconds = duration === undefined ? (isDay ? 86_400 : null) : secondsOf(duration)
  const localMs = localMsOf(isDay ? `${local}T00:00:00` : local)
  if (seconds === null || localMs === null) return null
  const end = new Date(localMs + seconds * 1_000)
  if (!(end.getUTCFullYear() <= 9_999)) return null
  if (isDay) return end.toISOString().slice(0, 10)
  const shown = end.toISOString().slice(0, 19)
  // The offset may change during the event.
  const isNamed = start.zone !== null && start.zone !== 'UTC'
  return `${shown}${isNamed ? offsetText(offsetIn(start.zone ?? '', end.getTime())) : offset}`
}

function secondsOf(duration: ICAL.Property): number | null {
  try {
    const value: unknown = duration.getFirstValue()
    if (typeof value !== 'object' || value === null || !('toSeconds' in value)) return null
    const seconds = (value as ICAL.Duration).toSeconds()
    return seconds >= 0 && seconds < 1e9 ? seconds : null
  } catch {
    return null
  }
}
