// Stores the bytes of a message with its rows: few in the transaction, many as a blob before it.

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

/** Far below ORPHAN_MS, when the sweep removes a blob without a row. */
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
    // After a long suspension of the machine, the sweep may have removed the blob.
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
    // If the connection was lost at the commit, the row may exist; the sweep removes an orphan.
    if (isBlob && storageErrorKind(error) !== 'unavailable') await removeBlobs(deps, [id])
    throw error
  }
}

/** Only the wall clock counts while the machine is suspended. */
function deadline(clock: Clock): () => boolean {
  const [startMs, startSteadyMs] = [clock.now(), clock.steady()]
  return () => Math.max(clock.now() - startMs, clock.steady() - startSteadyMs) < BLOB_COMMIT_MS_MAX
}

/** SHA-256 in steps: 25 MiB at once would block all connections for up to 60 ms. */
export async function digestInSteps(raw: Uint8Array): Promise<Uint8Array> {
  if (raw.length <= COMPOSE_STEP_BYTES) return ownBytes(hash('sha256', raw, 'buffer'))
  const steps = createHash('sha256')
  for (let start = 0; start < raw.length; start += COMPOSE_STEP_BYTES) {
    if (start > 0) await nextTurn()
    steps.update(raw.subarray(start, start + COMPOSE_STEP_BYTES))
  }
  return ownBytes(steps.digest())
}

/** A message to the writer thread carries the whole buffer of a slice. */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)
}
