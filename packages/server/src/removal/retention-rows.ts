// What is removed in small steps: the mail of deleted inboxes, and what has outlived its time.

import { changeAccountCounters } from '#accounts/account-counters-rows.ts'
import { purgeEndedSessions } from '#accounts/ended-session-rows.ts'
import { IDEMPOTENCY_MS } from '#accounts/idempotency-key-rows.ts'
import { purgePairings } from '#accounts/pairing-rows.ts'
import { EVENT_MS } from '#events/event.ts'
import { ERASED } from '#events/event-rows.ts'
import { purgeQuarantined, purgeQuarantinedOf } from '#inbound/quarantine-rows.ts'
import { QUARANTINE_MS } from '#inbound/quarantined.ts'
import { RELEASED_ADDRESS_MS } from '#inboxes/change-inbox-rows.ts'
import { dropRawReferences } from '#mailbox/raw-message-rows.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { DAY_MS } from '#platform/units.ts'
import { idsOf } from '#queue/leased-queue-rows.ts'
import { PURGE_STEP_ROWS } from '#rate-limits/budget-rows.ts'
import type { Tx } from '#schema/tables.ts'
import { endSearchInbox, removeFromSearch } from '#search/search-removal-rows.ts'
import { purgeMailHours } from '#stats/mail-hours-rows.ts'
import { purgeDeliveriesOfEvents, purgeWebhookDeliveries } from '#webhooks/webhook-delivery-rows.ts'

const POSTMASTER_MAIL_MS = 30 * DAY_MS
/** How long a captured message is kept, and counters of strangers. */
export const CAPTURED_MS = 30 * DAY_MS

export type PurgeStep = { isDone: boolean; blobIds: string[] }

/** Removes up to `PURGE_STEP_ROWS` rows of what a deleted inbox left; call until it is done. */
export const purgeInboxStep = transaction({
  name: 'purgeInboxStep',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, input: { inboxId: string }): Promise<PurgeStep> {
    // Before what they tell of, so that no list of events is of messages that are gone already; and at
    // each step, for until its messages are gone some may still be added.
    if (await eraseEvents(tx, input.inboxId)) return { isDone: false, blobIds: [] }
    // Locked first, as by those who settle deliveries, so that the two never wait for each other.
    const messages = await lockRows(
      tx,
      tx.query
        .selectFrom('messages')
        .select(['id', 'position'])
        .where('inbox_id', '=', input.inboxId)
        .orderBy('position')
        .limit(PURGE_STEP_ROWS),
    ).execute()
    if (messages.length > 0) {
      const ids = messages.map((message) => message.id)
      const positions = messages.map((message) => message.position)
      await removeFromSearch(tx, { inboxId: input.inboxId, positions })
      await removeSent(tx, ids)
      // Another worker may remove the same rows: only what went here gives up its raw message.
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
      const ids = threads.map((thread) => thread.id)
      await tx.query.deleteFrom('threads').where('id', 'in', ids).execute()
      return { isDone: false, blobIds: [] }
    }
    const quarantined = await purgeQuarantinedOf(tx, input.inboxId)
    if (quarantined.length > 0) {
      return { isDone: false, blobIds: await dropRawReferences(tx, quarantined) }
    }
    if (await removeNotes(tx, input.inboxId)) return { isDone: false, blobIds: [] }
    await endSearchInbox(tx, input.inboxId)
    return { isDone: true, blobIds: [] }
  },
})

/**
 * Leaves of up to `PURGE_STEP_ROWS` events their places in the log, for readers who go on from there;
 * true if there were any.
 */
async function eraseEvents(tx: Tx, inboxId: string): Promise<boolean> {
  const events = await tx.query
    .selectFrom('events')
    .select(['sequence', 'id'])
    .where('inbox_id', '=', inboxId)
    .limit(PURGE_STEP_ROWS)
    .execute()
  if (events.length === 0) return false
  const told = await purgeDeliveriesOfEvents(tx, idsOf(events))
  if (told === PURGE_STEP_ROWS) return true
  const sequences = events.map((event) => event.sequence).sort((a, b) => a - b)
  const nothing = { pod_id: null, inbox_id: null, thread_id: null, message_id: null, details: null }
  await tx.query
    .updateTable('events')
    .set({ kind: ERASED, ...nothing })
    .where('sequence', 'in', sequences)
    .execute()
  return true
}

/** What hangs on messages that were sent: their deliveries, and what the sandbox captured. */
async function removeSent(tx: Tx, messageIds: string[]): Promise<void> {
  await tx.query.deleteFrom('deliveries').where('message_id', 'in', messageIds).execute()
  const captured = await tx.query
    .deleteFrom('captured_messages')
    .where('message_id', 'in', messageIds)
    .returning('account_id')
    .execute()
  await uncountCaptured(tx, captured)
}

/** What an inbox's limits go by: those who wrote to it, its sends, its strangers; true if any went. */
async function removeNotes(tx: Tx, inboxId: string): Promise<boolean> {
  const correspondents = await tx.query
    .deleteFrom('correspondents')
    .where('inbox_id', '=', inboxId)
    .where('address_key', 'in', (row) =>
      row
        .selectFrom('correspondents')
        .select('address_key')
        .where('inbox_id', '=', inboxId)
        .limit(PURGE_STEP_ROWS),
    )
    .returning('inbox_id')
    .execute()
  if (correspondents.length > 0) return true
  // These two are bounded by the limits themselves.
  await tx.query.deleteFrom('inbox_sends').where('inbox_id', '=', inboxId).execute()
  await tx.query.deleteFrom('cold_recipients').where('inbox_id', '=', inboxId).execute()
  return false
}

/** Removes up to `PURGE_STEP_ROWS` of each kind of what is past its time; call until it is done. */
export const purgeExpiredStep = transaction({
  name: 'purgeExpiredStep',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, input: { nowMs: number }): Promise<PurgeStep> {
    const { nowMs } = input
    // First, because it locks inboxes, as those do who add to them before they lock anything else.
    const quarantined = await purgeQuarantined(tx, nowMs - QUARANTINE_MS)
    const addresses = await purgeAddresses(tx, nowMs - RELEASED_ADDRESS_MS)
    const creations = await purgeCreations(tx, nowMs - DAY_MS)
    const events = await purgeEvents(tx, nowMs - EVENT_MS)
    const keys = await purgeIdempotencyKeys(tx, nowMs - IDEMPOTENCY_MS)
    const strangers = await purgeColdDays(tx, Math.floor(nowMs / DAY_MS) - 1)
    const captured = await purgeCaptured(tx, nowMs - CAPTURED_MS)
    const told = await purgeWebhookDeliveries(tx, nowMs)
    const postmaster = await purgePostmasterMail(tx, nowMs - POSTMASTER_MAIL_MS)
    const sessions = await purgeEndedSessions(tx, nowMs)
    const pairings = await purgePairings(tx, nowMs)
    const hours = await purgeMailHours(tx, nowMs)
    const counts = [addresses, creations, events, keys, strangers, captured, told]
    counts.push(quarantined.length, postmaster.length, sessions, pairings, hours)
    return {
      isDone: counts.every((rows) => rows < PURGE_STEP_ROWS),
      blobIds: await dropRawReferences(tx, [...quarantined, ...postmaster]),
    }
  },
})

async function purgeAddresses(tx: Tx, untilMs: number): Promise<number> {
  const removed = await tx.query
    .deleteFrom('released_addresses')
    .where('address', 'in', (address) =>
      address
        .selectFrom('released_addresses')
        .select('address')
        .where('released_at', '<=', untilMs)
        .orderBy('released_at')
        .limit(PURGE_STEP_ROWS),
    )
    // Meanwhile another deletion may have released it anew.
    .where('released_at', '<=', untilMs)
    .returning('address')
    .execute()
  return removed.length
}

async function purgeCreations(tx: Tx, untilMs: number): Promise<number> {
  const removed = await tx.query
    .deleteFrom('inbox_creations')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('account_id', 'created_at', 'inbox_id'),
        'in',
        selectFrom('inbox_creations')
          .select(['account_id', 'created_at', 'inbox_id'])
          .where('created_at', '<=', untilMs)
          .orderBy('created_at')
          .limit(PURGE_STEP_ROWS)
          .$asTuple('account_id', 'created_at', 'inbox_id'),
      ),
    )
    .returning('inbox_id')
    .execute()
  return removed.length
}

/** By their time and not by their sequence: while a clock is wrong, the two orders differ. */
async function purgeEvents(tx: Tx, untilMs: number): Promise<number> {
  const removed = await tx.query
    .deleteFrom('events')
    .where('sequence', 'in', (event) =>
      event
        .selectFrom('events')
        .select('sequence')
        .where('occurred_at', '<=', untilMs)
        .orderBy('occurred_at')
        .limit(PURGE_STEP_ROWS),
    )
    .returning('sequence')
    .execute()
  return removed.length
}

/** Returns the ids of the raw messages that were referred to. */
async function purgePostmasterMail(tx: Tx, untilMs: number): Promise<string[]> {
  const removed = await tx.query
    .deleteFrom('postmaster_messages')
    .where('raw_id', 'in', (message) =>
      message
        .selectFrom('postmaster_messages')
        .select('raw_id')
        .where('created_at', '<=', untilMs)
        .orderBy('created_at')
        .limit(PURGE_STEP_ROWS),
    )
    .returning('raw_id')
    .execute()
  return removed.map((message) => message.raw_id)
}

async function purgeIdempotencyKeys(tx: Tx, untilMs: number): Promise<number> {
  const removed = await tx.query
    .deleteFrom('idempotency_keys')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('account_id', 'idempotency_key'),
        'in',
        selectFrom('idempotency_keys')
          .select(['account_id', 'idempotency_key'])
          .where('created_at', '<=', untilMs)
          .orderBy('created_at')
          .limit(PURGE_STEP_ROWS)
          .$asTuple('account_id', 'idempotency_key'),
      ),
    )
    // Meanwhile another send may have taken the key anew.
    .where('created_at', '<=', untilMs)
    .returning('account_id')
    .execute()
  return removed.length
}

/** Strangers of days before `day`, and the totals of those days. */
async function purgeColdDays(tx: Tx, day: number): Promise<number> {
  const removed = await tx.query
    .deleteFrom('cold_recipients')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('inbox_id', 'utc_day', 'address_key'),
        'in',
        selectFrom('cold_recipients')
          .select(['inbox_id', 'utc_day', 'address_key'])
          .where('utc_day', '<', day)
          .orderBy('utc_day')
          .limit(PURGE_STEP_ROWS)
          .$asTuple('inbox_id', 'utc_day', 'address_key'),
      ),
    )
    .returning('inbox_id')
    .execute()
  await tx.query.deleteFrom('account_cold_days').where('utc_day', '<', day).execute()
  return removed.length
}

async function purgeCaptured(tx: Tx, untilMs: number): Promise<number> {
  const removed = await tx.query
    .deleteFrom('captured_messages')
    .where('id', 'in', (message) =>
      message
        .selectFrom('captured_messages')
        .select('id')
        .where('created_at', '<=', untilMs)
        .orderBy('created_at')
        .limit(PURGE_STEP_ROWS),
    )
    .returning('account_id')
    .execute()
  await uncountCaptured(tx, removed)
  return removed.length
}

async function uncountCaptured(tx: Tx, removed: { account_id: string }[]): Promise<void> {
  // In one order everywhere, so that two transactions never wait for each other's accounts.
  for (const accountId of [...new Set(removed.map((row) => row.account_id))].sort()) {
    const captured = -removed.filter((row) => row.account_id === accountId).length
    await changeAccountCounters(tx, accountId, { captured })
  }
}
