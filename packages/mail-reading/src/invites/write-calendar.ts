// Writes calendar objects (RFC 5546): invitations, cancellations and replies.

import type { Invite } from '@mailroom/mail/mime/parsed-message.ts'
import ICAL from 'ical.js'
import { tzlib_get_ical_block, tzlib_get_timezones } from 'timezones-ical-library'
import { type Calendar, type CalendarEvent, type CalendarZone, parameterOf } from './calendar.ts'
import { mailtoOf } from './mailto.ts'
import {
  calendarAddress,
  calendarsOf,
  inviteOf,
  methodOf,
  sequenceOf,
  timeOf,
} from './read-invites.ts'
import { localTimeIn } from './zones.ts'

const PRODUCT = '-//Mailroom//Mailroom//EN'

export type EventToSend = {
  readonly method: 'request' | 'cancel'
  readonly uid: string
  readonly sequence: number
  readonly start: EventTime
  readonly end: EventTime
  readonly summary: string
  readonly location: string | null
  readonly description: string | null
  readonly organizer: { readonly name: string | null; readonly address: string }
  readonly required: readonly string[]
  readonly optional: readonly string[]
  readonly nowMs: number
}

/** `zone` is an IANA name; null for UTC. */
export type EventTime =
  | { readonly day: string }
  | { readonly atMs: number; readonly zone: string | null }
  /** A floating local time without a zone. */
  | { readonly local: string }

/** The calendar object of an invitation or cancellation (RFC 5546 §3.2.2, §3.2.5). */
export function writeEvent(event: EventToSend): string {
  const { method, start, end, organizer } = event
  const calendar = newCalendar(method)
  for (const zone of new Set([zoneOf(start), zoneOf(end)])) {
    if (zone !== null) calendar.addSubcomponent(definitionOf(zone))
  }
  const component = new ICAL.Component('vevent')
  const add = (name: string, value: string | number | null) => {
    if (value !== null && value !== '') component.addPropertyWithValue(name, plain(value))
  }
  add('uid', event.uid)
  add('sequence', event.sequence)
  component.addProperty(timeProperty('dtstamp', { atMs: event.nowMs, zone: null }))
  component.addProperty(timeProperty('dtstart', start))
  component.addProperty(timeProperty('dtend', end))
  add('summary', event.summary)
  add('location', event.location)
  add('description', event.description)
  add('status', method === 'cancel' ? 'CANCELLED' : 'CONFIRMED')
  add('transp', 'OPAQUE')
  component.addProperty(person('organizer', organizer.address, { cn: organizer.name }))
  const isRequest = method === 'request'
  const answer = { partstat: isRequest ? 'NEEDS-ACTION' : null, rsvp: isRequest ? 'TRUE' : null }
  for (const address of event.required) {
    component.addProperty(person('attendee', address, { role: 'REQ-PARTICIPANT', ...answer }))
  }
  for (const address of event.optional) {
    component.addProperty(person('attendee', address, { role: 'OPT-PARTICIPANT', ...answer }))
  }
  calendar.addSubcomponent(component)
  return `${calendar}\r\n`
}

export type InviteAnswer = {
  readonly addresses: readonly string[]
  readonly response: 'accepted' | 'tentative' | 'declined'
  readonly comment: string | null
  readonly nowMs: number
}

export type InviteReply =
  | {
      readonly kind: 'reply'
      readonly organizer: string
      readonly invite: Invite
      readonly calendar: string
    }
  /** The message contains no invitation that asks for a reply. */
  | { readonly kind: 'no-invitation' }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'not-invited' }

/**
 * Writes the attendee's reply (RFC 5546 §3.2.3) to the first invitation in the message. The
 * attendee is found by the lower-case `addresses`. The reply covers all occurrences in the
 * invitation. Never throws.
 */
export function replyToInvite(raw: Uint8Array, answer: InviteAnswer): InviteReply {
  let isCancelled = false
  for (const calendar of calendarsOf(raw)) {
    const method = methodOf(calendar)
    isCancelled ||= method === 'cancel'
    const [first] = calendar.events
    if (method === 'request' && first !== undefined) return replyTo(calendar, first, answer)
  }
  return { kind: isCancelled ? 'cancelled' : 'no-invitation' }
}

function replyTo(calendar: Calendar, first: CalendarEvent, answer: InviteAnswer): InviteReply {
  const invite = inviteOf(first, calendar)
  const { uid, organizer, status } = invite
  if (uid === null || organizer === null) return { kind: 'no-invitation' }
  if (status === 'cancelled') return { kind: 'cancelled' }
  const isSame = (event: CalendarEvent) => inviteOf(event, calendar).uid === uid
  const reply = newCalendar('reply')
  const zones = new Set<string>()
  const components: ICAL.Component[] = []
  for (const event of calendar.events.filter(isSame)) {
    const component = answeredEvent(event, calendar, { answer, zones, uid })
    if (component !== null) components.push(component)
  }
  if (components.length === 0) return { kind: 'not-invited' }
  for (const id of zones) {
    const zone = calendar.zones.get(id)
    const definition = zone === undefined ? null : copyOf(id, zone)
    if (definition !== null) reply.addSubcomponent(definition)
  }
  for (const component of components) reply.addSubcomponent(component)
  return { kind: 'reply', organizer: organizer.address, invite, calendar: `${reply}\r\n` }
}

/** The event to answer; null if none of the addresses is an attendee. */
function answeredEvent(
  event: CalendarEvent,
  calendar: Calendar,
  { answer, zones, uid }: { answer: InviteAnswer; zones: Set<string>; uid: string },
): ICAL.Component | null {
  const { properties, attendees } = event
  const attendee = answer.addresses
    .map((own) => attendees.find((one) => calendarAddress(one)?.toLowerCase() === own))
    .find((found) => found !== undefined)
  const organizer = properties.get('organizer')
  if (attendee === undefined || organizer === undefined) return null
  const component = new ICAL.Component('vevent')
  component.addPropertyWithValue('uid', uid)
  component.addPropertyWithValue('sequence', sequenceOf(event))
  component.addProperty(timeProperty('dtstamp', { atMs: answer.nowMs, zone: null }))
  for (const name of ['recurrence-id', 'dtstart', 'dtend']) {
    const property = properties.get(name)
    const time = timeOf(property, calendar)
    if (property === undefined || time === null) continue
    if (!time.text.includes('T')) {
      component.addProperty(timeProperty(name, { day: time.text }))
      continue
    }
    component.addProperty(withText(new ICAL.Property(structuredClone(property.jCal))))
    const tzid = parameterOf(property, 'tzid')
    if (tzid !== null) zones.add(tzid)
  }
  const { summary } = inviteOf(event, calendar)
  if (summary !== null) component.addPropertyWithValue('summary', summary)
  const name = (property: ICAL.Property) => ({ cn: parameterOf(property, 'cn') })
  component.addProperty(person('organizer', calendarAddress(organizer) ?? '', name(organizer)))
  const partstat = answer.response.toUpperCase()
  const address = calendarAddress(attendee) ?? ''
  component.addProperty(person('attendee', address, { ...name(attendee), partstat }))
  if (answer.comment !== null) component.addPropertyWithValue('comment', plain(answer.comment))
  return component
}

function newCalendar(method: string): ICAL.Component {
  const calendar = new ICAL.Component('vcalendar')
  calendar.addPropertyWithValue('prodid', PRODUCT)
  calendar.addPropertyWithValue('version', '2.0')
  calendar.addPropertyWithValue('calscale', 'GREGORIAN')
  calendar.addPropertyWithValue('method', method.toUpperCase())
  return calendar
}

/** Sanitises values that are not of type TEXT, which the library writes unescaped. */
function plain<Value extends string | number>(value: Value): Value | string {
  return typeof value === 'number' ? value : value.replace(/\r\n?/g, '\n').replace(CONTROL, '')
}

const CONTROL = /[\x00-\x09\x0b-\x1f\x7f]/g

function withText(property: ICAL.Property): ICAL.Property {
  const [, parameters] = property.jCal as [string, Record<string, unknown>]
  for (const [name, value] of Object.entries(parameters)) {
    if (typeof value === 'string') property.setParameter(name, oneLine(value))
    else property.removeParameter(name)
  }
  return property
}

function person(
  name: 'organizer' | 'attendee',
  address: string,
  parameters: Readonly<Record<string, string | null>>,
): ICAL.Property {
  const property = new ICAL.Property(name)
  for (const [parameter, value] of Object.entries(parameters)) {
    const text = value === null ? '' : oneLine(value)
    if (text !== '') property.setParameter(parameter, text)
  }
  property.setValue(mailtoOf(oneLine(address)))
  return property
}

function oneLine(text: string): string {
  return text.replace(/[\x00-\x1f\x7f]+/g, ' ').trim()
}

function zoneOf(time: EventTime): string | null {
  return 'zone' in time && time.zone !== null && defined.has(time.zone) ? time.zone : null
}

const defined: ReadonlySet<string> = new Set(tzlib_get_timezones())

function definitionOf(zone: string): ICAL.Component {
  const [definition = ''] = tzlib_get_ical_block(zone)
  return ICAL.Component.fromString(definition)
}

/** A copy of the zone's definition; null if the definition cannot be parsed completely. */
function copyOf(id: string, { lines }: CalendarZone): ICAL.Component | null {
  try {
    const text = ['BEGIN:VTIMEZONE', ...lines, 'END:VTIMEZONE'].join('\r\n')
    const component = ICAL.Component.fromString(text)
    return component.getFirstPropertyValue('tzid') === id ? component : null
  } catch {
    return null
  }
}

function timeProperty(name: string, time: EventTime): ICAL.Property {
  const property = new ICAL.Property(name)
  if ('day' in time) {
    property.resetType('date')
    property.setValue(ICAL.Time.fromDateString(time.day))
    return property
  }
  const zone = zoneOf(time)
  if (zone !== null) property.setParameter('tzid', zone)
  property.setValue(ICAL.Time.fromDateTimeString(clockOf(time, zone)))
  return property
}

function clockOf(time: Exclude<EventTime, { day: string }>, zone: string | null): string {
  if ('local' in time) return time.local
  if (zone !== null) return localTimeIn(zone, time.atMs)
  return `${new Date(time.atMs).toISOString().slice(0, 19)}Z`
}
