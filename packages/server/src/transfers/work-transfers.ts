// Works on exports and imports, apart from other jobs, which a large mailbox would delay.

import { removeBlobs } from '#platform/blobs/blob-store.ts'
import type { Log } from '#platform/log.ts'
import { SECOND_MS } from '#platform/units.ts'
import { inSteps } from '#schema/purge-steps.ts'
import { runExport, type TransferDeps } from './run-export.ts'
import { type ImportDeps, runImport } from './run-import.ts'
import {
  claimTransfer,
  hasDueTransfer,
  purgeTransfersStep,
  returnTransfer,
} from './transfer-rows.ts'

/** Transfers that a process works on at once. */
export const TRANSFERS_AT_ONCE = 2
/** When a transfer that failed for a fault of ours or of the store is tried again. */
const RETRY_MS = 10 * SECOND_MS

type WorkDeps = ImportDeps & { log: Log }

/**
 * Works on one transfer until it is finished; true when there may be more. `worker` is a name that no other call uses.
 * After an aborted `signal` the transfer is returned, and goes on where it was.
 */
export async function workTransfers(
  deps: WorkDeps,
  { worker, signal }: { worker: string; signal: AbortSignal },
): Promise<boolean> {
  const { db, clock, log } = deps
  if (signal.aborted || !(await hasDueTransfer(db, clock.now()))) return false
  const transfer = await db.write(claimTransfer, { worker, nowMs: clock.now() })
  if (transfer === null) return false
  const returned = { transferId: transfer.id, worker }
  try {
    const options = { worker, signal }
    const outcome =
      transfer.kind === 'export'
        ? await runExport(deps, transfer, options)
        : await runImport(deps, transfer, options)
    if (outcome === 'finished') await purgeTransfers(deps, signal)
    else await db.write(returnTransfer, { ...returned, nowMs: clock.now(), notBeforeMs: null })
  } catch (error) {
    log.warn({ error, transfer: transfer.id }, 'an export or import failed and will be retried')
    const nowMs = clock.now()
    await db.write(returnTransfer, { ...returned, nowMs, notBeforeMs: nowMs + RETRY_MS })
  }
  return !signal.aborted
}

/** Removes files whose time is over. Safe to run again. */
export async function purgeTransfers(
  deps: Pick<TransferDeps, 'db' | 'blobs' | 'clock'>,
  signal: AbortSignal,
): Promise<void> {
  await inSteps({ signal }, async () => {
    const step = await deps.db.write(purgeTransfersStep, { nowMs: deps.clock.now() })
    await removeBlobs(deps, step.blobIds)
    return step
  })
}
