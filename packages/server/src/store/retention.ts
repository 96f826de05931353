// What is removed in small steps: the mail of deleted inboxes, and what has outlived its time.

import {
  DAY_MS,
  EVENT_MS,
  POSTMASTER_MAIL_MS,
  PURGE_STEP_ROWS,
  RELEASED_ADDRESS_MS,
} from '#base/limits.ts'
import { dropRawReferences } from './raw-message.ts'
import type { Tx } from './tables.ts'

export type PurgeStep = { isDone: boolean; blobIds: string[] }

/** Removes up to `PURGE_STEP_ROWS` rows of what a deleted inbox left; call until it is done. */
export async function purgeInboxStep(tx: Tx, input: { inboxId: string }): Promise<PurgeStep> {
  const messages = await tx.query
    .selectFrom('messages')
    .select('id')
    .where('inbox_id', '=', input.inboxId)
    .orderBy('position')
    .limit(PURGE_STEP_ROWS)
    .execute()
  if (messages.length > 0) {
    const ids = messages.map((message) => message.id)
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
  const events = await tx.query
    .selectFrom('events')
    .select('sequence')
    .where('inbox_id', '=', input.inboxId)
    .orderBy('sequence')
    .limit(PURGE_STEP_ROWS)
    .execute()
  if (events.length > 0) {
    const sequences = events.map((event) => event.sequence)
    await tx.query.deleteFrom('events').where('sequence', 'in', sequences).execute()
  }
  return { isDone: events.length < PURGE_STEP_ROWS, blobIds: [] }
}

/** Removes up to `PURGE_STEP_ROWS` of each kind of what is past its time; call until it is done. */
export async function purgeExpiredStep(tx: Tx, input: { nowMs: number }): Promise<PurgeStep> {
  const { nowMs } = input
  const addresses = await purgeAddresses(tx, nowMs - RELEASED_ADDRESS_MS)
  const creations = await purgeCreations(tx, nowMs - DAY_MS)
  const events = await purgeEvents(tx, nowMs - EVENT_MS)
  const rawIds = await purgePostmasterMail(tx, nowMs - POSTMASTER_MAIL_MS)
  return {
    isDone: [addresses, creations, events, rawIds.length].every((rows) => rows < PURGE_STEP_ROWS),
    blobIds: await dropRawReferences(tx, rawIds),
  }
}

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
