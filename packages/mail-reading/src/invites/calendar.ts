// Parses a calendar file (RFC 5545) into components. Each wanted line is parsed separately, so an
// invalid line loses only its property. Recurrences are not expanded, and anything beyond the
// bounds is ignored.

import ICAL from 'ical.js'

/**
 * Maximum characters of all files of a message. An invitation with a thousand guests has 200,000.
 */
export const CALENDAR_LENGTH_MAX = 1024 * 1024
/** Maximum characters of an unfolded line of text. */
const LINE_LENGTH_MAX = 8 * 1024
/** Maximum characters of any other unfolded line. */
const STRUCTURED_LENGTH_MAX = 2 * 1024
/** Maximum parameters of a line, or parts of a rule; parsing them takes quadratic time. */
const PARAMETERS_MAX = 50
const ATTENDEES_MAX = 1_000
export const EVENTS_MAX = 10
const ZONES_MAX = 20
const ZONE_LINES_MAX = 200

export type Calendar = {
  /** The method as written; null if absent. */
  readonly method: string | null
  readonly events: readonly CalendarEvent[]
  /** Time zones by TZID. */
  readonly zones: ReadonlyMap<string, CalendarZone>
}

export type CalendarEvent = {
  /** Properties by lower-case name; only the first of a repeated property is kept. */
  readonly properties: ReadonlyMap<string, ICAL.Property>
  readonly attendees: readonly ICAL.Property[]
}

export type CalendarZone = {
  /** The content lines between BEGIN and END, unfolded. */
  readonly lines: readonly string[]
  /** The IANA name in X-LIC-LOCATION; null if absent. */
  readonly location: string | null
  readonly observances: readonly Observance[]
}

/** A STANDARD or DAYLIGHT component, without properties that cannot be parsed. */
export type Observance = ReadonlyMap<string, ICAL.Property>

const EVENT_PROPERTIES = new Set([
  'uid',
  'sequence',
  'recurrence-id',
  'dtstart',
  'dtend',
  'duration',
  'summary',
  'location',
  'organizer',
  'attendee',
  'rrule',
  'status',
  'comment',
])
/** Properties that are cut if too long. Other long properties are dropped. */
const CUT_PROPERTIES = new Set(['summary', 'location', 'comment'])
const ZONE_PROPERTIES = new Set([
  'tzid',
  'x-lic-location',
  'tzoffsetfrom',
  'tzoffsetto',
  'tzname',
  'dtstart',
  'rrule',
  'rdate',
])

/** The calendar objects of a file that contain events. Never throws. */
export function readCalendars(text: string): Calendar[] {
  const reader = new CalendarReader()
  for (const line of contentLines(text)) {
    reader.read(line)
    if (reader.isFull) break
  }
  return reader.end()
}

/** Unfolded lines (§3.1), each cut at one character more than LINE_LENGTH_MAX. */
function* contentLines(text: string): Generator<string> {
  let line = ''
  let at = text.charCodeAt(0) === 0xfeff ? 1 : 0
  while (at < text.length) {
    const lineFeed = text.indexOf('\n', at)
    const end = lineFeed < 0 ? text.length : lineFeed
    const first = text.charCodeAt(at)
    const isFolded = first === 0x20 || first === 0x09
    const start = isFolded ? at + 1 : at
    if (!isFolded) {
      if (line !== '') yield line
      line = ''
    }
    const room = LINE_LENGTH_MAX + 1 - line.length
    const last = end > at && text.charCodeAt(end - 1) === 0x0d ? end - 1 : end
    if (room > 0) line += text.slice(start, Math.min(last, start + room))
    at = end + 1
  }
  if (line !== '') yield line
}

type OpenEvent = { properties: Map<string, ICAL.Property>; attendees: ICAL.Property[] }
type OpenZone = { lines: string[]; location: string | null; observances: Observances; id: string }
type Observances = Map<string, ICAL.Property>[]
type OpenCalendar = {
  method: string | null
  events: OpenEvent[]
  zones: Map<string, CalendarZone>
}

class CalendarReader {
  readonly #calendars: OpenCalendar[] = []
  /** Lower-case names of the three outermost open components. Deeper ones are only counted. */
  readonly #open: string[] = []
  #deeper = 0
  #event: OpenEvent | null = null
  #zone: OpenZone | null = null
  #eventCount = 0
  #zoneCount = 0

  get isFull(): boolean {
    return this.#eventCount === EVENTS_MAX && this.#event === null
  }

  read(line: string): void {
    const name = /^[a-z0-9-]{1,40}(?=[;:])/i.exec(line)?.[0].toLowerCase()
    if (name === undefined) return
    const [calendar, depth] = [this.#calendars.at(-1), this.#open.length]
    if (name === 'begin') this.#begin(wordAfter(line))
    else if (name === 'end') this.#end(wordAfter(line))
    else if (this.#deeper > 0) return
    else if (this.#zone !== null) this.#readZoneLine(this.#zone, name, line)
    else if (depth === 2 && this.#event !== null) readInto(this.#event, name, line)
    else if (depth === 1 && name === 'method' && calendar !== undefined) {
      calendar.method ??= wordAfter(line)
    }
  }

  end(): Calendar[] {
    return this.#calendars.filter(({ events }) => events.length > 0)
  }

  #begin(name: string): void {
    if (this.#deeper > 0 || this.#open.length === 3) {
      this.#deeper += 1
      return
    }
    this.#open.push(name)
    const [root] = this.#open
    const calendar = this.#calendars.at(-1)
    if (this.#open.length === 1) {
      if (name === 'vcalendar') this.#calendars.push({ method: null, events: [], zones: new Map() })
    } else if (root !== 'vcalendar' || calendar === undefined) {
      return
    } else if (this.#open.length === 2 && name === 'vevent') {
      this.#event = { properties: new Map(), attendees: [] }
      this.#eventCount += 1
      calendar.events.push(this.#event)
    } else if (this.#open.length === 2 && name === 'vtimezone' && this.#zoneCount < ZONES_MAX) {
      this.#zoneCount += 1
      this.#zone = { lines: [], location: null, observances: [], id: '' }
    } else if (this.#zone !== null) {
      this.#zone.lines.push(`BEGIN:${name === 'daylight' ? 'DAYLIGHT' : 'STANDARD'}`)
      this.#zone.observances.push(new Map())
    }
  }

  #end(name: string): void {
    if (this.#deeper > 0) {
      this.#deeper -= 1
      return
    }
    const closed = this.#open.pop()
    if (this.#zone !== null && this.#open.length === 2) {
      this.#zone.lines.push(`END:${closed === 'daylight' ? 'DAYLIGHT' : 'STANDARD'}`)
    }
    // A component without an end ends with the enclosing component.
    if (closed !== name && this.#open.includes(name)) while (this.#open.pop() !== name);
    if (this.#open.length > 1) return
    this.#event = null
    const [calendar, zone] = [this.#calendars.at(-1), this.#zone]
    this.#zone = null
    if (zone === null || calendar === undefined || zone.lines.length > ZONE_LINES_MAX) return
    calendar.zones.set(zone.id, zone)
  }

  #readZoneLine(zone: OpenZone, name: string, line: string): void {
    if (!ZONE_PROPERTIES.has(name) || zone.lines.length > ZONE_LINES_MAX) return
    const property = readProperty(line)
    if (property === null) return
    zone.lines.push(line)
    if (this.#open.length === 3) zone.observances.at(-1)?.set(name, property)
    else if (name === 'tzid') zone.id = String(property.getFirstValue())
    else if (name === 'x-lic-location') zone.location = String(property.getFirstValue())
  }
}

function wordAfter(line: string): string {
  return line
    .slice(line.indexOf(':') + 1, LINE_LENGTH_MAX)
    .trim()
    .slice(0, 40)
    .toLowerCase()
}

function readInto({ properties, attendees }: OpenEvent, name: string, line: string): void {
  if (!EVENT_PROPERTIES.has(name) || properties.has(name)) return
  if (name === 'attendee' && attendees.length === ATTENDEES_MAX) return
  const property = CUT_PROPERTIES.has(name)
    ? propertyFrom(line.slice(0, LINE_LENGTH_MAX))
    : readProperty(line)
  if (property === null) return
  if (name === 'attendee') attendees.push(property)
  else properties.set(name, property)
}

/** Null for a property that exceeds the bounds or cannot be parsed. */
function readProperty(line: string): ICAL.Property | null {
  if (line.length > STRUCTURED_LENGTH_MAX) return null
  const partCount = line.split(';', PARAMETERS_MAX + 2).length
  return partCount > PARAMETERS_MAX + 1 ? null : propertyFrom(line)
}

function propertyFrom(line: string): ICAL.Property | null {
  try {
    return ICAL.Property.fromString(line)
  } catch {
    return null
  }
}

/** The jCal value (RFC 7265) if it is a single text or number. */
export function rawValueOf(property: ICAL.Property | undefined): string | number | null {
  const value: unknown = property?.jCal[3]
  return typeof value === 'string' || typeof value === 'number' ? value : null
}

export function parameterOf(property: ICAL.Property, name: string): string | null {
  const value: unknown = property.getParameter(name)
  const [first] = [value].flat()
  return typeof first === 'string' ? first : null
}
