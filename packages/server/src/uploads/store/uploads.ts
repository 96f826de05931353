import { UPLOADS_MAX } from '@mailroom/contract/uploads.ts'
import { lockAccount } from '#accounts/store/accounts.ts'
import { transaction } from '#platform/db/db.ts'
import { DAY_MS, MINUTE_MS } from '#platform/units.ts'
import { insertChunks, type NewChunk, removeChunks } from '#store/file-chunks.ts'
import type { NewRow, ReadDb, Row, Tx } from '#store/tables.ts'

/** A file can be attached for this long after its arrival. */
const READY_MS = DAY_MS
/** A file is abandoned if no chunk arrives for this long. */
const RECEIVING_MS = 15 * MINUTE_MS

export type UploadRow = Row<'uploads'>
export type ReadyUpload = UploadRow & { sha256: Uint8Array; content_type: string }

type Which = { accountId: string; uploadId: string; nowMs: number }

type NewUpload = Pick<
  NewRow<'uploads'>,
  'id' | 'account_id' | 'key_id' | 'filename' | 'content_type' | 'max_bytes'
> & {
  /** When an unused link ends; null if the file arrives now. */
  waitsUntilMs: number | null
  /** The declared size of the file, or 0. */
  expectedBytes: number
  accountBytesMax: number
  nowMs: number
}

/** Returns false if the account has UPLOADS_MAX uploads, or no room for `expectedBytes`. */
export const insertUpload = transaction({
  name: 'insertUpload',
  accountOf: ({ account_id }) => account_id,
  async run(
    tx: Tx,
    { waitsUntilMs, expectedBytes, accountBytesMax, nowMs, ...row }: NewUpload,
  ): Promise<boolean> {
    const { count, bytes } = await countUploads(tx, row.account_id, nowMs)
    if (count >= UPLOADS_MAX || bytes + expectedBytes > accountBytesMax) return false
    const status = waitsUntilMs === null ? 'receiving' : 'waiting'
    const expires_at = waitsUntilMs ?? nowMs + RECEIVING_MS
    await tx.query
      .insertInto('uploads')
      .values({ ...row, status, sha256: null, created_at: nowMs, expires_at })
      .execute()
    return true
  },
})

/** Locks the account, so that concurrent uploads cannot exceed the limits. */
async function countUploads(tx: Tx, accountId: string, nowMs: number) {
  await lockAccount(tx, accountId)
  const { count, bytes } = await tx.query
    .selectFrom('uploads')
    .select(({ fn }) => [
      fn.countAll<number | string>().as('count'),
      fn.sum<number | string | null>('size_bytes').as('bytes'),
    ])
    .where('account_id', '=', accountId)
    .where('expires_at', '>', nowMs)
    .executeTakeFirstOrThrow()
  return { count: Number(count), bytes: Number(bytes ?? 0) }
}

/**
 * Begins to receive the file of a link, and drops what a process that failed has left. Returns null
 * unless the upload is waiting for its file. The caller must remove the blobs.
 */
export const startFilling = transaction({
  name: 'startFilling',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(tx: Tx, { accountId, uploadId, nowMs }: Which): Promise<string[] | null> {
    const row = await tx.query
      .updateTable('uploads')
      .set({ status: 'receiving', size_bytes: 0, expires_at: nowMs + RECEIVING_MS })
      .where('id', '=', uploadId)
      .where('account_id', '=', accountId)
      .where('expires_at', '>', nowMs)
      .where(({ or, and, eb }) =>
        or([
          eb('status', '=', 'waiting'),
          and([eb('status', '=', 'receiving'), eb('expires_at', '<=', abandonedBefore(nowMs))]),
        ]),
      )
      .returning('id')
      .executeTakeFirst()
    return row === undefined ? null : removeChunksOf(tx, uploadId)
  },
})

/** Twice the time after which a connection without progress is closed. */
const ABANDONED_MS = 2 * MINUTE_MS

/** Each chunk moves the end of the upload to RECEIVING_MS from then. */
function abandonedBefore(nowMs: number): number {
  return nowMs + RECEIVING_MS - ABANDONED_MS
}

/** Whether a file can arrive through the link of the upload. */
export function isOpen({ status, expires_at: expiresAtMs }: UploadRow, nowMs: number): boolean {
  if (status === 'receiving') return expiresAtMs <= abandonedBefore(nowMs)
  return status === 'waiting'
}

export const addUploadChunk = transaction({
  name: 'addUploadChunk',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    { chunk, accountBytesMax, ...which }: Which & { chunk: NewChunk; accountBytesMax: number },
  ): Promise<'added' | 'full' | 'ended'> {
    const { accountId, uploadId, nowMs } = which
    const { bytes } = await countUploads(tx, accountId, nowMs)
    if (bytes + chunk.size_bytes > accountBytesMax) return 'full'
    const changed = await tx.query
      .updateTable('uploads')
      .set((row) => ({
        size_bytes: row('size_bytes', '+', chunk.size_bytes),
        expires_at: nowMs + RECEIVING_MS,
      }))
      .where('id', '=', uploadId)
      .where('account_id', '=', accountId)
      .where('status', '=', 'receiving')
      // The first chunks of an expired upload may already be removed.
      .where('expires_at', '>', nowMs)
      .returning('id')
      .executeTakeFirst()
    if (changed === undefined) return 'ended'
    await insertChunks(tx, uploadId, [chunk])
    return 'added'
  },
})

/** Must be called when the entire file has arrived. Returns null if the upload has ended. */
export const finishUpload = transaction({
  name: 'finishUpload',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    {
      accountId,
      uploadId,
      nowMs,
      ...file
    }: Which & { filename: string; content_type: string; sha256: Uint8Array },
  ): Promise<ReadyUpload | null> {
    const row = await tx.query
      .updateTable('uploads')
      .set({ ...file, status: 'ready', expires_at: nowMs + READY_MS })
      .where('id', '=', uploadId)
      .where('account_id', '=', accountId)
      .where('status', '=', 'receiving')
      .where('expires_at', '>', nowMs)
      .returningAll()
      .executeTakeFirst()
    return row === undefined ? null : { ...row, ...file }
  },
})

/** Removes what has arrived. The link waits again until `waitsUntilMs`, if it has one. */
export const dropReceived = transaction({
  name: 'dropReceived',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(
    tx: Tx,
    { accountId, uploadId, waitsUntilMs }: Omit<Which, 'nowMs'> & { waitsUntilMs: number | null },
  ): Promise<string[]> {
    const row = await tx.query
      .updateTable('uploads')
      .set({ status: 'waiting', size_bytes: 0, expires_at: waitsUntilMs ?? 0 })
      .where('id', '=', uploadId)
      .where('account_id', '=', accountId)
      .where('status', '=', 'receiving')
      .returning('id')
      .executeTakeFirst()
    if (row === undefined) return []
    if (waitsUntilMs === null)
      await tx.query.deleteFrom('uploads').where('id', '=', uploadId).execute()
    return removeChunksOf(tx, uploadId)
  },
})

/** Returns null if there is no such upload. The caller must remove the blobs. */
export const deleteUpload = transaction({
  name: 'deleteUpload',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(tx: Tx, { accountId, uploadId, nowMs }: Which): Promise<string[] | null> {
    const row = await tx.query
      .deleteFrom('uploads')
      .where('id', '=', uploadId)
      .where('account_id', '=', accountId)
      .where('expires_at', '>', nowMs)
      .returning('id')
      .executeTakeFirst()
    return row === undefined ? null : removeChunksOf(tx, uploadId)
  },
})

/** Uploads whose files are removed in one step; each has up to 25 chunks. */
const PURGE_UPLOADS = 10

/** Must be called until it is done. The caller must remove the blobs. */
export const purgeUploadsStep = transaction({
  name: 'purgeUploadsStep',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, { nowMs }: { nowMs: number }): Promise<{ isDone: boolean; blobIds: string[] }> {
    const removed = await tx.query
      .deleteFrom('uploads')
      .where('id', 'in', (row) =>
        row
          .selectFrom('uploads')
          .select('id')
          .where('expires_at', '<=', nowMs)
          .limit(PURGE_UPLOADS),
      )
      .returning('id')
      .execute()
    const blobIds: string[] = []
    for (const { id } of removed) blobIds.push(...(await removeChunksOf(tx, id)))
    return { isDone: removed.length === 0, blobIds }
  },
})

async function removeChunksOf(tx: Tx, uploadId: string): Promise<string[]> {
  const chunks = await tx.query
    .selectFrom('transfer_chunks')
    .select('id')
    .where('transfer_id', '=', uploadId)
    .execute()
  return removeChunks(tx, chunks)
}

/** If `accountId` is null, the caller has verified a signature. */
export async function findUpload(
  db: ReadDb,
  { accountId, uploadId, nowMs }: { accountId: string | null; uploadId: string; nowMs: number },
): Promise<UploadRow | null> {
  const query = db.read
    .selectFrom('uploads')
    .selectAll()
    .where('id', '=', uploadId)
    .where('expires_at', '>', nowMs)
  const owned = accountId === null ? query : query.where('account_id', '=', accountId)
  return (await owned.executeTakeFirst()) ?? null
}

export function isReady(row: UploadRow): row is ReadyUpload {
  return row.status === 'ready'
}
