// The bytes behind a message: its raw form and its attachments.

import { asciiDomain } from '@mailroom/mail/address.ts'
import { withoutClaimedResults } from '@mailroom/mail/authentication.ts'
import type { ParsedAttachment } from '@mailroom/mail/mime/parsed-message.ts'
import { domainOf } from '#inboxes/inbox.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import { notFound } from '#platform/problem.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { Db } from '#schema/tables.ts'
import type { Downloads, HeldContent } from './downloads.ts'
import type { Message } from './message.ts'
import { findMessage, findSignedMessage } from './message-rows.ts'
import { findRawMessage } from './raw-message-rows.ts'

/**
 * The message of the account as it came over the wire; one that was received without the results of
 * authentication that it claims to have from this service, which writes none into mail.
 */
export async function readRaw(
  deps: {
    db: Db
    blobs: BlobStore | null
    downloads: Downloads
    inboxDomain: string
    smtpHostname: string
  },
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
  deps: {
    db: Db
    blobs: BlobStore | null
    downloads: Downloads
    inboxDomain: string
    smtpHostname: string
  },
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
  deps: { db: Db },
  input: { accountId: string | null; messageId: string; filename: string },
): Promise<FoundAttachment> {
  const message = await findOwned(deps, input)
  const attachment = message?.attachments.find(({ filename }) => filename === input.filename)
  if (message === null || attachment === undefined) throw notFound()
  return { messageId: message.id, rawId: message.rawId, attachment }
}

/** The content of an attachment, which its message's bytes are read for when its turn comes. */
export async function readAttachment(
  deps: { db: Db; blobs: BlobStore | null; parser: Parser; downloads: Downloads },
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
  deps: { db: Db; blobs: BlobStore | null },
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
  deps: { db: Db },
  input: { accountId: string | null; messageId: string },
): Promise<Message | null> {
  return input.accountId === null
    ? findSignedMessage(deps.db, input.messageId, WITHOUT_BODIES)
    : findMessage(deps.db, input.accountId, input.messageId, WITHOUT_BODIES)
}
