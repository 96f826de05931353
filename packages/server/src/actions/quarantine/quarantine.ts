// Mail that was kept out: looking at it, and removing it. Letting it in has a file of its own.

import type { Deps } from '#actions/deps.ts'
import type { HeldContent } from '#actions/message/downloads.ts'
import { readReceivedRaw } from '#actions/message/read-content.ts'
import type { Page } from '#actions/page.ts'
import { removeBlobs } from '#actions/retention/remove-blobs.ts'
import { notFound } from '#model/problem.ts'
import type { Quarantined } from '#model/quarantined.ts'
import * as store from '#store/quarantine.ts'
import { removeQuarantined } from '#store/quarantine.ts'

type OfAccount = { accountId: string; quarantinedId: string }

/** Newest first; an unknown inbox gives an empty list. */
export function listQuarantined(
  deps: Pick<Deps, 'db'>,
  input: { accountId: string; inboxId: string | null } & Page,
): Promise<{ quarantined: Quarantined[]; total: number }> {
  return store.listQuarantined(deps.db, input)
}

/** `not_found` when the account has no such message in quarantine. */
export async function getQuarantined(
  deps: Pick<Deps, 'db'>,
  input: OfAccount,
): Promise<Quarantined> {
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
  deps: Pick<Deps, 'db' | 'blobs'>,
  input: OfAccount,
): Promise<void> {
  const removed = await deps.db.write(removeQuarantined, input)
  if (removed === null) throw notFound()
  await removeBlobs(deps, removed.blobIds)
}
