// The bytes behind a message: its raw form and its attachments.

import type { Deps } from '#actions/deps.ts'
import { withoutClaimedResults } from '#mail/claimed-results.ts'
import { asciiDomain } from '#mail/domain-name.ts'
import type { ParsedAttachment } from '#mail/parsed-message.ts'
import { domainOf } from '#model/inbox.ts'
import type { Message } from '#model/message.ts'
import { notFound } from '#model/problem.ts'
import { findMessage, findSignedMessage } from '#store/message.ts'
import { findRawMessage } from '#store/raw-message.ts'
import type { HeldContent } from './downloads.ts'

/**
 * The message of the account as it came over the wire; one that was received without the results of
 * authentication that it claims to have from this service, which writes none into mail.
 */
export async function readRaw(
  deps: Pick<Deps, 'db' | 'blobs' | 'downloads' | 'inboxDomain' | 'smtpHostname'>,
  input: { accountId: string; messageId: string },
): Promise<HeldContent> {
  const message = await findMessage(deps.db, input.accountId, input.messageId, WITHOUT_BODIES)
  if (message === null) throw notFound()
  const { rawId, direction } = message
  if (direction === 'outbound') {
    return deps.downloads.hold('raw', rawId, () => readRawBytes(deps, rawId))
  }
  return readReceivedRaw(deps, message)
}

/** The same of what an inbox received, or would have, by its address. */
export function readReceivedRaw(
  deps: Pick<Deps, 'db' | 'blobs' | 'downloads' | 'inboxDomain' | 'smtpHostname'>,
  { rawId, toAddr }: { rawId: string; toAddr: string },
): Promise<HeldContent> {
  // The same octets may have gone to inboxes of other domains.
  const ownDomain = domainOf(toAddr)
  const ours = new Set([deps.smtpHostname, deps.inboxDomain, ownDomain])
  return deps.downloads.hold('raw', `${rawId} ${ownDomain}`, async () => {
    const raw = await readRawBytes(deps, rawId)
    return withoutClaimedResults(raw, (id) => ours.has(asciiDomain(id)))
  })
}

export type FoundAttachment = {
  readonly messageId: string
  readonly rawId: string
  readonly attachment: ParsedAttachment
}

/**
 * An attachment of a message of the account, or of any message when `accountId` is null, which is
 * for callers who have verified a signature. `not_found` when there is none of this name.
 */
export async function findAttachment(
  deps: Pick<Deps, 'db'>,
  input: { accountId: string | null; messageId: string; filename: string },
): Promise<FoundAttachment> {
  const message = await findOwned(deps, input)
  const attachment = message?.attachments.find(({ filename }) => filename === input.filename)
  if (message === null || attachment === undefined) throw notFound()
  return { messageId: message.id, rawId: message.rawId, attachment }
}

/** The content of an attachment, which its message's bytes are read for when its turn comes. */
export async function readAttachment(
  deps: Pick<Deps, 'db' | 'blobs' | 'parser' | 'downloads'>,
  { messageId, rawId, attachment }: FoundAttachment,
): Promise<HeldContent> {
  const { filename } = attachment
  return deps.downloads.hold('attachment', `${messageId} ${filename}`, async () => {
    const raw = await readRawBytes(deps, rawId)
    const found = await deps.parser.readAttachment(raw, filename)
    if (found === null) throw notFound()
    return found.content
  })
}

/**
 * The bytes of a raw message; ids come from rows of an account or of the operator. `not_found` when
 * it was deleted, be it while it was being read.
 */
export async function readRawBytes(
  deps: Pick<Deps, 'db' | 'blobs'>,
  rawId: string,
): Promise<Uint8Array> {
  const raw = await findRawMessage(deps.db, rawId)
  if (raw === null) throw notFound()
  const content = raw.content ?? (await deps.blobs?.get(rawId)) ?? null
  if (content !== null) return content
  // A deletion takes the row first and the bytes after it.
  if ((await findRawMessage(deps.db, rawId)) === null) throw notFound()
  throw new Error(`The bytes of ${rawId} are not in the blob store.`)
}

/** Long bodies need not be read to find a message or an attachment. */
const WITHOUT_BODIES = { lengthMax: 0 }

function findOwned(
  deps: Pick<Deps, 'db'>,
  input: { accountId: string | null; messageId: string },
): Promise<Message | null> {
  return input.accountId === null
    ? findSignedMessage(deps.db, input.messageId, WITHOUT_BODIES)
    : findMessage(deps.db, input.accountId, input.messageId, WITHOUT_BODIES)
}
