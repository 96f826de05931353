// Mail that is held for an approver, and common steps of the tests of reviews.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import type { Inbox, Mailroom, MessageToSend, Review } from '@mailroom/sdk'
import { type AnyPlace, runSql } from '#test/peers/sql.ts'
import { PLAIN } from '#test/scenarios/sending-world.ts'
import type { World } from '#test/world.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

export type Held = { reviewId: string; messageId: string; threadId: string; digest: string }

type Holding = {
  client?: Mailroom
  /** Keeps its time, besides being held. */
  sendAt?: string
}

/** A send of PLAIN, with other fields where given, that is accepted and then held as a policy would. */
export async function holdSend(
  world: AnyPlace & { readonly client: Mailroom; readonly clock?: World['clock'] },
  inbox: Pick<Inbox, 'id' | 'address'>,
  fields: Partial<MessageToSend> = {},
  { client = world.client, sendAt }: Holding = {},
): Promise<Held> {
  const nowMs = world.clock?.now() ?? Date.now()
  const time = sendAt ?? new Date(nowMs + HOUR_MS).toISOString()
  const sent = await client.inboxes.send(inbox.id, { ...PLAIN, ...fields, sendAt: time })
  const { messageId, threadId } = sent
  const message = await client.messages.get(messageId)
  const envelope = {
    inboxId: inbox.id,
    from: message.fromAddr,
    to: message.to,
    cc: message.cc,
    bcc: message.bcc,
    replyTo: message.replyTo,
    threadId,
    inReplyTo: null,
    headers: fields.headers ?? {},
    attachments: (fields.attachments ?? []).map(({ filename, contentType, data }) => ({
      filename,
      contentType,
      contentId: null,
      sha256: hash('sha256', data instanceof Uint8Array ? data : Buffer.from(String(data))),
    })),
    sendAt: sendAt ?? null,
    unsubscribe: false,
    isAutomatic: false,
  }
  const { subject, bodyText, bodyHtml } = message
  const digest = digestOf({ ...envelope, subject, bodyText, bodyHtml })
  const reviewId = messageId.replace('msg_', 'hld_')
  const [row] = await runSql(
    world,
    `select account_id from waiting_sends where message_id = '${messageId}'`,
  )
  const reasons = JSON.stringify([{ guard: 'newRecipients', detail: 'Nobody <wrote> before.' }])
  const values = [
    ...[reviewId, String(row?.account_id), inbox.id, threadId, messageId, 'pending', reasons],
    ...[digest, JSON.stringify(envelope)],
  ].map((value) => `'${value.replaceAll("'", "''")}'`)
  const release = sendAt === undefined ? 'release_at = null,' : ''
  // The row that waits last: nothing releases it before.
  await runSql(
    world,
    `insert into reviews (id, account_id, inbox_id, thread_id, message_id, status, reasons, digest, content, expires_at, created_at)
     values (${values.join(', ')}, ${nowMs + 7 * DAY_MS}, ${nowMs})`,
  )
  await runSql(world, `insert into review_news values ('${reviewId}', ${values[1]}, ${nowMs})`)
  await runSql(
    world,
    `update waiting_sends set ${release} review_id = '${reviewId}' where message_id = '${messageId}'`,
  )
  return { reviewId, messageId, threadId, digest }
}

/** SHA-256 of the canonical JSON (RFC 8785) of plain texts, lists and objects, written apart from the service. */
export function digestOf(content: unknown): string {
  return `v2:${hash('sha256', JSON.stringify(sorted(content)))}`
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, one]): [string, unknown] => [name, sorted(one)])
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** The account's review, as its key sees it. */
export async function reviewOf(client: Mailroom, { reviewId }: Held): Promise<Review> {
  const whole = await client.reviews.get(reviewId)
  const { content, thread, display: _, versions, comments, ...review } = whole
  assert.deepEqual([versions, comments], [[], []])
  assert.equal(review.digest, digestOf(content))
  assert.ok(thread.data.some(({ id }) => id === review.messageId))
  return review
}
