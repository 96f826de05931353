// Storing the bytes of a message with the rows that refer to them: in the same transaction where they
// are few, else in the blob store before it, from where they go again when nothing came of it.

import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { COMPOSE_STEP_BYTES } from '@mailroom/mail/compose/encode-transfer.ts'
import { type BlobStore, ROW_BLOB_BYTES_MAX, removeBlobs } from '#platform/blobs/blob-store.ts'
import type { Clock } from '#platform/clock.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import type { MakeId } from '#platform/ids.ts'
import { storageTrouble } from '#platform/problem.ts'
import { HOUR_MS } from '#platform/units.ts'
import type { NewRow } from '#schema/tables.ts'

/** From storing bytes to the commit that refers to them. Far below ORPHAN_MS; past it they are given up. */
export const BLOB_COMMIT_MS_MAX = HOUR_MS

export type RawRow = Pick<NewRow<'raw_messages'>, 'id' | 'sha256' | 'size_bytes' | 'content'>

/**
 * Runs `write` with what the row of these bytes needs; `isKept` says of its outcome whether the row
 * was written. Rejects as `write` and the blob store do.
 */
export async function withRawBytes<Outcome>(
  deps: { blobs: BlobStore | null; clock: Clock; makeId: MakeId },
  raw: Uint8Array,
  steps: { write(row: RawRow): Promise<Outcome>; isKept(outcome: Outcome): boolean },
): Promise<Outcome> {
  const id = deps.makeId('raw')
  const sha256 = await digest(raw)
  const isBlob = deps.blobs !== null && raw.length > ROW_BLOB_BYTES_MAX
  const isInTime = deadline(deps.clock)
  if (isBlob) await deps.blobs?.put(id, raw)
  try {
    // A process that slept for a day may find its bytes swept.
    if (isBlob && !isInTime()) throw new StorageError('busy', 'The bytes were stored too long ago.')
    const outcome = await steps.write({
      id,
      sha256,
      size_bytes: raw.length,
      content: isBlob ? null : ownBytes(raw),
    })
    if (isBlob && !steps.isKept(outcome)) await removeBlobs(deps, [id])
    return outcome
  } catch (error) {
    // A connection lost at the commit leaves open whether it happened: then the bytes stay, and the
    // sweep of orphans removes them should nothing refer to them.
    if (isBlob && storageTrouble(error) !== 'unavailable') await removeBlobs(deps, [id])
    throw error
  }
}

/** By either clock: the one that can be set counts also while the machine sleeps. */
function deadline(clock: Clock): () => boolean {
  const [startMs, startSteadyMs] = [clock.now(), clock.steady()]
  return () => Math.max(clock.now() - startMs, clock.steady() - startSteadyMs) < BLOB_COMMIT_MS_MAX
}

/** In steps: of 25 MiB at once it takes up to 60 ms, in which no connection would be served. */
async function digest(raw: Uint8Array): Promise<Uint8Array> {
  const hash = createHash('sha256')
  for (let start = 0; start < raw.length; start += COMPOSE_STEP_BYTES) {
    if (start > 0) await nextTurn()
    hash.update(raw.subarray(start, start + COMPOSE_STEP_BYTES))
  }
  return ownBytes(hash.digest())
}

/**
 * The same bytes in memory of their own: a view is sent to the writer with all of the memory behind
 * it, and these are slices of what a socket read or of a shared pool.
 */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)
}
