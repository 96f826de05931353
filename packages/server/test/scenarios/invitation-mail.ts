// Mail that invites an inbox, as Bob's program writes it.

import type { Inbox } from '@mailroom/sdk'
import { plainMail } from '#test/world.ts'

export const BOB = 'bob@friend.example'

export type Event = { method?: string; lines?: string[]; organizer?: string; attendee?: string }

export function calendar(
  inbox: Inbox,
  { method = 'REQUEST', lines = [], organizer = BOB, attendee = inbox.address }: Event = {},
) {
  return [
    'BEGIN:VCALENDAR',
    'PRODID:-//Example//EN',
    'VERSION:2.0',
    `METHOD:${method}`,
    'BEGIN:VEVENT',
    'UID:meeting-1@friend.example',
    'SEQUENCE:3',
    'DTSTAMP:20261120T080000Z',
    'DTSTART;TZID=Europe/Berlin:20261201T100000',
    'DTEND;TZID=Europe/Berlin:20261201T110000',
    'SUMMARY:Planning\\, first part',
    `ORGANIZER;CN=Bob:mailto:${organizer}`,
    `ATTENDEE;CN=Agent;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:${attendee}`,
    ...lines,
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ].join('\r\n')
}

export function mailWith(inbox: Inbox, text: string, from = `Bob <${BOB}>`): string {
  return plainMail({
    from,
    to: inbox.address,
    subject: 'Invitation: Planning',
    messageId: `<${crypto.randomUUID()}@friend.example>`,
    headers: ['MIME-Version: 1.0', 'Content-Type: multipart/alternative; boundary=a'],
    body: [
      '--a\r\nContent-Type: text/plain\r\n\r\nYou are invited.',
      `--a\r\nContent-Type: text/calendar; method=REQUEST; charset=UTF-8\r\n\r\n${text}`,
      '--a--\r\n',
    ].join('\r\n'),
  })
}
