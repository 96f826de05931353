// The bucket of large messages: whether it can be listed and read. Writes nothing into it.

import type { Settings } from '#config/settings.ts'
import { type Aim, bad, type Finding, good, unknown } from './finding.ts'

/**
 * Nothing where large messages lie on disk or in the database, which have checks of their own. Asks nothing
 * more once `signal` is aborted.
 */
export async function checkBlobs(settings: Settings, signal: AbortSignal): Promise<Finding[]> {
  const { blobStore } = settings
  if (typeof blobStore === 'string') return []
  const { bucket, endpoint } = blobStore
  const aim: Aim = { check: 'large messages', expected: `the bucket ${bucket} at ${endpoint}` }
  const { openS3Blobs } = await import('#platform/blobs/s3-blobs.ts')
  const blobs = await openS3Blobs(blobStore, { requestMs: REQUEST_MS, retryMs: RETRY_MS })
  signal.addEventListener('abort', () => void blobs.close(), { once: true })
  try {
    const obstacle = await blobs.findObstacle({ writes: false })
    if (obstacle === null) return [good(aim, `${aim.expected} can be listed and read`)]
    if (obstacle.kind === 'refused') return [bad(aim, obstacle.text, 'Correct MAILROOM_BLOB_URL.')]
    const fix = 'Messages over 128 KiB are deferred until it is back.'
    return [unknown(aim, obstacle.text, fix)]
  } finally {
    await blobs.close()
  }
}

/** Below CHECK_MS_MAX, so that a server that is silent is told by its name; only quick failures are tried again. */
const REQUEST_MS = 4_000
const RETRY_MS = 500
