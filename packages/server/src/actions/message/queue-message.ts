// A composed send on its way to the disk: given its identifier, signed, and written with everything
// that has to stand or fall with it.

import type { Deps } from '#actions/deps.ts'
import { findSendingDomain } from '#actions/domain/sending-domain.ts'
import { letGo } from '#base/let-go.ts'
import { DELIVERY_MS_MAX, ROW_BLOB_BYTES_MAX, SENT_BYTES_MAX } from '#base/limits.ts'
import { formatMailbox } from '#mail/address-list.ts'
import { composeMessage } from '#mail/compose/compose-message.ts'
import { messageIdKey } from '#mail/message-id.ts'
import type { ParsedAttachment } from '#mail/parsed-message.ts'
import type { Account } from '#model/account.ts'
import { addressKey } from '#model/email-address.ts'
import { hopMarkOf } from '#model/hop-mark.ts'
import { domainOf, type Inbox } from '#model/inbox.ts'
import { problem } from '#model/problem.ts'
import { makeReturnPath } from '#model/return-path.ts'
import { utcDay } from '#model/send-policy.ts'
import { unsubscribeUrl } from '#model/unsubscribe-link.ts'
import type { NewDelivery } from '#store/delivery.ts'
import type { MessageContent } from '#store/message-statements.ts'
import { type SendInput, type SendOutcome, sendMessage } from '#store/send-message.ts'
import { findThread } from '#store/thread.ts'
import type { Composition } from './compose-send.ts'
import { hopMarkKey } from './find-loop.ts'
import { findStrangers, limitsOf } from './look-ahead.ts'
import type { SendDeps, SendMessage } from './send-message.ts'
import { ownBytes, withRawBytes } from './with-raw-bytes.ts'

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
  if (composition.thread === null) for (const { content } of input.attachments) letGo(content)
  const raw = await deps.signers.sign(owner, composed.raw, nowMs)
  letGo(composed.raw)
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
  if (deps.blobs !== null) letGo(raw)
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
  deps: Pick<Deps, 'db'>,
  { inbox, composition: { thread }, mayBeStale }: Ready,
): Promise<boolean> {
  if (thread === null || mayBeStale) return false
  const found = await findThread(deps.db, inbox.accountId, thread.id)
  return found !== null && found.messageCount !== thread.messageCount
}

function threadOf(
  deps: Pick<Deps, 'makeId'>,
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
  deps: Pick<Deps, 'makeId' | 'queueClock' | 'laneOf' | 'deriveKey'>,
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
