import type { Event, EventMessage } from '@mailroom/contract/events.ts'
import type { Authentication, Message as MessageShape } from '@mailroom/contract/messages.ts'
import { isForApprovers, type LoggedEvent } from '#events/model.ts'
import { tagOf } from '#inboxes/inboxes.ts'
import { attachmentUrl } from '#mailbox/attachments/attachments.ts'
import {
  CUT_READ_LENGTH,
  cutBodies,
  type Extractions,
  presentReading,
  withParsedTexts,
} from '#mailbox/messages/messages.ts'
import { findMessagesCut, type Message } from '#mailbox/messages/store/messages.ts'
import { existingThreadIds } from '#mailbox/threads/store/threads.ts'
import { presentTime } from '#platform/clock.ts'
import type { Store } from '#store/store.ts'

type AttemptStamp = { readonly deliveredAtMs: number; readonly attempt: number }

export type EventText = {
  readonly event: LoggedEvent
  readonly message: Message | null
  readonly arrival: Arrival | null
  readonly isTruncated: boolean
  /** Returns the JSON of the entire envelope. */
  render(stamp: AttemptStamp): string
  body(stamp: AttemptStamp): Event
}

type Arrival = { readonly arrival: number; readonly isTrashed: boolean }

export type EnvelopeDeps = Store & {
  publicUrl: () => string
  urlKey: Uint8Array
  extractions: Extractions
}

/** Keeps the order, omits events whose message or thread was removed, and signs attachment URLs. */
export async function readEnvelopes(
  deps: EnvelopeDeps,
  events: readonly LoggedEvent[],
): Promise<EventText[]> {
  const messages = await readMessages(deps, events)
  const threadIds = await readThreadIds(deps, events)
  return events.flatMap((event) => {
    if (event.messageId === null) {
      const isGone = event.threadId !== null && !threadIds.has(event.threadId)
      return isGone ? [] : [makeText(event, null)]
    }
    const found = messages.get(event.messageId)
    return found === undefined || found.accountId !== event.accountId
      ? []
      : [makeText(event, found)]
  })
}

function readThreadIds({ db }: EnvelopeDeps, events: readonly LoggedEvent[]): Promise<Set<string>> {
  const about = events.filter(({ threadId, messageId }) => threadId !== null && messageId === null)
  return existingThreadIds(db, {
    accountIds: [...new Set(about.map(({ accountId }) => accountId))],
    threadIds: [...new Set(about.flatMap(({ threadId }) => threadId ?? []))],
  })
}

type Found = Arrival & {
  message: Message
  accountId: string
  isTruncated: boolean
  presented: EventMessage
}

async function readMessages(
  deps: EnvelopeDeps,
  events: readonly LoggedEvent[],
): Promise<Map<string, Found>> {
  const messages = new Map<string, Found>()
  const about = events.flatMap(({ accountId, messageId }) =>
    messageId === null ? [] : [{ accountId, messageId }],
  )
  if (about.length === 0) return messages
  const found = findMessagesCut(deps.db, {
    accountIds: [...new Set(about.map(({ accountId }) => accountId))],
    messageIds: [...new Set(about.map(({ messageId }) => messageId))],
    bodyLengthMax: CUT_READ_LENGTH,
  })
  for await (const { message: whole, sentAtMs, ...arrival } of found) {
    const { message, isTruncated } = cutBodies(whole)
    // The extraction uses the entire message.
    const reading = await presentReading(whole, deps)
    const files = await withParsedTexts(deps.db, message)
    const presented = presentMessage(deps, message, { ...reading, isTruncated, files, sentAtMs })
    messages.set(message.id, { ...arrival, message, isTruncated, presented })
  }
  return messages
}

function makeText(event: LoggedEvent, found: Found | null): EventText {
  const before = {
    event: event.kind,
    event_id: event.id,
    occurred_at: presentTime(event.occurredAtMs),
  }
  const after = {
    inbox_id: event.inboxId,
    pod_id: event.podId,
    thread_id: event.threadId,
    // A review is read with the token of its approver, so that its webhook discloses no text.
    ...(found !== null && !isForApprovers(event.kind) && { message: found.presented }),
    ...event.details,
  }
  let constant: { head: string; tail: string } | null = null
  return {
    event,
    message: found?.message ?? null,
    arrival: found,
    isTruncated: found?.isTruncated ?? false,
    render({ deliveredAtMs, attempt }) {
      constant ??= {
        head: JSON.stringify(before).slice(0, -1),
        tail: JSON.stringify(after).slice(1),
      }
      const { head, tail } = constant
      return `${head},"delivered_at":"${presentTime(deliveredAtMs)}","attempt":${attempt},${tail}`
    },
    body: ({ deliveredAtMs, attempt }) =>
      // The columns of an event and its kind belong together in the log, which no type says.
      ({ ...before, delivered_at: presentTime(deliveredAtMs), attempt, ...after }) as Event,
  }
}

function presentMessage(
  deps: EnvelopeDeps,
  message: Message,
  {
    extracted,
    hiddenTextParts,
    isTruncated,
    files,
    sentAtMs,
  }: Pick<MessageShape, 'extracted' | 'hiddenTextParts' | 'isTruncated'> & {
    files: Awaited<ReturnType<typeof withParsedTexts>>
    sentAtMs: number
  },
): EventMessage {
  const nowMs = deps.clock.now()
  return {
    id: message.id,
    rfc_message_id: message.rfcMessageId,
    direction: message.direction,
    from: message.fromAddr,
    to: message.toAddr,
    to_addrs: message.to,
    recipient: message.recipient,
    tag: message.recipient === null ? null : tagOf(message.recipient),
    cc: message.cc,
    subject: message.subject,
    body_text: message.bodyText,
    body_html: message.bodyHtml,
    extracted_text: message.extractedText,
    extracted,
    hidden_text: hiddenTextParts.length > 0,
    hidden_text_parts: hiddenTextParts,
    truncated: isTruncated,
    url: `${deps.publicUrl()}/v1/messages/${message.id}`,
    attachments: files.map((file) => {
      const url = attachmentUrl(deps, { messageId: message.id, filename: file.filename, nowMs })
      return { ...file, url }
    }),
    authentication: message.authentication as Authentication | null,
    automatic: message.automaticReason !== null,
    auto_replyable: message.autoReplyable,
    category: message.category,
    category_reasons: message.categoryReasons,
    verdict: message.verdict,
    spam_score: message.spamScore,
    failure_reason: message.failureReason,
    ...(message.direction === 'inbound'
      ? { received_at: presentTime(message.createdAtMs) }
      : { sent_at: presentTime(sentAtMs) }),
  }
}
