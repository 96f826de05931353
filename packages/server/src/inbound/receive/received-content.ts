// Columns of a received message that are the same for all its recipients.

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
import { namesColumn } from '#mailbox/messages/store/recipient-names.ts'
import { ownBytes } from '#mailbox/messages/store/with-raw-bytes.ts'
import { addressKey, checkEmailAddress, namesOf } from '#platform/email-address.ts'
import { DAY_MS, MINUTE_MS } from '#platform/units.ts'

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
    recipient_names: namesColumn(namesOf([...headers.to, ...headers.cc, ...headers.replyTo])),
    reference_ids: JSON.stringify(headers.references),
    in_reply_to: headers.inReplyTo[0] ?? null,
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

function invitesColumn({ attachments, invites }: ParsedMessage): string | null {
  return attachments.some(isCalendarFile) ? JSON.stringify(invites) : null
}

/** Servers retry a message for up to five days. */
const REPEATED_WITHIN_MS = 5 * DAY_MS
/** Programs may send the same message again without a date, such as "The door is open." */
const UNDATED_REPEATED_WITHIN_MS = 10 * MINUTE_MS

/** After this time, the same bytes without a Message-ID are a duplicate after a lost reply. */
export function repeatedSince({ date }: ParsedHeaders, nowMs: number): number {
  return nowMs - (date === null ? UNDATED_REPEATED_WITHIN_MS : REPEATED_WITHIN_MS)
}

export function keyOfBytes(sha256: Uint8Array): Uint8Array {
  return receiptKey('', sha256)
}

/** Makes 128 bits that identify a Message-ID together with the bytes. */
function receiptKey(messageKey: string, sha256: Uint8Array): Uint8Array {
  const material = Buffer.concat([sha256, Buffer.from(messageKey, 'utf8')])
  return ownBytes(hash('sha256', material, 'buffer').subarray(0, 16))
}

const PARENTS_MAX = 100

/**
 * The order decides the thread: In-Reply-To as written, then References from the nearest ancestor
 * (RFC 5322 §3.6.4: the last) to the farthest. If there are more than PARENTS_MAX, the nearest and
 * the root are used.
 */
export function parentKeysOf(headers: ParsedHeaders): string[] {
  const ids = [...headers.inReplyTo, ...headers.references.toReversed()]
  const keys = [...new Set(ids.map(messageIdKey))]
  return keys.length <= PARENTS_MAX ? keys : [...keys.slice(0, PARENTS_MAX - 1), ...keys.slice(-1)]
}

export function senderKeyOf({ from }: ParsedHeaders): string | null {
  if (from === null || checkEmailAddress(from.address) !== null) return null
  return addressKey(from.address)
}

/** Documents are unread even without `readsFiles`, because their text is extracted on request. */
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

const DOCUMENT_KINDS: ReadonlySet<FileKind> = new Set(['pdf', 'zip', 'rtf'])

export type ReadsFiles = (
  attachments: readonly { filename: string; contentType: string }[],
) => boolean

function addressesColumn(mailboxes: readonly Mailbox[]): string {
  return JSON.stringify(mailboxes.map(({ address }) => address))
}

function joinAddresses(mailboxes: readonly Mailbox[]): string | null {
  return mailboxes.length === 0 ? null : mailboxes.map(({ address }) => address).join(', ')
}
