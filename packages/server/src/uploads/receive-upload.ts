// Receives the file of an upload, which clients can see only once the entire file is stored.

import { createHash } from 'node:crypto'
import { mediaTypeOf } from '@mailroom/contract/media-types.ts'
import { writeContentType } from '@mailroom/mail/compose/compose-message.ts'
import { safeFileNames } from '@mailroom/mail/file-name.ts'
import type { Upload } from '#http/read-body.ts'
import { openUpload } from '#http/upload.ts'
import { removeBlobs } from '#platform/blobs/blob-store.ts'
import { problem, wrongQuery } from '#platform/problem.ts'
import { idsOfBlobs, inChunks, storeChunks } from '#store/file-chunks.ts'
import type { Store } from '#store/store.ts'
import {
  addUploadChunk,
  dropReceived,
  finishUpload,
  type ReadyUpload,
} from '#uploads/store/uploads.ts'
import { uploadLimitReached } from './upload-limit.ts'

export type ReceiveDeps = Store & { uploadedBytesPerAccount: number }

export const SMALLER = 'Send a smaller file. This limit cannot be changed.'

type Receiving = {
  accountId: string
  uploadId: string
  body: Upload
  /** Null if the form names the file. */
  filename: string | null
  /** Null if the media type follows from the request or the name of the file. */
  contentType: string | null
  bytesMax: number
  /** When the link ends if the file does not arrive; null without a link. */
  waitsUntilMs: number | null
}

/**
 * Throws `payload_too_large`, `upload_limit_reached`, `bad_request` or `request_timeout`, and then
 * keeps nothing of the file.
 */
export async function receiveUpload(deps: ReceiveDeps, given: Receiving): Promise<ReadyUpload> {
  try {
    return await receive(deps, given)
  } catch (error) {
    const { accountId, uploadId, waitsUntilMs } = given
    const blobIds = await deps.db.write(dropReceived, { accountId, uploadId, waitsUntilMs })
    await removeBlobs(deps, blobIds)
    throw error
  }
}

async function receive(
  deps: ReceiveDeps,
  { accountId, uploadId, body, bytesMax, ...named }: Receiving,
): Promise<ReadyUpload> {
  const file = openUpload(body, { bytesMax, fix: SMALLER })
  const digest = createHash('sha256')
  let startBytes = 0
  for await (const bytes of inChunks(file.chunks)) {
    digest.update(bytes)
    for (const chunk of await storeChunks(deps, bytes, startBytes)) {
      const accountBytesMax = deps.uploadedBytesPerAccount
      const added = { accountId, uploadId, chunk, accountBytesMax, nowMs: deps.clock.now() }
      const outcome = await deps.db.write(addUploadChunk, added)
      if (outcome === 'added') continue
      await removeBlobs(deps, idsOfBlobs([chunk]))
      throw outcome === 'full' ? uploadLimitReached() : problem('request_timeout')
    }
    startBytes += bytes.length
  }
  const given = named.filename ?? file.filename() ?? ''
  if (given === '') throw filenameMissing()
  const content_type = writeContentType(
    named.contentType ?? declaredType(file.mediaType()) ?? mediaTypeOf(given),
  )
  const [filename = ''] = safeFileNames([{ filename: given, contentType: content_type }])
  const finished = await deps.db.write(finishUpload, {
    accountId,
    uploadId,
    nowMs: deps.clock.now(),
    filename,
    content_type,
    sha256: new Uint8Array(digest.digest()),
  })
  if (finished === null) throw problem('request_timeout')
  return finished
}

export function filenameMissing() {
  return wrongQuery('filename', 'is required, because the request does not name the file')
}

/** Types that say nothing about a file: the usual default, and that of curl --data-binary. */
const UNSPECIFIC = new Set(['application/octet-stream', 'application/x-www-form-urlencoded'])
// A type and subtype of tokens (RFC 9110 §8.3.1).
const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]{1,127}\/[\w!#$%&'*+.^`|~-]{1,127}$/

function declaredType(mediaType: string | null): string | null {
  if (mediaType === null || UNSPECIFIC.has(mediaType)) return null
  return MEDIA_TYPE.test(mediaType) ? mediaType : null
}
