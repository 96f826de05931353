// Opening the blob store that the settings name. Nothing of it is loaded before it is named.

import { join } from 'node:path'
import type { Settings } from '#config/settings.ts'
import { raceAbort } from '#platform/abort.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import { openDiskBlobs } from '#platform/blobs/disk-blobs.ts'
import type { S3Obstacle } from '#platform/blobs/s3-blobs.ts'

export type BlobSettings = Pick<Settings, 'dataDir' | 'blobStore'>

export type OpenBlobsOptions = {
  /** A service makes sure that the store can be written to; a command finds out when it needs it. */
  as: 'service' | 'command'
  /** Of a store that cannot be used now, and may be again. */
  warn(text: string): void
  /** So long a start waits for a server that does not answer, instead of START_MS_MAX. */
  startMs?: number
}

const START_MS_MAX = 5_000

/** Where large raw messages lie on disk. */
export function blobsPath({ dataDir }: Pick<Settings, 'dataDir'>): string {
  return join(dataDir, 'blobs')
}

/**
 * Null where large messages lie in the database. Throws when a bucket cannot be used by what the settings
 * say of it; one whose server is away keeps nobody from starting, and what is found later is warned of.
 */
export async function openBlobs(
  settings: BlobSettings,
  { as, warn, startMs = START_MS_MAX }: OpenBlobsOptions,
): Promise<BlobStore | null> {
  const { blobStore } = settings
  if (blobStore === 'database') return null
  if (blobStore === 'disk') return openDiskBlobs(blobsPath(settings))
  const { openS3Blobs } = await import('#platform/blobs/s3-blobs.ts')
  const blobs = await openS3Blobs(blobStore)
  if (as === 'command') return blobs
  const obstacle = await lookFor(startMs, blobs.findObstacle({ writes: true }), warn)
  if (obstacle?.kind === 'refused') {
    await blobs.close()
    throw new Error(`Large messages cannot be stored: ${obstacle.text}.`)
  }
  if (obstacle !== null) warn(obstacle.text)
  return blobs
}

/** One that has not answered in time is away; what an operator has to change is warned of when it is known. */
async function lookFor(
  ms: number,
  looking: Promise<S3Obstacle | null>,
  warn: OpenBlobsOptions['warn'],
): Promise<S3Obstacle | null> {
  const found = looking.then((obstacle) => ({ obstacle }))
  const looked = await raceAbort(found, { timeoutMs: ms })
  if (looked !== null) return looked.obstacle
  void looking.then((found) => found?.kind === 'refused' && warn(found.text))
  return { kind: 'away', text: `the S3 server has not answered within ${ms / 1_000} seconds` }
}
