// The bytes behind a message: its raw form and its attachments.

import type { Deps } from '#actions/deps.ts'
import type { ParsedAttachment } from '#mail/parsed-message.ts'
import type { Message } from '#model/message.ts'
import { notFound } from '#model/problem.ts'
import { findMessage, findSignedMessage } from '#store/message.ts'
import { findRawMessage } from '#store/raw-message.ts'

/** The message of the account as it came over the wire. */
export async function readRaw(
  deps: Pick<Deps, 'db' | 'blobs'>,
  input: { accountId: string; messageId: string },
): Promise<Uint8Array> {
  const message = await findMessage(deps.db, input.accountId, input.messageId)
  if (message === null) throw notFound()
  return readRawBytes(deps, message.rawId)
}

/**
 * An attachment of a message of the account, or of any message when `accountId` is null, which is
 * for callers who have verified a signature.
 */
export async function readAttachment(
  deps: Pick<Deps, 'db' | 'blobs' | 'parser'>,
  input: { accountId: string | null; messageId: string; filename: string },
): Promise<{ attachment: ParsedAttachment; content: Uint8Array }> {
  const message = await findOwned(deps, input)
  if (message === null) throw notFound()
  if (!message.attachments.some(({ filename }) => filename === input.filename)) throw notFound()
  const raw = await readRawBytes(deps, message.rawId)
  const found = await deps.parser.readAttachment(raw, input.filename)
  if (found === null) throw notFound()
  return found
}

/** The bytes of a raw message; ids come from rows of an account or of the operator. */
export async function readRawBytes(
  deps: Pick<Deps, 'db' | 'blobs'>,
  rawId: string,
): Promise<Uint8Array> {
  const raw = await findRawMessage(deps.db, rawId)
  if (raw === null) throw notFound()
  const content = raw.content ?? (await deps.blobs?.get(rawId)) ?? null
  if (content === null) throw new Error(`The bytes of ${rawId} are not in the blob store.`)
  return content
}

function findOwned(
  deps: Pick<Deps, 'db'>,
  input: { accountId: string | null; messageId: string },
): Promise<Message | null> {
  return input.accountId === null
    ? findSignedMessage(deps.db, input.messageId)
    : findMessage(deps.db, input.accountId, input.messageId)
}
