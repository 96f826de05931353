// Delivers mail to a running service and reads it over its API, in one step each.

import assert from 'node:assert/strict'
import type { Event, Inbox, Mailroom, Message } from '@mailroom/sdk'
import { sql } from 'kysely'
import type { Mail } from '#test/peers/sender.ts'
import { until } from '#test/scenarios/outcomes.ts'
import type { World } from '#test/world.ts'

/** Sends to the inbox, expects 250, and reads the newest message back. */
export async function deliver(
  world: World,
  inbox: Inbox,
  raw: Mail['raw'],
  from?: string,
): Promise<Message> {
  const mail = { to: inbox.address, raw, ...(from === undefined ? {} : { from }) }
  const reply = await world.send(mail)
  assert.equal(reply.code, 250, reply.lines.join(' '))
  return newest(world, inbox)
}

/** The newest message. */
export async function newest(world: World, inbox: Inbox): Promise<Message> {
  const { data } = await world.client.messages.list(inbox.id, { limit: 1 }).page()
  const [message] = data
  assert.ok(message !== undefined, 'the inbox is empty')
  return message
}

/** The newest message from this address, once there is one. */
export async function receivedFrom(
  { client }: { client: Mailroom },
  { id }: Pick<Inbox, 'id'>,
  from: string,
): Promise<Message> {
  const found: Message[] = []
  await until(async () => {
    found.push(...(await client.messages.list(id, { from, limit: 1 }).page()).data)
    return found.length > 0
  })
  return found[0] ?? assert.fail()
}

/** The events of the inbox, once there are this many: with PostgreSQL the log waits for older transactions. */
export async function eventsAbout(
  world: World,
  inboxId: string,
  count: number,
): Promise<readonly Event[]> {
  let events: readonly Event[] = []
  await until(async () => {
    events = (await world.client.events.list({ inbox_id: inboxId }).page()).data
    return events.length >= count
  })
  return events
}

/** The number of messages of the inbox. */
export async function countMessages(world: World, inbox: Inbox): Promise<number> {
  return (await world.client.messages.list(inbox.id, { limit: 1 }).page()).total
}

/** Rows of a table: of messages, threads and events the account's own, of jobs those of any account. */
export async function countRows(
  world: World,
  table: 'raw_messages' | 'messages' | 'threads' | 'events' | 'jobs' | 'postmaster_messages',
): Promise<number> {
  const count = world.app.deps.db.read.fn.countAll<number | string>().as('count')
  const rows = world.app.deps.db.read.selectFrom(table).select(count)
  const isOwned = table === 'messages' || table === 'threads' || table === 'events'
  const owned = isOwned ? rows.where(sql<boolean>`account_id = ${world.accountId}`) : rows
  const own = table === 'jobs' ? rows.where(sql<boolean>`account_id <> ''`) : owned
  return Number((await own.executeTakeFirst())?.count)
}

/** A reply as `code enhanced-code`, or the code alone. */
export function codesOf(reply: { code: number; lines: string[] }): string {
  const enhanced = /^\d\.\d+\.\d+/.exec(reply.lines[0] ?? '')?.[0] ?? ''
  return `${reply.code} ${enhanced}`.trim()
}
