// Taking in one message that arrived by SMTP: read it, store its bytes, and commit it for all its
// recipients at once. Whoever calls may say 250 when this returns, and not before.

import { hash } from 'node:crypto'
import type { Deps } from '#actions/deps.ts'
import { storageTrouble } from '#actions/storage-trouble.ts'
import { PARENTS_MAX, RECEIVED_HEADERS_MAX, ROW_BLOB_BYTES_MAX } from '#base/limits.ts'
import { formatMailbox } from '#mail/address-list.ts'
import { messageIdKey } from '#mail/message-id.ts'
import type { Mailbox, ParsedHeaders, ParsedMessage } from '#mail/parsed-message.ts'
import { type Inbox, inboxAddressOf } from '#model/inbox.ts'
import type { Receipt } from '#store/receive-message.ts'
import type { ReceivedContent } from '#store/receive-statements.ts'
import type { Recipient } from './find-recipient.ts'

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
  clientAddress: string
  helo: string
  tls: string | null
}

export type ReceiveResult =
  | { kind: 'stored' }
  /** Every recipient's inbox was deleted since RCPT. */
  | { kind: 'no_recipient' }
  /** RFC 5321 §6.3. */
  | { kind: 'loop'; hops: number }

/**
 * Stores the message once for each inbox among its recipients. The same message again (as from a
 * peer that lost our answer) is stored no second time and answered alike.
 */
export async function receiveMessage(
  deps: Pick<Deps, 'db' | 'clock' | 'makeId' | 'parser' | 'blobs'>,
  arriving: ArrivingMessage,
): Promise<ReceiveResult> {
  const { raw } = arriving
  const rawId = deps.makeId('raw')
  const targets = targetsOf(arriving.recipients)
  if (targets.inboxes.length === 0 && targets.postmaster === null) return { kind: 'no_recipient' }
  const parsed = await deps.parser.parse(raw)
  const hops = parsed.headers.receivedCount
  if (hops > RECEIVED_HEADERS_MAX) return { kind: 'loop', hops }

  const isBlob = deps.blobs !== null && raw.length > ROW_BLOB_BYTES_MAX
  if (isBlob) await deps.blobs?.put(rawId, raw)
  const sha256 = hash('sha256', raw, 'buffer')
  const nowMs = deps.clock.now()
  try {
    const outcome = await deps.db.write('receiveMessage', {
      raw: {
        id: rawId,
        sha256: ownBytes(sha256),
        size_bytes: raw.length,
        content: isBlob ? null : ownBytes(raw),
        reverse_path: arriving.reversePath,
        client_address: arriving.clientAddress,
        helo: arriving.helo,
        tls: arriving.tls,
        created_at: nowMs,
      },
      content: contentOf(parsed, arriving, sha256),
      receipts: targets.inboxes.map((inbox) => receiptOf(deps, inbox, parsed.headers)),
      postmaster: targets.postmaster,
      parentKeys: parentKeysOf(parsed.headers),
      nowMs,
    })
    if (isBlob && !outcome.isKept) await deps.blobs?.remove([rawId])
    return outcome.isKept || outcome.duplicates > 0 ? { kind: 'stored' } : { kind: 'no_recipient' }
  } catch (error) {
    // A connection lost at the commit leaves open whether it happened: then the bytes stay, and the
    // sweep of orphans removes them should nothing refer to them.
    if (isBlob && storageTrouble(error) !== 'unavailable') await deps.blobs?.remove([rawId])
    throw error
  }
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
): ReceivedContent {
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

/**
 * The same bytes in memory of their own: a view is sent to the writer with all of the memory behind
 * it, and these are slices of what a socket read or of a shared pool.
 */
function ownBytes(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)
}

function joinAddresses(mailboxes: readonly Mailbox[]): string | null {
  return mailboxes.length === 0 ? null : mailboxes.map(({ address }) => address).join(', ')
}
