// Events of a running service as readers of the log see them: written without SMTP where there are many, and recorded
// in the order of delivery.

import type { Inbox } from '@mailroom/sdk'
import type { EventFilter } from '#events/model.ts'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import type { EventText } from '#streams/envelope.ts'
import { type EventStream, openEventStream } from '#streams/event-stream.ts'
import {
  arriving,
  type Owner,
  untilReadable as untilLogReadable,
} from '#test/conformance/open-database.ts'
import type { World } from '#test/world.ts'

export const EVERYTHING: EventFilter = { kinds: [], podIds: [], inboxIds: [], categories: [] }

export type Written = { eventId: string; messageId: string; threadId: string }

/** A message that arrives in the inbox, with the signal that follows a stored message. */
export async function receive(
  world: World,
  inbox: Pick<Inbox, 'id' | 'podId'>,
  fields: { from?: string; subject?: string; text?: string; accountId?: string } = {},
): Promise<Written> {
  const owner: Owner = { accountId: fields.accountId ?? world.accountId, podId: inbox.podId }
  const input = arriving(owner, [inbox.id])
  const { content } = input
  if (fields.from !== undefined) content.from_addr = fields.from
  if (fields.subject !== undefined) content.subject = fields.subject
  if (fields.text !== undefined) content.body_text = fields.text
  await world.app.deps.db.write(storeReceived, input)
  world.app.deps.wakeEvents()
  const [receipt] = input.receipts
  if (receipt === undefined) throw new Error('Nobody received it.')
  return receipt
}

/** Several messages one after the other; returns the ids of their events. */
export async function receiveMany(
  world: World,
  inbox: Pick<Inbox, 'id' | 'podId'>,
  count: number,
): Promise<string[]> {
  const ids: string[] = []
  for (let done = 0; done < count; done++) ids.push((await receive(world, inbox)).eventId)
  return ids
}

/** Resolves when all committed events are readable. */
export function untilReadable({ app }: World): Promise<void> {
  return untilLogReadable(app.deps.db)
}

export type Reader = {
  readonly stream: EventStream
  /** The ids of the delivered events, in order. */
  readonly told: string[]
  readonly texts: EventText[]
  /** How many it takes before it pauses; `resume` of the stream does not change it. */
  room: number
  subscribe(
    filter: Partial<EventFilter>,
    afterId?: string | null,
  ): ReturnType<EventStream['subscribe']>
  /** Resolves when this many events were delivered. */
  until(count: number): Promise<void>
}

/** A connection of a reader of events of the account. */
export function openReader(world: World, accountId = world.accountId): Reader {
  const texts: EventText[] = []
  const told: string[] = []
  let onTold = () => {}
  const reader: Reader = {
    stream: openEventStream(world.app.deps, {
      accountId,
      sink: {
        write(text) {
          texts.push(text)
          told.push(text.event.id)
          onTold()
          return --reader.room > 0
        },
      },
    }),
    texts,
    told,
    room: Number.POSITIVE_INFINITY,
    subscribe: (filter, afterId = null) =>
      reader.stream.subscribe({
        filter: { ...EVERYTHING, ...filter },
        afterId,
        onAccepted: () => {},
      }),
    until: (count) =>
      new Promise((resolve) => {
        onTold = () => {
          if (told.length >= count) resolve()
        }
        onTold()
      }),
  }
  return reader
}
