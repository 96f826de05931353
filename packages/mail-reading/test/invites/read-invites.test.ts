import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readInvites } from '#invites/read-invites.ts'
import { samplesIn } from '#test/samples-in.ts'

// Written after what Google, Outlook, Apple and Zoom send.
for (const { name, raw, expected } of samplesIn(new URL('samples/', import.meta.url))) {
  test(`the invitation is read as its program means it: ${name}`, () => {
    assert.deepEqual(readInvites(raw), expected)
  })
}

function mailOf(calendar: string): Buffer {
  return Buffer.from(
    `From: a@b.example\r\nMIME-Version: 1.0\r\nContent-Type: text/calendar; charset=utf-8\r\n\r\n${calendar}`,
  )
}

function calendarOf(event: string[], outside: string[] = []): string {
  const lines = ['BEGIN:VCALENDAR', 'METHOD:REQUEST', ...outside, 'BEGIN:VEVENT', 'UID:1', ...event]
  return `${[...lines, 'END:VEVENT', 'END:VCALENDAR'].join('\r\n')}\r\n`
}

function readEvent(event: string[], outside: string[] = []) {
  const [invite] = readInvites(mailOf(calendarOf(event, outside)))
  assert.ok(invite !== undefined)
  return invite
}

test('times have the offset of their zone, or none', () => {
  const times = (...lines: string[]) => {
    const { start, end, timezone } = readEvent(lines)
    return [start, end, timezone]
  }
  assert.deepEqual(times('DTSTART:20261201T100000Z', 'DURATION:PT1H30M'), [
    '2026-12-01T10:00:00Z',
    '2026-12-01T11:30:00Z',
    'UTC',
  ])
  assert.deepEqual(times('DTSTART:20261201T100000', 'DTEND:20261201T110000'), [
    '2026-12-01T10:00:00',
    '2026-12-01T11:00:00',
    null,
  ])
  assert.deepEqual(times('DTSTART;VALUE=DATE:20261201'), ['2026-12-01', '2026-12-02', null])
  // Without VALUE=DATE, as some programs write it.
  assert.deepEqual(times('DTSTART:20261231'), ['2026-12-31', '2027-01-01', null])
  assert.deepEqual(times('DTSTART;TZID=India Standard Time:20261201T100000'), [
    '2026-12-01T10:00:00+05:30',
    null,
    'Asia/Kolkata',
  ])
  // Twice on that day: the first one. Left out on that day: counted from before the gap.
  const berlin = (time: string) => times(`DTSTART;TZID=Europe/Berlin:${time}`)[0]
  assert.equal(berlin('20261025T023000'), '2026-10-25T02:30:00+02:00')
  assert.equal(berlin('20260329T023000'), '2026-03-29T02:30:00+01:00')
})

test('a zone without a known name has the offset of its definition', () => {
  const zone = (name: string) => [
    'BEGIN:VTIMEZONE',
    `TZID:${name}`,
    'BEGIN:STANDARD',
    'DTSTART:16010101T030000',
    'TZOFFSETFROM:+0200',
    'TZOFFSETTO:+0100',
    'RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10',
    'END:STANDARD',
    'BEGIN:DAYLIGHT',
    'DTSTART:16010101T020000',
    'TZOFFSETFROM:+0100',
    'TZOFFSETTO:+0200',
    'RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3',
    'END:DAYLIGHT',
    'END:VTIMEZONE',
  ]
  const startIn = (name: string, time: string, outside = zone(name)) => {
    const { start, timezone } = readEvent([`DTSTART;TZID=${name}:${time}`], outside)
    return [start, timezone]
  }
  assert.deepEqual(startIn('Ours', '20261201T100000'), ['2026-12-01T10:00:00+01:00', null])
  assert.deepEqual(startIn('Ours', '20260701T100000'), ['2026-07-01T10:00:00+02:00', null])
  assert.deepEqual(startIn('Ours', '20260328T235959'), ['2026-03-28T23:59:59+01:00', null])
  assert.deepEqual(startIn('Ours', '20260329T040000'), ['2026-03-29T04:00:00+02:00', null])
  assert.deepEqual(startIn('Ours', '20261201T100000', []), ['2026-12-01T10:00:00', null])
})

test('what cannot be read loses nothing but itself', () => {
  const invite = readEvent([
    'DTSTART:20261341T996100Z',
    'DTEND:tomorrow',
    'no property at all',
    'SUMMARY:Title',
    'SEQUENCE:-1',
    'RRULE:FREQ=NEVER',
    'STATUS:UNHEARD-OF',
    'ORGANIZER;CN="open:mailto:x@y.example',
    'ATTENDEE:invalid:nomail',
    'ATTENDEE;PARTSTAT=MAYBE;ROLE=KING:mailto:ann@friend.example',
    'ATTENDEE;EMAIL=cat@friend.example:/principals/7',
    `LOCATION:${'x'.repeat(100_000)}`,
  ])
  assert.equal(invite.summary, 'Title')
  const { start, end, sequence, recurrence, status, organizer } = invite
  assert.deepEqual(
    [start, end, sequence, recurrence, status, organizer],
    [null, null, 0, null, null, null],
  )
  assert.equal(invite.location?.length, 1_000)
  assert.deepEqual(
    invite.attendees.map(({ address, status: answer, role }) => [address, answer, role]),
    [
      ['ann@friend.example', 'needs-action', 'required'],
      ['cat@friend.example', 'needs-action', 'required'],
    ],
  )
})

test('the rule of a series keeps the order in which it was written', () => {
  for (const rule of [
    'FREQ=WEEKLY;UNTIL=20260531T120000Z;INTERVAL=2;BYDAY=MO,TU;WKST=SU',
    'FREQ=MONTHLY;BYDAY=1MO;COUNT=3',
    'FREQ=DAILY',
  ]) {
    assert.equal(readEvent(['DTSTART:20260501T100000Z', `RRULE:${rule}`]).recurrence, rule)
  }
})

test('an address is read from a URI or as it stands', () => {
  const addresses = (...values: string[]) =>
    readEvent(values.map((value) => `ATTENDEE${value}`)).attendees.map(({ address }) => address)
  const read = [
    [':mailto:50%25off@x.example', '50%off@x.example'],
    [':mailto:50%off@x.example', '50%off@x.example'],
    [':MAILTO:%22a%20b%22@x.example', '"a b"@x.example'],
    [':mailto:"a b"@x.example', '"a b"@x.example'],
    [':mailto:%22a%40b%2C%5C%22c%22@x.example', '"a@b,\\"c"@x.example'],
    [':mailto:a%2525@x.example', 'a%25@x.example'],
    [':mailto:a@x.example?subject=b@x.example', 'a@x.example'],
    [':mailto:a?b@x.example', 'a?b@x.example'],
    [':mailto:a@%5B192.0.2.1%5D', 'a@[192.0.2.1]'],
    [':mailto:j%C3%BC@b%C3%BCro.example', 'jü@büro.example'],
    [';EMAIL=50%25@x.example:/principals/7', '50%25@x.example'],
  ] as const
  for (const [value, address] of read) assert.deepEqual(addresses(value), [address], value)
  const unread = [
    ':mailto:a@x.example,b@x.example',
    ':mailto:a%0D%0ABcc:b@x.example',
    ':mailto:%22a%0D%0Ab%22@x.example',
    ':mailto:%22a%22b%22@x.example',
    ':mailto:a%40b@x.example',
    ':mailto:a@x.example%3E',
    ':mailto:',
  ]
  assert.deepEqual(addresses(...unread), [])
})

test('text cannot leave its line', () => {
  const invite = readEvent([
    'SUMMARY:one\\nMETHOD:CANCEL\\, two\u0000\u001b[31m',
    'COMMENT:a\\nb\u0007',
  ])
  assert.equal(invite.method, 'request')
  assert.equal(invite.summary, 'one METHOD:CANCEL, two[31m')
  assert.equal(invite.comment, 'a\nb')
})

const EVENT = 'BEGIN:VEVENT\r\nUID:x\r\nDTSTART:20261201T100000Z\r\nEND:VEVENT\r\n'

/** What a stranger may send, and the number of its invites. */
const hostile: [name: string, calendar: string, count: number][] = [
  ['100,000 events', `BEGIN:VCALENDAR\r\n${EVENT.repeat(100_000)}END:VCALENDAR\r\n`, 1],
  ['deep nesting', `BEGIN:VCALENDAR\r\n${'BEGIN:VEVENT\r\n'.repeat(100_000)}`, 1],
  ['a line of 1 MB', calendarOf([`SUMMARY:${'a'.repeat(1_000_000)}`]), 1],
  ['a line folded 300,000 times', calendarOf([`SUMMARY:${'a\r\n '.repeat(300_000)}`]), 1],
  ['250,000 parameters', calendarOf([`ATTENDEE${';X=1'.repeat(250_000)}:mailto:a@b.example`]), 1],
  [
    '1,000 parameters on 1,000 lines',
    calendarOf(Array(1_000).fill(`ATTENDEE${';X=1'.repeat(1_000)}:mailto:a@b.example`)),
    1,
  ],
  ['a huge rule', calendarOf([`RRULE:FREQ=SECONDLY;BYSECOND=${'1,'.repeat(400_000)}1`]), 1],
  ['an endless rule', calendarOf(['DTSTART:20260101T000000Z', 'RRULE:FREQ=SECONDLY']), 1],
  ['a million empty lines', calendarOf(['\n'.repeat(1_000_000)]), 1],
  [
    'zones that change each second',
    calendarOf(
      ['DTSTART;TZID=Z:20261201T100000'],
      Array(5_000).fill(
        'BEGIN:VTIMEZONE\r\nTZID:Z\r\nBEGIN:STANDARD\r\nDTSTART:00010101T000000\r\nTZOFFSETTO:+0100\r\nRRULE:FREQ=SECONDLY\r\nEND:STANDARD\r\nEND:VTIMEZONE',
      ),
    ),
    1,
  ],
  [
    '1,000,000 characters of parameters',
    calendarOf(Array(500).fill(`ATTENDEE${';X=1'.repeat(500)}:mailto:a@b.example`)),
    1,
  ],
  ['50,000 attendees', calendarOf(Array(50_000).fill('ATTENDEE:mailto:a@b.example')), 1],
  ['ends that close nothing', `END:VCALENDAR\r\n`.repeat(50_000), 0],
]

for (const [name, calendar, count] of hostile) {
  test(`a hostile calendar is read within its bounds: ${name}`, () => {
    const raw = mailOf(calendar)
    const before = process.cpuUsage()
    const invites = readInvites(raw)
    const { user, system } = process.cpuUsage(before)
    assert.equal(invites.length, count)
    assert.ok(JSON.stringify(invites).length < 150_000)
    // A fifth of the time that a message has in a parser thread.
    assert.ok((user + system) / 1_000 < 400, `${(user + system) / 1_000} ms`)
  })
}
