import type { InviteToSend } from '@mailroom/contract/invitations.ts'
import type { EventTime } from '@mailroom/mail-reading/invites/write-calendar.ts'
import { isZoneName, localMsOf, offsetIn } from '@mailroom/mail-reading/invites/zones.ts'
import type { Inbox } from '#inboxes/inboxes.ts'
import { type Clock, parseInstant } from '#platform/clock.ts'
import { wrongField } from '#platform/problem.ts'
import { MINUTE_MS } from '#platform/units.ts'

export type SentInvite = {
  method: 'request' | 'cancel'
  /** Null for a new event, whose id becomes that of the message. */
  uid: string | null
  sequence: number
  start: EventTime
  end: EventTime
  summary: string | null
  location: string | null
  description: string | null
}

export function readInvite(invite: InviteToSend | undefined): SentInvite | null {
  if (invite === undefined) return null
  const { method = 'request', uid = null, sequence = 0, timezone = null } = invite
  if (method === 'cancel' && uid === null) throw wrongField('invite.uid', 'is required to cancel')
  if (timezone !== null && !isZoneName(timezone)) {
    throw wrongField(
      'invite.timezone',
      'must be the name of an IANA time zone, such as Europe/Berlin',
    )
  }
  const [start, end] = [readTime('start', invite, timezone), readTime('end', invite, timezone)]
  if (start.form !== end.form) throw wrongField('invite.end', 'must have the same form as start')
  if (end.orderMs <= start.orderMs) {
    const rule = start.form === 'day' ? ': it is the first day after the event' : ''
    throw wrongField('invite.end', `must be after start${rule}`)
  }
  const { summary = null, location = null, description = null } = invite
  return { method, uid, sequence, start: start.time, end: end.time, summary, location, description }
}

const DAY_LENGTH = '2026-12-01'.length
const YEAR_MIN = 1900
/** The year must have four digits in every time zone. */
const YEAR_MAX = 9998
const MINUTES = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/

type ReadTime = { form: 'day' | 'local' | 'instant'; time: EventTime; orderMs: number }

function readTime(name: 'start' | 'end', invite: InviteToSend, zone: string | null): ReadTime {
  const text = invite[name]
  if (!isDay(text.slice(0, DAY_LENGTH))) throw wrongField(`invite.${name}`, TIME_RULE)
  const isWholeDay = text.length === DAY_LENGTH
  const local = isWholeDay ? `${text}T00:00:00` : MINUTES.test(text) ? `${text}:00` : text
  const localMs = localMsOf(local)
  if (isWholeDay && localMs !== null) {
    if (zone === null) return { form: 'day', time: { day: text }, orderMs: localMs }
    throw wrongField('invite.timezone', 'must be omitted for all-day events')
  }
  if (localMs !== null && zone === null) {
    return { form: 'local', time: { local }, orderMs: localMs }
  }
  const atMs = localMs === null ? parseInstant(text) : instantIn(zone ?? '', localMs)
  if (atMs === null) throw wrongField(`invite.${name}`, TIME_RULE)
  return { form: 'instant', time: { atMs, zone }, orderMs: atMs }
}

/** `Date.parse` accepts 30 February, so the day is checked here. */
function isDay(text: string): boolean {
  const year = Number(text.slice(0, 4))
  return year >= YEAR_MIN && year <= YEAR_MAX && localMsOf(`${text}T00:00:00`) !== null
}

const TIME_RULE =
  'must be a time such as 2026-12-01T10:00:00+01:00, a local time such as 2026-12-01T10:00:00, or a day such as 2026-12-01'

function instantIn(zone: string, localMs: number): number {
  return localMs - offsetIn(zone, localMs) * MINUTE_MS
}

export async function calendarOf(
  { clock }: { clock: Clock },
  { uid, summary, ...invite }: SentInvite,
  {
    inbox,
    to,
    cc,
    subject,
    rfcMessageId,
  }: { inbox: Inbox; to: string[]; cc: string[]; subject: string; rfcMessageId: string },
) {
  const { writeEvent } = await import('@mailroom/mail-reading/invites/write-calendar.ts')
  const text = writeEvent({
    ...invite,
    uid: uid ?? rfcMessageId.slice(1, -1),
    summary: summary ?? subject,
    organizer: { name: inbox.displayName, address: inbox.address },
    required: to,
    optional: cc,
    nowMs: clock.now(),
  })
  return calendarFile(text, invite.method)
}

/** Makes the calendar file of an invitation (RFC 6047 §2.4). */
export function calendarFile(text: string, method: 'request' | 'cancel' | 'reply') {
  return {
    filename: 'invite.ics',
    contentType: `text/calendar; charset=utf-8; method=${method.toUpperCase()}; component=VEVENT`,
    content: Buffer.from(text, 'utf8'),
    contentId: null,
    isInline: false,
    isAlternative: true,
  }
}
