// Writes an export in steps of about a mebibyte, each stored with the position of the next.

import type { ThreadState } from '@mailroom/contract/vocabulary.ts'
import { findInbox } from '#inboxes/store/inboxes.ts'
import { readRawBytes } from '#mailbox/attachments/attachments.ts'
import { readCounters } from '#mailbox/messages/store/messages.ts'
import type { StorageQuota } from '#mailbox/messages/store/storage-quota.ts'
import { removeBlobs } from '#platform/blobs/blob-store.ts'
import type { Held } from '#queue/jobs.ts'
import { CHUNK_BYTES, idsOfBlobs, storeChunks } from '#store/file-chunks.ts'
import type { Store } from '#store/store.ts'
import { readExported } from '#transfers/store/exported-messages.ts'
import {
  addExported,
  type ExportDetails,
  type ExportRow,
  finishTransfer,
} from '#transfers/store/transfers.ts'
import { exportFormats } from './export-formats.ts'

export type Turn = {
  held(): Held
  /** Called between two steps. */
  isOver(): Promise<boolean>
}

/** Mail that never left the service. */
const UNSENT: ReadonlySet<ThreadState> = new Set(['scheduled', 'held', 'rejected', 'cancelled'])

/** Ends early when its turn is over or the lease is lost; a later call continues. */
export async function runExport(
  deps: Store & { storageQuota: StorageQuota },
  transfer: ExportRow,
  { held, isOver }: Turn,
): Promise<'finished' | 'left'> {
  const { db } = deps
  const { accountId } = transfer
  const format = exportFormats[transfer.format]
  let { details, sizeBytes } = transfer
  // An export that begins below the quota is completed.
  const isNew = sizeBytes === 0 && transfer.done === 0
  const add = async (next: ExportDetails, bytes: Uint8Array, written: number) => {
    const chunks = await storeChunks(deps, bytes, sizeBytes)
    const isHeld = await db.write(addExported, { ...held(), details: next, written, chunks })
    if (!isHeld) await removeBlobs(deps, idsOfBlobs(chunks))
    details = next
    sizeBytes += bytes.length
    return isHeld
  }
  if (isNew && (await deps.storageQuota.isFull(accountId))) {
    return finish(deps, held(), 'storage_quota_reached')
  }
  while (!(await isOver())) {
    const { at } = details
    if (at === null) {
      const [inboxId, ...rest] = details.inboxIds ?? []
      if (inboxId === undefined) {
        if (format.end.length > 0 && !(await add(details, format.end, 0))) return 'left'
        return finish(deps, held(), null)
      }
      const inbox = await findInbox(db, accountId, inboxId)
      const counters = await readCounters(db, accountId, inboxId)
      if (inbox === null || counters === null) {
        if (transfer.inboxId !== null) return finish(deps, held(), 'inbox_deleted')
        details = { inboxIds: rest, at: null }
        continue
      }
      // Later mail is omitted, so that the export ends.
      const until = counters.last_arrival
      const next = { inboxIds: rest, at: { inboxId, after: 0, until } }
      if (!(await add(next, await format.begin(inbox.address), 0))) return 'left'
      continue
    }
    const inbox = await findInbox(db, accountId, at.inboxId)
    const messages =
      inbox === null ? [] : await readExported(db, { accountId, ...at, bytesMax: CHUNK_BYTES })
    if (inbox === null && transfer.inboxId !== null) return finish(deps, held(), 'inbox_deleted')
    const last = messages.at(-1)
    if (inbox === null || last === undefined) {
      details = { ...details, at: null }
      continue
    }
    const whole = []
    for (const message of messages) {
      if (!format.hasUnsent && UNSENT.has(message.state)) continue
      whole.push({ ...message, raw: message.content ?? (await readRawBytes(deps, message.rawId)) })
    }
    const bytes = await format.write(whole, inbox.address)
    const next = { ...details, at: { ...at, after: last.arrival } }
    if (!(await add(next, bytes, whole.length))) return 'left'
  }
  return 'left'
}

async function finish(
  { db }: Store,
  held: Held,
  error: 'inbox_deleted' | 'storage_quota_reached' | null,
): Promise<'finished' | 'left'> {
  return (await db.write(finishTransfer, { ...held, error })) ? 'finished' : 'left'
}
