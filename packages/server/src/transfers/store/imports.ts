// Adds messages to the inbox in one transaction with the progress of the import.

import type { SkipReason } from '@mailroom/contract/transfers.ts'
import { reportAddedThreads } from '#events/store/append.ts'
import { type ImportedArrival, receiveImported } from '#inbound/receive/store/receive-messages.ts'
import { transaction } from '#platform/db/db.ts'
import type { Held } from '#queue/jobs.ts'
import type { Tx } from '#store/tables.ts'
import { holdTransfer, type ImportDetails, type ImportFailure } from './transfers.ts'

/** Further failures are only counted. */
const FAILURES_MAX = 100

export type ImportStep = Held & {
  /** Bytes of the file that are read after this step. */
  done: number
  arrivals: ImportedArrival[]
  failures: ImportFailure[]
  skips: SkipReason[]
  eventId: string
}

export type ImportOutcome =
  | 'lost'
  | 'inbox_deleted'
  /** The caller must remove the blobs of the other messages. */
  | { keptRawIds: string[] }

export const addImported = transaction({
  name: 'addImported',
  accountOf: ({ arrivals }) => arrivals[0]?.receipts[0]?.accountId ?? null,
  async run(
    tx: Tx,
    { done, arrivals, failures, skips, eventId, ...held }: ImportStep,
  ): Promise<ImportOutcome> {
    const transfer = await holdTransfer(tx, held)
    if (transfer === null || transfer.kind !== 'import') return 'lost'
    const { inboxId, details } = transfer
    const results = await receiveImported(tx, inboxId, arrivals)
    if (results.some(({ kind }) => kind === 'gone')) return 'inbox_deleted'
    const stored = arrivals.filter((_, index) => results[index]?.kind === 'stored')
    if (stored.length > 0) {
      const { accountId } = transfer
      await reportAddedThreads(tx, { id: eventId, accountId, inboxId, nowMs: held.nowMs })
    }
    const duplicates = results.filter(({ kind }) => kind === 'duplicate').length
    const next = {
      ...details,
      handled: details.handled + arrivals.length + failures.length + skips.length,
      skipped: addSkips(details.skipped, skips),
      failures: [...details.failures, ...failures].slice(0, FAILURES_MAX),
    }
    await tx.query
      .updateTable('transfers')
      .set({
        details: JSON.stringify(next),
        done_count: done,
        imported_count: transfer.imported + stored.length,
        duplicate_count: transfer.duplicates + duplicates,
        failed_count: transfer.failed + failures.length,
      })
      .where('id', '=', transfer.id)
      .execute()
    return { keptRawIds: stored.map(({ raw }) => raw.id) }
  },
})

function addSkips(
  before: ImportDetails['skipped'],
  skips: readonly SkipReason[],
): ImportDetails['skipped'] {
  const counts = { ...before }
  for (const reason of skips) counts[reason] = (counts[reason] ?? 0) + 1
  return counts
}
