import {
  QUARANTINED_TEXT_LENGTH_MAX,
  type QuarantinedContent,
  type QuarantinedMessage,
} from '@mailroom/contract/quarantine.ts'
import { fileHeaders } from '#http/download.ts'
import type { HandlersOf } from '#http/handler.ts'
import * as store from '#inbound/quarantine/store/quarantined-mail.ts'
import {
  QUARANTINE_MS,
  removeQuarantined,
  storeReleased,
} from '#inbound/quarantine/store/quarantined-mail.ts'
import {
  contentOf,
  mentionsOf,
  parentKeysOf,
  type ReadsFiles,
  senderKeyOf,
} from '#inbound/receive/received-content.ts'
import {
  type RawReader,
  readRawBytes,
  readReceivedRaw,
  type UrlSigner,
} from '#mailbox/attachments/attachments.ts'
import { type Extractions, presentMessage } from '#mailbox/messages/messages.ts'
import { NOT_SCANNED } from '#mailbox/messages/store/message-kind.ts'
import { findMessage, type Message } from '#mailbox/messages/store/messages.ts'
import { findRawMessage } from '#mailbox/messages/store/raw-messages.ts'
import type { Parser } from '#parser/parser.ts'
import { removeBlobs } from '#platform/blobs/blob-store.ts'
import { presentTime } from '#platform/clock.ts'
import { notFound } from '#platform/problem.ts'
import { type Quarantined, quarantinedMessages } from '#store/nouns.ts'
import type { Db } from '#store/tables.ts'

type QuarantineDeps = RawReader &
  UrlSigner & { parser: Parser; extractions: Extractions; readsFiles: ReadsFiles }

export function quarantineHandlers(deps: QuarantineDeps): HandlersOf<'quarantine'> {
  return {
    'quarantine.list': async ({ query }, { accountId }) => {
      const { inboxId = null, ...page } = query
      const found = await store.listQuarantined(deps.db, { accountId, inboxId, ...page })
      return { data: found.quarantined.map(presentQuarantined), total: found.total }
    },
    'quarantine.get': async ({ path }, { accountId, takeSlot }) => {
      const quarantined = await getQuarantined(deps, { accountId, quarantinedId: path.id })
      await takeSlot()
      return presentContent(deps, quarantined)
    },
    'quarantine.raw': async ({ path }, { accountId }) => {
      const quarantined = await getQuarantined(deps, { accountId, quarantinedId: path.id })
      const raw = await readReceivedRaw(deps, quarantined)
      return { headers: fileHeaders('message/rfc822', 'message.eml'), ...raw }
    },
    'quarantine.release': async ({ path }, { accountId }) => {
      const message = await releaseQuarantined(deps, { accountId, quarantinedId: path.id })
      return presentMessage(message, deps, deps.clock.now())
    },
    'quarantine.delete': async ({ path }, { accountId }) => {
      const input = { accountId, quarantinedId: path.id }
      const removed = await deps.db.write(removeQuarantined, input)
      if (removed === null) throw notFound()
      await removeBlobs(deps, removed.blobIds)
    },
  }
}

async function getQuarantined(deps: { db: Db }, input: store.OfAccount): Promise<Quarantined> {
  const quarantined = await store.findQuarantined(deps.db, input)
  if (quarantined === null) throw notFound()
  return quarantined
}

function presentQuarantined(quarantined: Quarantined): QuarantinedMessage {
  const expiresAt = presentTime(quarantined.createdAtMs + QUARANTINE_MS)
  return { ...quarantinedMessages.present(quarantined), expiresAt }
}

async function presentContent(
  deps: QuarantineDeps,
  quarantined: Quarantined,
): Promise<QuarantinedContent> {
  const parsed = await deps.parser.parse(await readRawBytes(deps, quarantined.rawId))
  const bodyText = parsed.text.slice(0, QUARANTINED_TEXT_LENGTH_MAX).toWellFormed()
  return {
    ...presentQuarantined(quarantined),
    bodyText,
    isTruncated: parsed.text.length > QUARANTINED_TEXT_LENGTH_MAX,
    attachments: parsed.attachments.map(({ filename, contentType, sizeBytes }) => ({
      filename,
      contentType,
      sizeBytes,
    })),
  }
}

/**
 * Receives a quarantined message again without the sender rules. Returns the new message, or the
 * inbox's existing copy. If calls run concurrently, one succeeds and the rest get `not_found`.
 */
async function releaseQuarantined(deps: QuarantineDeps, input: store.OfAccount): Promise<Message> {
  const quarantined = await getQuarantined(deps, input)
  const { rawId, reversePath, toAddr, authentication, category, judgement } = quarantined
  const raw = await findRawMessage(deps.db, rawId)
  if (raw === null) throw notFound()
  const parsed = await deps.parser.parse(await readRawBytes(deps, rawId))
  // The original results are kept, because keys and DNS records may no longer exist.
  const content = contentOf(parsed, {
    sha256: raw.sha256,
    reversePath,
    recipients: [toAddr],
    authentication,
    scanned: NOT_SCANNED,
  })
  const released = await deps.db.write(storeReleased, {
    ...input,
    content: { ...content, category, judgement },
    parentKeys: parentKeysOf(parsed.headers),
    senderKey: senderKeyOf(parsed.headers),
    messageId: deps.makeId('msg'),
    threadId: deps.makeId('thr'),
    eventId: deps.makeId('evt'),
    readsFiles: deps.readsFiles(parsed.attachments),
    mentions: mentionsOf(parsed, deps),
    nowMs: deps.clock.now(),
  })
  if (released === null) throw notFound()
  if (released.isNew) deps.wakeEvents()
  await removeBlobs(deps, released.blobIds)
  const message = await findMessage(deps.db, input.accountId, released.messageId)
  if (message === null) throw notFound()
  return message
}
