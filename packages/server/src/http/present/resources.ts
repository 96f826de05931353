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
import type { Account } from '#model/account.ts'
import { attachmentUrl, type UrlSigner } from '#model/attachment-url.ts'
import type { ShownInbox } from '#model/inbox.ts'
import type { Key } from '#model/key.ts'
import type { Message } from '#model/message.ts'
import type { Pod } from '#model/pod.ts'
import type { Thread } from '#model/thread.ts'

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
  return {
    id,
    address,
    displayName,
    podId,
    ...(webhookUrl === null ? {} : { webhookUrl }),
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
export function presentThread(thread: Thread): ThreadShape {
  const { id, inboxId, subject, isRead, messageCount, lastMessageAtMs, createdAtMs } = thread
  return {
    id,
    inboxId,
    subject,
    isRead,
    messageCount,
    lastMessageAt: presentTime(lastMessageAtMs),
    createdAt: presentTime(createdAtMs),
  }
}

/** A message; its attachments' addresses are signed afresh each time. */
export function presentMessage(message: Message, signer: UrlSigner, nowMs: number): MessageShape {
  const { attachments, authentication, automaticReason, createdAtMs, rawId: _, ...rest } = message
  return {
    ...rest,
    attachments: attachments.map((attachment) => ({
      filename: attachment.filename,
      contentType: attachment.contentType,
      sizeBytes: attachment.sizeBytes,
      url: attachmentUrl(signer, { messageId: message.id, filename: attachment.filename, nowMs }),
      contentId: attachment.contentId,
      inline: attachment.isInline,
    })),
    authentication: authentication as Authentication | null,
    automatic: automaticReason !== null,
    automaticReason,
    createdAt: presentTime(createdAtMs),
  }
}

/** Messages one by one where they come one by one. */
export function presentMessages(
  messages: Message[] | AsyncIterable<Message>,
  signer: UrlSigner,
  nowMs: number,
): MessageShape[] | AsyncIterable<MessageShape> {
  if (Array.isArray(messages)) {
    return messages.map((message) => presentMessage(message, signer, nowMs))
  }
  return (async function* () {
    for await (const message of messages) yield presentMessage(message, signer, nowMs)
  })()
}
