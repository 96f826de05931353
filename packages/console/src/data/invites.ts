// Formats invitations: when the event takes place, and how it was answered.

import {
  inviteResponses,
  inviteResponseWords,
  untitledInvite,
} from '@mailroom/contract/vocabulary.ts'
import type { Message } from '@mailroom/sdk'
import { localMinute, readPerson } from './format.ts'
import { keyOf } from './recipients.ts'

export type Invite = NonNullable<Message['extracted']>['invites'][number]
export type InviteResponse = (typeof inviteResponses)[number]

const dayFields = { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' } as const
const timeFields = { ...dayFields, hour: '2-digit', minute: '2-digit' } as const
const days = new Intl.DateTimeFormat('en-GB', { ...dayFields, timeZone: 'UTC' })
const clock = new Intl.DateTimeFormat('en-GB', { ...timeFields, timeZone: 'UTC' })
const own = new Intl.DateTimeFormat('en-GB', { ...timeFields, timeZoneName: 'short' })

const DAY_MS = 86_400_000
const DAY = /^\d{4}-\d\d-\d\d$/
const LOCAL = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)$/
const INSTANT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(Z|[+-]\d\d:\d\d)$/

/** `theirs` is the same time in the organizer's zone, if that differs from the person's. */
export type InviteTimes = { ours: string; theirs: string | null }

/** Null if the event has no readable time. */
export function timesOf({ start, end, timezone }: Invite): InviteTimes | null {
  if (start === null) return null
  if (DAY.test(start)) {
    const last = end !== null && DAY.test(end) ? Date.parse(end) - DAY_MS : Number.NaN
    return timesIn(rangeOf(days, Date.parse(start), last), null)
  }
  const local = LOCAL.exec(start)
  if (local !== null) return timesIn(wallClock(start, end), null)
  const [, wall = '', offset = ''] = INSTANT.exec(start) ?? []
  const startMs = Date.parse(start)
  if (wall === '' || Number.isNaN(startMs)) return null
  const isSame = localMinute(new Date(startMs)) === wall.slice(0, 'yyyy-mm-ddThh:mm'.length)
  const there = isSame ? null : wallClock(start, end)
  const place = timezone ?? (offset === 'Z' ? 'UTC' : `UTC${offset}`)
  return timesIn(
    rangeOf(own, startMs, end === null ? Number.NaN : Date.parse(end)),
    there === null ? null : `${there} (${place.replaceAll('_', ' ')})`,
  )
}

function timesIn(ours: string | null, theirs: string | null): InviteTimes | null {
  return ours === null ? null : { ours, theirs }
}

/** The local time in the zone that the event is written in. */
function wallClock(start: string, end: string | null): string | null {
  const ms = (text: string) => Date.parse(`${text.replace(/(?:Z|[+-]\d\d:\d\d)$/, '')}Z`)
  return rangeOf(clock, ms(start), end === null ? Number.NaN : ms(end))
}

function rangeOf(format: Intl.DateTimeFormat, startMs: number, endMs: number): string | null {
  if (Number.isNaN(startMs)) return null
  return endMs > startMs ? format.formatRange(startMs, endMs) : format.format(startMs)
}

/** The event that an answer to this message would answer: the one of its first invitation. */
export function answeredInvite(message: Message): Invite | null {
  if (message.direction !== 'inbound') return null
  const first = message.extracted?.invites.find(({ method }) => method === 'request')
  if (first === undefined || first.status === 'cancelled') return null
  return first.uid === null || first.organizer === null ? null : first
}

export function isCancelled({ method, status }: Invite): boolean {
  return method === 'cancel' || (status === 'cancelled' && method !== 'reply')
}

/** How the sent message answers the invitation; null if it does not. */
export function responseIn(sent: Message, { summary }: Invite): InviteResponse | null {
  const isCalendar = ({ contentType }: { contentType: string }) =>
    contentType.toLowerCase().startsWith('text/calendar')
  if (sent.direction !== 'outbound' || !sent.attachments.some(isCalendar)) return null
  const text = inOneLine(sent.bodyText)
  const title = inOneLine(summary ?? untitledInvite)
  const begins = (response: InviteResponse) =>
    text.startsWith(`${inviteResponseWords[response]}: ${title}`)
  return inviteResponses.find(begins) ?? null
}

function inOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/**
 * How a later message from the same author changes the event; null if it does not. A message from
 * an unverified author is used only if the original was unverified too.
 */
export function laterVersion(
  invite: Invite,
  message: Message,
  later: readonly Message[],
): 'updated' | 'cancelled' | null {
  const author = (one: Message) => keyOf(readPerson(one.fromAddr).address)
  const versions = later
    .filter((one) => one.direction === 'inbound' && author(one) === author(message))
    .filter(
      ({ authentication }) => authentication?.verifiedFrom || !message.authentication?.verifiedFrom,
    )
    .flatMap((one) => one.extracted?.invites ?? [])
    .filter(({ uid, recurrenceId }) => uid === invite.uid && recurrenceId === invite.recurrenceId)
    .filter(({ sequence }) => sequence >= invite.sequence)
  if (versions.some(isCancelled)) return 'cancelled'
  const isNewer = ({ method, sequence }: Invite) =>
    method === 'request' && sequence > invite.sequence
  return versions.some(isNewer) ? 'updated' : null
}

const frequencies: Readonly<Record<string, string>> = {
  DAILY: 'day',
  WEEKLY: 'week',
  MONTHLY: 'month',
  YEARLY: 'year',
}
const weekdays: Readonly<Record<string, string>> = {
  MO: 'Monday',
  TU: 'Tuesday',
  WE: 'Wednesday',
  TH: 'Thursday',
  FR: 'Friday',
  SA: 'Saturday',
  SU: 'Sunday',
}

/**
 * Describes an RFC 5545 §3.3.10 rule. A rule without a short description is returned as written.
 */
export function recurrenceWords(rule: string): string {
  const parts = new Map(
    rule.split(';').map((part) => {
      const [name = '', value = ''] = part.split('=')
      return [name.toUpperCase(), value.toUpperCase()] as const
    }),
  )
  const take = (name: string) => {
    const value = parts.get(name)
    parts.delete(name)
    return value
  }
  const unit = frequencies[take('FREQ') ?? '']
  const interval = Number(take('INTERVAL') ?? 1)
  const on =
    take('BYDAY')
      ?.split(',')
      .map((day) => weekdays[day]) ?? []
  const count = take('COUNT')
  const until = /^(\d{4})(\d\d)(\d\d)/.exec(take('UNTIL') ?? '')
  const untilMs = until === null ? null : Date.parse(`${until[1]}-${until[2]}-${until[3]}`)
  take('WKST')
  const isKnown = unit !== undefined && interval >= 1 && on.every((day) => day !== undefined)
  if (!isKnown || parts.size > 0 || Number.isNaN(untilMs)) return rule
  return [
    interval === 1 ? `Every ${unit}` : `Every ${interval} ${unit}s`,
    on.length > 0 && ` on ${on.join(', ')}`,
    count !== undefined && `, ${count} times`,
    untilMs !== null && `, until ${days.format(untilMs)}`,
  ]
    .filter(Boolean)
    .join('')
}
