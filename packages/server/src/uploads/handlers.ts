import type { UploadLink, Upload as UploadShape } from '@mailroom/contract/uploads.ts'
import { UPLOAD_BYTES_MAX } from '@mailroom/contract/uploads.ts'
import { findActiveKeys } from '#accounts/store/keys.ts'
import type { HandlersOf, Input } from '#http/handler.ts'
import { fileTooLarge } from '#http/upload.ts'
import { isSignatureGood, SIGNED_URL_MS, signedFileUrl } from '#mailbox/attachments/attachments.ts'
import type { StorageQuota } from '#mailbox/messages/store/storage-quota.ts'
import { removeBlobs } from '#platform/blobs/blob-store.ts'
import { presentTime } from '#platform/clock.ts'
import { notFound, problem } from '#platform/problem.ts'
import {
  deleteUpload,
  findUpload,
  insertUpload,
  isOpen,
  isReady,
  type ReadyUpload,
  startFilling,
  type UploadRow,
} from '#uploads/store/uploads.ts'
import { filenameMissing, type ReceiveDeps, receiveUpload, SMALLER } from './receive-upload.ts'
import { uploadLimitReached } from './upload-limit.ts'

type HandlerDeps = ReceiveDeps & {
  publicUrl: () => string
  urlKey: Uint8Array
  storageQuota: StorageQuota
}

export function uploadHandlers(deps: HandlerDeps): HandlersOf<'uploads'> {
  return {
    'uploads.create': async ({ query, body }, { accountId }) => {
      const { filename = null } = query
      const isForm = /^multipart\/form-data\b/i.test(body.headers['content-type'] ?? '')
      if (filename === null && !isForm) throw filenameMissing()
      const expectedBytes = Number(body.headers['content-length'] ?? 0)
      // A form is longer than its file.
      if (!isForm && expectedBytes > UPLOAD_BYTES_MAX) {
        throw fileTooLarge({ bytesMax: UPLOAD_BYTES_MAX, fix: SMALLER })
      }
      const bytesMax = UPLOAD_BYTES_MAX
      const file = { accountId, contentType: null, bytesMax, waitsUntilMs: null }
      const begun = { ...file, keyId: null, filename: filename ?? '', expectedBytes }
      const uploadId = await begin(deps, begun)
      return presentUpload(await receiveUpload(deps, { ...file, uploadId, body, filename }))
    },
    'uploads.createLink': async ({ body }, { accountId, keyId }): Promise<UploadLink> => {
      const { filename, contentType = null, maxBytes: bytesMax = UPLOAD_BYTES_MAX } = body
      const expiresAtMs = deps.clock.now() + SIGNED_URL_MS
      const id = await begin(deps, {
        accountId,
        keyId,
        filename,
        contentType,
        bytesMax,
        waitsUntilMs: expiresAtMs,
        expectedBytes: 0,
      })
      const path = `/v1/uploads/${id}/file`
      const url = signedFileUrl(deps, { path, id, name: LINK, expiresAtMs })
      return { id, url, expiresAt: presentTime(expiresAtMs) }
    },
    'uploads.get': async ({ path }, { accountId }) => {
      const asked = { accountId, uploadId: path.id, nowMs: deps.clock.now() }
      const found = await findUpload(deps.db, asked)
      if (found === null) throw notFound()
      if (!isReady(found)) throw problem('not_found', 'No file has arrived for this upload yet.')
      return presentUpload(found)
    },
    'uploads.delete': async ({ path }, { accountId }) => {
      const removed = { accountId, uploadId: path.id, nowMs: deps.clock.now() }
      const blobIds = await deps.db.write(deleteUpload, removed)
      if (blobIds === null) throw notFound()
      await removeBlobs(deps, blobIds)
    },
    'uploads.fill': (input) => fill(deps, input),
    'uploads.fillByPost': (input) => fill(deps, input),
  }
}

/** Signed with the id of the upload, so that no other URL of the service has the same signature. */
const LINK = 'upload'

type Begun = {
  accountId: string
  keyId: string | null
  filename: string
  contentType: string | null
  bytesMax: number
  waitsUntilMs: number | null
  expectedBytes: number
}

async function begin(deps: HandlerDeps, begun: Begun): Promise<string> {
  const { accountId, keyId, filename, contentType, bytesMax, ...given } = begun
  if (await deps.storageQuota.isFull(accountId)) throw problem('storage_quota_reached')
  const id = deps.makeId('upl')
  const isInserted = await deps.db.write(insertUpload, {
    id,
    account_id: accountId,
    key_id: keyId,
    filename,
    content_type: contentType,
    max_bytes: bytesMax,
    accountBytesMax: deps.uploadedBytesPerAccount,
    nowMs: deps.clock.now(),
    ...given,
  })
  if (!isInserted) throw uploadLimitReached()
  return id
}

async function fill(
  deps: HandlerDeps,
  { path, query, body }: Input<'uploads.fill'>,
): Promise<UploadShape> {
  const uploadId = path.id
  const waiting = await findWaiting(deps, { uploadId, ...query })
  const {
    account_id: accountId,
    filename,
    content_type: contentType,
    max_bytes: bytesMax,
  } = waiting
  const blobIds = await deps.db.write(startFilling, {
    accountId,
    uploadId,
    nowMs: deps.clock.now(),
  })
  if (blobIds === null) throw linkUsed()
  await removeBlobs(deps, blobIds)
  const waitsUntilMs = waiting.created_at + SIGNED_URL_MS
  const given = { accountId, uploadId, body, filename, contentType, bytesMax, waitsUntilMs }
  return presentUpload(await receiveUpload(deps, given))
}

/** Throws `invalid_signature`, `upload_link_used`, or `not_found` if the upload was deleted. */
async function findWaiting(
  deps: HandlerDeps,
  { uploadId, ...signature }: { uploadId: string; expires?: string; signature?: string },
): Promise<UploadRow> {
  const nowMs = deps.clock.now()
  const { expires, signature: signed } = signature
  const isGood = isSignatureGood(
    deps.urlKey,
    { expires, signature: signed },
    { messageId: uploadId, name: LINK, nowMs },
  )
  if (!isGood) throw problem('invalid_signature', undefined, { fix: NEW_LINK })
  const row = await findUpload(deps.db, { accountId: null, uploadId, nowMs })
  if (row === null || row.key_id === null) {
    throw problem('not_found', 'The upload of this link was deleted.', { fix: NEW_LINK })
  }
  if ((await findActiveKeys(deps.db, [row.key_id])).length === 0) {
    const text = 'The API key that created this link was revoked.'
    throw problem('invalid_signature', text, { fix: NEW_LINK })
  }
  if (!isOpen(row, nowMs)) throw linkUsed(row)
  return row
}

const NEW_LINK = 'Create another link with POST /v1/uploads/links.'

function linkUsed(row?: UploadRow) {
  const isUsed = row !== undefined && isReady(row)
  const text = isUsed
    ? 'A file has already arrived through this link, which takes only one.'
    : 'Another upload through this link is in progress.'
  return problem('upload_link_used', text)
}

function presentUpload(row: ReadyUpload): UploadShape {
  return {
    id: row.id,
    filename: row.filename,
    contentType: row.content_type,
    sizeBytes: row.size_bytes,
    sha256: Buffer.from(row.sha256).toString('hex'),
    expiresAt: presentTime(row.expires_at),
  }
}
