// The transaction that lets a quarantined message into its inbox.

import { insertLongBodies } from '#mailbox/long-body-rows.ts'
import type { MessageContent } from '#mailbox/message-statements.ts'
import { dropRawReferences } from '#mailbox/raw-message-rows.ts'
import { transaction } from '#platform/db/db.ts'
import type { Tx } from '#schema/tables.ts'
import { takeQuarantined } from './quarantine-rows.ts'
import { addReceived, findDuplicate, type ReceivedMail } from './receive-message-rows.ts'

export type ReleaseInput = Omit<ReceivedMail, 'raw'> & {
  accountId: string
  quarantinedId: string
  messageId: string
  /** Id of the thread, should the message start one. */
  threadId: string
  eventId: string
}

export type ReleaseOutcome = {
  /** Of the message in the inbox, be it new or there already. */
  messageId: string
  isNew: boolean
  /** Of what nobody refers to any more. */
  blobIds: string[]
}

/** Null when the account has no such message in quarantine, or not any more. */
export const storeReleased = transaction({
  name: 'releaseQuarantined',
  accountOf: ({ accountId }) => accountId,
  async run(tx: Tx, input: ReleaseInput): Promise<ReleaseOutcome | null> {
    const taken = await takeQuarantined(tx, input)
    if (taken === null) return null
    const { accountId, podId, inboxId, rawId, toAddr, deliveryRole } = taken
    const result = await addReceived(
      tx,
      { ...input, raw: { id: rawId, size_bytes: await sizeOf(tx, rawId) } },
      {
        accountId,
        podId,
        inboxId,
        toAddr,
        deliveryRole,
        messageId: input.messageId,
        threadId: input.threadId,
        eventId: input.eventId,
      },
    )
    if (result === 'stored') {
      // The message has the reference to the raw message that the quarantine had.
      await insertLongBodies(tx, rawId, input.content)
      return { messageId: input.messageId, isNew: true, blobIds: [] }
    }
    const messageId = await existingId(tx, inboxId, input.content)
    return { messageId, isNew: false, blobIds: await dropRawReferences(tx, [rawId]) }
  },
})

async function sizeOf(tx: Tx, rawId: string): Promise<number> {
  const raw = await tx.query
    .selectFrom('raw_messages')
    .select('size_bytes')
    .where('id', '=', rawId)
    .executeTakeFirstOrThrow()
  return raw.size_bytes
}

async function existingId(tx: Tx, inboxId: string, content: MessageContent): Promise<string> {
  const messageId = await findDuplicate(tx, inboxId, content)
  if (messageId === null) throw new Error('A message that was there is not.')
  return messageId
}
