// The transactions of an erasure. Each removes some rows, counts them and renews the lease of the job, so that the job
// can begin again at any time.

import type { ErasureCounts } from '@mailroom/contract/erasures.ts'
import {
  type Actor,
  accountEntry,
  insertAudit,
  lockAccount,
  needsApprover,
  payerOfChange,
} from '#accounts/accounts-rows.ts'
import { ERASED } from '#events/events-rows.ts'
import { replaceAddress } from '#platform/address-text.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { MINUTE_MS } from '#platform/units.ts'
import { idsOf } from '#queue/leased-queue-rows.ts'
import { addFailure, type Failure, type Trouble, waitAfter } from '#queue/trouble.ts'
import { lockInbox, removeMessages } from '#removal/removal-rows.ts'
import type { ReadDb, Row, Tx } from '#schema/tables.ts'
import { purgeDeliveriesOfEvents } from '#webhooks/webhooks-rows.ts'

const LEASE_MS = MINUTE_MS
/** Erasures of an account that are not done. */
const OPEN_ERASURES_MAX = 5
/** Receipts of an account; the oldest go. */
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
  /** Attempts that failed; null for none, and once it is done. */
  trouble: Trouble | null
  /** When it is tried again; null unless it waits for that. */
  nextAttemptAtMs: number | null
  createdAtMs: number
  completedAtMs: number | null
}

function toErasure(row: Row<'erasures'>): ErasureRow {
  const { trouble = null, ...counts } = JSON.parse(row.counts) as Partial<ErasureCounts> & {
    trouble?: Trouble
  }
  return {
    id: row.id,
    accountId: row.account_id,
    status: row.status as ErasureRow['status'],
    addressKey: row.address_key,
    counts: { ...NOTHING_ERASED, ...counts },
    keepsAudit: row.keeps_audit === 1,
    trouble,
    nextAttemptAtMs: row.leased_by === null ? row.lease_until : null,
    createdAtMs: row.created_at,
    completedAtMs: row.completed_at,
  }
}

/** Adds an erasure; false when the account has OPEN_ERASURES_MAX that are not done. */
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
    // Locked, so that two requests at once do not exceed the limit.
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
        leased_by: null,
        lease_until: null,
        created_at: nowMs,
        completed_at: null,
      })
      .execute()
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

export async function findErasure(
  db: ReadDb,
  accountId: string,
  id: string,
): Promise<ErasureRow | null> {
  const row = await db.read
    .selectFrom('erasures')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row === undefined ? null : toErasure(row)
}

/** Whether one may be due; a read is cheap, a claim costs a commit. */
export async function hasDueErasure(db: ReadDb, nowMs: number): Promise<boolean> {
  const row = await db.read
    .selectFrom('erasures')
    .select('id')
    .where('completed_at', 'is', null)
    .where((one) => one.or([one('lease_until', 'is', null), one('lease_until', '<=', nowMs)]))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Leases the oldest due erasure, and with it the others of its account, unless one of them is being worked on. Empty for
 * none.
 */
export const claimErasures = transaction({
  name: 'claimErasures',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, input: { worker: string; nowMs: number }): Promise<ErasureRow[]> {
    const { worker, nowMs } = input
    const due = tx.query
      .selectFrom('erasures')
      .selectAll()
      .where('completed_at', 'is', null)
      .where((row) => row.or([row('lease_until', 'is', null), row('lease_until', '<=', nowMs)]))
      .orderBy('id')
    const ofFree = due.where((row) =>
      row.not(
        row.exists(
          row
            .selectFrom('erasures as other')
            .select('other.id')
            .whereRef('other.account_id', '=', 'erasures.account_id')
            .where('other.completed_at', 'is', null)
            // One that waits to be retried holds up no other.
            .where('other.leased_by', 'is not', null)
            .where('other.lease_until', '>', nowMs),
        ),
      ),
    )
    const first = await lockRows(tx, ofFree.limit(1), { skipLocked: true }).executeTakeFirst()
    if (first === undefined) return []
    const ofAccount = due.where('account_id', '=', first.account_id).limit(OPEN_ERASURES_MAX)
    const found = await lockRows(tx, ofAccount, { skipLocked: true }).execute()
    const leased = { status: 'running', leased_by: worker, lease_until: nowMs + LEASE_MS }
    await tx.query.updateTable('erasures').set(leased).where('id', 'in', idsOf(found)).execute()
    return found.map((row) => toErasure({ ...row, ...leased }))
  },
})

/** The column of the counts, with the trouble beside them. */
function countsColumn({ counts, trouble }: Pick<ErasureRow, 'counts' | 'trouble'>): string {
  return JSON.stringify(trouble === null ? counts : { ...counts, trouble })
}

/** Returns it to the queue, with `failure` to be tried again after a wait. It is never given up. */
export const returnErasure = transaction({
  name: 'returnErasure',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, { failure, ...held }: Held & { failure: Failure | null }): Promise<void> {
    const row = await lockHeld(tx, held)
    if (row === undefined) return
    const { counts, trouble: before } = toErasure(row)
    const trouble = failure === null ? before : addFailure(before, failure, held.nowMs)
    const waits = failure !== null && trouble !== null
    await tx.query
      .updateTable('erasures')
      .set({
        counts: countsColumn({ counts, trouble }),
        leased_by: null,
        lease_until: waits ? held.nowMs + waitAfter(trouble, failure) : null,
      })
      .where('id', '=', held.erasureId)
      .execute()
  },
})

/** Ends every lease; for the start of a process that is alone with its database. */
export const releaseErasures = transaction({
  name: 'releaseErasures',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, _input: object): Promise<void> {
    await tx.query
      .updateTable('erasures')
      .set({ leased_by: null, lease_until: null })
      .where('leased_by', 'is not', null)
      .execute()
  },
})

export type Held = { erasureId: string; worker: string; nowMs: number }

/** Counts what a step has removed and renews the lease; throws when another worker holds the job. */
async function note(tx: Tx, held: Held, added: Partial<ErasureCounts>): Promise<ErasureRow> {
  const erasure = await readHeld(tx, held)
  const counts = { ...erasure.counts }
  for (const name of Object.keys(added) as (keyof ErasureCounts)[]) {
    counts[name] += added[name] ?? 0
  }
  await tx.query
    .updateTable('erasures')
    .set({ counts: countsColumn({ ...erasure, counts }), lease_until: held.nowMs + LEASE_MS })
    .where('id', '=', held.erasureId)
    .execute()
  return { ...erasure, counts }
}

/** Locks it; throws when another worker holds it. */
async function readHeld(tx: Tx, held: Held): Promise<ErasureRow> {
  const row = await lockHeld(tx, held)
  if (row === undefined) throw new Error('Another worker holds the erasure.')
  return toErasure(row)
}

/** Undefined when another worker holds it. */
function lockHeld(tx: Tx, held: Held): Promise<Row<'erasures'> | undefined> {
  const selected = tx.query
    .selectFrom('erasures')
    .selectAll()
    .where('id', '=', held.erasureId)
    .where('leased_by', '=', held.worker)
  return lockRows(tx, selected).executeTakeFirst()
}

/** Removes messages of an inbox, whatever their state. Returns the blobs that nothing refers to any more. */
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
    // Another erasure or a request may have removed some since they were read.
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

/** Counts what other transactions have removed. */
export const noteErased = transaction({
  name: 'noteErased',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, { added, ...held }: Held & { added: Partial<ErasureCounts> }): Promise<void> {
    await note(tx, held, added)
  },
})

/** Ends the account's exports and imports, whose files may hold the address; their files expire at once. */
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
        leased_by: null,
        lease_until: null,
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
    // The names of files that could not be imported may be those of a Maildir of the address.
    await tx.query
      .updateTable('transfers')
      .set({ details: NO_DETAILS })
      .where('account_id', '=', accountId)
      .where('kind', '=', 'import')
      .execute()
    await note(tx, held, { files: ended.length })
  },
})

/** Of an export or an import that has ended. */
const NO_DETAILS = JSON.stringify({ inboxIds: [], at: null, handled: 0, failures: [] })

const EVENTS_STEP = 500
const QUARANTINED_IDS = /qua_[0-9a-z]{26}/g

export type EventsStep = Held & {
  after: number
  address: string
  /** Messages that were removed from this time on are gone for this erasure. */
  since: number
  /** Ids of messages in quarantine that will be removed. */
  quarantined: string[]
}

/**
 * Erases, of the next events of the account after `after`, those about removed messages and those that name the address.
 * Returns the last one that it read; null when there are no more.
 */
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

/** Removes notes of who wrote to whom. */
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
      // Removed, it would raise the limit that counts it.
      await tx.query
        .updateTable('cold_recipients')
        .set({ address_key: `\t${held.erasureId}` })
        .where('inbox_id', '=', inbox_id)
        .where('address_key', '=', address)
        .execute()
    }
    await note(tx, held, { correspondents })
  },
})

const ANSWERS_STEP = 500

/** Replaces the address in the next kept answers; null when there are no more. */
export const eraseAnswersStep = transaction({
  name: 'eraseAnswersStep',
  accountOf: () => null,
  erasing: true,
  async run(
    tx: Tx,
    { after, address, ...held }: Held & { after: string; address: string },
  ): Promise<string | null> {
    const { accountId } = await note(tx, held, {})
    const kept = await tx.query
      .selectFrom('idempotency_keys')
      .select(['idempotency_key', 'answer'])
      .where('account_id', '=', accountId)
      .where('idempotency_key', '>', after)
      .orderBy('idempotency_key')
      .limit(ANSWERS_STEP)
      .execute()
    let answers = 0
    for (const { idempotency_key, answer } of kept) {
      const without = replaceAddress(answer, address)
      if (without === null) continue
      answers += 1
      await tx.query
        .updateTable('idempotency_keys')
        .set({ answer: without })
        .where('account_id', '=', accountId)
        .where('idempotency_key', '=', idempotency_key)
        .execute()
    }
    await note(tx, held, { answers })
    return kept.at(-1)?.idempotency_key ?? null
  },
})

const AUDIT_STEP = 500

/**
 * Replaces the address in the next entries of the audit, by `replacement`, which is the same in all of them; null when
 * there are no more.
 */
export const eraseAuditStep = transaction({
  name: 'eraseAuditStep',
  accountOf: () => null,
  erasing: true,
  async run(
    tx: Tx,
    {
      after,
      address,
      replacement,
      ...held
    }: Held & { after: string; address: string; replacement: string },
  ): Promise<string | null> {
    const { accountId } = await note(tx, held, {})
    const entries = await tx.query
      .selectFrom('policy_audit')
      .select(['id', 'details'])
      .where('account_id', '=', accountId)
      .where('id', '>', after)
      .orderBy('id')
      .limit(AUDIT_STEP)
      .execute()
    let auditEntries = 0
    for (const { id, details } of entries) {
      const without = replaceAddress(details, address, replacement)
      if (without === null) continue
      auditEntries += 1
      await tx.query
        .updateTable('policy_audit')
        .set({ details: without })
        .where('id', '=', id)
        .execute()
    }
    await note(tx, held, { auditEntries })
    return entries.at(-1)?.id ?? null
  },
})

const REVIEWS_STEP = 100

/** Removes those of the next reviews that are kept of removed messages from or to the address; null when there are no more. */
export const eraseReviewsStep = transaction({
  name: 'eraseReviewsStep',
  accountOf: () => null,
  erasing: true,
  async run(
    tx: Tx,
    { after, address, ...held }: Held & { after: string; address: string },
  ): Promise<string | null> {
    const { accountId } = await note(tx, held, {})
    const kept = await tx.query
      .selectFrom('reviews')
      .select(['id', 'content'])
      .where('account_id', '=', accountId)
      .where('kept_until', 'is not', null)
      .where('id', '>', after)
      .orderBy('id')
      .limit(REVIEWS_STEP)
      .execute()
    const named = kept.filter(({ content }) => replaceAddress(content, address) !== null)
    if (named.length > 0) {
      await tx.query.deleteFrom('reviews').where('id', 'in', idsOf(named)).execute()
    }
    await note(tx, held, { reviews: named.length })
    return kept.at(-1)?.id ?? null
  },
})

/** Call once everything is removed: the row names the address no more. */
export const forgetErased = transaction({
  name: 'forgetErased',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, held: Held): Promise<void> {
    await note(tx, held, {})
    await tx.query
      .updateTable('erasures')
      .set({ address_key: null })
      .where('id', '=', held.erasureId)
      .execute()
  },
})

/** The receipt keeps counts alone. */
export const finishErasure = transaction({
  name: 'finishErasure',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, held: Held): Promise<void> {
    const { counts } = await note(tx, held, {})
    await tx.query
      .updateTable('erasures')
      .set({
        status: 'done',
        counts: countsColumn({ counts, trouble: null }),
        leased_by: null,
        lease_until: null,
        completed_at: held.nowMs,
      })
      .where('id', '=', held.erasureId)
      .execute()
  },
})
