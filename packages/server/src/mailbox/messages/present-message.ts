import {
  type Attachment,
  type Authentication,
  type Message as MessageShape,
  PARSED_TEXTS_LENGTH_MAX,
  SHOWN_BODY_BYTES_MAX,
} from '@mailroom/contract/messages.ts'
import type { ExtractionMethod } from '@mailroom/contract/vocabulary.ts'
import type { ParsedAttachment } from '@mailroom/mail/mime/parsed-message.ts'
import { tagOf } from '#inboxes/inboxes.ts'
import { attachmentUrl, type UrlSigner } from '#mailbox/attachments/signed-url.ts'
import { listParsedTexts } from '#mailbox/attachments/store/texts.ts'
import type { Message } from '#mailbox/messages/store/messages.ts'
import { presentTime } from '#platform/clock.ts'
import { withName } from '#platform/email-address.ts'
import type { ReadDb } from '#store/tables.ts'
import type { Extractions } from './extractions.ts'

type FilePresenter = UrlSigner & { readonly db: ReadDb }
type MessagePresenter = FilePresenter & { readonly extractions: Extractions }

export function presentMessage(
  message: Message,
  presenter: MessagePresenter,
  nowMs: number,
): Promise<MessageShape> {
  return presentBodies(message, { message, isTruncated: false }, presenter, nowMs)
}

export async function* presentListed(
  messages: Iterable<Message> | AsyncIterable<Message>,
  presenter: MessagePresenter,
  nowMs: number,
): AsyncGenerator<MessageShape> {
  for await (const message of messages) {
    yield await presentBodies(message, cutBodies(message), presenter, nowMs)
  }
}

/** `extracted` is computed from the uncut message, so that lists and the message itself agree. */
async function presentBodies(
  read: Message,
  { message, isTruncated }: ReturnType<typeof cutBodies>,
  presenter: MessagePresenter,
  nowMs: number,
): Promise<MessageShape> {
  const { rawId: _, invites: __, names: ___, ...shown } = message
  const { authentication, createdAtMs, scheduledAtMs, ...rest } = shown
  const { extracted, hiddenTextParts } = await presentReading(read, presenter)
  return {
    ...rest,
    ...presentRecipients(message),
    tag: rest.recipient === null ? null : tagOf(rest.recipient),
    isTruncated,
    attachments: await presentAttachments(message, presenter, nowMs),
    extracted,
    hiddenText: hiddenTextParts.length > 0,
    hiddenTextParts,
    authentication: authentication as Authentication | null,
    automatic: rest.automaticReason !== null,
    scheduledAt: scheduledAtMs === null ? null : presentTime(scheduledAtMs),
    createdAt: presentTime(createdAtMs),
  }
}

/** Fields of received mail have bare addresses, which clients compare with their own. */
export function presentRecipients({
  direction,
  to,
  cc,
  names,
}: Pick<Message, 'direction' | 'to' | 'cc' | 'names'>) {
  if (direction === 'inbound') return { to, cc }
  const named = (address: string) => withName(names, address)
  return { to: to.map(named), cc: cc.map(named) }
}

export async function presentReading(
  message: Message,
  { extractions }: Pick<MessagePresenter, 'extractions'>,
): Promise<Pick<MessageShape, 'extracted' | 'hiddenTextParts'>> {
  const reading = await extractions.of(message)
  if (reading === null) return { extracted: null, hiddenTextParts: [] }
  return {
    extracted: { ...reading.extracted, invites: message.invites },
    hiddenTextParts: reading.hidden.map(({ kind, characters }) => ({ kind, characters })),
  }
}

export async function presentAttachments(
  message: Pick<Message, 'id' | 'attachments'>,
  presenter: FilePresenter,
  nowMs: number,
): Promise<MessageShape['attachments']> {
  const { id: messageId } = message
  const files = await withParsedTexts(presenter.db, message)
  return files.map(({ filename, isInline, ...file }) => ({
    filename,
    ...file,
    url: attachmentUrl(presenter, { messageId, filename, nowMs }),
    isInline,
    inline: isInline,
  }))
}

/** Adds the beginnings of extracted texts, up to PARSED_TEXTS_LENGTH_MAX in total. */
export async function withParsedTexts(
  db: ReadDb,
  { id, attachments }: Pick<Message, 'id' | 'attachments'>,
): Promise<(ParsedAttachment & Pick<Attachment, 'parsedText' | 'extractionMethod'>)[]> {
  if (attachments.length === 0) return []
  const read = new Map((await listParsedTexts(db, id)).map((one) => [one.filename, one]))
  let room = PARSED_TEXTS_LENGTH_MAX
  return attachments.map(({ charset: _, ...attachment }) => {
    const { text = '', method = null } = read.get(attachment.filename) ?? {}
    const kept = text.slice(0, room).toWellFormed()
    room -= kept.length
    const isRead = method !== null && !UNREAD.has(method)
    return { ...attachment, parsedText: isRead ? kept : null, extractionMethod: method }
  })
}

const UNREAD = new Set<ExtractionMethod>(['unsupported', 'failed', 'too_large'])

/** The extra character shows that a body is longer than the API returns. */
export const CUT_READ_LENGTH = SHOWN_BODY_BYTES_MAX + 1

/** Cuts each body to SHOWN_BODY_BYTES_MAX bytes of UTF-8 without splitting a character. */
export function cutBodies(message: Message): { message: Message; isTruncated: boolean } {
  const bodyText = cut(message.bodyText)
  const bodyHtml = cut(message.bodyHtml)
  const extractedText = cut(message.extractedText)
  const isTruncated =
    bodyText.length < message.bodyText.length ||
    bodyHtml.length < message.bodyHtml.length ||
    extractedText.length < message.extractedText.length
  return isTruncated
    ? { message: { ...message, bodyText, bodyHtml, extractedText }, isTruncated }
    : { message, isTruncated }
}

function cut(text: string): string {
  const bytesMax = SHOWN_BODY_BYTES_MAX
  // Each UTF-16 unit takes at most three bytes in UTF-8.
  if (text.length * 3 <= bytesMax || Buffer.byteLength(text, 'utf8') <= bytesMax) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytesMax))
  // A slice would keep the entire string in memory.
  return Buffer.from(text.slice(0, read), 'utf8').toString('utf8')
}
