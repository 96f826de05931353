// Exports and imports: their rows, their leases, and the pieces of their files.

import type {
  ExportFormat,
  ImportFormat,
  SkipReason,
  TransferError,
} from '@mailroom/contract/transfers.ts'
import type { ExpressionBuilder } from 'kysely'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { DAY_MS, MINUTE_MS } from '#platform/units.ts'
import { addFailure, type Failure, type Trouble, waitAfter } from '#queue/trouble.ts'
import type { NewRow, ReadDb, Row, Tables, Tx } from '#schema/tables.ts'
import { noteUnreferenced } from '#schema/unreferenced-blobs.ts'

/** How long the file of an export can be downloaded. */
const EXPORT_FILE_MS = 7 * DAY_MS
/** How long its row, or that of an import, is listed after that. */
const ROW_MS = 30 * DAY_MS
/** An upload of which no piece has come for so long has been broken off. */
const RECEIVING_MS = 15 * MINUTE_MS
/** How long a transfer stays leased to a worker that died. Every step renews it. */
export const TRANSFER_LEASE_MS = 60_000

/** Unfinished exports of an account, and unfinished imports. */
const OPEN_TRANSFERS_MAX = 5
/** Exports of an account whose file is kept; the next one replaces the oldest. */
const FINISHED_EXPORTS_MAX = 10
/** Exports of an account that are listed, and imports. */
const LISTED_TRANSFERS_MAX = 1_000

export type TransferKind = 'export' | 'import'
type TransferStatus = 'receiving' | 'queued' | 'running' | 'done' | 'failed' | 'expired'

/** Where an export goes on. `position` is the last one written of `inboxId`, `until` the last one to write. */
export type ExportDetails = {
  inboxIds: string[] | null
  at: { inboxId: string; position: number; until: number } | null
}

export type ImportFailure = { number: number; name: string | null; reason: string }

/** The first `handled` messages of the file are imported, known, skipped or failed. */
export type ImportDetails = {
  handled: number
  failures: ImportFailure[]
  skipped?: Partial<Record<SkipReason, number>>
  isRead: boolean
}

type Common = {
  id: string
  accountId: string
  podId: string | null
  status: TransferStatus
  done: number
  total: number
  sizeBytes: number
  error: TransferError | null
  /** Attempts that failed since the last step; null for none. */
  trouble: Trouble | null
  /** When it is tried again; null unless it waits for that. */
  nextAttemptAtMs: number | null
  createdAtMs: number
  completedAtMs: number | null
  expiresAtMs: number | null
}

export type ExportRow = Common & {
  kind: 'export'
  inboxId: string | null
  format: ExportFormat
  details: ExportDetails
}

export type ImportRow = Common & {
  kind: 'import'
  inboxId: string
  format: ImportFormat
  imported: number
  duplicates: number
  failed: number
  details: ImportDetails
}

export type Transfer = ExportRow | ImportRow

function toTransfer(row: Row<'transfers'>): Transfer {
  const { trouble = null, ...details } = detailsOf(row)
  const isWaiting = row.completed_at === null && row.leased_by === null
  const common = {
    id: row.id,
    accountId: row.account_id,
    podId: row.pod_id,
    status: row.status as TransferStatus,
    done: row.done_count,
    total: row.total_count,
    sizeBytes: row.size_bytes,
    error: row.error as TransferError | null,
    trouble,
    nextAttemptAtMs: isWaiting ? row.lease_until : null,
    createdAtMs: row.created_at,
    completedAtMs: row.completed_at,
    expiresAtMs: row.expires_at,
  }
  if (row.kind === 'export') {
    return {
      ...common,
      kind: 'export',
      inboxId: row.inbox_id,
      format: row.format as ExportFormat,
      details: details as ExportDetails,
    }
  }
  return {
    ...common,
    kind: 'import',
    inboxId: row.inbox_id ?? '',
    format: row.format as ImportFormat,
    imported: row.imported_count,
    duplicates: row.duplicate_count,
    failed: row.failed_count,
    details: details as ImportDetails,
  }
}

/** With the trouble since the last step, which the next step leaves out. */
function detailsOf({ details }: Pick<Row<'transfers'>, 'details'>) {
  return JSON.parse(details) as (ExportDetails | ImportDetails) & { trouble?: Trouble }
}

type NewTransfer = Pick<
  NewRow<'transfers'>,
  'id' | 'account_id' | 'kind' | 'pod_id' | 'inbox_id' | 'format' | 'total_count'
> & { details: ExportDetails | ImportDetails; nowMs: number }

/** Adds a transfer; false when the account has OPEN_TRANSFERS_MAX of its kind that are not finished. */
export const insertTransfer = transaction({
  name: 'insertTransfer',
  accountOf: ({ account_id }) => account_id,
  async run(tx: Tx, { details, nowMs, ...row }: NewTransfer): Promise<boolean> {
    // Locked, so that two requests at once do not exceed the limit.
    const account = tx.query.selectFrom('accounts').select('id').where('id', '=', row.account_id)
    await lockRows(tx, account).execute()
    const { open } = await tx.query
      .selectFrom('transfers')
      .select(({ fn }) => fn.countAll<number | string>().as('open'))
      .where('account_id', '=', row.account_id)
      .where('kind', '=', row.kind)
      .where('completed_at', 'is', null)
      .where((one) => one.or([one('status', '!=', 'receiving'), one('expires_at', '>', nowMs)]))
      .executeTakeFirstOrThrow()
    if (Number(open) >= OPEN_TRANSFERS_MAX) return false
    await forgetOldest(tx, row)
    const isFile = row.kind === 'import'
    await tx.query
      .insertInto('transfers')
      .values({
        ...row,
        details: JSON.stringify(details),
        status: isFile ? 'receiving' : 'queued',
        error: null,
        leased_by: null,
        lease_until: null,
        created_at: nowMs,
        completed_at: null,
        served_at: nowMs,
        expires_at: isFile ? nowMs + RECEIVING_MS : null,
      })
      .execute()
    return true
  },
})

/** Has rows past LISTED_TRANSFERS_MAX removed with what has expired. */
async function forgetOldest(
  tx: Tx,
  { account_id, kind }: Pick<NewTransfer, 'account_id' | 'kind'>,
): Promise<void> {
  const ended = tx.query
    .selectFrom('transfers')
    .select('id')
    .where('account_id', '=', account_id)
    .where('kind', '=', kind)
    .where('completed_at', 'is not', null)
    .orderBy('id', 'desc')
    .limit(1)
    .offset(LISTED_TRANSFERS_MAX - 1)
  const oldest = await ended.executeTakeFirst()
  if (oldest === undefined) return
  await tx.query
    .updateTable('transfers')
    .set({ expires_at: 0 })
    .where('account_id', '=', account_id)
    .where('kind', '=', kind)
    .where('completed_at', 'is not', null)
    .where('id', '<=', oldest.id)
    .execute()
}

/** A piece of a file; `content` is null when it is in the blob store under `id`. */
export type NewChunk = Omit<Row<'transfer_chunks'>, 'transfer_id'>

/** Adds the next piece of a file that arrives; false when the transfer is gone. */
export const addUploadedChunk = transaction({
  name: 'addUploadedChunk',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    {
      transferId,
      chunk,
      nowMs,
    }: { accountId: string; transferId: string; chunk: NewChunk; nowMs: number },
  ): Promise<boolean> {
    const changed = await tx.query
      .updateTable('transfers')
      .set((row) => ({
        size_bytes: row('size_bytes', '+', chunk.size_bytes),
        expires_at: nowMs + RECEIVING_MS,
      }))
      .where('id', '=', transferId)
      .where('status', '=', 'receiving')
      // Later, its first pieces may be removed already.
      .where('expires_at', '>', nowMs)
      .returning('id')
      .executeTakeFirst()
    if (changed === undefined) return false
    await insertChunks(tx, transferId, [chunk])
    return true
  },
})

/** The whole file has arrived. */
export const queueImport = transaction({
  name: 'queueImport',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: { accountId: string; transferId: string; format: ImportFormat; nowMs: number },
  ): Promise<Transfer | null> {
    const row = await tx.query
      .updateTable('transfers')
      .set((row) => ({
        status: 'queued',
        format: input.format,
        total_count: row.ref('size_bytes'),
        expires_at: null,
      }))
      .where('id', '=', input.transferId)
      .where('status', '=', 'receiving')
      .where('expires_at', '>', input.nowMs)
      .returningAll()
      .executeTakeFirst()
    return row === undefined ? null : toTransfer(row)
  },
})

async function insertChunks(
  tx: Tx,
  transferId: string,
  chunks: readonly NewChunk[],
): Promise<void> {
  for (const chunk of chunks) {
    await tx.query
      .insertInto('transfer_chunks')
      .values({ transfer_id: transferId, ...chunk })
      .execute()
  }
}

/**
 * Leases the transfer that no worker holds of the account that was served least recently, the oldest first, unless another
 * of its transfers is being worked on. Null for none.
 */
export const claimTransfer = transaction({
  name: 'claimTransfer',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, input: { worker: string; nowMs: number }): Promise<Transfer | null> {
    const due = tx.query
      .selectFrom('transfers')
      .selectAll()
      .where(isClaimable(input))
      .orderBy((row) =>
        row
          .selectFrom('transfers as own')
          .select(({ fn }) => fn.max('own.served_at').as('served_at'))
          .whereRef('own.account_id', '=', 'transfers.account_id')
          .where('own.completed_at', 'is', null),
      )
      .orderBy('id')
      .limit(1)
    const found = await lockRows(tx, due, { skipLocked: true }).executeTakeFirst()
    if (found === undefined) return null
    const lease = {
      status: 'running',
      leased_by: input.worker,
      lease_until: input.nowMs + TRANSFER_LEASE_MS,
    }
    await tx.query.updateTable('transfers').set(lease).where('id', '=', found.id).execute()
    return toTransfer({ ...found, ...lease })
  },
})

/** Due, and held by nobody, of an account none of whose other transfers is being worked on. */
function isClaimable({ nowMs }: { nowMs: number }) {
  return (row: ExpressionBuilder<Tables, 'transfers'>) =>
    row.and([
      row('completed_at', 'is', null),
      row('status', 'in', ['queued', 'running']),
      row.or([row('lease_until', 'is', null), row('lease_until', '<=', nowMs)]),
      row.not(
        row.exists(
          row
            .selectFrom('transfers as other')
            .select('other.id')
            .whereRef('other.account_id', '=', 'transfers.account_id')
            .where('other.completed_at', 'is', null)
            // One that waits to be retried holds up no other.
            .where('other.leased_by', 'is not', null)
            .where('other.lease_until', '>', nowMs),
        ),
      ),
    ])
}

/**
 * Whether there is a transfer to claim, with `exceptAccount` of another account. A read is cheap, a claim costs a commit.
 */
export async function hasDueTransfer(
  db: ReadDb,
  { nowMs, exceptAccount = '' }: { nowMs: number; exceptAccount?: string },
): Promise<boolean> {
  const row = await db.read
    .selectFrom('transfers')
    .select('id')
    .where(isClaimable({ nowMs }))
    .where('account_id', '!=', exceptAccount)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** A transfer and the worker that claims its lease. */
export type Held = { transferId: string; worker: string; nowMs: number }

/** Locks the transfer and renews its lease; null when `worker` does not hold it any more. */
export async function holdTransfer(
  tx: Tx,
  { transferId, worker, nowMs }: Held,
): Promise<Transfer | null> {
  const row = await tx.query
    .updateTable('transfers')
    .set({ lease_until: nowMs + TRANSFER_LEASE_MS })
    .where('id', '=', transferId)
    .where('leased_by', '=', worker)
    .where('status', '=', 'running')
    .returningAll()
    .executeTakeFirst()
  return row === undefined ? null : toTransfer(row)
}

/** False when another worker holds it. */
export const renewTransfer = transaction({
  name: 'renewTransfer',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, input: Held): Promise<boolean> {
    return (await holdTransfer(tx, input)) !== null
  },
})

/** Returns a transfer to the queue, behind those of accounts that wait. */
export const returnTransfer = transaction({
  name: 'returnTransfer',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, input: Held): Promise<void> {
    await tx.query
      .updateTable('transfers')
      .set({ leased_by: null, lease_until: null, served_at: input.nowMs })
      .where('id', '=', input.transferId)
      .where('leased_by', '=', input.worker)
      .execute()
  },
})

/**
 * Attempts that fail one after the other, without a step between them, before a transfer fails: over twenty minutes.
 * Passing trouble does not count.
 */
const FAULTS_MAX = 8

/** Returns a transfer whose attempt has failed to the queue, or ends it with `internal_error`; true then. */
export const failTransfer = transaction({
  name: 'failTransfer',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, { failure, ...held }: Held & { failure: Failure }): Promise<boolean> {
    const transfer = await holdTransfer(tx, held)
    if (transfer === null) return false
    const trouble = addFailure(transfer.trouble, failure, held.nowMs)
    const hasFailed = trouble.faults >= FAULTS_MAX
    await tx.query
      .updateTable('transfers')
      .set({
        details: JSON.stringify({ ...transfer.details, trouble }),
        leased_by: null,
        lease_until: hasFailed ? null : held.nowMs + waitAfter(trouble, failure),
        ...(hasFailed && failed('internal_error', held.nowMs)),
      })
      .where('id', '=', transfer.id)
      .execute()
    return hasFailed
  },
})

/** Nobody needs the file of what was imported, or a file that is not whole. */
function failed(error: TransferError, nowMs: number) {
  return { status: 'failed', error, completed_at: nowMs, expires_at: nowMs }
}

/** Ends every lease and every upload; for the start of a process that is alone with its database. */
export const releaseTransfers = transaction({
  name: 'releaseTransfers',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, _input: object): Promise<void> {
    await tx.query
      .updateTable('transfers')
      .set({ leased_by: null, lease_until: null })
      .where('leased_by', 'is not', null)
      .execute()
    await tx.query
      .updateTable('transfers')
      .set({ expires_at: 0 })
      .where('completed_at', 'is', null)
      .where('status', '=', 'receiving')
      .execute()
  },
})

type ExportStep = Held & {
  details: ExportDetails
  written: number
  chunks: NewChunk[]
}

/** Adds the pieces that a step has written, and notes where the next one begins; false when the lease is lost. */
export const addExported = transaction({
  name: 'addExported',
  accountOf: () => null,
  async run(tx: Tx, { details, written, chunks, ...held }: ExportStep): Promise<boolean> {
    const transfer = await holdTransfer(tx, held)
    if (transfer === null) return false
    await insertChunks(tx, transfer.id, chunks)
    const sizeBytes = chunks.reduce((sum, { size_bytes }) => sum + size_bytes, transfer.sizeBytes)
    const done = transfer.done + written
    await tx.query
      .updateTable('transfers')
      .set({
        details: JSON.stringify(details),
        done_count: done,
        total_count: Math.max(done, transfer.total),
        size_bytes: sizeBytes,
      })
      .where('id', '=', transfer.id)
      .execute()
    return true
  },
})

/** Marks a transfer as done, or as failed; false when the lease is lost. */
export const finishTransfer = transaction({
  name: 'finishTransfer',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, { error, ...held }: Held & { error: TransferError | null }): Promise<boolean> {
    const transfer = await holdTransfer(tx, held)
    if (transfer === null) return false
    const isExport = transfer.kind === 'export'
    const count = isExport ? transfer.done : transfer.total
    const done = {
      status: 'done',
      completed_at: held.nowMs,
      expires_at: isExport ? held.nowMs + EXPORT_FILE_MS : held.nowMs,
      done_count: count,
      total_count: count,
    }
    await tx.query
      .updateTable('transfers')
      .set({
        leased_by: null,
        lease_until: null,
        ...(error === null ? done : failed(error, held.nowMs)),
      })
      .where('id', '=', transfer.id)
      .execute()
    if (isExport && error === null) await replaceOldest(tx, transfer.accountId, held.nowMs)
    return true
  },
})

/** Ends the files of all but the newest FINISHED_EXPORTS_MAX exports. */
async function replaceOldest(tx: Tx, accountId: string, nowMs: number): Promise<void> {
  const done = await tx.query
    .selectFrom('transfers')
    .select('id')
    .where('account_id', '=', accountId)
    .where('kind', '=', 'export')
    .where('status', '=', 'done')
    .where('expires_at', '>', nowMs)
    .orderBy('completed_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
  const replaced = done.slice(FINISHED_EXPORTS_MAX).map(({ id }) => id)
  if (replaced.length === 0) return
  await tx.query
    .updateTable('transfers')
    .set({ expires_at: nowMs })
    .where('id', 'in', replaced)
    .execute()
}

/** Ends an export whatever its state, and hides it; it is removed with what has expired. False when there is none. */
export const removeExport = transaction({
  name: 'deleteExport',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(
    tx: Tx,
    input: { accountId: string; transferId: string; nowMs: number },
  ): Promise<boolean> {
    const removed = await tx.query
      .updateTable('transfers')
      .set({
        status: 'failed',
        format: '',
        completed_at: input.nowMs,
        expires_at: 0,
        leased_by: null,
        lease_until: null,
      })
      .where('id', '=', input.transferId)
      .where('account_id', '=', input.accountId)
      .where('kind', '=', 'export')
      .where(HAS_FILE)
      .returning('id')
      .executeTakeFirst()
    return removed !== undefined
  },
})

/** Null when the account has no such transfer, or its file is still arriving. */
export async function findTransfer<Kind extends TransferKind>(
  db: ReadDb,
  kind: Kind,
  { accountId, id }: { accountId: string | null; id: string },
): Promise<Extract<Transfer, { kind: Kind }> | null> {
  let query = db.read
    .selectFrom('transfers')
    .selectAll()
    .where('id', '=', id)
    .where('kind', '=', kind)
    .where(HAS_FILE)
  if (accountId !== null) query = query.where('account_id', '=', accountId)
  const row = await query.executeTakeFirst()
  return row === undefined ? null : (toTransfer(row) as Extract<Transfer, { kind: Kind }>)
}

/** An import has a format once its file has arrived; a deleted export has none. */
const HAS_FILE = ({ eb }: ExpressionBuilder<Tables, 'transfers'>) => eb('format', '!=', '')

/** Why an import ended whose file did not arrive as a whole; null for no reason that is known. */
export async function findUploadError(
  db: ReadDb,
  { accountId, id }: { accountId: string; id: string },
): Promise<TransferError | null> {
  const row = await db.read
    .selectFrom('transfers')
    .select('error')
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return (row?.error ?? null) as TransferError | null
}

/** Newest first. The limit of unfinished ones and the time that they are listed bound their number. */
export async function listTransfers<Kind extends TransferKind>(
  db: ReadDb,
  kind: Kind,
  input: { accountId: string; limit: number; offset: number },
): Promise<{ transfers: Extract<Transfer, { kind: Kind }>[]; total: number }> {
  const ofAccount = db.read
    .selectFrom('transfers')
    .where('account_id', '=', input.accountId)
    .where('kind', '=', kind)
    .where(HAS_FILE)
  const { total } = await ofAccount
    .select(({ fn }) => fn.countAll<number | string>().as('total'))
    .executeTakeFirstOrThrow()
  const rows = await ofAccount
    .selectAll()
    .orderBy('id', 'desc')
    .limit(input.limit)
    .offset(input.offset)
    .execute()
  const transfers = rows.map(toTransfer) as Extract<Transfer, { kind: Kind }>[]
  return { transfers, total: Number(total) }
}

/** Pieces that one step removes. */
const PURGE_CHUNKS = 50

/** Removes pieces of files whose time is over, then rows; call until it is done. The caller removes the blobs. */
export const purgeTransfersStep = transaction({
  name: 'purgeTransfersStep',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, { nowMs }: { nowMs: number }): Promise<{ isDone: boolean; blobIds: string[] }> {
    const chunks = await tx.query
      .selectFrom('transfers')
      .innerJoin('transfer_chunks', 'transfer_chunks.transfer_id', 'transfers.id')
      .select('transfer_chunks.id')
      .where('expires_at', '<=', nowMs)
      .limit(PURGE_CHUNKS)
      .execute()
    if (chunks.length > 0) return { isDone: false, blobIds: await removeChunks(tx, chunks) }
    await tx.query
      .updateTable('transfers')
      .set({ status: 'expired' })
      .where('expires_at', '<=', nowMs)
      .where('status', '=', 'done')
      .where('kind', '=', 'export')
      .execute()
    await tx.query
      .deleteFrom('transfers')
      .where('expires_at', '<=', nowMs)
      .where((row) =>
        row.or([row('status', '=', 'receiving'), row('expires_at', '<=', nowMs - ROW_MS)]),
      )
      .execute()
    return { isDone: true, blobIds: [] }
  },
})

async function removeChunks(tx: Tx, chunks: readonly { id: string }[]): Promise<string[]> {
  const ids = chunks.map(({ id }) => id)
  const removed = await tx.query
    .deleteFrom('transfer_chunks')
    .where('id', 'in', ids)
    .returning((row) => ['id', row('content', 'is', null).as('is_blob')])
    .execute()
  const blobIds = removed.filter(({ is_blob }) => Boolean(is_blob)).map(({ id }) => id)
  await noteUnreferenced(tx, blobIds)
  return blobIds
}

/** Ends an upload that was broken off; its pieces are removed with what has expired. */
export const dropUpload = transaction({
  name: 'dropUpload',
  accountOf: ({ accountId }) => accountId,
  essential: true,
  async run(tx: Tx, input: { accountId: string; transferId: string; nowMs: number }) {
    await tx.query
      .updateTable('transfers')
      .set({ expires_at: input.nowMs, completed_at: input.nowMs })
      .where('id', '=', input.transferId)
      .where('status', '=', 'receiving')
      .execute()
  },
})
