// Letting a quarantined message into its inbox: it is read and received anew, but for the rules.

import type { Deps } from '#actions/deps.ts'
import { readRawBytes } from '#actions/message/read-content.ts'
import { contentOf, parentKeysOf, senderKeyOf } from '#actions/message/received-content.ts'
import { removeBlobs } from '#actions/retention/remove-blobs.ts'
import type { Message } from '#model/message.ts'
import { notFound } from '#model/problem.ts'
import { findMessage } from '#store/message.ts'
import { findRawMessage } from '#store/raw-message.ts'
import { storeReleased } from '#store/release-quarantined.ts'
import { getQuarantined } from './quarantine.ts'

/**
 * The message in the inbox: the one that it becomes, or the same one where the inbox has it already.
 * Of several calls one lets it in; to the others, as to any for what the account has not in quarantine,
 * it is `not_found`.
 */
export async function releaseQuarantined(
  deps: Pick<Deps, 'db' | 'blobs' | 'clock' | 'makeId' | 'parser' | 'wakeEvents'>,
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
