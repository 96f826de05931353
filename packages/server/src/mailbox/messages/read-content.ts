import { asciiDomain } from '@mailroom/mail/address.ts'
import { withoutClaimedResults } from '@mailroom/mail/authentication.ts'
import { cleanLine } from '@mailroom/mail/charset.ts'
import { decodeWords } from '@mailroom/mail/encoded-word.ts'
import { type HeaderField, readHeaderSection } from '@mailroom/mail/header-fields.ts'
import type { ParsedAttachment } from '@mailroom/mail/mime/parsed-message.ts'
import type { Settings } from '#config/settings.ts'
import type { Downloads, HeldContent } from '#mailbox/attachments/downloads.ts'
import { findMessage, findSignedMessage, type Message } from '#mailbox/messages/store/messages.ts'
import { findRawMessage } from '#mailbox/messages/store/raw-messages.ts'
import type { Parser } from '#parser/parser.ts'
import { domainOf } from '#platform/email-address.ts'
import { notFound } from '#platform/problem.ts'
import type { Store } from '#store/store.ts'
import type { Db } from '#store/tables.ts'

export type RawReader = Store &
  Pick<Settings, 'inboxDomain' | 'smtpHostname'> & { downloads: Downloads }

/** Removes Authentication-Results fields in the name of this service, which are always forged. */
export async function readRaw(
  deps: RawReader,
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

export async function readHeaders(
  deps: RawReader,
  input: { accountId: string; messageId: string },
): Promise<{ data: HeaderField[]; total: number; isTruncated: boolean }> {
  const raw = await readRaw(deps, input)
  try {
    const { fields, defect } = readHeaderSection(raw.content)
    const data = fields.map(({ name, value }) => ({ name, value: cleanLine(decodeWords(value)) }))
    return { data, total: data.length, isTruncated: defect !== null }
  } finally {
    raw.release()
  }
}

/** Reads the raw bytes of received and quarantined messages. */
export function readReceivedRaw(
  deps: RawReader,
  { rawId, toAddr }: { rawId: string; toAddr: string },
): Promise<HeldContent> {
  // The bytes may be shared with inboxes on other domains.
  const ownDomain = domainOf(toAddr)
  const ours = new Set([deps.smtpHostname, deps.inboxDomain, ownDomain])
  return deps.downloads.hold('raw', `${rawId} ${ownDomain}`, async () => {
    const raw = await readRawBytes(deps, rawId)
    return withoutClaimedResults(raw, (id) => ours.has(asciiDomain(id)))
  })
}

export type FoundAttachment = {
  readonly messageId: string
  readonly inboxId: string
  readonly rawId: string
  readonly attachment: ParsedAttachment
}

/** If `accountId` is null, the caller has verified a signature. Throws `not_found`. */
export async function findAttachment(
  deps: { db: Db },
  input: { accountId: string | null; messageId: string; filename: string },
): Promise<FoundAttachment> {
  const message = await findOwned(deps, input)
  const attachment = message?.attachments.find(({ filename }) => filename === input.filename)
  if (message === null || attachment === undefined) throw notFound()
  return { messageId: message.id, inboxId: message.inboxId, rawId: message.rawId, attachment }
}

export async function readAttachment(
  deps: Store & { parser: Parser; downloads: Downloads },
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

/** The caller must take `rawId` from a row. Throws `not_found` if it is deleted during the read. */
export async function readRawBytes(
  deps: Pick<Store, 'db' | 'blobs'>,
  rawId: string,
): Promise<Uint8Array> {
  const raw = await findRawMessage(deps.db, rawId)
  if (raw === null) throw notFound()
  const content = raw.content ?? (await deps.blobs?.get(rawId)) ?? null
  if (content !== null) return content
  // A deletion removes the row before the bytes.
  if ((await findRawMessage(deps.db, rawId)) === null) throw notFound()
  throw new Error(`The bytes of ${rawId} are not in the blob store.`)
}

const WITHOUT_BODIES = { lengthMax: 0 }

function findOwned(
  deps: { db: Db },
  input: { accountId: string | null; messageId: string },
): Promise<Message | null> {
  return input.accountId === null
    ? findSignedMessage(deps.db, input.messageId, WITHOUT_BODIES)
    : findMessage(deps.db, input.accountId, input.messageId, WITHOUT_BODIES)
}
