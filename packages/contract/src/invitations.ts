// Invitations in messages to send, and responses to received invitations.

import { type Static, Type } from './schema.ts'
import { line, oneOf } from './text.ts'
import { inviteResponses } from './vocabulary.ts'

const UID_LENGTH_MAX = 255
const SEQUENCE_MAX = 2 ** 31 - 1
const TIME_LENGTH_MAX = 40
const ZONE_LENGTH_MAX = 64
const TITLE_LENGTH_MAX = 998
const DESCRIPTION_LENGTH_MAX = 10_000
const COMMENT_LENGTH_MAX = 1_000

const sentInviteMethods = ['request', 'cancel'] as const

export const InviteToSend = Type.Object(
  {
    start: Type.String({
      maxLength: TIME_LENGTH_MAX,
      description:
        'When the event begins: a time with its offset from UTC (2026-12-01T10:00:00+01:00), a local time in timezone (2026-12-01T10:00:00), or a day (2026-12-01).',
    }),
    end: Type.String({
      maxLength: TIME_LENGTH_MAX,
      description:
        'When the event ends, in the same form as start; for whole days, the first day after the event.',
    }),
    timezone: Type.Optional(
      line({
        minLength: 1,
        maxLength: ZONE_LENGTH_MAX,
        description:
          'The IANA name of the time zone in which the event is written, such as Europe/Berlin. Without it, times with an offset are written in UTC, and local times without a zone. Not allowed if start is a day.',
      }),
    ),
    summary: Type.Optional(
      line({
        minLength: 1,
        maxLength: TITLE_LENGTH_MAX,
        description: 'The title; by default the subject of the message.',
      }),
    ),
    location: Type.Optional(
      line({
        minLength: 1,
        maxLength: TITLE_LENGTH_MAX,
        description: 'The location of the event.',
      }),
    ),
    description: Type.Optional(
      Type.String({
        maxLength: DESCRIPTION_LENGTH_MAX,
        description: 'Plain text that calendars show with the event.',
      }),
    ),
    uid: Type.Optional(
      line({
        minLength: 1,
        maxLength: UID_LENGTH_MAX,
        description:
          'Identifies the event. For an update or a cancellation, use the uid of the first invitation; for a new event, it defaults to the providerMessageId without its angle brackets.',
      }),
    ),
    sequence: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: SEQUENCE_MAX,
        description:
          'The version of the event: 0 for a new one (the default), and one more for each update and for the cancellation.',
      }),
    ),
    method: Type.Optional(
      oneOf(
        sentInviteMethods,
        'Whether the event is planned or changed (request, the default) or cancelled (cancel, which needs uid).',
      ),
    ),
  },
  {
    additionalProperties: false,
    description:
      'Makes the message an invitation: the inbox is the organizer, recipients in to are required attendees, and recipients in cc are optional attendees. Hidden recipients receive the message but are not attendees.',
  },
)
export type InviteToSend = Static<typeof InviteToSend>

export const AnswerInvite = Type.Object(
  {
    response: oneOf(inviteResponses, 'The response.'),
    comment: Type.Optional(
      Type.String({
        maxLength: COMMENT_LENGTH_MAX,
        description: 'Plain text for the organizer.',
      }),
    ),
  },
  { additionalProperties: false, description: 'A response to an invitation.' },
)
