// Claims lock single threads, so workers do not wait for each other or for arriving mail.

import type { MessageCategory } from '@mailroom/contract/vocabulary.ts'
import { type SqlBool, sql } from 'kysely'
import { insertEvent } from '#events/store/append.ts'
import {
  applyChange,
  type LockedThread,
  lockThread,
  lockThreadAlone,
} from '#mailbox/threads/store/change-threads.ts'
import { hasFacet, type ThreadKey } from '#mailbox/threads/store/threads.ts'
import { presentTime } from '#platform/clock.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows, mayPassOver } from '#platform/db/dialect.ts'
import type { ReadDb, Row, Tx } from '#store/tables.ts'
import { CLAIM_LEFT_MS_MAX, isLive, mayChange } from './claim-token.ts'

type NewClaim = {
  readonly tokenHash: Uint8Array
  readonly eventId: string
  readonly expiredEventId: string
}

type Terms = { readonly owner: string; readonly leaseMs: number }

/** Leases run by the queue's clock (`queueMs`); `nowMs` is the wall clock. */
type Now = { readonly queueMs: number; readonly nowMs: number }

export type MadeClaim = {
  threadId: string
  inboxId: string
  owner: string
  fence: number
  expiresAtMs: number
}

export const claimThread = transaction({
  name: 'claimThread',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: ThreadKey & Terms & Now & NewClaim,
  ): Promise<
    | { kind: 'claimed'; claim: MadeClaim }
    | { kind: 'taken'; expiresAtMs: number }
    | { kind: 'not_found' }
    | { kind: 'trashed' }
  > {
    const locked = await lockThreadAlone(tx, input)
    if (locked === null) return { kind: 'not_found' }
    const { thread } = locked
    if (thread.trashed_at !== null) return { kind: 'trashed' }
    if (isLive(thread.claim_until, input.queueMs)) {
      return { kind: 'taken', expiresAtMs: thread.claim_expires_at ?? input.nowMs }
    }
    return { kind: 'claimed', claim: await writeClaim(tx, locked, { ...input, claim: input }) }
  },
})

/** The caller must have locked the thread and checked that it is not claimed. */
async function writeClaim(
  tx: Tx,
  locked: LockedThread,
  { owner, leaseMs, queueMs, nowMs, claim }: Terms & Now & { claim: NewClaim },
): Promise<MadeClaim> {
  const { thread } = locked
  await emitExpired(tx, locked, { eventId: claim.expiredEventId, nowMs })
  const fence = thread.claim_fence + 1
  const expiresAtMs = nowMs + leaseMs
  await tx.query
    .updateTable('threads')
    .set({
      claim_owner: owner,
      claim_token_hash: claim.tokenHash,
      claim_fence: fence,
      claim_lease_ms: leaseMs,
      claim_until: queueMs + leaseMs,
      claim_expires_at: expiresAtMs,
    })
    .where('id', '=', thread.id)
    .execute()
  const made = { threadId: thread.id, inboxId: thread.inbox_id, owner, fence, expiresAtMs }
  await emit(tx, locked, { kind: 'thread.claimed', eventId: claim.eventId, nowMs, made })
  return made
}

async function emitExpired(
  tx: Tx,
  locked: LockedThread,
  { eventId, nowMs }: { eventId: string; nowMs: number },
): Promise<void> {
  const made = claimIn(locked.thread)
  if (made === null) return
  await emit(tx, locked, { kind: 'thread.released', eventId, nowMs, made, reason: 'expired' })
}

function claimIn(thread: Row<'threads'>): MadeClaim | null {
  const { id, inbox_id, claim_owner: owner, claim_expires_at: expiresAtMs } = thread
  if (owner === null || expiresAtMs === null) return null
  return { threadId: id, inboxId: inbox_id, owner, fence: thread.claim_fence, expiresAtMs }
}

async function emit(
  tx: Tx,
  { thread, podId }: LockedThread,
  {
    kind,
    eventId,
    nowMs,
    made: { owner, fence, expiresAtMs },
    reason,
  }: {
    kind: 'thread.claimed' | 'thread.released'
    eventId: string
    nowMs: number
    made: MadeClaim
    reason?: 'released' | 'expired'
  },
): Promise<void> {
  const claim = { owner, fence, expires_at: presentTime(expiresAtMs), reason }
  await insertEvent(tx, {
    id: eventId,
    kind,
    account_id: thread.account_id,
    pod_id: podId,
    inbox_id: thread.inbox_id,
    thread_id: thread.id,
    message_id: null,
    occurred_at: nowMs,
    details: JSON.stringify({ claim }),
  })
}

type Held = ThreadKey & Now & { readonly tokenHash: Uint8Array | null }

type Kept<Value> = { kind: 'kept'; value: Value } | { kind: 'not_found' } | { kind: 'lease_lost' }

export const renewClaim = transaction({
  name: 'renewClaim',
  accountOf: ({ accountId }) => accountId,
  async run(tx: Tx, input: Held & { leaseMs: number | null }): Promise<Kept<MadeClaim>> {
    const locked = await lockThreadAlone(tx, input)
    if (locked === null) return { kind: 'not_found' }
    const made = claimIn(locked.thread)
    if (made === null || !holds(locked, input)) return { kind: 'lease_lost' }
    const leaseMs = input.leaseMs ?? locked.thread.claim_lease_ms ?? 0
    const expiresAtMs = input.nowMs + leaseMs
    await tx.query
      .updateTable('threads')
      .set({
        claim_lease_ms: leaseMs,
        claim_until: input.queueMs + leaseMs,
        claim_expires_at: expiresAtMs,
      })
      .where('id', '=', input.threadId)
      .execute()
    return { kind: 'kept', value: { ...made, expiresAtMs } }
  },
})

export const releaseClaim = transaction({
  name: 'releaseClaim',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: Held & { isRead: boolean | null; eventId: string; changeEventId: string },
  ): Promise<Kept<null>> {
    const { isRead, nowMs, changeEventId } = input
    const locked = await (isRead === null ? lockThreadAlone : lockThread)(tx, input)
    if (locked === null) return { kind: 'not_found' }
    if (!holds(locked, input)) return { kind: 'lease_lost' }
    if (isRead !== null) {
      await applyChange(tx, locked, { change: { isRead }, eventId: changeEventId, nowMs })
    }
    await endClaim(tx, locked, { eventId: input.eventId, nowMs, reason: 'released' })
    return { kind: 'kept', value: null }
  },
})

/** Unlike `mayChange`, this check requires a token. */
function holds({ thread }: LockedThread, { tokenHash, queueMs }: Held): boolean {
  return tokenHash !== null && mayChange(thread, { tokenHash, queueMs })
}

async function endClaim(
  tx: Tx,
  locked: LockedThread,
  { eventId, nowMs, reason }: { eventId: string; nowMs: number; reason: 'released' | 'expired' },
): Promise<void> {
  const made = claimIn(locked.thread)
  await tx.query
    .updateTable('threads')
    .set({
      claim_owner: null,
      claim_token_hash: null,
      claim_lease_ms: null,
      claim_until: null,
      claim_expires_at: null,
    })
    .where('id', '=', locked.thread.id)
    .execute()
  if (made === null) return
  await emit(tx, locked, { kind: 'thread.released', eventId, nowMs, made, reason })
}

type ClaimFilter = {
  readonly category: MessageCategory | null
  /** Only threads with all of these facets match. */
  readonly facets: readonly string[]
}

/** A request claims at most one thread for each entry of `claims`. */
export type ClaimRequest = Terms & ClaimFilter & { readonly claims: readonly NewClaim[] }

export type ClaimedBatch = {
  /** Each request has one list. Its claims use the first entries of `claims`. */
  made: MadeClaim[][]
  /** Milliseconds until the next lease or snooze ends, or null if there is none. */
  moreInMs: number | null
}

/** Claims the oldest unread threads. On PostgreSQL, threads locked elsewhere are skipped. */
export const claimOldest = transaction({
  name: 'claimOldest',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: { accountId: string; inboxId: string; requests: readonly ClaimRequest[] } & Now,
  ): Promise<ClaimedBatch | null> {
    const { inboxId, queueMs, nowMs } = input
    const inbox = await tx.query
      .selectFrom('inboxes')
      .select('pod_id')
      .where('id', '=', inboxId)
      .where('account_id', '=', input.accountId)
      .executeTakeFirst()
    if (inbox === undefined) return null
    const made: MadeClaim[][] = []
    let isAnyHeld = false
    const exhausted = new Set<string>()
    for (const { owner, leaseMs, claims, ...filter } of input.requests) {
      const key = JSON.stringify(filter)
      const own: MadeClaim[] = []
      made.push(own)
      if (exhausted.has(key)) continue
      const threads = await lockOldest(tx, { ...input, filter, limit: claims.length })
      if (threads.length < claims.length) exhausted.add(key)
      for (const [index, thread] of threads.entries()) {
        const claim = claims[index]
        if (claim === undefined) break
        const locked = { thread, podId: inbox.pod_id }
        own.push(await writeClaim(tx, locked, { owner, leaseMs, queueMs, nowMs, claim }))
      }
      if (exhausted.has(key) && mayPassOver(tx)) {
        const held = await selectOldest(tx, { ...input, filter, limit: 1 }).executeTakeFirst()
        if (held !== undefined) isAnyHeld = true
      }
    }
    return { made, moreInMs: isAnyHeld ? HELD_RETRY_MS : await findMoreIn(tx, input) }
  },
})

/** Skipped threads are tried again after this time, as the other transaction may not claim them. */
const HELD_RETRY_MS = 20

type Oldest = { inboxId: string; filter: ClaimFilter; limit: number } & Now

function lockOldest(tx: Tx, oldest: Oldest): Promise<Row<'threads'>[]> {
  return lockRows(tx, selectOldest(tx, oldest), { skipLocked: true }).execute()
}

function selectOldest(tx: Tx, { inboxId, queueMs, nowMs, filter, limit }: Oldest) {
  let query = tx.query
    .selectFrom('threads')
    .selectAll()
    .where('inbox_id', '=', inboxId)
    .where('is_read', '=', 0)
    .where('trashed_at', 'is', null)
    .where(sql<SqlBool>`(snoozed_until is null or snoozed_until <= ${nowMs})`)
    .where(isUnclaimed(queueMs))
    .orderBy('last_message_at')
    .orderBy('id')
    .limit(limit)
  if (filter.category !== null) query = query.where('category', '=', filter.category)
  for (const facet of filter.facets) query = query.where(hasFacet(facet))
  return query
}

function isUnclaimed(queueMs: number) {
  return sql<SqlBool>`(claim_until is null or claim_until <= ${queueMs} or claim_until > ${queueMs + CLAIM_LEFT_MS_MAX})`
}

async function findMoreIn(
  tx: Tx,
  { inboxId, queueMs, nowMs }: { inboxId: string } & Now,
): Promise<number | null> {
  const findNext = async (column: 'claim_until' | 'snoozed_until', afterMs: number) => {
    const { next } = await tx.query
      .selectFrom('threads')
      .select(({ fn }) => fn.min<number | null>(column).as('next'))
      .where('inbox_id', '=', inboxId)
      .where(column, '>', afterMs)
      .executeTakeFirstOrThrow()
    return next === null ? Number.POSITIVE_INFINITY : next - afterMs
  }
  const claimMs = await findNext('claim_until', queueMs)
  const leftMs = Math.min(claimMs, await findNext('snoozed_until', nowMs))
  return Number.isFinite(leftMs) ? leftMs : null
}

export const EXPIRED_STEP = 100

export async function hasDueClaim(db: ReadDb, queueMs: number): Promise<boolean> {
  const row = await db.read
    .selectFrom('threads')
    .select('id')
    .where('claim_until', '<=', queueMs)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Ends expired claims, at most one for each given event id, and returns how many it ended. */
export const expireClaims = transaction({
  name: 'expireClaims',
  accountOf: () => null,
  async run(tx: Tx, input: { eventIds: readonly string[] } & Now): Promise<number> {
    const over = tx.query
      .selectFrom('threads')
      .selectAll()
      .where('claim_until', '<=', input.queueMs)
      .orderBy('claim_until')
      .limit(input.eventIds.length)
    const threads = await lockRows(tx, over, { skipLocked: true }).execute()
    if (threads.length === 0) return 0
    const inboxes = await tx.query
      .selectFrom('inboxes')
      .select(['id', 'pod_id'])
      .where('id', 'in', [...new Set(threads.map(({ inbox_id }) => inbox_id))])
      .execute()
    const podOf = new Map(inboxes.map(({ id, pod_id }) => [id, pod_id]))
    for (const [index, thread] of threads.entries()) {
      const eventId = input.eventIds[index] ?? ''
      const podId = podOf.get(thread.inbox_id)
      // No event is emitted if the inbox is deleted.
      const locked = {
        thread: podId === undefined ? withoutOwner(thread) : thread,
        podId: podId ?? '',
      }
      await endClaim(tx, locked, { eventId, nowMs: input.nowMs, reason: 'expired' })
    }
    return threads.length
  },
})

function withoutOwner(thread: Row<'threads'>): Row<'threads'> {
  return { ...thread, claim_owner: null }
}
