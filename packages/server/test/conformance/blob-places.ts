// The blob stores that one suite of tests runs on. TEST_MAILROOM_S3 selects another S3 server than that of the
// package, as MAILROOM_BLOB_URL would, for a run by hand.

import { mkdtemp, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'node:test'
import { readSettings } from '#config/read-settings.ts'
import { type BlobStore, blobName } from '#platform/blobs/blob-store.ts'
import { openDiskBlobs } from '#platform/blobs/disk-blobs.ts'
import { openS3Blobs } from '#platform/blobs/s3-blobs.ts'
import type { S3Location } from '#platform/blobs/s3-transport.ts'
import { LOWER_ALPHANUMERIC, randomText, systemChance } from '#platform/chance.ts'
import { startS3, type TestS3 } from '#test/peers/s3.ts'

export type BlobPlace = {
  readonly blobs: BlobStore
  /** Sets the age of a blob; null where the server does not allow it. */
  readonly setStoredMs: ((id: string, storedMs: number) => Promise<void>) | null
  close(): Promise<void>
}

export type BlobKind = 'disk' | 's3'

/** Runs the same tests on a folder and on a bucket. */
export function onEachBlobStore(name: string, define: (kind: BlobKind) => void): void {
  for (const kind of ['disk', 's3'] as const) suite(`${name} (${kind})`, () => define(kind))
}

let shared: Promise<TestS3> | null = null

/** The server of the test file that runs: files of one process run one after the other. */
export function sharedS3(): Promise<TestS3> {
  shared ??= startS3()
  return shared
}

/** For `after`. */
export async function closeSharedS3(): Promise<void> {
  const closing = shared
  shared = null
  await (await closing)?.close()
}

/** An empty store: a folder of its own, or a prefix of its own in the bucket. */
export async function openBlobPlace(kind: BlobKind): Promise<BlobPlace> {
  if (kind === 's3') return openBucket()
  const home = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  const folder = join(home, 'blobs')
  return {
    blobs: await openDiskBlobs(folder),
    setStoredMs: (id, ms) => utimes(join(folder, blobName(id)), ms / 1_000, ms / 1_000),
    close: () => rm(home, { recursive: true, force: true }),
  }
}

async function openBucket(): Promise<BlobPlace> {
  const prefix = `test/${randomText(systemChance, LOWER_ALPHANUMERIC, 12)}`
  const other = otherServer()
  if (other !== null) {
    const blobs = await openS3Blobs({ ...other, prefix })
    return { blobs, setStoredMs: null, close: () => blobs.close() }
  }
  const s3 = await sharedS3()
  const blobs = await openS3Blobs(s3.placeAt(prefix))
  return {
    blobs,
    setStoredMs: (id, ms) => s3.setStoredMs(`${prefix}/${blobName(id)}`, ms),
    close: () => blobs.close(),
  }
}

function otherServer(): S3Location | null {
  const url = process.env.TEST_MAILROOM_S3
  if (url === undefined) return null
  const reading = readSettings({ MAILROOM_BLOB_URL: url })
  if (reading.kind === 'mistakes' || typeof reading.settings.blobStore === 'string') {
    throw new Error('TEST_MAILROOM_S3 names no bucket.')
  }
  return reading.settings.blobStore
}
