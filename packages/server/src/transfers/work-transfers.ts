// Works on exports and imports, apart from other jobs, which a large mailbox would delay.

import { removeBlobs } from '#platform/blobs/blob-store.ts'
import type { Log } from '#platform/log.ts'
import { SECOND_MS } from '#platform/units.ts'
import { failureOf } from '#queue/trouble.ts'
import { inSteps } from '#schema/purge-steps.ts'
import { runExport, type TransferDeps } from './run-export.ts'
import { type ImportDeps, runImport } from './run-import.ts'
import {
  claimTransfer,
  failTransfer,
  hasDueTransfer,
  purgeTransfersStep,
  returnTransfer,
  type Transfer,
} from './transfer-rows.ts'

/** Transfers that a process works on at once. */
export const TRANSFERS_AT_ONCE = 2

type WorkDeps = ImportDeps & { log: Log }

/** A transfer is worked on for so long while other accounts wait. */
const TURN_MS = 3 * SECOND_MS

/**
 * Works on one transfer until it is finished, or its turn is over; true when there may be more. One that fails for a fault of ours or of the
 * store is tried again. `worker` is a name that no other call uses.
 * After an aborted `signal` the transfer is returned, and continues where it was.
 */
export async function workTransfers(
  deps: WorkDeps,
  { worker, signal }: { worker: string; signal: AbortSignal },
): Promise<boolean> {
  const { db, clock, log } = deps
  if (signal.aborted || !(await hasDueTransfer(db, { nowMs: clock.now() }))) return false
  const transfer = await db.write(claimTransfer, { worker, nowMs: clock.now() })
  if (transfer === null) return false
  const returned = { transferId: transfer.id, worker }
  try {
    const options = { worker, isOver: openTurn(deps, transfer, signal) }
    const outcome =
      transfer.kind === 'export'
        ? await runExport(deps, transfer, options)
        : await runImport(deps, transfer, options)
    if (outcome === 'left') await db.write(returnTransfer, { ...returned, nowMs: clock.now() })
    else await purgeTransfers(deps, signal)
  } catch (error) {
    // Before the write, which may fail as well.
    log.warn({ error, transfer: transfer.id }, 'an attempt at an export or import failed')
    const failure = failureOf(error)
    const hasEnded = await db.write(failTransfer, { ...returned, failure, nowMs: clock.now() })
    if (hasEnded) {
      log.warn({ transfer: transfer.id }, 'an export or import failed too often and has ended')
      await purgeTransfers(deps, signal)
    }
  }
  return !signal.aborted
}

/** The returned function says when to leave the transfer for another account. */
function openTurn(
  { db, clock }: Pick<WorkDeps, 'db' | 'clock'>,
  { accountId }: Pick<Transfer, 'accountId'>,
  signal: AbortSignal,
): () => Promise<boolean> {
  const openedMs = clock.monotonic()
  let untilMs: number | null = null
  return async () => {
    if (signal.aborted) return true
    const nowMs = clock.monotonic()
    // An import reads its file again from the start; its turn takes at least as long as that.
    untilMs ??= nowMs + Math.max(TURN_MS, nowMs - openedMs)
    if (nowMs < untilMs) return false
    return hasDueTransfer(db, { nowMs: clock.now(), exceptAccount: accountId })
  }
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
