// Invitations in the shapes of four calendars, written for these tests after what those programs send: eleven of each,
// with what a reader has to find in them.

import type { Invite } from '@mailroom/mail/mime/parsed-message.ts'

export type Sample = { readonly name: string; readonly raw: Buffer; readonly expected: Invite[] }

type Scenario = {
  readonly name: string
  readonly method: NonNullable<Invite['method']>
  readonly sequence: number
  readonly start: string
  readonly end: string
  /** `day`, `utc`, `floating`, or a name of the IANA database. */
  readonly zone: string
  readonly summary: string
  readonly location: string | null
  readonly guests: readonly [name: string | null, address: string, status: string, role: string][]
  readonly rule?: string
  readonly occurrence?: string
  readonly status: Invite['status']
  readonly comment?: string
}

const ORGANIZER = { name: 'Ana Müller', address: 'ana@harbor.example' }
const AGENT = 'agent@mailroom.example'
const BOB = 'bob@friend.example'
const one: Scenario = {
  name: 'one event',
  method: 'request',
  sequence: 0,
  start: '2026-12-01T10:00:00',
  end: '2026-12-01T11:00:00',
  zone: 'Europe/Berlin',
  summary: 'Planning',
  location: null,
  guests: [[null, AGENT, 'needs-action', 'required']],
  status: 'confirmed',
}
const many = Array.from({ length: 60 }, (_, index) => {
  const role = index % 2 === 0 ? 'required' : 'optional'
  return [`Guest ${index}`, `guest.${index}@friend.example`, 'needs-action', role] as const
})

const scenarios: readonly Scenario[] = [
  one,
  { ...one, name: 'an update', sequence: 2, location: 'Room 4, 2nd floor; Harbor St.' },
  { ...one, name: 'a cancellation', method: 'cancel', sequence: 3, status: 'cancelled' },
  {
    ...one,
    name: 'a reply',
    method: 'reply',
    guests: [['Bob', BOB, 'tentative', 'required']],
    comment: 'Perhaps,\nif the train is on time; else not.',
  },
  {
    ...one,
    name: 'a refusal',
    method: 'reply',
    guests: [[null, BOB, 'declined', 'optional']],
  },
  {
    ...one,
    name: 'a series',
    rule: 'FREQ=WEEKLY;BYDAY=MO,WE;UNTIL=20270301T225959Z',
    start: '2026-11-30T09:30:00',
    end: '2026-11-30T10:15:00',
  },
  {
    ...one,
    name: 'one of a series',
    sequence: 1,
    occurrence: '2026-12-02T09:30:00',
    start: '2026-12-02T16:00:00',
    end: '2026-12-02T16:45:00',
  },
  {
    ...one,
    name: 'whole days',
    zone: 'day',
    start: '2026-12-24',
    end: '2026-12-27',
    summary: 'Closed: Christmas \\ holidays',
  },
  {
    ...one,
    name: 'another zone',
    zone: 'America/New_York',
    start: '2026-07-01T15:00:00',
    end: '2026-07-01T15:30:00',
  },
  {
    ...one,
    name: 'many guests',
    guests: many.map((guest) => [...guest]),
    summary:
      'All hands: “Zukunft” – 会議の予定 and a title that is long enough to be folded by every program, twice',
  },
  {
    ...one,
    name: 'answers so far',
    guests: [
      [null, AGENT, 'accepted', 'required'],
      ['O\'Hara, Bob "B"', BOB, 'declined', 'optional'],
      ['Chair', 'chair@friend.example', 'accepted', 'chair'],
      ['Later', 'later@friend.example', 'tentative', 'informational'],
    ],
  },
]

type Flavour = {
  readonly name: string
  readonly product: string
  /** How it names the zone. */
  zone(name: string): string
  /** Extra lines of the event and of the calendar. */
  readonly eventLines: readonly string[]
  readonly calendarLines: readonly string[]
  /** Fields before the attendee's address. */
  attendee(parameters: string[]): string[]
  readonly mailto: string
  fold?(line: string): string
  wrap(calendar: string, method: string): string
}

const FOLD = 73

function fold(line: string): string {
  const octets = Buffer.from(line)
  if (octets.length <= FOLD) return line
  const pieces: string[] = []
  let piece = ''
  for (const character of line) {
    if (Buffer.byteLength(piece + character) > FOLD) {
      pieces.push(piece)
      piece = ''
    }
    piece += character
  }
  return [...pieces, piece].join('\r\n ')
}

/** Between characters of a name, as some programs break lines. */
function foldOften(line: string): string {
  return line.length <= FOLD ? line : (line.match(/.{1,40}/gsu) ?? []).join('\r\n\t')
}

function escaped(text: string): string {
  return text.replace(/[\\;,]/g, '\\$&').replaceAll('\n', '\\n')
}

const STATUSES = { 'needs-action': 'NEEDS-ACTION' } as const
const ROLES: Readonly<Record<string, string>> = {
  required: 'REQ-PARTICIPANT',
  optional: 'OPT-PARTICIPANT',
  chair: 'CHAIR',
  informational: 'NON-PARTICIPANT',
}

function compact(time: string): string {
  return time.replace(/[-:]/g, '')
}

function timeLine(flavour: Flavour, property: string, time: string, zone: string): string {
  if (zone === 'day') return `${property};VALUE=DATE:${compact(time)}`
  if (zone === 'utc') return `${property}:${compact(time)}Z`
  if (zone === 'floating') return `${property}:${compact(time)}`
  return `${property};TZID=${flavour.zone(zone)}:${compact(time)}`
}

/** Rules of the two zones of these samples. */
function zoneLines(flavour: Flavour, zone: string): string[] {
  if (!zone.includes('/')) return []
  const isBerlin = zone === 'Europe/Berlin'
  const [standard, daylight] = isBerlin ? ['+0100', '+0200'] : ['-0500', '-0400']
  return [
    'BEGIN:VTIMEZONE',
    `TZID:${flavour.zone(zone).replaceAll('"', '')}`,
    'BEGIN:STANDARD',
    'DTSTART:16010101T030000',
    `TZOFFSETFROM:${daylight}`,
    `TZOFFSETTO:${standard}`,
    `RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=${isBerlin ? '-1SU;BYMONTH=10' : '1SU;BYMONTH=11'}`,
    'END:STANDARD',
    'BEGIN:DAYLIGHT',
    'DTSTART:16010101T020000',
    `TZOFFSETFROM:${standard}`,
    `TZOFFSETTO:${daylight}`,
    `RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=${isBerlin ? '-1SU;BYMONTH=3' : '2SU;BYMONTH=3'}`,
    'END:DAYLIGHT',
    'END:VTIMEZONE',
  ]
}

function calendarOf(flavour: Flavour, scenario: Scenario): string {
  const { method, zone, rule, occurrence, comment, location } = scenario
  const people = scenario.guests.map(([name, address, status, role]) => {
    const known = STATUSES[status as keyof typeof STATUSES] ?? status.toUpperCase()
    const parameters = [`ROLE=${ROLES[role]}`, `PARTSTAT=${known}`]
    if (name !== null) parameters.push(`CN=${quotedName(name)}`)
    return `ATTENDEE;${flavour.attendee(parameters).join(';')}:${flavour.mailto}${address}`
  })
  const event = [
    'BEGIN:VEVENT',
    `ORGANIZER;CN=${quotedName(ORGANIZER.name)}:${flavour.mailto}${ORGANIZER.address}`,
    ...people,
    ...(comment === undefined ? [] : [`COMMENT;LANGUAGE=en-US:${escaped(comment)}`]),
    ...(rule === undefined ? [] : [`RRULE:${rule}`]),
    'UID:040000008200E00074C5B7101A82E008',
    `SUMMARY;LANGUAGE=en-US:${escaped(scenario.summary)}`,
    timeLine(flavour, 'DTSTART', scenario.start, zone),
    timeLine(flavour, 'DTEND', scenario.end, zone),
    ...(occurrence === undefined ? [] : [timeLine(flavour, 'RECURRENCE-ID', occurrence, zone)]),
    'CLASS:PUBLIC',
    'DTSTAMP:20261120T080000Z',
    `STATUS:${scenario.status?.toUpperCase()}`,
    `SEQUENCE:${scenario.sequence}`,
    ...(location === null ? [] : [`LOCATION:${escaped(location)}`]),
    ...flavour.eventLines,
    'END:VEVENT',
  ]
  const lines = [
    'BEGIN:VCALENDAR',
    `METHOD:${method.toUpperCase()}`,
    `PRODID:${flavour.product}`,
    'VERSION:2.0',
    ...flavour.calendarLines,
    ...zoneLines(flavour, zone),
    ...event,
    'END:VCALENDAR',
  ]
  const folded = lines.map(flavour.fold ?? fold)
  return `${folded.join('\r\n')}\r\n`
}

function mail(fields: string[], body: string): string {
  const header = [
    'From: =?utf-8?q?Ana_M=C3=BCller?= <ana@harbor.example>',
    `To: ${AGENT}`,
    'Subject: Invitation',
    'Message-ID: <1@harbor.example>',
    'Date: Fri, 20 Nov 2026 08:00:00 +0000',
    'MIME-Version: 1.0',
    ...fields,
  ]
  return `${header.join('\r\n')}\r\n\r\n${body}`
}

function parts(boundary: string, all: [fields: string, body: string][]): string {
  const each = all.map(([fields, body]) => `--${boundary}\r\n${fields}\r\n\r\n${body}\r\n`)
  return `${each.join('')}--${boundary}--\r\n`
}

function base64(text: string): string {
  return (
    Buffer.from(text)
      .toString('base64')
      .match(/.{1,76}/g) ?? []
  ).join('\r\n')
}

const TEXT: [string, string] = ['Content-Type: text/plain; charset=utf-8', 'You are invited.']
const HTML: [string, string] = ['Content-Type: text/html; charset=utf-8', '<p>You are invited.</p>']

const flavours: readonly Flavour[] = [
  {
    // The same calendar twice, as a version of the text and as a file.
    name: 'Google',
    product: '-//Google Inc//Google Calendar 70.9054//EN',
    zone: (name) => name,
    eventLines: [
      'CREATED:20261119T100000Z',
      'DESCRIPTION:Join with Google Meet: https://meet.google.example/abc-defg-hij\\n\\nPlease do not edit this section.',
      'X-GOOGLE-CONFERENCE:https://meet.google.example/abc-defg-hij',
      'TRANSP:OPAQUE',
    ],
    calendarLines: ['CALSCALE:GREGORIAN'],
    attendee: (parameters) => ['CUTYPE=INDIVIDUAL', ...parameters, 'RSVP=TRUE', 'X-NUM-GUESTS=0'],
    mailto: 'mailto:',
    wrap: (calendar, method) =>
      mail(
        ['Content-Type: multipart/mixed; boundary="m"'],
        parts('m', [
          [
            'Content-Type: multipart/alternative; boundary="a"',
            parts('a', [
              TEXT,
              HTML,
              [
                `Content-Type: text/calendar; charset="UTF-8"; method=${method}\r\nContent-Transfer-Encoding: 8bit`,
                calendar,
              ],
            ]),
          ],
          [
            'Content-Type: application/ics; name="invite.ics"\r\nContent-Disposition: attachment; filename="invite.ics"\r\nContent-Transfer-Encoding: base64',
            base64(calendar),
          ],
        ]),
      ),
  },
  {
    // Zones of Windows, MAILTO in capitals, properties of its own.
    name: 'Outlook',
    product: 'Microsoft Exchange Server 2010',
    zone: (name) =>
      name === 'Europe/Berlin' ? 'W. Europe Standard Time' : 'Eastern Standard Time',
    eventLines: [
      'DESCRIPTION;LANGUAGE=en-US:\\n________________\\nMicrosoft Teams meeting\\n',
      'PRIORITY:5',
      'TRANSP:OPAQUE',
      'X-MICROSOFT-CDO-APPT-SEQUENCE:0',
      'X-MICROSOFT-CDO-OWNERAPPTID:2118221234',
      'X-MICROSOFT-CDO-BUSYSTATUS:TENTATIVE',
      'X-MICROSOFT-SKYPETEAMSMEETINGURL:https://teams.microsoft.example/l/meetup-join/19%3ameeting',
      'X-MICROSOFT-DISALLOW-COUNTER:FALSE',
      'BEGIN:VALARM',
      'DESCRIPTION:REMINDER',
      'SUMMARY:Not the title',
      'TRIGGER;RELATED=START:-PT15M',
      'ACTION:DISPLAY',
      'END:VALARM',
    ],
    calendarLines: [],
    attendee: (parameters) => [...parameters, 'RSVP=TRUE'],
    mailto: 'MAILTO:',
    wrap: (calendar, method) =>
      mail(
        ['Content-Type: multipart/alternative; boundary="_000_"', 'Content-Language: en-US'],
        parts('_000_', [
          TEXT,
          HTML,
          [
            `Content-Type: text/calendar; charset="utf-8"; method=${method}\r\nContent-Transfer-Encoding: base64`,
            base64(calendar),
          ],
        ]),
      ),
  },
  {
    // Lines folded early, an address of its own with EMAIL beside it, a path before the zone.
    name: 'Apple',
    product: '-//Apple Inc.//macOS 15.1//EN',
    zone: (name) => `/freeassociation.sourceforge.net/Tzfile/${name}`,
    eventLines: [
      'X-APPLE-TRAVEL-ADVISORY-BEHAVIOR:AUTOMATIC',
      'X-APPLE-STRUCTURED-LOCATION;VALUE=URI;X-ADDRESS="Harbor St. 1";X-APPLE-RADIUS=70;X-TITLE="Harbor":geo:53.55,9.99',
      'TRANSP:OPAQUE',
    ],
    calendarLines: ['CALSCALE:GREGORIAN'],
    attendee: (parameters) => ['CUTYPE=INDIVIDUAL', ...parameters, 'SCHEDULE-STATUS="1.1"'],
    mailto: 'mailto:',
    fold: foldOften,
    wrap: (calendar, method) =>
      mail(
        ['Content-Type: multipart/mixed; boundary="Apple-Mail-1"'],
        parts('Apple-Mail-1', [
          TEXT,
          [
            `Content-Type: text/calendar; charset=UTF-8; method=${method}; name=iCal-20261120-080000.ics\r\nContent-Disposition: attachment; filename=iCal-20261120-080000.ics\r\nContent-Transfer-Encoding: quoted-printable`,
            quotedPrintable(calendar),
          ],
        ]),
      ),
  },
  {
    // A file beside the text, with lines that end in LF alone.
    name: 'Zoom',
    product: '-//zoom.us//iCalendar Event//EN',
    zone: (name) => `"${name}"`,
    eventLines: [
      'DESCRIPTION:Ana is inviting you to a scheduled Zoom meeting.\\n\\nJoin Zoom Meeting\\nhttps://zoom.example/j/123456789',
      'BEGIN:VALARM',
      'TRIGGER:-PT10M',
      'ACTION:DISPLAY',
      'DESCRIPTION:Reminder',
      'END:VALARM',
    ],
    calendarLines: ['CALSCALE:GREGORIAN', 'CLASS:PUBLIC'],
    attendee: (parameters) => parameters,
    mailto: 'mailto:',
    wrap: (calendar) =>
      mail(
        ['Content-Type: multipart/mixed; boundary="z"'],
        parts('z', [
          HTML,
          [
            'Content-Type: application/octet-stream; name="meeting-123456789.ics"\r\nContent-Disposition: attachment; filename="meeting-123456789.ics"\r\nContent-Transfer-Encoding: base64',
            base64(calendar.replaceAll('\r\n', '\n')),
          ],
        ]),
      ),
  },
]

/** RFC 6868 for the quotation marks. */
function quotedName(text: string): string {
  return /[,;:"]/.test(text) ? `"${text.replaceAll('"', "^'")}"` : text
}

function quotedPrintable(text: string): string {
  return text
    .split('\r\n')
    .map((line) => {
      const encoded = [...Buffer.from(line)].map((octet) =>
        octet === 0x3d || octet < 0x20 || octet > 0x7e
          ? `=${octet.toString(16).toUpperCase().padStart(2, '0')}`
          : String.fromCharCode(octet),
      )
      const lines: string[] = []
      for (let at = 0; at < encoded.length; at += 24)
        lines.push(encoded.slice(at, at + 24).join(''))
      return lines.join('=\r\n')
    })
    .join('\r\n')
}

function expectedOf(scenario: Scenario): Invite {
  const { zone, guests, rule, occurrence, comment } = scenario
  const isNamed = zone.includes('/')
  const offset = zone === 'Europe/Berlin' ? '+01:00' : '-04:00'
  const shown = (time: string) => (isNamed ? `${time}${offset}` : time)
  return {
    method: scenario.method,
    uid: '040000008200E00074C5B7101A82E008',
    sequence: scenario.sequence,
    recurrenceId: occurrence === undefined ? null : shown(occurrence),
    start: shown(scenario.start),
    end: shown(scenario.end),
    timezone: isNamed ? zone : null,
    summary: scenario.summary,
    location: scenario.location,
    organizer: ORGANIZER,
    attendees: guests.map(([name, address, status, role]) => {
      return { name, address, status, role } as Invite['attendees'][number]
    }),
    recurrence: rule ?? null,
    status: scenario.status,
    comment: comment ?? null,
  }
}

export const samples: readonly Sample[] = flavours.flatMap((flavour) =>
  scenarios.map((scenario) => ({
    name: `${flavour.name}: ${scenario.name}`,
    raw: Buffer.from(flavour.wrap(calendarOf(flavour, scenario), scenario.method.toUpperCase())),
    expected: [expectedOf(scenario)],
  })),
)
