import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Invite, recurrenceWords, timesOf } from '#data/invites.ts'

const event = (start: string | null, end: string | null): Invite => ({
  method: 'request',
  uid: 'one@friend.example',
  sequence: 0,
  recurrenceId: null,
  start,
  end,
  timezone: null,
  summary: 'Planning',
  location: null,
  organizer: null,
  attendees: [],
  recurrence: null,
  status: null,
  comment: null,
})

test('a rule of a series is told in words, and one without short words as written', () => {
  const rules: Record<string, string> = {
    'FREQ=DAILY': 'Every day',
    'FREQ=WEEKLY;BYDAY=MO,FR;WKST=MO': 'Every week on Monday, Friday',
    'FREQ=MONTHLY;INTERVAL=3;COUNT=4': 'Every 3 months, 4 times',
    'FREQ=YEARLY;UNTIL=20301224T000000Z': 'Every year, until Tue, 24 Dec 2030',
  }
  for (const [rule, words] of Object.entries(rules)) assert.equal(recurrenceWords(rule), words)
  for (const rule of ['FREQ=MONTHLY;BYDAY=1MO', 'FREQ=WEEKLY;BYHOUR=9', 'INTERVAL=2', 'x', '']) {
    assert.equal(recurrenceWords(rule), rule)
  }
  assert.equal(recurrenceWords('FREQ=DAILY;INTERVAL=0'), 'FREQ=DAILY;INTERVAL=0')
  assert.equal(recurrenceWords('FREQ=DAILY;UNTIL=99999999'), 'FREQ=DAILY;UNTIL=99999999')
})

test('days are told without the day after them, and times without a zone in none', () => {
  const ours = (start: string | null, end: string | null) =>
    timesOf(event(start, end))?.ours.replace(/\s/gu, ' ').replace(/ *– */u, '–') ?? null
  assert.equal(ours('2026-12-01', '2026-12-02'), 'Tue, 1 Dec 2026')
  assert.equal(ours('2026-12-01', '2026-12-04'), 'Tue, 1 Dec–Thu, 3 Dec 2026')
  assert.equal(ours('2026-12-01', null), 'Tue, 1 Dec 2026')
  assert.equal(ours('2026-12-01T10:00:00', null), 'Tue, 1 Dec 2026, 10:00')
  assert.equal(ours('2026-12-01T10:00:00', '2026-12-01T11:30:00'), 'Tue, 1 Dec 2026, 10:00–11:30')
  // An end before the start.
  assert.equal(ours('2026-12-02', '2026-12-01'), 'Wed, 2 Dec 2026')
  for (const start of [null, '', 'soon', '2026-13-45', '2026-12-01T99:00:00Z']) {
    assert.equal(timesOf(event(start, null)), null)
  }
})

test('a time with an offset is told in both zones where they differ', () => {
  const offset = -new Date('2026-12-01T00:00:00Z').getTimezoneOffset()
  const there = offset === 330 ? '+01:00' : '+05:30'
  const times = timesOf(event(`2026-12-01T10:00:00${there}`, `2026-12-01T11:00:00${there}`))
  assert.match(times?.theirs ?? '', /^Tue, 1 Dec 2026, 10:00\s?–\s?11:00 \(UTC\+0[15]:[03]0\)$/u)
})
