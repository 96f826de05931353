import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readInvites } from '#invites/read-invites.ts'
import { type EventToSend, replyToInvite, writeEvent } from '#invites/write-calendar.ts'
import { samplesIn } from '#test/samples-in.ts'

const samples = samplesIn(new URL('samples/', import.meta.url))
const NOW_MS = Date.UTC(2026, 10, 20, 8)

const EVENT: EventToSend = {
  method: 'request',
  uid: 'one@mailroom.example',
  sequence: 0,
  start: { atMs: Date.UTC(2026, 11, 1, 9), zone: 'Europe/Berlin' },
  end: { atMs: Date.UTC(2026, 11, 1, 10), zone: 'Europe/Berlin' },
  summary: 'Planning',
  location: null,
  description: null,
  organizer: { name: 'Agent', address: 'agent@mailroom.example' },
  required: ['bob@friend.example'],
  optional: ['ann@friend.example'],
  nowMs: NOW_MS,
}

function mailOf(calendar: string): Buffer {
  return Buffer.from(
    `From: a@b.example\r\nMIME-Version: 1.0\r\nContent-Type: text/calendar; charset=utf-8\r\n\r\n${calendar}`,
  )
}

function unfolded(calendar: string): string[] {
  return calendar.replaceAll('\r\n ', '').split('\r\n')
}

test('an invitation has the lines that RFC 5546 asks for', () => {
  const lines = unfolded(writeEvent(EVENT))
  const wanted = [
    'METHOD:REQUEST',
    'VERSION:2.0',
    'TZID:Europe/Berlin',
    'UID:one@mailroom.example',
    'SEQUENCE:0',
    'DTSTAMP:20261120T080000Z',
    'DTSTART;TZID=Europe/Berlin:20261201T100000',
    'DTEND;TZID=Europe/Berlin:20261201T110000',
    'SUMMARY:Planning',
    'STATUS:CONFIRMED',
    'ORGANIZER;CN=Agent:mailto:agent@mailroom.example',
    'ATTENDEE;ROLE=REQ-PARTICIPANT;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:bob@friend.example',
    'ATTENDEE;ROLE=OPT-PARTICIPANT;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:ann@friend.example',
  ]
  assert.deepEqual(
    wanted.filter((line) => !lines.includes(line)),
    [],
  )
  assert.equal(lines.filter((line) => line === 'BEGIN:VTIMEZONE').length, 1)
  assert.equal(lines.at(-1), '')
})

test('times are written in the form in which they were given', () => {
  const times = (start: EventToSend['start'], end: EventToSend['end']) =>
    unfolded(writeEvent({ ...EVENT, start, end })).filter((line) =>
      /^(?:DTSTART|DTEND|BEGIN:VTIMEZONE)/.test(line),
    )
  assert.deepEqual(times({ day: '2026-12-01' }, { day: '2026-12-03' }), [
    'DTSTART;VALUE=DATE:20261201',
    'DTEND;VALUE=DATE:20261203',
  ])
  assert.deepEqual(times({ local: '2026-12-01T10:00:00' }, { local: '2026-12-01T11:00:00' }), [
    'DTSTART:20261201T100000',
    'DTEND:20261201T110000',
  ])
  const { start, end } = EVENT as { start: { atMs: number }; end: { atMs: number } }
  assert.deepEqual(times({ ...start, zone: null }, { ...end, zone: null }), [
    'DTSTART:20261201T090000Z',
    'DTEND:20261201T100000Z',
  ])
})

test('no text can add a line', () => {
  const text = 'x\r\nATTENDEE:mailto:eve@far.example\nMETHOD:CANCEL\u0000\u2028'
  const calendar = writeEvent({
    ...EVENT,
    uid: text,
    summary: text,
    location: text,
    description: text,
    organizer: { name: `"${text}`, address: EVENT.organizer.address },
    required: ['bob@friend.example\r\nATTENDEE:mailto:eve@far.example'],
  })
  const names = unfolded(calendar).map((line) => line.split(/[:;]/)[0])
  assert.equal(names.filter((name) => name === 'ATTENDEE').length, 2)
  assert.equal(names.filter((name) => name === 'METHOD').length, 1)
  assert.ok(calendar.split('\r\n').every((line) => !/[\r\n\0]/.test(line)))
  for (const line of calendar.split('\r\n')) assert.ok(Buffer.byteLength(line) <= 75, line)
})

const ODD_ADDRESSES = [
  '50%off@x.example',
  'a%41@x.example',
  '"a b"@x.example',
  '"a@b,c;d:e<f>"@x.example',
  '"\\"quoted\\" \\\\"@x.example',
  '"%22"@x.example',
  'a+b@x.example',
  "!#$&'*/=?^_`{|}~-@x.example",
  'a@[192.0.2.1]',
  'a@[IPv6:2001:db8::1]',
  'jürgen@büro.example',
]

test('addresses are URIs, and are read as they were', () => {
  const invitation = writeEvent({
    ...EVENT,
    organizer: { name: null, address: '"the %"@x.example' },
    required: ODD_ADDRESSES,
    optional: [],
  })
  const uris = unfolded(invitation).flatMap((line) => /:(mailto:.*)$/.exec(line)?.[1] ?? [])
  assert.deepEqual(uris.slice(0, 8), [
    'mailto:%22the%20%25%22@x.example',
    'mailto:50%25off@x.example',
    'mailto:a%2541@x.example',
    'mailto:%22a%20b%22@x.example',
    'mailto:%22a%40b%2Cc%3Bd%3Ae%3Cf%3E%22@x.example',
    'mailto:%22%5C%22quoted%5C%22%20%5C%5C%22@x.example',
    'mailto:%22%2522%22@x.example',
    'mailto:a+b@x.example',
  ])
  // RFC 3986: nothing else can stand in a URI.
  for (const uri of uris) assert.match(uri, /^mailto:(?:[\w.~!$'()*+-]|%[\dA-F]{2})+@[\w.%-]+$/)
  const [invite] = readInvites(mailOf(invitation))
  assert.equal(invite?.organizer?.address, '"the %"@x.example')
  assert.deepEqual(
    invite?.attendees.map(({ address }) => address),
    ODD_ADDRESSES,
  )
  for (const address of ODD_ADDRESSES) {
    const reply = replyToInvite(mailOf(invitation), {
      addresses: [address.toLowerCase()],
      response: 'accepted',
      comment: null,
      nowMs: NOW_MS,
    })
    assert.ok(reply.kind === 'reply', address)
    assert.equal(reply.organizer, '"the %"@x.example')
    const [answer] = readInvites(mailOf(reply.calendar))
    assert.deepEqual(
      [answer?.organizer?.address, answer?.attendees.map((one) => one.address)],
      ['"the %"@x.example', [address]],
    )
  }
})

test('a quoted local part of any characters is read as it was', () => {
  const sign = fc.oneof(fc.constantFrom(...'%25?@"\\'), fc.string({ unit: 'binary', maxLength: 1 }))
  const quoted = fc.string({ unit: sign, maxLength: 30 }).map((text) => {
    const visible = text.replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/gu, '')
    return `"${visible.replace(/[\\"]/g, '\\$&')}"@x.example`
  })
  fc.assert(
    fc.property(quoted, (address) => {
      const invitation = writeEvent({ ...EVENT, required: [address], optional: [] })
      const [attendee] = readInvites(mailOf(invitation))[0]?.attendees ?? []
      assert.equal(attendee?.address, address)
    }),
    { numRuns: 300 },
  )
})

test('a reply names the event and the answer, with the zone of the invitation', () => {
  const answer = {
    addresses: ['agent@mailroom.example'],
    response: 'declined',
    comment: 'Not today;\r\nsorry',
    nowMs: NOW_MS,
  } as const
  for (const { name, raw } of samples.filter((sample) => sample.name.endsWith('one-of-a-series'))) {
    const reply = replyToInvite(raw, answer)
    assert.ok(reply.kind === 'reply', name)
    assert.equal(reply.organizer, 'ana@harbor.example')
    const [invite] = readInvites(raw)
    const [read, ...others] = readInvites(mailOf(reply.calendar))
    assert.deepEqual(others, [])
    assert.deepEqual(
      read,
      {
        ...invite,
        method: 'reply',
        attendees: [
          { name: null, address: 'agent@mailroom.example', status: 'declined', role: 'required' },
        ],
        status: null,
        comment: 'Not today;\nsorry',
      },
      name,
    )
    assert.equal(reply.calendar.match(/BEGIN:VTIMEZONE/g)?.length, 1, name)
    assert.match(reply.calendar, /^RECURRENCE-ID;TZID=/m)
    assert.match(reply.calendar, /^DTSTAMP:20261120T080000Z\r$/m)
  }
})

test('only an invitation is answered, by one of those who are invited', () => {
  const answer = { response: 'accepted', comment: null, nowMs: NOW_MS } as const
  const kinds = (addresses: string[]) =>
    Object.fromEntries(
      samples
        .filter(({ name }) => name.startsWith('outlook'))
        .map(({ name, raw }) => [
          name.slice('outlook-'.length),
          replyToInvite(raw, { ...answer, addresses }).kind,
        ]),
    )
  const invited = kinds(['agent@mailroom.example'])
  assert.deepEqual(invited, {
    'one-event': 'reply',
    'an-update': 'reply',
    'a-cancellation': 'cancelled',
    'a-reply': 'no-invitation',
    'a-refusal': 'no-invitation',
    'a-series': 'reply',
    'one-of-a-series': 'reply',
    'whole-days': 'reply',
    'another-zone': 'reply',
    'many-guests': 'not-invited',
    'answers-so-far': 'reply',
  })
  assert.ok(Object.values(kinds(['eve@far.example'])).every((kind) => kind !== 'reply'))
})
