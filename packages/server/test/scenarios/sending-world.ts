// A service that sends mail, with a DNS server and a receiving mail server of its own, and common steps of the tests
// of sending.

import assert from 'node:assert/strict'
import type {
  Delivery,
  Inbox,
  Mailroom,
  MailToReceive,
  Message,
  MessageToSend,
} from '@mailroom/sdk'
import {
  type Mta,
  type MtaMessage,
  type MtaScript,
  mtaTls,
  openMta,
} from '@mailroom/smtp/test/peers/mta.ts'
import PostalMime, { type Email } from 'postal-mime'
import { openDeliveryQueue } from '#delivery/delivery-queue.ts'
import type { Engine } from '#platform/db/db.ts'
import { type Dns, openDns, type Zone } from '#test/peers/dns.ts'
import { openTenantOf, openWorld, type World, type WorldOptions } from '#test/world.ts'

export type SendingWorld = World & { readonly dns: Dns; readonly mta: Mta }

/** `friend.example` has an MX that leads to the receiving server. */
const ZONE: Zone = {
  'friend.example': { MX: [{ exchange: 'mx.friend.example', preference: 10 }] },
  'mx.friend.example': { A: ['127.0.0.1'] },
}

/** A service that sends directly, and the peers it sends to; close it in `after`. */
export async function openSendingWorld(
  engine: Engine,
  options: WorldOptions & { script?: MtaScript } = {},
): Promise<SendingWorld> {
  const tls = await mtaTls()
  const [dns, mta] = await Promise.all([openDns({ ...ZONE }), openMta({ tls, ...options.script })])
  const env = {
    MAILROOM_DELIVERY: 'direct',
    MAILROOM_DNS_SERVERS: dns.server,
    MAILROOM_MX_PORT: String(mta.port),
    MAILROOM_ALLOW_PRIVATE_EGRESS: 'true',
    ...options.env,
  }
  const world = await openWorld(engine, { ...options, env })
  return {
    ...world,
    dns,
    mta,
    async close() {
      await world.close()
      await Promise.all([mta.close(), dns.close()])
    },
  }
}

/** A new account of a service that sends directly; its peers are those of a new service. */
export async function openSendingTenant(
  engine: Engine,
  script: MtaScript = {},
): Promise<SendingWorld> {
  const world = await openTenantOf(`sending ${engine}`, () => openSendingWorld(engine))
  const { mta, dns } = world
  mta.script = { tls: await mtaTls(), ...script }
  for (const list of [mta.transactions, mta.received, mta.commands]) list.length = 0
  for (const name of Object.keys(dns.zone)) delete dns.zone[name]
  Object.assign(dns.zone, structuredClone(ZONE))
  return world
}

export const PLAIN = {
  to: 'bob@friend.example',
  subject: 'A subject',
  body: 'A body.',
}

/** Sends, with the fields of PLAIN unless given. */
export function send(
  { client }: { client: Mailroom },
  inbox: Pick<Inbox, 'id'>,
  fields: Partial<MessageToSend> = {},
  idempotencyKey?: string,
) {
  const options = idempotencyKey === undefined ? {} : { idempotencyKey }
  return client.inboxes.send(inbox.id, { ...PLAIN, ...fields }, options)
}

const WAIT_MS_MAX = 60_000

/** Polls often at first, because most of these tests wait for one message after another. */
async function soon(isSo: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + WAIT_MS_MAX
  let pauseMs = 5
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) assert.fail('It did not come true in time.')
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    pauseMs = Math.min(2 * pauseMs, 40)
  }
}

/** The message once every recipient is settled. */
export async function settled(
  { client }: { client: Mailroom },
  { messageId }: { messageId: string },
): Promise<Message> {
  let message = await client.messages.get(messageId)
  await soon(async () => {
    message = await client.messages.get(messageId)
    return message.status !== 'pending'
  })
  return message
}

export async function deliveriesOf(
  { client }: { client: Mailroom },
  { messageId }: { messageId: string },
): Promise<readonly Delivery[]> {
  return (await client.messages.deliveries(messageId).page()).data
}

/** The only delivery of a message. */
export async function deliveryOf(
  world: { client: Mailroom },
  sent: { messageId: string },
): Promise<Delivery> {
  const [delivery, ...others] = await deliveriesOf(world, sent)
  assert.ok(delivery !== undefined && others.length === 0)
  return delivery
}

/** The only delivery once it has been attempted `count` times and the outcome is recorded. */
export async function attempted(
  world: { client: Mailroom },
  sent: { messageId: string },
  count: number,
): Promise<Delivery> {
  await soon(async () => {
    const delivery = await deliveryOf(world, sent)
    const isSettled = delivery.status !== 'queued'
    const isIdle = delivery.status !== 'deferred' || delivery.nextAttemptAt !== null
    return delivery.attempts >= count && isSettled && isIdle && !(await isLeased(world, delivery))
  })
  // It counts when it is claimed, so it may have been settled since it was read.
  return deliveryOf(world, sent)
}

async function isLeased(world: object, { id }: Delivery): Promise<boolean> {
  if (!('app' in world)) return false
  const { db } = (world as World).app.deps
  const row = await db.read
    .selectFrom('deliveries')
    .select('queue_state')
    .where('id', '=', id)
    .executeTakeFirst()
  return row?.queue_state === 'leased' || row?.queue_state === 'ready'
}

/** Moves the clock and wakes the queue. No attempt may be in progress meanwhile. */
export async function passTime(world: World, ms: number): Promise<void> {
  world.clock.advance(ms)
  await openDeliveryQueue(world.app.deps, 'a look').readyDue()
  world.app.deps.wakeDelivery()
}

/** The message that the receiving server accepted under this Message-ID, once it is there. */
export async function arrived(
  { mta }: SendingWorld,
  { providerMessageId }: { providerMessageId: string },
): Promise<MtaMessage> {
  const find = () =>
    mta.transactions.find(({ raw }) => fieldOf(raw, 'message-id') === providerMessageId)
  await soon(async () => find() !== undefined)
  const message = find()
  assert.ok(message !== undefined)
  return message
}

/** A message from an inbox of its own, to a recipient of its own, that the other server has accepted. */
export async function sendAccepted(world: SendingWorld, fields: Parameters<typeof send>[2] = {}) {
  const inbox = await world.inbox()
  const to = `bob.${inbox.id}@friend.example`
  const sent = await send(world, inbox, { to, ...fields })
  const { reversePath, raw } = await arrived(world, sent)
  await settled(world, sent)
  const mark = fieldOf(raw, 'x-loop') ?? ''
  return { inbox, sent, to, reversePath, mark, messageId: sent.providerMessageId }
}

/** Names of the fields in front of the first empty line, in lower case, in order. */
export function fieldNamesOf(raw: Buffer): string[] {
  return unfoldedHeader(raw).map((line) => line.slice(0, line.indexOf(':')).toLowerCase())
}

/** The unfolded value of a field; null where there is none. Fails where there are two. */
export function fieldOf(raw: Buffer, name: string): string | null {
  const prefix = `${name.toLowerCase()}:`
  const found = unfoldedHeader(raw).filter((line) => line.toLowerCase().startsWith(prefix))
  assert.ok(found.length <= 1, `${name} is there ${found.length} times`)
  return found[0]?.slice(prefix.length).trim() ?? null
}

function unfoldedHeader(raw: Buffer): string[] {
  const header = raw.subarray(0, raw.indexOf('\r\n\r\n')).toString('utf8')
  return header.replace(/\r\n(?=[ \t])/g, '').split('\r\n')
}

/** The message as another parser reads it. */
export function readMail(raw: Buffer): Promise<Email> {
  return PostalMime.parse(raw)
}

export type { MailToReceive }
