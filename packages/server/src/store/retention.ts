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

/** Removes up to `PURGE_STEP_ROWS` of each kind of what is past its time. */
export async function purgeExpiredStep(tx: Tx, input: { nowMs: number }): Promise<PurgeStep> {
  const { nowMs } = input
  await tx.query
    .deleteFrom('released_addresses')
    .where('released_at', '<=', nowMs - RELEASED_ADDRESS_MS)
    .execute()
  await tx.query
    .deleteFrom('inbox_creations')
    .where('created_at', '<=', nowMs - DAY_MS)
    .execute()
  const events = await tx.query
    .selectFrom('events')
    .select(['sequence', 'occurred_at'])
    .orderBy('sequence')
    .limit(PURGE_STEP_ROWS)
    .execute()
  const old = events.filter((event) => event.occurred_at <= nowMs - EVENT_MS)
  if (old.length > 0) {
    const sequences = old.map((event) => event.sequence)
    await tx.query.deleteFrom('events').where('sequence', 'in', sequences).execute()
  }
  const mail = await tx.query
    .selectFrom('postmaster_messages')
    .select('raw_id')
    .where('created_at', '<=', nowMs - POSTMASTER_MAIL_MS)
    .orderBy('created_at')
    .limit(PURGE_STEP_ROWS)
    .execute()
  const isDone = old.length < PURGE_STEP_ROWS && mail.length < PURGE_STEP_ROWS
  if (mail.length === 0) return { isDone, blobIds: [] }
  const removed = await tx.query
    .deleteFrom('postmaster_messages')
    .where(
      'raw_id',
      'in',
      mail.map((message) => message.raw_id),
    )
    .returning('raw_id')
    .execute()
  const rawIds = removed.map((message) => message.raw_id)
  return { isDone, blobIds: await dropRawReferences(tx, rawIds) }
}
