// Mail that was kept out: looking at it, and removing it. Letting it in has a file of its own.

import type { HeldContent } from '#mailbox/downloads.ts'
import { readReceivedRaw } from '#mailbox/read-content.ts'
import { type BlobStore, removeBlobs } from '#platform/blobs/blob-store.ts'
import { notFound } from '#platform/problem.ts'
import type { Db, Page } from '#schema/tables.ts'
import * as store from './quarantine-rows.ts'
import { removeQuarantined } from './quarantine-rows.ts'
import type { Quarantined } from './quarantined.ts'

type OfAccount = { accountId: string; quarantinedId: string }

/** Newest first; an unknown inbox gives an empty list. */
export function listQuarantined(
  deps: { db: Db },
  input: { accountId: string; inboxId: string | null } & Page,
): Promise<{ quarantined: Quarantined[]; total: number }> {
  return store.listQuarantined(deps.db, input)
}

/** `not_found` when the account has no such message in quarantine. */
export async function getQuarantined(deps: { db: Db }, input: OfAccount): Promise<Quarantined> {
  const quarantined = await store.findQuarantined(deps.db, input)
  if (quarantined === null) throw notFound()
  return quarantined
}

/** The message as it came over the wire, as it would be read in its inbox. */
export async function readQuarantinedRaw(
  deps: Parameters<typeof readReceivedRaw>[0],
  input: OfAccount,
): Promise<HeldContent> {
  return readReceivedRaw(deps, await getQuarantined(deps, input))
}

/** For good. `not_found` when the account has no such message in quarantine, or not any more. */
export async function deleteQuarantined(
  deps: { db: Db; blobs: BlobStore | null },
  input: OfAccount,
): Promise<void> {
  const removed = await deps.db.write(removeQuarantined, input)
  if (removed === null) throw notFound()
  await removeBlobs(deps, removed.blobIds)
}
