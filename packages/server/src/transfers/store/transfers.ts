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
import { advanceJob, type Held, insertJobs, troubleOf } from '#queue/jobs.ts'
import type { Trouble } from '#queue/trouble.ts'
import { insertChunks, type NewChunk, removeChunks } from '#store/file-chunks.ts'
import type { NewRow, ReadDb, Row, Tables, Tx } from '#store/tables.ts'

/** The file of an export can be downloaded for this long. */
const EXPORT_FILE_MS = 7 * DAY_MS
/** A transfer is listed for this long after its file expires. */
const ROW_MS = 30 * DAY_MS
/** An upload is abandoned if no chunk arrives for this long. */
const RECEIVING_MS = 15 * MINUTE_MS

/** The limit applies to each account and kind of transfer. */
const OPEN_TRANSFERS_MAX = 5
/** The next export replaces the oldest file. */
const FINISHED_EXPORTS_MAX = 10
/** The limit applies to each account and kind of transfer. */
const LISTED_TRANSFERS_MAX = 1_000

export type TransferKind = 'export' | 'import'
type TransferStatus = 'receiving' | 'queued' | 'running' | 'done' | 'failed' | 'expired'

/** The export continues after the arrival number `after`, up to `until`. */
export type ExportDetails = {
  inboxIds: string[] | null
  at: { inboxId: string; after: number; until: number } | null
}

export type ImportFailure = { number: number; name: string | null; reason: string }

/** The first `handled` messages of the file are imported, already known, skipped or failed. */
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
  /** Failed attempts since the last step, or null if there are none. */
  trouble: Trouble | null
  /** Null while the transfer runs. */
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

type JobColumns = { [Name in 'trouble' | 'leased_by' | 'due_at']?: Row<'jobs'>[Name] | null }

function toTransfer(row: Row<'transfers'> & JobColumns): Transfer {
  const { trouble = null, ...details } = detailsOf(row)
  const isWaiting = row.completed_at === null && row.trouble != null && row.leased_by === null
  const common = {
    id: row.id,
    accountId: row.account_id,
    podId: row.pod_id,
    status: row.status as TransferStatus,
    done: row.done_count,
    total: row.total_count,
    sizeBytes: row.size_bytes,
    error: row.error as TransferError | null,
    trouble: troubleOf({ trouble: row.trouble ?? null }) ?? trouble,
    nextAttemptAtMs: isWaiting ? (row.due_at ?? null) : null,
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

/** Includes the failures of a transfer that was given up. */
function detailsOf({ details }: Pick<Row<'transfers'>, 'details'>) {
  return JSON.parse(details) as (ExportDetails | ImportDetails) & { trouble?: Trouble }
}

type NewTransfer = Pick<
  NewRow<'transfers'>,
  'id' | 'account_id' | 'kind' | 'pod_id' | 'inbox_id' | 'format' | 'total_count'
> & { details: ExportDetails | ImportDetails; nowMs: number }

/** Returns false if the account has OPEN_TRANSFERS_MAX unfinished transfers of this kind. */
export const insertTransfer = transaction({
  name: 'insertTransfer',
  accountOf: ({ account_id }) => account_id,
  async run(tx: Tx, { details, nowMs, ...row }: NewTransfer): Promise<boolean> {
    // The lock keeps concurrent requests from exceeding the limit.
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
        created_at: nowMs,
        completed_at: null,
        expires_at: isFile ? nowMs + RECEIVING_MS : null,
      })
      .execute()
    if (!isFile) await queue(tx, { ...row, nowMs })
    return true
  },
})

function queue(
  tx: Tx,
  { id: key, account_id, nowMs: due_at }: { id: string; account_id: string; nowMs: number },
): Promise<unknown> {
  return insertJobs(tx, [{ kind: 'transfer', key, account_id, due_at, payload: null }])
}

/** Rows beyond LISTED_TRANSFERS_MAX expire. */
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

/** Returns false if the upload was removed. */
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
      // The first chunks of an expired upload may be removed already.
      .where('expires_at', '>', nowMs)
      .returning('id')
      .executeTakeFirst()
    if (changed === undefined) return false
    await insertChunks(tx, transferId, [chunk])
    return true
  },
})

/** Must be called when the entire file has arrived. Returns null if the upload was removed. */
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
    if (row === undefined) return null
    await queue(tx, { ...row, nowMs: input.nowMs })
    return toTransfer(row)
  },
})

/** Returns null if the transfer has ended or the lease is lost. */
export async function holdTransfer(tx: Tx, held: Held): Promise<Transfer | null> {
  if ((await advanceJob(tx, held)) === null) return null
  const transfer = tx.query
    .selectFrom('transfers')
    .selectAll()
    .where('id', '=', held.key)
    .where('completed_at', 'is', null)
  const row = await lockRows(tx, transfer).executeTakeFirst()
  return row === undefined ? null : toTransfer(row)
}

/** Returns null if the transfer has ended. */
export const startTransfer = transaction({
  name: 'startTransfer',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, { key }: Held): Promise<Transfer | null> {
    const row = await tx.query
      .updateTable('transfers')
      .set({ status: 'running' })
      .where('id', '=', key)
      .where('completed_at', 'is', null)
      .returningAll()
      .executeTakeFirst()
    return row === undefined ? null : toTransfer(row)
  },
})

/** The receipt keeps the failures. */
export const failTransfer = transaction({
  name: 'failTransfer',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, { trouble, ...held }: Held & { trouble: Trouble }): Promise<void> {
    const transfer = await holdTransfer(tx, held)
    if (transfer === null) return
    const details = JSON.stringify({ ...transfer.details, trouble })
    await change(tx, held, { details, ...failed('internal_error', held.nowMs) })
  },
})

function change(tx: Tx, { key }: Held, fields: Partial<Row<'transfers'>>): Promise<unknown> {
  return tx.query.updateTable('transfers').set(fields).where('id', '=', key).execute()
}

/** The file expires immediately. */
function failed(error: TransferError, nowMs: number) {
  return { status: 'failed', error, completed_at: nowMs, expires_at: nowMs }
}

/** Must run when a process starts that is alone with its database. */
export const endUploads = transaction({
  name: 'endUploads',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, _input: object): Promise<void> {
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

/** Returns false if the lease is lost. */
export const addExported = transaction({
  name: 'addExported',
  accountOf: () => null,
  async run(tx: Tx, { details, written, chunks, ...held }: ExportStep): Promise<boolean> {
    const transfer = await holdTransfer(tx, held)
    if (transfer === null) return false
    await insertChunks(tx, transfer.id, chunks)
    const done = transfer.done + written
    await change(tx, held, {
      details: JSON.stringify(details),
      done_count: done,
      total_count: Math.max(done, transfer.total),
      size_bytes: chunks.reduce((sum, { size_bytes }) => sum + size_bytes, transfer.sizeBytes),
    })
    return true
  },
})

/** Returns false if the lease is lost. */
export const finishTransfer = transaction({
  name: 'finishTransfer',
  accountOf: () => null,
  essential: true,
  async run(tx: Tx, { error, ...held }: Held & { error: TransferError | null }): Promise<boolean> {
    const transfer = await holdTransfer(tx, held)
    if (transfer === null) return false
    if (error !== null) {
      await change(tx, held, failed(error, held.nowMs))
      return true
    }
    const isExport = transfer.kind === 'export'
    const count = isExport ? transfer.done : transfer.total
    await change(tx, held, {
      status: 'done',
      completed_at: held.nowMs,
      expires_at: isExport ? held.nowMs + EXPORT_FILE_MS : held.nowMs,
      done_count: count,
      total_count: count,
    })
    if (isExport) await replaceOldest(tx, transfer.accountId, held.nowMs)
    return true
  },
})

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

/** Ends and hides an export, whose file and row expire. Returns false if there is none. */
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

/** Returns null even during an upload. */
export async function findTransfer<Kind extends TransferKind>(
  db: ReadDb,
  kind: Kind,
  { accountId, id }: { accountId: string | null; id: string },
): Promise<Extract<Transfer, { kind: Kind }> | null> {
  let query = selectWithJob(db)
    .where('transfers.id', '=', id)
    .where('transfers.kind', '=', kind)
    .where(HAS_FILE)
  if (accountId !== null) query = query.where('transfers.account_id', '=', accountId)
  const row = await query.executeTakeFirst()
  return row === undefined ? null : (toTransfer(row) as Extract<Transfer, { kind: Kind }>)
}

function selectWithJob(db: ReadDb) {
  return db.read
    .selectFrom('transfers')
    .leftJoin('jobs', (join) =>
      join.onRef('jobs.key', '=', 'transfers.id').on('jobs.kind', '=', 'transfer'),
    )
    .selectAll('transfers')
    .select(['jobs.trouble', 'jobs.leased_by', 'jobs.due_at'])
}

/** An import has a format after its upload; a deleted export has none. */
const HAS_FILE = ({ eb }: ExpressionBuilder<Tables, 'transfers'>) =>
  eb('transfers.format', '!=', '')

/** Returns null if the reason is unknown. */
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

/** Lists transfers newest first. */
export async function listTransfers<Kind extends TransferKind>(
  db: ReadDb,
  kind: Kind,
  input: { accountId: string; limit: number; offset: number },
): Promise<{ transfers: Extract<Transfer, { kind: Kind }>[]; total: number }> {
  const { total } = await db.read
    .selectFrom('transfers')
    .select(({ fn }) => fn.countAll<number | string>().as('total'))
    .where('account_id', '=', input.accountId)
    .where('kind', '=', kind)
    .where(HAS_FILE)
    .executeTakeFirstOrThrow()
  const rows = await selectWithJob(db)
    .where('transfers.account_id', '=', input.accountId)
    .where('transfers.kind', '=', kind)
    .where(HAS_FILE)
    .orderBy('transfers.id', 'desc')
    .limit(input.limit)
    .offset(input.offset)
    .execute()
  const transfers = rows.map(toTransfer) as Extract<Transfer, { kind: Kind }>[]
  return { transfers, total: Number(total) }
}

const PURGE_CHUNKS = 50

/** Must be called until it is done. The caller must remove the blobs. */
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

/** The chunks of the upload are left to expire. */
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
