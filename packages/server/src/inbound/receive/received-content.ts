// The parts of a received message that are the same for all its recipients, as they are stored.

import { hash } from 'node:crypto'
import { formatMailbox } from '@mailroom/mail/address-list.ts'
import type { Authentication } from '@mailroom/mail/authentication.ts'
import { judgeKind } from '@mailroom/mail/mail-kind.ts'
import { messageIdKey } from '@mailroom/mail/message-headers.ts'
import type {
  Mailbox,
  ParsedAttachment,
  ParsedHeaders,
  ParsedMessage,
} from '@mailroom/mail/mime/parsed-message.ts'
import { declaredKind, type FileKind } from '@mailroom/mail-reading/files/file-kind.ts'
import { isCalendarFile } from '@mailroom/mail-reading/invites/calendar-file.ts'
import type { ReceivedContent } from '#inbound/receive/store/plan.ts'
import type { ReceivedMentions } from '#mailbox/messages/store/mentions.ts'
import { kindColumns, type ScanResult } from '#mailbox/messages/store/message-kind.ts'
import { ownBytes } from '#mailbox/messages/store/with-raw-bytes.ts'
import { addressKey, checkEmailAddress } from '#platform/email-address.ts'
import { DAY_MS, MINUTE_MS } from '#platform/units.ts'

/** `reversePath` '' is the null reverse-path; `authentication` is null where it was not checked. */
export function contentOf(
  parsed: ParsedMessage,
  {
    sha256,
    reversePath,
    recipients,
    authentication,
    scanned,
  }: {
    sha256: Uint8Array
    reversePath: string
    /** Addresses of the inboxes that the message came to. */
    recipients: readonly string[]
    authentication: Authentication | null
    scanned: ScanResult
  },
): ReceivedContent {
  const { headers } = parsed
  const key = headers.messageId === null ? null : messageIdKey(headers.messageId)
  return {
    rfc_message_id: headers.messageId,
    message_key: key,
    receipt_key: key === null ? null : receiptKey(key, sha256),
    from_addr: headers.from === null ? reversePath : formatMailbox(headers.from),
    header_to: joinAddresses(headers.to),
    cc: addressesColumn(headers.cc),
    bcc: addressesColumn(headers.bcc),
    reply_to: joinAddresses(headers.replyTo),
    reference_ids: JSON.stringify(headers.references),
    subject: headers.subject,
    body_length: parsed.text.length + parsed.html.length,
    body_text: parsed.text,
    body_html: parsed.html,
    extracted_text: parsed.extractedText === parsed.text ? null : parsed.extractedText,
    attachments: JSON.stringify(parsed.attachments),
    authentication: authentication === null ? null : JSON.stringify(authentication),
    automatic_reason: headers.automaticReason ?? (reversePath === '' ? 'null-sender' : null),
    ...kindColumns(judgeKind(headers, { reversePath, recipients }), scanned),
    invites: invitesColumn(parsed),
    defects: JSON.stringify(parsed.defects),
  }
}

/** An empty list for calendar files without an event. */
function invitesColumn({ attachments, invites }: ParsedMessage): string | null {
  return attachments.some(isCalendarFile) ? JSON.stringify(invites) : null
}

/** As long as servers try to deliver a message. */
const REPEATED_WITHIN_MS = 5 * DAY_MS
/** Programs may write the same message again and again without a date, such as "The door is open." */
const UNDATED_REPEATED_WITHIN_MS = 10 * MINUTE_MS

/**
 * Since when the same octets without a Message-ID are the same message, from a client that lost our answer and not from
 * one that says something again.
 */
export function repeatedSince({ date }: ParsedHeaders, nowMs: number): number {
  return nowMs - (date === null ? UNDATED_REPEATED_WITHIN_MS : REPEATED_WITHIN_MS)
}

/** The key of a message without a Message-ID, by which it is recognised. */
export function keyOfBytes(sha256: Uint8Array): Uint8Array {
  return receiptKey('', sha256)
}

/** 128 bits by which the same Message-ID with the same bytes is recognised. */
function receiptKey(messageKey: string, sha256: Uint8Array): Uint8Array {
  const material = Buffer.concat([sha256, Buffer.from(messageKey, 'utf8')])
  return ownBytes(hash('sha256', material, 'buffer').subarray(0, 16))
}

/** Identifiers that are looked up for the thread of a message. */
const PARENTS_MAX = 100

/**
 * The messages that this one answers, in the order in which they decide its thread: In-Reply-To as
 * written, then References from the nearest ancestor (RFC 5322 §3.6.4: the last) to the farthest. Of
 * more than PARENTS_MAX the nearest are kept, and the root.
 */
export function parentKeysOf(headers: ParsedHeaders): string[] {
  const ids = [...headers.inReplyTo, ...headers.references.toReversed()]
  const keys = [...new Set(ids.map(messageIdKey))]
  return keys.length <= PARENTS_MAX ? keys : [...keys.slice(0, PARENTS_MAX - 1), ...keys.slice(-1)]
}

/** The author's address in canonical form; null when it is not a valid address. */
export function senderKeyOf({ from }: ParsedHeaders): string | null {
  if (from === null || checkEmailAddress(from.address) !== null) return null
  return addressKey(from.address)
}

/**
 * What the message mentions. `readsFiles` says whether files are read that a service may or may not read; documents are of
 * a kind that it reads at the latest when it is asked for their text.
 */
export function mentionsOf(
  { headers, mentions, attachments }: ParsedMessage,
  { readsFiles }: { readsFiles: ReadsFiles },
): ReceivedMentions {
  const isUnread = (file: ParsedAttachment) => {
    const kind = declaredKind(file)
    return DOCUMENT_KINDS.has(kind) || (kind === 'image' && readsFiles([file]))
  }
  return {
    content: mentions,
    copied: [...new Set([...headers.to, ...headers.cc].map(({ address }) => addressKey(address)))],
    unreadFiles: attachments.filter(isUnread).map(({ filename }) => filename),
  }
}

/** Kinds of files whose octets are no text. */
const DOCUMENT_KINDS: ReadonlySet<FileKind> = new Set(['pdf', 'zip', 'rtf'])

/** Whether attachments of a message that arrived are read later. */
export type ReadsFiles = (
  attachments: readonly { filename: string; contentType: string }[],
) => boolean

function addressesColumn(mailboxes: readonly Mailbox[]): string {
  return JSON.stringify(mailboxes.map(({ address }) => address))
}

function joinAddresses(mailboxes: readonly Mailbox[]): string | null {
  return mailboxes.length === 0 ? null : mailboxes.map(({ address }) => address).join(', ')
}
