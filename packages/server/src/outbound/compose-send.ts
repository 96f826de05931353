// What a send says: subject, recipients, bodies with their quote, and the identifiers that tie it to
// its thread.

import { formatMailbox, parseAddressList } from '@mailroom/mail/address-list.ts'
import type { OutgoingMessage } from '@mailroom/mail/compose/compose-message.ts'
import { replySubject, trimReferences } from '@mailroom/mail/compose/reply-fields.ts'
import type { Inbox } from '#inboxes/inbox.ts'
import type { Message } from '#mailbox/message.ts'
import { addressKey } from '#platform/email-address.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { Replied } from './read-replied.ts'
import type { SendMessage } from './send-message.ts'

export type Composition = {
  outgoing: Omit<OutgoingMessage, 'messageId' | 'dateMs' | 'hopMark' | 'unsubscribeUrl'>
  /** The text without what it quotes. */
  ownText: string
  /** Envelope recipients, each once. */
  recipients: string[]
  /** The thread it was composed for, with as many messages as it had; null for a new one. */
  thread: { id: string; messageCount: number } | null
}

type Place = { inbox: Inbox; replied: Replied | null }

/** Who the message is for: `cc` as its header has it, and all, each once. */
export function addressSend(input: SendMessage, { inbox, replied }: Place) {
  const cc = withCopier(input, { inbox, copiedBy: replied?.copiedBy ?? null })
  return { cc, recipients: unique([input.to, ...cc]) }
}

/** Everything of the message but its identifier and its date. */
export async function composeSend(
  deps: { parser: Parser },
  input: SendMessage,
  place: Place,
): Promise<Composition> {
  const { inbox, replied } = place
  const { to, replyTo } = input
  const [body, bodyHtml] = [withLineFeeds(input.body), withLineFeeds(input.bodyHtml ?? '')]
  const quote = replied !== null && input.includeQuote ? originalOf(replied.last) : null
  const { text, html, ownText } = await deps.parser.makeBodies({ body, bodyHtml, quote })
  const { cc, recipients } = addressSend(input, place)
  // Clients always send a subject; a reply has that of its thread.
  const subject = replied === null ? (input.subject ?? '') : replySubject(replied.thread.subject)
  const texts = [inbox.displayName ?? '', inbox.address, to, replyTo ?? '', subject, ...cc]
  const references = trimReferences(replied?.rfcMessageIds ?? [], texts)
  return {
    outgoing: {
      from: { name: inbox.displayName, address: inbox.address },
      to: [to],
      cc,
      replyTo,
      subject,
      text,
      html,
      inReplyTo: references.at(-1) ?? null,
      references,
      attachments: input.attachments.map((attachment) => ({
        ...attachment,
        isInline: attachment.contentId !== null,
      })),
    },
    ownText,
    recipients,
    thread:
      replied === null
        ? null
        : { id: replied.thread.id, messageCount: replied.thread.messageCount },
  }
}

/** Whoever wrote to others and copied the inbox goes on to see what is answered. */
function withCopier(
  { to, cc }: SendMessage,
  { inbox, copiedBy }: { inbox: Inbox; copiedBy: string | null },
): string[] {
  if (copiedBy === null) return cc
  const present = new Set([to, ...cc, inbox.address].map(addressKey))
  return present.has(addressKey(copiedBy)) ? cc : [...cc, copiedBy]
}

/** As received bodies are told; forms come with CRLF whatever was put into them. */
function withLineFeeds(text: string): string {
  return text.replace(/\r\n?/g, '\n')
}

function unique(addresses: string[]): string[] {
  const byKey = new Map<string, string>()
  for (const address of addresses) {
    const key = addressKey(address)
    if (!byKey.has(key)) byKey.set(key, address)
  }
  return [...byKey.values()]
}

/** Of mail without a From and from the null reverse-path. */
const NOBODY = 'an unknown sender'

function originalOf(message: Message) {
  const [author] = parseAddressList(message.fromAddr)
  return {
    dateMs: message.createdAtMs,
    fromName:
      author === undefined ? message.fromAddr || NOBODY : author.name || formatMailbox(author),
    text: message.bodyText,
    html: message.bodyHtml,
  }
}
