import { join } from 'node:path'
import type { Settings } from '#config/settings.ts'
import { raceAbort } from '#platform/abort.ts'
import type { BlobStore } from './blob-store.ts'
import { openDiskBlobs } from './disk-blobs.ts'
import type { S3Obstacle } from './s3-blobs.ts'

type OpenBlobsOptions = {
  /** The service checks at the start that it may write; a command does not. */
  as: 'service' | 'command'
  /** Called if the store is unreachable but may recover. */
  warn(text: string): void
  startMs?: number
}

const START_MS_MAX = 5_000

export function blobsPath({ dataDir }: Pick<Settings, 'dataDir'>): string {
  return join(dataDir, 'blobs')
}

/**
 * Returns null if large messages are stored in the database. Throws if the server refuses access to
 * the bucket; an unreachable server only causes a warning.
 */
export async function openBlobs(
  settings: Pick<Settings, 'dataDir' | 'blobStore'>,
  { as, warn, startMs = START_MS_MAX }: OpenBlobsOptions,
): Promise<BlobStore | null> {
  const { blobStore } = settings
  if (blobStore === 'database') return null
  if (blobStore === 'disk') return openDiskBlobs(blobsPath(settings))
  const { openS3Blobs } = await import('./s3-blobs.ts')
  const blobs = await openS3Blobs(blobStore)
  if (as === 'command') return blobs
  const obstacle = await findObstacleIn(startMs, blobs.findObstacle({ writes: true }), warn)
  if (obstacle?.kind === 'refused') {
    await blobs.close()
    throw new Error(`Large messages cannot be stored: ${obstacle.text}.`)
  }
  if (obstacle !== null) warn(obstacle.text)
  return blobs
}

/** A server that does not answer in time is considered unreachable. Logs a later refusal. */
async function findObstacleIn(
  ms: number,
  finding: Promise<S3Obstacle | null>,
  warn: OpenBlobsOptions['warn'],
): Promise<S3Obstacle | null> {
  const answer = finding.then((obstacle) => ({ obstacle }))
  const inTime = await raceAbort(answer, { timeoutMs: ms })
  if (inTime !== null) return inTime.obstacle
  void finding.then((late) => late?.kind === 'refused' && warn(late.text))
  return { kind: 'away', text: `the S3 server has not answered within ${ms / 1_000} seconds` }
}
