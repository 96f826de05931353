import { type Draft, findDraft, sendDraft } from '#drafts/store/drafts.ts'
import type { Context } from '#http/handler.ts'
import { isAnyMatch, isMatch } from '#http/if-match.ts'
import { readRawBytes } from '#mailbox/attachments/attachments.ts'
import { hashOfLeaseToken } from '#mailbox/claims/store/claim-token.ts'
import { messageOf } from '#outbound/outbound.ts'
import { findReplay, type SendDeps, sendMessage } from '#outbound/send/send.ts'
import { removeBlobs } from '#platform/blobs/blob-store.ts'
import { AppError, notFound, problem, wrongField } from '#platform/problem.ts'

const ATTEMPTS_MAX = 5

export function etagOf({ version }: Draft): string {
  return `"${version}"`
}

export async function getDraft(
  deps: Pick<SendDeps, 'db'>,
  accountId: string,
  draftId: string,
): Promise<Draft> {
  const draft = await findDraft(deps.db, accountId, draftId)
  if (draft === null) throw notFound()
  return draft
}

type Asked = Pick<Context, 'headers'> & {
  accountId: string
  idempotencyKey: string
  requestHash: Uint8Array
}

/**
 * Sends the draft as it is stored, and removes it in the transaction that accepts the message.
 * Throws what `sendMessage` does, `bad_request` for missing fields, and `draft_changed`.
 */
export async function sendStoredDraft(
  deps: SendDeps,
  draftId: string,
  { headers, accountId, idempotencyKey, requestHash }: Asked,
): ReturnType<typeof sendMessage> {
  const wanted = headers['if-match']
  for (let attempt = 1; ; attempt++) {
    const draft = await findDraft(deps.db, accountId, draftId)
    if (draft === null) {
      // A concurrent request with the same key may have sent the draft.
      const response = await findReplay(deps, { accountId, key: idempotencyKey, requestHash })
      if (response !== null) return { isReplay: true, response }
      throw notFound()
    }
    if (!isMatch(wanted, etagOf(draft))) throw problem('draft_changed')
    try {
      const leaseTokenHash = hashOfLeaseToken(headers['lease-token'])
      const use = { accountId, idempotencyKey, requestHash, leaseTokenHash }
      return await sendVersion(deps, draft, use)
    } catch (error) {
      const hasChanged = error instanceof AppError && error.code === 'draft_changed'
      if (!hasChanged || !isAnyMatch(wanted) || attempt === ATTEMPTS_MAX) throw error
    }
  }
}

async function sendVersion(
  deps: SendDeps,
  draft: Draft,
  use: Omit<Asked, 'headers'> & { leaseTokenHash: Uint8Array | null },
): ReturnType<typeof sendMessage> {
  const { id: draftId, inboxId, version, content } = draft
  const { body, subject, threadId } = content
  if (body === undefined) throw wrongField('body', 'is required')
  if (subject === undefined && threadId === undefined) throw wrongField('subject', 'is required')
  const fields = messageOf({ ...content, body })
  const attachments = await readFiles(deps, draft)
  const input = { ...use, inboxId, ...fields, attachments }
  const removed: string[] = []
  const answer = await sendMessage(deps, input, async (send) => {
    const { outcome, blobIds } = await deps.db.write(sendDraft, { draftId, version, send })
    if (outcome.kind === 'draft_changed') throw problem('draft_changed')
    removed.push(...blobIds)
    return outcome
  })
  await removeBlobs(deps, removed)
  return answer
}

/** Throws `draft_changed` if a file was removed after the draft was read. */
async function readFiles(deps: SendDeps, { files }: Draft) {
  const read = files.map(async ({ filename, contentType, contentId, rawId }) => ({
    filename,
    contentType,
    contentId,
    content: await readRawBytes(deps, rawId).catch((error) => {
      const isRemoved = error instanceof AppError && error.code === 'not_found'
      throw isRemoved ? problem('draft_changed') : error
    }),
  }))
  return Promise.all(read)
}
