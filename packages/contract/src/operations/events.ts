// Operations on events: the log, its stream, and the wait for a message.

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
      'The event_id of an event: returns only events after it, in the requested order. Ids are time-ordered, so an event that is no longer in the log still marks its place.',
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
          'Oldest first (asc, the default) or newest first (desc). With desc, after continues with older events.',
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
      'Each server-sent event has the event_id as its id, the event type as its event and the event as its data. After a disconnect, Last-Event-ID (or after) resumes behind that event without gaps or repeats; without either, the stream begins with new events. If the event is no longer in the log, the stream resumes at its time; if Last-Event-ID is not an event id, the stream begins with new events. A comment line reports both cases, and unknown event_types, which are ignored if others are known. An account may have ten streams at once. A stream whose client reads nothing for 30 seconds is closed.',
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
      'Responds as soon as a message in the inbox matches, or with null when the timeout expires. Without after, only messages that arrive during the call match. With after, earlier messages behind it match too, oldest first, as far back as the timeout allows. With direction=outbound, a message matches once its outcome is known: pass the id of a sent message as after to wait for its outcome, and the event_id of that outcome to continue behind it. If the inbox is deleted meanwhile, the response is 404.',
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
