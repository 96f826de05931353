import { removeBlobs } from '#platform/blobs/blob-store.ts'
import { HOUR_MS } from '#platform/units.ts'
import type { FeatureWork } from '#queue/background.ts'
import type { JobKind } from '#queue/work-jobs.ts'
import { inSteps } from '#store/purge-steps.ts'
import type { Store } from '#store/store.ts'
import { failTransfer, purgeTransfersStep, startTransfer } from '#transfers/store/transfers.ts'
import { runExport } from './run-export.ts'
import { type ImportDeps, runImport } from './run-import.ts'

/** The limit is reached after about twenty minutes of faults without progress. */
const FAULTS_MAX = 8

export function transferWork(deps: ImportDeps): FeatureWork {
  const name = 'expired files'
  return {
    jobs: [transferJobs(deps)],
    tasks: [
      { name, everyMs: HOUR_MS, by: 'schedule', run: (signal) => purgeTransfers(deps, signal) },
    ],
  }
}

/** Each job is keyed by the id of an export or import. */
function transferJobs(deps: ImportDeps): JobKind {
  const purge = () => purgeTransfers(deps, new AbortController().signal)
  return {
    name: 'transfer',
    atOnce: 2,
    isExclusive: true,
    faultsMax: FAULTS_MAX,
    async run([job], { held, isOver }) {
      const transfer = await deps.db.write(startTransfer, held(job))
      if (transfer === null) return 'done'
      const turn = { held: () => held(job), isOver }
      const outcome =
        transfer.kind === 'export'
          ? await runExport(deps, transfer, turn)
          : await runImport(deps, transfer, turn)
      if (outcome === 'left') return 'again'
      await purge()
      return 'done'
    },
    async giveUp(held, trouble) {
      await deps.db.write(failTransfer, { ...held, trouble })
      await purge()
    },
  }
}

/** This is safe to repeat. */
export async function purgeTransfers(deps: Store, signal: AbortSignal): Promise<void> {
  await inSteps({ signal }, async () => {
    const step = await deps.db.write(purgeTransfersStep, { nowMs: deps.clock.now() })
    await removeBlobs(deps, step.blobIds)
    return step
  })
}
