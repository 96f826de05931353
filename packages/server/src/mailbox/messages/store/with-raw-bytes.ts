// Stores a message's bytes with its rows, or before them as a blob if the message is large.

import { createHash, hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { COMPOSE_STEP_BYTES } from '@mailroom/mail/compose/encode-transfer.ts'
import { ROW_BLOB_BYTES_MAX, removeBlobs } from '#platform/blobs/blob-store.ts'
import type { Clock } from '#platform/clock.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import { storageErrorKind } from '#platform/problem.ts'
import { HOUR_MS } from '#platform/units.ts'
import type { Store } from '#store/store.ts'
import type { NewRow } from '#store/tables.ts'

/** This must be far less than ORPHAN_MS, when a blob without a row is removed. */
export const BLOB_COMMIT_MS_MAX = HOUR_MS

type RawRow = Pick<NewRow<'raw_messages'>, 'id' | 'sha256' | 'size_bytes' | 'content'>

/** `isKept` returns whether the outcome means that the row was written. */
export async function withRawBytes<Outcome>(
  deps: Store,
  raw: Uint8Array,
  steps: { write(row: RawRow): Promise<Outcome>; isKept(outcome: Outcome): boolean },
): Promise<Outcome> {
  const id = deps.makeId('raw')
  const sha256 = await digestInSteps(raw)
  const isBlob = deps.blobs !== null && raw.length > ROW_BLOB_BYTES_MAX
  const isInTime = deadline(deps.clock)
  if (isBlob) await deps.blobs?.put(id, raw)
  try {
    // If the machine was suspended for long, the blob may have been removed as an orphan.
    if (isBlob && !isInTime())
      throw new StorageError('busy', 'Too much time has passed since the raw message was stored.')
    const outcome = await steps.write({
      id,
      sha256,
      size_bytes: raw.length,
      content: isBlob ? null : ownBytes(raw),
    })
    if (isBlob && !steps.isKept(outcome)) await removeBlobs(deps, [id])
    return outcome
  } catch (error) {
    // If the connection was lost during the commit, the row may exist, so the blob is kept.
    if (isBlob && storageErrorKind(error) !== 'unavailable') await removeBlobs(deps, [id])
    throw error
  }
}

/** While the machine is suspended, only the wall clock advances. */
function deadline(clock: Clock): () => boolean {
  const [startMs, startSteadyMs] = [clock.now(), clock.steady()]
  return () => Math.max(clock.now() - startMs, clock.steady() - startSteadyMs) < BLOB_COMMIT_MS_MAX
}

/** Hashes in steps, because 25 MiB at once would block all connections for up to 60 ms. */
export async function digestInSteps(raw: Uint8Array): Promise<Uint8Array> {
  if (raw.length <= COMPOSE_STEP_BYTES) return ownBytes(hash('sha256', raw, 'buffer'))
  const steps = createHash('sha256')
  for (let start = 0; start < raw.length; start += COMPOSE_STEP_BYTES) {
    if (start > 0) await nextTurn()
    steps.update(raw.subarray(start, start + COMPOSE_STEP_BYTES))
  }
  return ownBytes(steps.digest())
}

/** Copies a slice, because posting it to the writer thread would copy its entire buffer. */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)
}
