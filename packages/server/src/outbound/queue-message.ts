// A composed send on its way to the disk: given its identifier, signed, and written with everything
// that has to stand or fall with it.

import { formatMailbox } from '@mailroom/mail/address-list.ts'
import { composeMessage } from '@mailroom/mail/compose/compose-message.ts'
import { messageIdKey } from '@mailroom/mail/message-id.ts'
import type { ParsedAttachment } from '@mailroom/mail/mime/parsed-message.ts'
import type { Account } from '#accounts/account.ts'
import { domainOf, type Inbox } from '#inboxes/inbox.ts'
import type { MessageContent } from '#mailbox/message-statements.ts'
import { findThread } from '#mailbox/thread-rows.ts'
import { ownBytes, withRawBytes } from '#mailbox/with-raw-bytes.ts'
import { addressKey } from '#platform/email-address.ts'
import { freeMemory } from '#platform/free-memory.ts'
import type { MakeId } from '#platform/ids.ts'
import { problem } from '#platform/problem.ts'
import { DAY_MS } from '#platform/units.ts'
import { ROW_BLOB_BYTES_MAX } from '#queue/dispatcher-bounds.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Db } from '#schema/tables.ts'
import type { Composition } from './compose-send.ts'
import type { NewDelivery } from './delivery-rows.ts'
import { hopMarkKey, hopMarkOf } from './hop-mark.ts'
import { findStrangers, limitsOf } from './look-ahead.ts'
import { makeReturnPath } from './return-path.ts'
import type { SendDeps, SendMessage } from './send-message.ts'
import { type SendInput, type SendOutcome, sendMessage } from './send-message-rows.ts'
import { utcDay } from './send-policy.ts'
import { findSendingDomain } from './sending-domain.ts'
import { unsubscribeUrl } from './unsubscribe-link.ts'

/** Octets of a composed message. */
const SENT_BYTES_MAX = 25 * 1024 * 1024
/** How long a recipient is tried. */
export const DELIVERY_MS_MAX = 2 * DAY_MS

export type Ready = {
  inbox: Inbox
  account: Account
  composition: Composition
  /** Whether the thread may have got a message since. */
  mayBeStale: boolean
}

/** Composes, signs and writes; `payload_too_large` when the whole is over 25 MiB. */
export async function queueMessage(
  deps: SendDeps,
  input: SendMessage,
  ready: Ready,
): Promise<SendOutcome> {
  const { composition, inbox } = ready
  const { owner, returnPathDomain } = await findSendingDomain(deps, inbox)
  const nowMs = deps.clock.now()
  const messageId = deps.makeId('msg')
  // Fixed here, before the first attempt: whatever happens to it, it stays the same message.
  const rfcMessageId = `<${messageId.slice('msg_'.length)}@${domainOf(inbox.address)}>`
  const composed = await composeMessage({
    ...composition.outgoing,
    messageId: rfcMessageId,
    dateMs: nowMs,
    ...marksOf(deps, input, messageId),
  })
  // One that starts a thread is never composed again.
  if (composition.thread === null) for (const { content } of input.attachments) freeMemory(content)
  const raw = await deps.signers.sign(owner, composed.raw, nowMs)
  freeMemory(composed.raw)
  if (raw.length > SENT_BYTES_MAX) throw tooLarge()
  const attachments = await listAttachments(deps, input, raw)
  const candidates = await findStrangers(deps, input.accountId, composition.recipients)
  if (raw.length > ROW_BLOB_BYTES_MAX && (await hasChanged(deps, ready))) {
    return { kind: 'thread_changed' }
  }
  const outcome = await withRawBytes(deps, raw, {
    write: (row) =>
      deps.db.write(sendMessage, {
        use: {
          accountId: input.accountId,
          key: input.idempotencyKey,
          requestHash: ownBytes(input.requestHash),
          nowMs,
        },
        inboxId: inbox.id,
        messageId,
        thread: threadOf(deps, ready),
        raw: {
          ...row,
          reverse_path: inbox.address,
          client_address: null,
          helo: null,
          tls: null,
          origin: 'service',
          created_at: nowMs,
        },
        content: contentOf(input, ready, { rfcMessageId, attachments }),
        toAddr: input.to,
        deliveries: deliveriesOf(deps, ready, {
          messageId,
          rawId: row.id,
          sizeBytes: raw.length,
          needsSmtpUtf8: composed.needsSmtpUtf8,
          returnPathDomain,
          nowMs,
        }),
        recipientKeys: composition.recipients.map(addressKey),
        cold: { candidates, utcDay: utcDay(nowMs) },
        limits: limitsOf(deps, ready, nowMs),
        loopEventId: deps.makeId('evt'),
      }),
    isKept: ({ kind }) => kind === 'queued',
  })
  // In the blob store; where there is none, the database may still have its hands on it.
  if (deps.blobs !== null) freeMemory(raw)
  return outcome
}

/** By which inbox and recipient come back to what the message was. */
function marksOf(deps: SendDeps, input: SendMessage, messageId: string) {
  const { accountId, inboxId, to: address, hasUnsubscribe } = input
  return {
    hopMark: hopMarkOf(hopMarkKey(deps), inboxId),
    unsubscribeUrl: hasUnsubscribe ? unsubscribeUrl(deps, { accountId, address, messageId }) : null,
  }
}

function tooLarge() {
  return problem('payload_too_large', 'The composed message would be larger than 25 MiB.', {
    fix: 'Send fewer or smaller attachments.',
  })
}

/** As a reader of the message will find them, under the names that their URLs carry. */
async function listAttachments(
  deps: SendDeps,
  input: SendMessage,
  raw: Uint8Array,
): Promise<readonly ParsedAttachment[]> {
  if (input.attachments.length === 0) return []
  return (await deps.parser.parse(raw)).attachments
}

/** Looked at once more before the bytes of a large reply are written, which would go again. */
async function hasChanged(
  deps: { db: Db },
  { inbox, composition: { thread }, mayBeStale }: Ready,
): Promise<boolean> {
  if (thread === null || mayBeStale) return false
  const found = await findThread(deps.db, inbox.accountId, thread.id)
  return found !== null && found.messageCount !== thread.messageCount
}

function threadOf(
  deps: { makeId: MakeId },
  { composition: { thread }, mayBeStale }: Ready,
): SendInput['thread'] {
  if (thread === null) return { kind: 'new', id: deps.makeId('thr') }
  return {
    kind: 'reply',
    id: thread.id,
    messageCount: mayBeStale ? null : thread.messageCount,
  }
}

function contentOf(
  input: SendMessage,
  { inbox, composition: { outgoing, ownText } }: Ready,
  made: { rfcMessageId: string; attachments: readonly ParsedAttachment[] },
): MessageContent {
  const { text, html } = outgoing
  return {
    rfc_message_id: made.rfcMessageId,
    message_key: messageIdKey(made.rfcMessageId),
    receipt_key: null,
    from_addr: formatMailbox({ name: inbox.displayName ?? '', address: inbox.address }),
    header_to: null,
    cc: JSON.stringify(outgoing.cc),
    reply_to: input.replyTo,
    reference_ids: JSON.stringify(outgoing.references),
    subject: outgoing.subject,
    body_length: text.length + html.length,
    body_text: text,
    body_html: html,
    extracted_text: ownText === text ? null : ownText,
    attachments: JSON.stringify(made.attachments),
    authentication: null,
    automatic_reason: null,
    defects: '[]',
  }
}

function deliveriesOf(
  deps: {
    makeId: MakeId
    queueClock: QueueClock
    laneOf: (domain: string) => string
    deriveKey: (purpose: string) => Uint8Array
  },
  { inbox, composition }: Ready,
  made: {
    messageId: string
    rawId: string
    sizeBytes: number
    needsSmtpUtf8: boolean
    returnPathDomain: string
    nowMs: number
  },
): NewDelivery[] {
  const queueMs = deps.queueClock.now()
  const key = deps.deriveKey('return-path')
  const domain = made.returnPathDomain
  const withIds = composition.recipients.map((recipient) => ({ id: deps.makeId('dlv'), recipient }))
  return withIds.map(({ id, recipient }) => ({
    id,
    account_id: inbox.accountId,
    inbox_id: inbox.id,
    message_id: made.messageId,
    raw_id: made.rawId,
    size_bytes: made.sizeBytes,
    needs_smtputf8: made.needsSmtpUtf8 ? 1 : 0,
    recipient,
    return_path: makeReturnPath(key, { deliveryId: id, domain }),
    lane: deps.laneOf(domainOf(recipient)),
    next_attempt_at: queueMs,
    expires_at: queueMs + DELIVERY_MS_MAX,
    created_at: made.nowMs,
  }))
}
