// Each transaction requires the job's lease and counts what it removes, so the job can restart.

import type { ErasureCounts } from '@mailroom/contract/erasures.ts'
import { sql } from 'kysely'
import { lockAccount } from '#accounts/store/accounts.ts'
import type { Actor } from '#accounts/store/actor.ts'
import { accountEntry, insertAudit } from '#accounts/store/audit.ts'
import { needsApprover, payerOfChange } from '#accounts/store/authority.ts'
import { ERASED } from '#events/store/append.ts'
import { ERASED_ADDRESS, replaceAddress } from '#platform/address-text.ts'
import { transaction } from '#platform/db/db.ts'
import { type Held, holdJob, insertJobs, troubleOf } from '#queue/jobs.ts'
import { idsOf } from '#queue/leased-queue.ts'
import type { Trouble } from '#queue/trouble.ts'
import { lockInbox, removeMessages } from '#removal/store/remove-mail.ts'
import type { ReadDb, Row, Tx } from '#store/tables.ts'
import { purgeDeliveriesOfEvents } from '#webhooks/store/deliveries.ts'

export const OPEN_ERASURES_MAX = 5
/** The limit applies to each account; older receipts are removed. */
const RECEIPTS_MAX = 10_000

const NOTHING_ERASED: ErasureCounts = {
  messages: 0,
  quarantined: 0,
  drafts: 0,
  events: 0,
  correspondents: 0,
  answers: 0,
  auditEntries: 0,
  reviews: 0,
  files: 0,
}

export type ErasureRow = {
  id: string
  accountId: string
  status: 'queued' | 'running' | 'done'
  /** Null once everything is removed. */
  addressKey: string | null
  counts: ErasureCounts
  keepsAudit: boolean
  createdAtMs: number
  completedAtMs: number | null
}

function toErasure(row: Row<'erasures'>): ErasureRow {
  return {
    id: row.id,
    accountId: row.account_id,
    status: row.status as ErasureRow['status'],
    addressKey: row.address_key,
    counts: { ...NOTHING_ERASED, ...(JSON.parse(row.counts) as Partial<ErasureCounts>) },
    keepsAudit: row.keeps_audit === 1,
    createdAtMs: row.created_at,
    completedAtMs: row.completed_at,
  }
}

/** Returns false if the account has OPEN_ERASURES_MAX unfinished erasures. */
export const insertErasure = transaction({
  name: 'insertErasure',
  accountOf: payerOfChange,
  async run(
    tx: Tx,
    input: {
      id: string
      accountId: string
      addressKey: string
      actor: Actor
      auditId: string
      nowMs: number
    },
  ): Promise<boolean> {
    const { id, accountId, actor, nowMs } = input
    // The lock keeps concurrent requests from exceeding the limit.
    await lockAccount(tx, accountId)
    const open = await tx.query
      .selectFrom('erasures')
      .select('id')
      .where('account_id', '=', accountId)
      .where('completed_at', 'is', null)
      .limit(OPEN_ERASURES_MAX)
      .execute()
    if (open.length >= OPEN_ERASURES_MAX) return false
    const keeps_audit = (await needsApprover(tx, accountId, actor)) ? 1 : 0
    await insertAudit(tx, [
      accountEntry({
        id: input.auditId,
        accountId,
        decision: 'erasure',
        actor,
        details: { erasureId: id },
        createdAtMs: nowMs,
      }),
    ])
    await tx.query
      .insertInto('erasures')
      .values({
        id,
        account_id: accountId,
        status: 'queued',
        address_key: input.addressKey,
        counts: JSON.stringify(NOTHING_ERASED),
        keeps_audit,
        created_at: nowMs,
        completed_at: null,
      })
      .execute()
    const job = { kind: 'erasure', key: id, account_id: accountId, due_at: nowMs }
    await insertJobs(tx, [{ ...job, payload: null }])
    await forgetOldest(tx, accountId)
    return true
  },
})

async function forgetOldest(tx: Tx, accountId: string): Promise<void> {
  const oldest = await tx.query
    .selectFrom('erasures')
    .select('id')
    .where('account_id', '=', accountId)
    .orderBy('id', 'desc')
    .limit(1)
    .offset(RECEIPTS_MAX)
    .executeTakeFirst()
  if (oldest === undefined) return
  await tx.query
    .deleteFrom('erasures')
    .where('account_id', '=', accountId)
    .where('id', '<=', oldest.id)
    .where('completed_at', 'is not', null)
    .execute()
}

export type FoundErasure = ErasureRow & {
  /** Null if no attempt has failed, and once the erasure is done. */
  trouble: Trouble | null
  /** Null while the erasure runs. */
  nextAttemptAtMs: number | null
}

export async function findErasure(
  db: ReadDb,
  accountId: string,
  id: string,
): Promise<FoundErasure | null> {
  const row = await db.read
    .selectFrom('erasures')
    .leftJoin('jobs', (join) =>
      join.onRef('jobs.key', '=', 'erasures.id').on('jobs.kind', '=', 'erasure'),
    )
    .selectAll('erasures')
    .select(['jobs.trouble', 'jobs.leased_by', 'jobs.due_at'])
    .where('erasures.account_id', '=', accountId)
    .where('erasures.id', '=', id)
    .executeTakeFirst()
  if (row === undefined) return null
  const isWaiting = row.trouble !== null && row.leased_by === null
  return {
    ...toErasure(row),
    trouble: troubleOf(row),
    nextAttemptAtMs: isWaiting ? row.due_at : null,
  }
}

/** Throws if the lease is lost. */
async function note(tx: Tx, held: Held, added: Partial<ErasureCounts>): Promise<ErasureRow> {
  const erasure = await readHeld(tx, held)
  const counts = { ...erasure.counts }
  for (const name of Object.keys(added) as (keyof ErasureCounts)[]) {
    counts[name] += added[name] ?? 0
  }
  await change(tx, held, { status: 'running', counts: JSON.stringify(counts) })
  return { ...erasure, counts }
}

function change(tx: Tx, { key }: Held, fields: Partial<Row<'erasures'>>): Promise<unknown> {
  return tx.query.updateTable('erasures').set(fields).where('id', '=', key).execute()
}

async function readHeld(tx: Tx, held: Held): Promise<ErasureRow> {
  if ((await holdJob(tx, held)) === null)
    throw new Error('Another worker has the lease of the erasure.')
  const row = await tx.query
    .selectFrom('erasures')
    .selectAll()
    .where('id', '=', held.key)
    .executeTakeFirstOrThrow()
  return toErasure(row)
}

/** Removes messages in any status and returns unreferenced blobs. */
export const eraseMessages = transaction({
  name: 'eraseMessages',
  accountOf: () => null,
  erasing: true,
  async run(
    tx: Tx,
    { inboxId, ids, ...held }: Held & { inboxId: string; ids: string[] },
  ): Promise<string[]> {
    const { accountId, keepsAudit } = await readHeld(tx, held)
    const inbox = await lockInbox(tx, { accountId, inboxId })
    const left = await tx.query
      .selectFrom('messages')
      .select('id')
      .where('inbox_id', '=', inboxId)
      .where('id', 'in', ids)
      .execute()
    await note(tx, held, { messages: left.length })
    if (inbox === null) return []
    return removeMessages(tx, inbox, {
      ids: idsOf(left),
      nowMs: held.nowMs,
      isErasure: !keepsAudit,
    })
  },
})

export const noteErased = transaction({
  name: 'noteErased',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, { added, ...held }: Held & { added: Partial<ErasureCounts> }): Promise<void> {
    await note(tx, held, added)
  },
})

/** Ends exports, imports and uploads, because their files may contain the address. */
export const eraseFiles = transaction({
  name: 'eraseFiles',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, held: Held): Promise<void> {
    const { accountId } = await note(tx, held, {})
    const ended = await tx.query
      .updateTable('transfers')
      .set({
        status: 'failed',
        error: 'address_erased',
        details: NO_DETAILS,
        completed_at: held.nowMs,
        expires_at: held.nowMs,
      })
      .where('account_id', '=', accountId)
      .where((row) =>
        row.or([
          row('completed_at', 'is', null),
          row.and([row('kind', '=', 'export'), row('status', '=', 'done')]),
        ]),
      )
      .returning('id')
      .execute()
    const uploads = await tx.query
      .updateTable('uploads')
      .set({ expires_at: held.nowMs })
      .where('account_id', '=', accountId)
      .where('expires_at', '>', held.nowMs)
      .returning('id')
      .execute()
    // A failed import lists file names, which may contain the address.
    await tx.query
      .updateTable('transfers')
      .set({ details: NO_DETAILS })
      .where('account_id', '=', accountId)
      .where('kind', '=', 'import')
      .execute()
    await note(tx, held, { files: ended.length + uploads.length })
  },
})

const NO_DETAILS = JSON.stringify({ inboxIds: [], at: null, handled: 0, failures: [] })

const EVENTS_STEP = 500
const QUARANTINED_IDS = /qua_[0-9a-z]{26}/g

export type EventsStep = Held & {
  after: number
  address: string
  /** Events of messages that were removed after this time are erased. */
  since: number
  quarantined: string[]
}

/** Erases events about removed messages or that name the address. Returns null at the end. */
export const eraseEventsStep = transaction({
  name: 'eraseEventsStep',
  accountOf: () => null,
  erasing: true,
  async run(
    tx: Tx,
    { after, address, since, quarantined, ...held }: EventsStep,
  ): Promise<number | null> {
    const { accountId } = await note(tx, held, {})
    const events = await tx.query
      .selectFrom('events')
      .select(['sequence', 'id', 'message_id', 'details'])
      .where('account_id', '=', accountId)
      .where('kind', '!=', ERASED)
      .where('sequence', '>', after)
      .orderBy('sequence')
      .limit(EVENTS_STEP)
      .execute()
    const last = events.at(-1)
    if (last === undefined) return null
    const messageIds = events.flatMap(({ message_id }) => message_id ?? [])
    const gone = await tx.query
      .selectFrom('removed_messages')
      .select('id')
      .where('id', 'in', messageIds.length === 0 ? [''] : messageIds)
      .where('removed_at', '>=', since)
      .execute()
    const removed = new Set(gone.map(({ id }) => id))
    const kept = new Set(quarantined)
    const named = events.filter(
      ({ message_id, details }) =>
        removed.has(message_id ?? '') ||
        (details !== null &&
          (replaceAddress(details, address) !== null ||
            (details.match(QUARANTINED_IDS) ?? []).some((id) => kept.has(id)))),
    )
    for (;;) {
      if ((await purgeDeliveriesOfEvents(tx, idsOf(named))) === 0) break
    }
    if (named.length > 0) {
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
        .where(
          'sequence',
          'in',
          named.map(({ sequence }) => sequence),
        )
        .execute()
    }
    await note(tx, held, { events: named.length })
    return last.sequence
  },
})

export const eraseNotes = transaction({
  name: 'eraseNotes',
  accountOf: () => null,
  erasing: true,
  async run(
    tx: Tx,
    { address, inboxIds, ...held }: Held & { address: string; inboxIds: string[] },
  ): Promise<void> {
    await note(tx, held, {})
    let correspondents = 0
    for (const inbox_id of inboxIds) {
      for (const table of ['correspondents', 'written_to'] as const) {
        const removed = await tx.query
          .deleteFrom(table)
          .where('inbox_id', '=', inbox_id)
          .where('address_key', '=', address)
          .returning('inbox_id')
          .execute()
        correspondents += removed.length
      }
      // If the row were removed, the limit that counts it would allow more sends.
      await tx.query
        .updateTable('cold_recipients')
        .set({ address_key: `\t${held.key}` })
        .where('inbox_id', '=', inbox_id)
        .where('address_key', '=', address)
        .execute()
    }
    await note(tx, held, { correspondents })
  },
})

const TEXTS_STEP = 500

/** Tables with text that may contain the address. */
const TEXTS = {
  answers: { table: 'idempotency_keys', key: 'idempotency_key', text: 'answer', where: sql`` },
  auditEntries: { table: 'policy_audit', key: 'id', text: 'details', where: sql`` },
  // Only reviews of removed messages are listed; others are removed with their message.
  reviews: { table: 'reviews', key: 'id', text: 'content', where: sql`and kept_until is not null` },
  versions: { table: 'reviews', key: 'id', text: 'versions', where: sql`and versions <> '[]'` },
  comments: { table: 'reviews', key: 'id', text: 'comments', where: sql`and comments <> '[]'` },
} as const

export type TextsStep = Held & {
  of: keyof typeof TEXTS
  after: string
  address: string
  /** Null removes the rows that contain the address. */
  replacement: string | null
}

/** Returns null at the end. */
export const eraseTextsStep = transaction({
  name: 'eraseTextsStep',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, step: TextsStep): Promise<string | null> {
    const { of, after, address, replacement, ...held } = step
    const { accountId } = await readHeld(tx, held)
    const { where, ...names } = TEXTS[of]
    const [table, key, text] = [sql.table(names.table), sql.ref(names.key), sql.ref(names.text)]
    const { rows } = await sql<{ row_key: string; row_text: string }>`
      select ${key} as row_key, ${text} as row_text from ${table}
      where account_id = ${accountId} and ${key} > ${after} ${where}
      order by ${key} limit ${TEXTS_STEP}
    `.execute(tx.query)
    let erased = 0
    for (const { row_key, row_text } of rows) {
      const without = replaceAddress(row_text, address, replacement ?? ERASED_ADDRESS)
      if (without === null) continue
      erased += 1
      const row = sql`where account_id = ${accountId} and ${key} = ${row_key}`
      await (replacement === null
        ? sql`delete from ${table} ${row}`
        : sql`update ${table} set ${text} = ${without} ${row}`
      ).execute(tx.query)
    }
    const counted = of === 'versions' || of === 'comments' ? 'reviews' : of
    await note(tx, held, { [counted]: erased })
    return rows.at(-1)?.row_key ?? null
  },
})

/** Must be called once everything is removed. */
export const forgetErased = transaction({
  name: 'forgetErased',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, held: Held): Promise<void> {
    await readHeld(tx, held)
    await change(tx, held, { address_key: null })
  },
})

/** The receipt contains only counts. */
export const finishErasure = transaction({
  name: 'finishErasure',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, held: Held): Promise<void> {
    await readHeld(tx, held)
    await change(tx, held, { status: 'done', completed_at: held.nowMs })
  },
})
