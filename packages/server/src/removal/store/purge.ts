// Purges deleted inboxes and expired rows in small steps.

import { sql } from 'kysely'
import { purgeAudit } from '#accounts/store/audit.ts'
import { purgeDraftsOf } from '#drafts/store/drafts.ts'
import { EVENT_MS } from '#events/model.ts'
import { ERASED } from '#events/store/append.ts'
import {
  purgeQuarantined,
  purgeQuarantinedOf,
  QUARANTINE_MS,
} from '#inbound/quarantine/store/quarantined-mail.ts'
import { RELEASED_ADDRESS_MS } from '#inboxes/store/change-inboxes.ts'
import { removeAttachmentTexts } from '#mailbox/attachments/store/texts.ts'
import { purgeMentions } from '#mailbox/messages/store/mentions.ts'
import { dropRawReferences } from '#mailbox/messages/store/raw-messages.ts'
import { IDEMPOTENCY_MS } from '#outbound/send/store/idempotency-keys.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { DAY_MS } from '#platform/units.ts'
import { idsOf } from '#queue/leased-queue.ts'
import { keepReviews, purgeKeptReviews } from '#reviews/store/kept-reviews.ts'
import { endSearchInbox, removeFromSearch } from '#search/store/search-index.ts'
import { purgeMailFigures } from '#stats/store/stats.ts'
import { deleteInboxDays } from '#stats/store/usage.ts'
import { PURGE_STEP_ROWS, removeOldest } from '#store/purge-steps.ts'
import type { Tx } from '#store/tables.ts'
import { purgeDeliveriesOfEvents, purgeWebhookDeliveries } from '#webhooks/store/deliveries.ts'
import { deleteThreads, removeSent, uncountCaptured } from './remove-mail.ts'

const POSTMASTER_MAIL_MS = 30 * DAY_MS
/** Captured messages and counters of cold recipients are kept this long. */
export const CAPTURED_MS = 30 * DAY_MS

export type PurgeStep = { isDone: boolean; blobIds: string[] }

/** Removes up to `PURGE_STEP_ROWS` rows. Must be called until it is done. */
export const purgeInboxStep = transaction({
  name: 'purgeInboxStep',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, input: { inboxId: string; nowMs: number }): Promise<PurgeStep> {
    // Events are erased before the messages, so that no list has events of removed messages. Each
    // step does this, because events may be added until the messages are removed.
    if (await eraseEvents(tx, input.inboxId)) return { isDone: false, blobIds: [] }
    // Rows are locked in the same order as when deliveries are settled, to avoid deadlocks.
    const messages = await lockRows(
      tx,
      tx.query
        .selectFrom('messages')
        .select(['id', 'arrival', 'is_trashed'])
        .where('inbox_id', '=', input.inboxId)
        .orderBy('arrival')
        .limit(PURGE_STEP_ROWS),
    ).execute()
    if (messages.length > 0) {
      const ids = messages.map((message) => message.id)
      // Search does not contain messages in the trash.
      const listed = messages.filter(({ is_trashed }) => is_trashed === 0)
      const arrivals = listed.map(({ arrival }) => arrival)
      await removeFromSearch(tx, { inboxId: input.inboxId, arrivals })
      await keepReviews(tx, { messageIds: ids, nowMs: input.nowMs })
      await removeSent(tx, ids)
      await removeAttachmentTexts(tx, ids)
      // Another worker may remove the same rows; each drops the references of the rows it removed.
      const removed = await tx.query
        .deleteFrom('messages')
        .where('id', 'in', ids)
        .returning('raw_id')
        .execute()
      const rawIds = removed.map((message) => message.raw_id)
      return { isDone: false, blobIds: await dropRawReferences(tx, rawIds) }
    }
    const threads = await tx.query
      .selectFrom('threads')
      .select('id')
      .where('inbox_id', '=', input.inboxId)
      .limit(PURGE_STEP_ROWS)
      .execute()
    if (threads.length > 0) {
      await deleteThreads(
        tx,
        threads.map((thread) => thread.id),
      )
      return { isDone: false, blobIds: [] }
    }
    const quarantined = await purgeQuarantinedOf(tx, input.inboxId)
    if (quarantined.length > 0) {
      return { isDone: false, blobIds: await dropRawReferences(tx, quarantined) }
    }
    const drafts = await purgeDraftsOf(tx, input.inboxId)
    if (!drafts.isDone) {
      return { isDone: false, blobIds: await dropRawReferences(tx, drafts.rawIds) }
    }
    if (await removeNotes(tx, input.inboxId)) return { isDone: false, blobIds: [] }
    await endSearchInbox(tx, input.inboxId)
    return { isDone: true, blobIds: [] }
  },
})

/** Keeps the offsets, from which readers continue. Returns true if there were any events. */
async function eraseEvents(tx: Tx, inboxId: string): Promise<boolean> {
  const events = await tx.query
    .selectFrom('events')
    .select(['sequence', 'id'])
    .where('inbox_id', '=', inboxId)
    // The event contains nothing about the inbox's mail.
    .where('kind', '!=', 'inbox.expired')
    .limit(PURGE_STEP_ROWS)
    .execute()
  if (events.length === 0) return false
  const deliveries = await purgeDeliveriesOfEvents(tx, idsOf(events))
  if (deliveries === PURGE_STEP_ROWS) return true
  const sequences = events.map((event) => event.sequence).sort((a, b) => a - b)
  const nothing = {
    pod_id: null,
    inbox_id: null,
    thread_id: null,
    message_id: null,
    details: null,
    category: null,
  }
  await tx.query
    .updateTable('events')
    .set({ kind: ERASED, ...nothing })
    .where('sequence', 'in', sequences)
    .execute()
  return true
}

/** Tables with an index by inbox, each with the rest of its key. */
const NOTES = [
  ['correspondents', 'address_key'],
  ['written_to', 'address_key'],
  ['waiting_sends', 'message_id'],
  ['thread_facets', 'facet'],
  ['message_labels', 'label'],
] as const

/** Removes reviews, pending sends and rows for limits. Returns true if there were any. */
async function removeNotes(tx: Tx, inboxId: string): Promise<boolean> {
  for (const [table, key] of NOTES) {
    const { rows } = await sql`
      delete from ${sql.table(table)}
      where inbox_id = ${inboxId} and ${sql.ref(key)} in (
        select ${sql.ref(key)} from ${sql.table(table)} where inbox_id = ${inboxId} limit ${PURGE_STEP_ROWS}
      )
      returning inbox_id
    `.execute(tx.query)
    if (rows.length > 0) return true
  }
  const { rows: reviews } = await sql`
    delete from reviews where id in (
      select id from reviews where inbox_id = ${inboxId} and kept_until is null limit ${PURGE_STEP_ROWS}
    ) returning id
  `.execute(tx.query)
  if (reviews.length > 0) return true
  // The sending limits bound the rows of these two tables.
  await tx.query.deleteFrom('inbox_sends').where('inbox_id', '=', inboxId).execute()
  await tx.query.deleteFrom('cold_recipients').where('inbox_id', '=', inboxId).execute()
  await deleteInboxDays(tx, inboxId)
  return false
}

/** Removes up to `PURGE_STEP_ROWS` expired rows of each kind. Must be called until it is done. */
export const purgeExpiredStep = transaction({
  name: 'purgeExpiredStep',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, input: { nowMs: number }): Promise<PurgeStep> {
    const { nowMs } = input
    // This comes first, as in transactions that add to an inbox, because of the lock order.
    const quarantined = await purgeQuarantined(tx, nowMs - QUARANTINE_MS)
    const addresses = await removeOldest(tx, 'released_addresses', {
      key: ['address'],
      time: 'released_at',
      until: nowMs - RELEASED_ADDRESS_MS,
      // Another deletion may release the address again before this commits.
      isRenewed: true,
      returning: 'address',
    })
    const creations = await removeOldest(tx, 'inbox_creations', {
      key: ['account_id', 'created_at', 'inbox_id'],
      time: 'created_at',
      until: nowMs - DAY_MS,
      returning: 'inbox_id',
    })
    // Events are removed by time, because their times and sequence differ while a clock is wrong.
    const events = await removeOldest(tx, 'events', {
      key: ['sequence'],
      time: 'occurred_at',
      until: nowMs - EVENT_MS,
      returning: 'sequence',
    })
    const keys = await removeOldest(tx, 'idempotency_keys', {
      key: ['account_id', 'idempotency_key'],
      time: 'created_at',
      until: nowMs - IDEMPOTENCY_MS,
      // Another send may use the key again before this commits.
      isRenewed: true,
      returning: 'account_id',
    })
    const strangers = await purgeColdDays(tx, Math.floor(nowMs / DAY_MS) - 1)
    const captured = await purgeCaptured(tx, nowMs - CAPTURED_MS)
    const webhooks = await purgeWebhookDeliveries(tx, nowMs)
    const postmaster = await removeOldest(tx, 'postmaster_messages', {
      key: ['raw_id'],
      time: 'created_at',
      until: nowMs - POSTMASTER_MAIL_MS,
      returning: 'raw_id',
    })
    const sessions = await removeOldest(tx, 'ended_sessions', {
      key: ['id'],
      time: 'expires_at',
      until: nowMs,
      returning: 'id',
    })
    const pairings = await removeOldest(tx, 'pairings', {
      key: ['request_hash'],
      time: 'expires_at',
      until: nowMs,
      returning: 'user_code',
    })
    const removed = await purgeRemoved(tx, nowMs - EVENT_MS)
    const hours = await purgeMailFigures(tx, nowMs)
    const audit = await purgeAudit(tx, nowMs)
    const mentions = await purgeMentions(tx, nowMs)
    const reviews = await purgeKeptReviews(tx, nowMs)
    const rows = [quarantined, addresses, creations, events, keys, strangers, captured]
    const counts = [...rows, postmaster, sessions, pairings, removed].map(({ length }) => length)
    counts.push(webhooks, hours, audit, mentions, reviews)
    return {
      isDone: counts.every((count) => count < PURGE_STEP_ROWS),
      blobIds: await dropRawReferences(tx, [...quarantined, ...postmaster]),
    }
  },
})

/** Kept as long as events, because a wait may continue after a removed message. */
function purgeRemoved(tx: Tx, until: number): Promise<string[]> {
  return removeOldest(tx, 'removed_messages', {
    key: ['id'],
    time: 'removed_at',
    until,
    returning: 'id',
  })
}

async function purgeColdDays(tx: Tx, day: number): Promise<string[]> {
  const removed = await removeOldest(tx, 'cold_recipients', {
    key: ['inbox_id', 'utc_day', 'address_key'],
    time: 'utc_day',
    until: day - 1,
    returning: 'inbox_id',
  })
  await tx.query.deleteFrom('account_cold_days').where('utc_day', '<', day).execute()
  return removed
}

async function purgeCaptured(tx: Tx, until: number): Promise<string[]> {
  const accountIds = await removeOldest(tx, 'captured_messages', {
    key: ['id'],
    time: 'created_at',
    until,
    returning: 'account_id',
  })
  await uncountCaptured(tx, accountIds)
  return accountIds
}
