// Operations that tell of events: the log, the stream of it, and a wait for the next message.

import { Type } from '#schema.ts'
import { Event } from '#shapes/event.ts'
import { Message } from '#shapes/message.ts'
import { COUNTED_MAX, countedListOf, pageProperties } from '#shapes/page.ts'
import { oneOf, text } from '#shapes/text.ts'
import { messageDirections } from '#vocabulary.ts'
import type { Operation } from './operation.ts'

const WAIT_SECONDS_MAX = 60
const WAIT_SECONDS_DEFAULT = 30

const filterProperties = {
  after: Type.Optional(
    text(
      'The event_id of an event: only what follows it, in the order that is asked for. Ids are time-ordered, so one that the log does not hold any more stands for its time.',
    ),
  ),
  event_types: Type.Optional(text('Only events of these types, separated by commas.')),
  inbox_id: Type.Optional(text('Only events of the inbox with this id.')),
}

export const eventOperations = {
  'events.list': {
    method: 'GET',
    path: '/v1/events',
    tag: 'Events',
    summary: 'Read the event log.',
    notes: `Events are kept for 30 days. To get the next page, pass the event_id of the last event as after; this works even if its inbox has been deleted since. A page with fewer events than limit is the last one, unless a filter skips the next million events. With order=desc the page begins at the newest event and after continues with older ones; new events do not shift the pages. total counts the events that follow after in this order, up to ${COUNTED_MAX} and, with a filter, among the next 20000 events.`,
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      limit: pageProperties.limit,
      order: Type.Optional(
        oneOf(
          ['asc', 'desc'],
          'Oldest first (asc, the default) or newest first (desc); after then goes on towards older events.',
        ),
      ),
      ...filterProperties,
    }),
    success: {
      status: 200,
      description: 'A page of events.',
      schema: countedListOf(Event, 'A page of events.'),
    },
    errors: [],
  },
  'events.stream': {
    method: 'GET',
    path: '/v1/events/stream',
    tag: 'Events',
    summary: 'Stream events as server-sent events.',
    notes:
      'Each has the event_id as its id, the kind as its event and the envelope as its data. After a break, Last-Event-ID (or after) goes on behind the event that it names without a gap or a repeat; without either only what happens from now on is told. A Last-Event-ID that the log does not hold stands for its time, one that is no event id for now; a comment line says so, as it does of unknown event_types among known ones. An account may have ten streams at once. One that takes in nothing for 30 seconds is cut.',
    auth: 'key',
    isRateLimited: true,
    query: Type.Object(filterProperties),
    success: {
      status: 200,
      description: 'Events, until either side ends the stream.',
      mediaType: 'text/event-stream',
      isEndless: true,
    },
    errors: [],
  },
  'inboxes.wait': {
    method: 'GET',
    path: '/v1/inboxes/{id}/wait',
    tag: 'Events',
    summary: 'Wait for a message.',
    notes:
      'Responds as soon as a message in the inbox matches, or with null when the timeout expires. Without after, only messages that arrive during the call match. With after, earlier messages behind it match too, oldest first, as far as the timeout allows searching them. With direction=outbound, a message matches once its outcome is known: pass the id of a sent message as after to wait for its outcome, and the event_id of that outcome to continue behind it. If the inbox is deleted meanwhile, the response is 404.',
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of an inbox.' },
    query: Type.Object({
      timeout: Type.Integer({
        minimum: 1,
        maximum: WAIT_SECONDS_MAX,
        default: WAIT_SECONDS_DEFAULT,
        description: 'Seconds to wait at most.',
      }),
      after: Type.Optional(
        text('Id of an event or a message: messages that came after it match too.'),
      ),
      from: Type.Optional(text('Only messages whose sender contains this text, ignoring case.')),
      subject: Type.Optional(
        text('Only messages whose subject contains this text, ignoring case.'),
      ),
      thread_id: Type.Optional(text('Only messages in the thread with this id.')),
      direction: Type.Optional(
        oneOf(
          messageDirections,
          'Received messages (inbound, the default), or sent messages once their outcome is known (outbound).',
        ),
      ),
    }),
    success: {
      status: 200,
      description: 'The first message that matched, or null.',
      schema: Type.Object({
        message: Type.Union([Message, Type.Null()], {
          description: 'The message; null when none matched in time.',
        }),
      }),
    },
    errors: [],
  },
} as const satisfies Record<string, Operation>
