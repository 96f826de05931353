// Nouns of the model as the API shows them.

import type { Account as AccountShape } from '@mailroom/contract/shapes/account.ts'
import type { ApiKey as ApiKeyShape } from '@mailroom/contract/shapes/api-key.ts'
import type {
  ChangedInbox as ChangedInboxShape,
  Inbox as InboxShape,
} from '@mailroom/contract/shapes/inbox.ts'
import type { Authentication, Message as MessageShape } from '@mailroom/contract/shapes/message.ts'
import type { Pod as PodShape } from '@mailroom/contract/shapes/pod.ts'
import type { Thread as ThreadShape } from '@mailroom/contract/shapes/thread.ts'
import { cutBodies } from '#actions/message/cut-bodies.ts'
import type { Extractions } from '#actions/message/extractions.ts'
import type { Account } from '#model/account.ts'
import { attachmentUrl, type UrlSigner } from '#model/attachment-url.ts'
import type { ShownInbox } from '#model/inbox.ts'
import type { Key } from '#model/key.ts'
import type { Message } from '#model/message.ts'
import type { Pod } from '#model/pod.ts'
import type { ShownThread } from '#model/thread.ts'

/** ISO 8601 UTC with milliseconds. */
export function presentTime(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

/** For operators. */
export function presentAccount(account: Account): AccountShape {
  const { id, name, plan, createdAtMs } = account
  return { id, name, plan, createdAt: presentTime(createdAtMs) }
}

/** Without the token, which is not kept. */
export function presentKey(key: Key): ApiKeyShape {
  const { id, name, tokenPrefix, last4, createdAtMs, lastUsedAtMs } = key
  return {
    id,
    name,
    tokenPrefix,
    last4,
    createdAt: presentTime(createdAtMs),
    lastUsedAt: lastUsedAtMs === null ? null : presentTime(lastUsedAtMs),
  }
}

/** A pod. */
export function presentPod(pod: Pod): PodShape {
  const { id, clientId, name, isDefault, createdAtMs } = pod
  return { id, clientId, name, isDefault, createdAt: presentTime(createdAtMs) }
}

/** An inbox. */
export function presentInbox(inbox: ShownInbox): InboxShape {
  const { id, address, displayName, podId, webhookUrl, createdAtMs } = inbox
  const { unreadThreads, lastMessageAtMs } = inbox
  return {
    id,
    address,
    displayName,
    podId,
    webhookUrl,
    unreadThreads,
    lastMessageAt: lastMessageAtMs === null ? null : presentTime(lastMessageAtMs),
    createdAt: presentTime(createdAtMs),
  }
}

/** With the secret that was made for its webhook, where one was. */
export function presentChangedInbox(changed: {
  inbox: ShownInbox
  webhookSecret: string | null
}): ChangedInboxShape {
  const { inbox, webhookSecret } = changed
  return { ...presentInbox(inbox), ...(webhookSecret === null ? {} : { webhookSecret }) }
}

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
