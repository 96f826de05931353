import { Readable } from 'node:stream'
import type { Export, Import, TransferError } from '@mailroom/contract/transfers.ts'
import { findPod } from '#accounts/store/pods.ts'
import { fixOfLimit } from '#config/limit-fix.ts'
import { planDownload } from '#http/download.ts'
import { busy } from '#http/fair-shares.ts'
import type { HandlersOf, SignedContext } from '#http/handler.ts'
import type { Upload } from '#http/read-body.ts'
import { openUpload } from '#http/upload.ts'
import type { Inbox } from '#inboxes/inboxes.ts'
import { findInbox, listInboxIds } from '#inboxes/store/inboxes.ts'
import { isSignatureGood, SIGNED_URL_MS, signedFileUrl } from '#mailbox/attachments/attachments.ts'
import { readCounters } from '#mailbox/messages/store/messages.ts'
import type { StorageQuota } from '#mailbox/messages/store/storage-quota.ts'
import { removeBlobs } from '#platform/blobs/blob-store.ts'
import { presentTime } from '#platform/clock.ts'
import { type AppError, notFound, problem, wrongField } from '#platform/problem.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { MINUTE_MS } from '#platform/units.ts'
import { idsOfBlobs, inChunks, storeChunks } from '#store/file-chunks.ts'
import type { Store } from '#store/store.ts'
import type { Row } from '#store/tables.ts'
import {
  addUploadedChunk,
  dropUpload,
  type ExportRow,
  findTransfer,
  findUploadError,
  type ImportRow,
  insertTransfer,
  listTransfers,
  queueImport,
  removeExport,
} from '#transfers/store/transfers.ts'
import { exportFormats } from './export-formats.ts'
import { detectFormat, FORMAT_BYTES, findOtherFormat } from './read-import.ts'
import { DOWNLOAD_HOLDS_BYTES, readForClient } from './transfer-file.ts'
import { unpacked, wrongFile } from './unpack-upload.ts'
import { purgeTransfers } from './work-transfers.ts'

type HandlerDeps = Store & {
  publicUrl: () => string
  urlKey: Uint8Array
  storageQuota: StorageQuota
  /** The limit is in bytes. */
  importBytesMax: number
  wakeWorker(): void
}

/** The limits let stalled downloads use only half of the memory for responses. */
const DOWNLOADS = { limit: 64, limitPerKey: 8 }

export function transferHandlers(deps: HandlerDeps): HandlersOf<'exports'> & HandlersOf<'imports'> {
  const downloads = new Semaphore(DOWNLOADS)
  return {
    'exports.create': async ({ body }, { accountId }) => {
      const scope = await scopeOf(deps, accountId, body)
      await requireRoom(deps, accountId)
      const id = deps.makeId('exp')
      const nowMs = deps.clock.now()
      const isInserted = await deps.db.write(insertTransfer, {
        id,
        account_id: accountId,
        kind: 'export',
        inbox_id: scope.inboxId,
        pod_id: scope.podId,
        format: body.format,
        total_count: scope.total,
        details: { inboxIds: scope.inboxIds, at: null },
        nowMs,
      })
      if (!isInserted) throw problem('transfer_limit_reached')
      deps.wakeWorker()
      return getExport(deps, accountId, id)
    },
    'exports.list': async ({ query }, { accountId }) => {
      const { transfers, total } = await listTransfers(deps.db, 'export', { accountId, ...query })
      return { data: transfers.map((one) => presentExport(deps, one)), total }
    },
    'exports.get': ({ path }, { accountId }) => getExport(deps, accountId, path.id),
    'exports.delete': async ({ path }, { accountId }) => {
      const removed = { accountId, transferId: path.id, nowMs: deps.clock.now() }
      if (!(await deps.db.write(removeExport, removed))) throw notFound()
      await purgeTransfers(deps, new AbortController().signal)
    },
    'exports.download': async ({ path, query }, context) => {
      const found = await findFile(deps, { id: path.id, query, context })
      const { mediaType: contentType, extension } = exportFormats[found.format]
      const { sizeBytes } = found
      const file = { filename: `${found.id}.${extension}`, contentType, sizeBytes }
      const named = { ...file, contentId: null, isInline: false, messageId: found.id }
      const { part, ...plan } = planDownload(named, context.headers)
      if (part === null || !context.wantsContent) return { ...plan, content: null }
      const release = downloads.tryAcquire({ key: found.accountId })
      if (release === null) throw busy('Too many exports are being downloaded.')
      const bytes = readForClient(deps, { fileId: found.id, ...part })
      const stream = Readable.from(bytes, { highWaterMark: 1 })
      return { ...plan, content: { stream, holdsBytes: DOWNLOAD_HOLDS_BYTES }, release }
    },
    'imports.create': async ({ path, query, body }, { accountId }) => {
      const inbox = await findInbox(deps.db, accountId, path.id)
      if (inbox === null) throw notFound()
      return startImport(deps, { inbox, isRead: query.isRead, upload: body })
    },
    'imports.list': async ({ query }, { accountId }) => {
      const { transfers, total } = await listTransfers(deps.db, 'import', { accountId, ...query })
      return { data: transfers.map(presentImport), total }
    },
    'imports.get': async ({ path }, { accountId }) => {
      const found = await findTransfer(deps.db, 'import', { accountId, id: path.id })
      if (found === null) throw notFound()
      return presentImport(found)
    },
  }
}

type NewImport = { inbox: Inbox; isRead: boolean; upload: Upload }

async function startImport(
  deps: HandlerDeps,
  { inbox, isRead, upload }: NewImport,
): Promise<Import> {
  const { accountId } = inbox
  await requireRoom(deps, accountId)
  const id = deps.makeId('imp')
  const isInserted = await deps.db.write(insertTransfer, {
    id,
    account_id: accountId,
    kind: 'import',
    inbox_id: inbox.id,
    pod_id: inbox.podId,
    format: '',
    total_count: 0,
    details: { handled: 0, failures: [], isRead },
    nowMs: deps.clock.now(),
  })
  if (!isInserted) throw problem('transfer_limit_reached')
  try {
    const queued = await receiveFile(deps, { accountId, id, upload })
    deps.wakeWorker()
    return presentImport(queued)
  } catch (error) {
    await deps.db.write(dropUpload, { accountId, transferId: id, nowMs: deps.clock.now() })
    // Abandoned uploads must be purged, because the limit of imports does not count them.
    await purgeTransfers(deps, new AbortController().signal)
    throw error
  }
}

async function requireRoom({ storageQuota }: HandlerDeps, accountId: string): Promise<void> {
  if (await storageQuota.isFull(accountId)) throw problem('storage_quota_reached')
}

type Scope = {
  inboxId: string | null
  podId: string | null
  inboxIds: string[]
  total: number
}

async function scopeOf(
  { db }: HandlerDeps,
  accountId: string,
  asked: { inboxId?: string; podId?: string },
): Promise<Scope> {
  if (asked.inboxId !== undefined && asked.podId !== undefined) {
    throw wrongField('podId', 'must be omitted with inboxId')
  }
  if (asked.inboxId !== undefined) {
    const { inboxId } = asked
    const counters = await readCounters(db, accountId, inboxId)
    if (counters === null) throw problem('not_found', 'The account has no inbox with this inboxId.')
    const total = messagesIn(counters)
    return { inboxId, podId: null, inboxIds: [inboxId], total }
  }
  if (asked.podId === undefined) throw wrongField('inboxId', 'or podId is required')
  const pod = await findPod(db, accountId, asked.podId)
  if (pod === null) throw problem('invalid_pod')
  const inboxIds = await listInboxIds(db, accountId, pod.id)
  let total = 0
  for (const inboxId of inboxIds) {
    const counters = await readCounters(db, accountId, inboxId)
    if (counters !== null) total += messagesIn(counters)
  }
  return { inboxId: null, podId: pod.id, inboxIds, total }
}

/** The trash is not exported. */
function messagesIn(counters: Row<'inbox_counters'>): number {
  return counters.inbound_count + counters.outbound_count
}

async function getExport(deps: HandlerDeps, accountId: string, id: string): Promise<Export> {
  const found = await findTransfer(deps.db, 'export', { accountId, id })
  if (found === null) throw notFound()
  return presentExport(deps, found)
}

/** Throws `invalid_signature` for a wrong or expired URL, and `not_found` if there is no file. */
async function findFile(
  deps: HandlerDeps,
  asked: {
    id: string
    query: { expires?: string; signature?: string }
    context: SignedContext
  },
): Promise<ExportRow> {
  const { id, context } = asked
  const nowMs = deps.clock.now()
  if (context.isSigned) {
    const { expires, signature } = asked.query
    const signed = { messageId: id, name: FILE_NAME, nowMs }
    const isGood = isSignatureGood(deps.urlKey, { expires, signature }, signed)
    if (!isGood) throw problem('invalid_signature', undefined, { fix: NEW_EXPORT })
  }
  const accountId = context.isSigned ? null : context.accountId
  const found = await findTransfer(deps.db, 'export', { accountId, id })
  if (found === null) throw notFound()
  if (statusOf(found, nowMs) !== 'done') {
    throw problem('not_found', 'The export has no file, because it is not done or has expired.', {
      fix: NEW_EXPORT,
    })
  }
  return found
}

const FILE_NAME = 'file'
const NEW_EXPORT = 'Get the export again and use its url, or export again.'

/** An expired file may not be removed yet. */
function statusOf({ status, expiresAtMs }: ExportRow, nowMs: number): Export['status'] {
  if (status === 'done' && expiresAtMs !== null && expiresAtMs <= nowMs) return 'expired'
  return status as Export['status']
}

function presentExport(deps: HandlerDeps, row: ExportRow): Export {
  const nowMs = deps.clock.now()
  const status = statusOf(row, nowMs)
  const { id, expiresAtMs } = row
  const hasFile = status === 'done' && expiresAtMs !== null
  const path = `/v1/exports/${id}/file`
  const urlUntilMs = Math.min(expiresAtMs ?? 0, nowMs + SIGNED_URL_MS)
  return {
    id,
    status,
    format: row.format,
    inboxId: row.inboxId,
    podId: row.inboxId === null ? row.podId : null,
    progress: { done: row.done, total: row.total },
    sizeBytes: row.status === 'done' || row.status === 'expired' ? row.sizeBytes : null,
    url: hasFile
      ? signedFileUrl(deps, { path, id, name: FILE_NAME, expiresAtMs: urlUntilMs })
      : null,
    ...presentTrouble(row),
    createdAt: presentTime(row.createdAtMs),
    completedAt: row.completedAtMs === null ? null : presentTime(row.completedAtMs),
    expiresAt: expiresAtMs === null || row.error !== null ? null : presentTime(expiresAtMs),
  }
}

const NOTHING_SKIPPED = { trash: 0, spam: 0, draft: 0, unfinished: 0, otherFile: 0 }

function presentImport(row: ImportRow): Import {
  return {
    id: row.id,
    status: row.status as Import['status'],
    format: row.format,
    inboxId: row.inboxId,
    progress: { done: row.done, total: row.total },
    imported: row.imported,
    duplicates: row.duplicates,
    failed: row.failed,
    failures: row.details.failures,
    skipped: { ...NOTHING_SKIPPED, ...row.details.skipped },
    ...presentTrouble(row),
    createdAt: presentTime(row.createdAtMs),
    completedAt: row.completedAtMs === null ? null : presentTime(row.completedAtMs),
  }
}

function presentTrouble(row: ExportRow | ImportRow) {
  const { error, nextAttemptAtMs } = row
  return {
    error,
    errorMessage: error === null ? (row.trouble?.message ?? null) : describeError(row, error),
    nextAttemptAt: nextAttemptAtMs === null ? null : presentTime(nextAttemptAtMs),
  }
}

function describeError(row: ExportRow | ImportRow, error: TransferError): string {
  if (error !== 'internal_error') return SENTENCES[error]
  const { trouble, completedAtMs } = row
  const minutes = Math.round(((completedAtMs ?? 0) - (trouble?.sinceMs ?? 0)) / MINUTE_MS)
  const failed = `failed ${trouble?.attempts ?? 0} times within ${minutes} minutes. ${trouble?.message ?? ''}`
  if (row.kind === 'export') return `Writing the file ${failed} Export again.`
  const { handled } = row.details
  return `Importing the messages after message ${handled} of the file ${failed} ${GO_ON}`
}

const GO_ON =
  'Those before are complete; import the file again to go on, which imports nothing twice.'

const SENTENCES: Record<Exclude<TransferError, 'internal_error'>, string> = {
  inbox_deleted: 'The inbox or pod was deleted.',
  file_unreadable:
    'The file cannot be read to the end. The messages before the unreadable part are imported.',
  storage_quota_reached:
    'The storage of the account is full. Repeat the import once there is room; nothing is imported twice.',
  address_erased: 'An erasure ended it, because its file may contain the erased address.',
}

/** Stores the file during the upload, then queues the import. */
async function receiveFile(
  deps: HandlerDeps,
  { accountId, id, upload }: { accountId: string; id: string; upload: Upload },
): Promise<ImportRow> {
  const bounds = {
    bytesMax: deps.importBytesMax,
    fix: fixOfLimit('importBytes', 'Split the file.'),
  }
  const { mediaType, chunks } = openUpload(upload, bounds)
  let format: ImportRow['format'] | null = null
  let startBytes = 0
  for await (const bytes of inChunks(unpacked(chunks, bounds))) {
    if (startBytes === 0) format = formatOf(bytes.subarray(0, FORMAT_BYTES), mediaType())
    if (startBytes > 0) await requireRoom(deps, accountId)
    for (const chunk of await storeChunks(deps, bytes, startBytes)) {
      const nowMs = deps.clock.now()
      const added = { accountId, transferId: id, chunk, nowMs }
      if (await deps.db.write(addUploadedChunk, added)) continue
      await removeBlobs(deps, idsOfBlobs([chunk]))
      throw await whyEnded(deps, { accountId, id })
    }
    startBytes += bytes.length
  }
  if (format === null) throw wrongFile('must not be empty')
  const nowMs = deps.clock.now()
  const queued = await deps.db.write(queueImport, { accountId, transferId: id, format, nowMs })
  if (queued === null || queued.kind !== 'import') throw await whyEnded(deps, { accountId, id })
  return queued
}

/** Finds out if an erasure ended the import or the next chunk came too late. */
async function whyEnded(
  { db }: HandlerDeps,
  { accountId, id }: { accountId: string; id: string },
): Promise<AppError> {
  const error = await findUploadError(db, { accountId, id })
  return problem(error === 'address_erased' ? 'address_erased' : 'request_timeout')
}

function formatOf(start: Uint8Array, mediaType: string | null): ImportRow['format'] {
  const other = findOtherFormat(start)
  if (other !== null) throw wrongFile(other)
  const format = detectFormat(start, mediaType)
  if (format !== null) return format
  throw wrongFile(
    mediaType === 'application/mbox'
      ? 'is not an mbox, because it does not begin with a "From " line'
      : 'is not an mbox, tar archive, jsonl file or message',
  )
}
