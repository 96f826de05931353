// Letting a quarantined message into its inbox: it is read and received anew, but for the rules.

import type { Message } from '#mailbox/message.ts'
import { findMessage } from '#mailbox/message-rows.ts'
import { findRawMessage } from '#mailbox/raw-message-rows.ts'
import { readRawBytes } from '#mailbox/read-content.ts'
import { type BlobStore, removeBlobs } from '#platform/blobs/blob-store.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import { notFound } from '#platform/problem.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { Db } from '#schema/tables.ts'
import { getQuarantined } from './quarantine.ts'
import { storeReleased } from './quarantine-rows.ts'
import { contentOf, parentKeysOf, senderKeyOf } from './received-content.ts'

/**
 * The message in the inbox: the one that it becomes, or the same one where the inbox has it already.
 * Of several calls one lets it in; to the others, as to any for what the account has not in quarantine,
 * it is `not_found`.
 */
export async function releaseQuarantined(
  deps: {
    db: Db
    blobs: BlobStore | null
    clock: Clock
    makeId: MakeId
    parser: Parser
    wakeEvents: () => void
  },
  input: { accountId: string; quarantinedId: string },
): Promise<Message> {
  const { rawId, reversePath, authentication } = await getQuarantined(deps, input)
  const raw = await findRawMessage(deps.db, rawId)
  if (raw === null) throw notFound()
  const parsed = await deps.parser.parse(await readRawBytes(deps, rawId))
  const released = await deps.db.write(storeReleased, {
    ...input,
    // Who sent it was found out when it came; keys and records of then may be gone.
    content: contentOf(parsed, { sha256: raw.sha256, reversePath, authentication }),
    parentKeys: parentKeysOf(parsed.headers),
    senderKey: senderKeyOf(parsed.headers),
    messageId: deps.makeId('msg'),
    threadId: deps.makeId('thr'),
    eventId: deps.makeId('evt'),
    nowMs: deps.clock.now(),
  })
  if (released === null) throw notFound()
  if (released.isNew) deps.wakeEvents()
  await removeBlobs(deps, released.blobIds)
  const message = await findMessage(deps.db, input.accountId, released.messageId)
  // Its inbox was deleted in between.
  if (message === null) throw notFound()
  return message
}
