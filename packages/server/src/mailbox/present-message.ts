import type { Authentication, Message as MessageShape } from '@mailroom/contract/shapes/message.ts'
import type { Thread as ThreadShape } from '@mailroom/contract/shapes/thread.ts'
import { presentTime } from '#platform/clock.ts'
import { attachmentUrl, type UrlSigner } from './attachment-url.ts'
import { cutBodies } from './cut-bodies.ts'
import type { Extractions } from './extractions.ts'
import type { Message } from './message.ts'
import type { ShownThread } from './thread.ts'

/** A thread without its messages. */
export function presentThread(thread: ShownThread): ThreadShape {
  const { lastMessageAtMs, createdAtMs, ...rest } = thread
  return {
    ...rest,
    lastMessageAt: presentTime(lastMessageAtMs),
    createdAt: presentTime(createdAtMs),
  }
}

/** What messages are presented with. */
export type MessagePresenter = UrlSigner & { readonly extractions: Extractions }

/** A whole message; its attachments' addresses are signed afresh each time. */
export function presentMessage(
  message: Message,
  presenter: MessagePresenter,
  nowMs: number,
): Promise<MessageShape> {
  return presentBodies(message, { message, isTruncated: false }, presenter, nowMs)
}

/** `extracted` is of the message before its bodies were cut, so that it is the same in lists. */
async function presentBodies(
  read: Message,
  { message, isTruncated }: ReturnType<typeof cutBodies>,
  presenter: MessagePresenter,
  nowMs: number,
): Promise<MessageShape> {
  const { authentication, automaticReason, createdAtMs, rawId: _, ...rest } = message
  return {
    ...rest,
    isTruncated,
    attachments: presentAttachments(message, presenter, nowMs),
    extracted: await presenter.extractions.of(read),
    authentication: authentication as Authentication | null,
    automatic: automaticReason !== null,
    automaticReason,
    createdAt: presentTime(createdAtMs),
  }
}

/** The entries of a message's attachments; their addresses are signed afresh each time. */
export function presentAttachments(
  { id: messageId, attachments }: Pick<Message, 'id' | 'attachments'>,
  signer: UrlSigner,
  nowMs: number,
): MessageShape['attachments'] {
  return attachments.map(({ filename, contentType, sizeBytes, contentId, isInline }) => ({
    filename,
    contentType,
    sizeBytes,
    url: attachmentUrl(signer, { messageId, filename, nowMs }),
    contentId,
    inline: isInline,
  }))
}

/** Messages as lists show them, with bodies of SHOWN_BODY_BYTES_MAX at most. */
export async function* presentListed(
  messages: Iterable<Message> | AsyncIterable<Message>,
  presenter: MessagePresenter,
  nowMs: number,
): AsyncGenerator<MessageShape> {
  for await (const message of messages) {
    yield await presentBodies(message, cutBodies(message), presenter, nowMs)
  }
}
