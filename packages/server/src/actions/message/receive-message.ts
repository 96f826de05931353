// Taking in one message that arrived by SMTP: read it, store its bytes, and commit it for all its
// recipients at once. Whoever calls may say 250 when this returns, and not before.

import { hash } from 'node:crypto'
import type { Deps } from '#actions/deps.ts'
import { PARENTS_MAX, RECEIVED_HEADERS_MAX } from '#base/limits.ts'
import { formatMailbox } from '#mail/address-list.ts'
import { messageIdKey } from '#mail/message-id.ts'
import type { Mailbox, ParsedHeaders, ParsedMessage } from '#mail/parsed-message.ts'
import { addressKey, checkEmailAddress } from '#model/email-address.ts'
import { type Inbox, inboxAddressOf } from '#model/inbox.ts'
import type { MessageContent } from '#store/message-statements.ts'
import type { Receipt } from '#store/receive-message.ts'
import type { Recipient } from './find-recipient.ts'
import { ownBytes, withRawBytes } from './with-raw-bytes.ts'

export type AcceptedRecipient = Extract<Recipient, { kind: 'inbox' | 'postmaster' }> & {
  /** As the client wrote it. */
  readonly address: string
}

export type ArrivingMessage = {
  raw: Uint8Array
  /** '' is the null reverse-path. */
  reversePath: string
  /** What was accepted at RCPT. */
  recipients: readonly AcceptedRecipient[]
  /** These two are null when it comes from this service itself. */
  clientAddress: string | null
  helo: string | null
  tls: string | null
}

export type ReceiveResult =
  /** The messages that are new; one that an inbox had already is not among them. */
  | { kind: 'stored'; messageIds: string[] }
  /** Every recipient's inbox was deleted since RCPT. */
  | { kind: 'no_recipient' }
  /** RFC 5321 §6.3. */
  | { kind: 'loop'; hops: number }

/**
 * Stores the message once for each inbox among its recipients. The same message again (as from a
 * peer that lost our answer) is stored no second time and answered alike.
 */
export async function receiveMessage(
  deps: Pick<Deps, 'db' | 'clock' | 'makeId' | 'parser' | 'blobs' | 'wakeEvents'>,
  arriving: ArrivingMessage,
): Promise<ReceiveResult> {
  const { raw } = arriving
  const targets = targetsOf(arriving.recipients)
  if (targets.inboxes.length === 0 && targets.postmaster === null) return { kind: 'no_recipient' }
  const parsed = await deps.parser.parse(raw)
  const { headers } = parsed
  const hops = headers.receivedCount
  if (hops > RECEIVED_HEADERS_MAX) return { kind: 'loop', hops }

  const receipts = targets.inboxes.map((inbox) => receiptOf(deps, inbox, headers))
  const outcome = await withRawBytes(deps, raw, {
    write(row) {
      const nowMs = deps.clock.now()
      return deps.db.write('receiveMessage', {
        raw: {
          ...row,
          reverse_path: arriving.reversePath,
          client_address: arriving.clientAddress,
          helo: arriving.helo,
          tls: arriving.tls,
          created_at: nowMs,
        },
        content: contentOf(parsed, arriving, row.sha256),
        receipts,
        postmaster: targets.postmaster,
        parentKeys: parentKeysOf(headers),
        senderKey: senderKeyOf(headers),
        nowMs,
      })
    },
    isKept: (outcome) => outcome.isKept,
  })
  if (!outcome.isKept && outcome.duplicates === 0) return { kind: 'no_recipient' }
  if (outcome.stored > 0) deps.wakeEvents()
  return { kind: 'stored', messageIds: outcome.messageIds }
}

/** Inboxes among the recipients, each once however often it was named. */
function targetsOf(recipients: readonly AcceptedRecipient[]) {
  const inboxes = new Map<string, Inbox>()
  let postmaster: { recipient: string } | null = null
  for (const recipient of recipients) {
    if (recipient.kind === 'inbox') inboxes.set(recipient.inbox.id, recipient.inbox)
    else postmaster = { recipient: recipient.address }
  }
  return { inboxes: [...inboxes.values()], postmaster }
}

function receiptOf(deps: Pick<Deps, 'makeId'>, inbox: Inbox, headers: ParsedHeaders): Receipt {
  return {
    accountId: inbox.accountId,
    podId: inbox.podId,
    inboxId: inbox.id,
    messageId: deps.makeId('msg'),
    threadId: deps.makeId('thr'),
    eventId: deps.makeId('evt'),
    toAddr: inbox.address,
    deliveryRole: !isNamed(headers.to, inbox) && isNamed(headers.cc, inbox) ? 'cc' : 'to',
  }
}

function isNamed(mailboxes: readonly Mailbox[], inbox: Inbox): boolean {
  return mailboxes.some(({ address }) => {
    const at = address.lastIndexOf('@')
    return inboxAddressOf(address.slice(0, at), address.slice(at + 1)) === inbox.address
  })
}

function contentOf(
  parsed: ParsedMessage,
  arriving: ArrivingMessage,
  sha256: Uint8Array,
): MessageContent {
  const { headers } = parsed
  const key = headers.messageId === null ? null : messageIdKey(headers.messageId)
  return {
    rfc_message_id: headers.messageId,
    message_key: key,
    receipt_key: key === null ? null : receiptKey(key, sha256),
    from_addr: headers.from === null ? arriving.reversePath : formatMailbox(headers.from),
    header_to: joinAddresses(headers.to),
    cc: JSON.stringify(headers.cc.map((mailbox) => mailbox.address)),
    reply_to: joinAddresses(headers.replyTo),
    reference_ids: JSON.stringify(headers.references),
    subject: headers.subject,
    body_length: parsed.text.length + parsed.html.length,
    body_text: parsed.text,
    body_html: parsed.html,
    extracted_text: parsed.extractedText === parsed.text ? null : parsed.extractedText,
    attachments: JSON.stringify(parsed.attachments),
    authentication: null,
    automatic_reason:
      headers.automaticReason ?? (arriving.reversePath === '' ? 'null-sender' : null),
    defects: JSON.stringify(parsed.defects),
  }
}

/** 128 bits that the same identifier and the same bytes share, and nothing else. */
function receiptKey(messageKey: string, sha256: Uint8Array): Uint8Array {
  const material = Buffer.concat([sha256, Buffer.from(messageKey, 'utf8')])
  return ownBytes(hash('sha256', material, 'buffer').subarray(0, 16))
}

/**
 * The messages that this one answers, in the order in which they decide its thread: In-Reply-To as
 * written, then References from the nearest ancestor (RFC 5322 §3.6.4: the last) to the farthest. Of
 * more than PARENTS_MAX the nearest count, and the root.
 */
function parentKeysOf(headers: ParsedHeaders): string[] {
  const ids = [...headers.inReplyTo, ...headers.references.toReversed()]
  const keys = [...new Set(ids.map(messageIdKey))]
  return keys.length <= PARENTS_MAX ? keys : [...keys.slice(0, PARENTS_MAX - 1), ...keys.slice(-1)]
}

/** By which the author is known to whoever writes back; rubbish is nobody. */
function senderKeyOf({ from }: ParsedHeaders): string | null {
  if (from === null || checkEmailAddress(from.address) !== null) return null
  return addressKey(from.address)
}

function joinAddresses(mailboxes: readonly Mailbox[]): string | null {
  return mailboxes.length === 0 ? null : mailboxes.map(({ address }) => address).join(', ')
}
