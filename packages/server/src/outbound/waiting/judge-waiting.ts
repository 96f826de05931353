// Judges a scheduled send when it is due, because its policy or its thread may have changed.

import type { Inbox } from '#inboxes/inboxes.ts'
import { readRawBytes } from '#mailbox/attachments/attachments.ts'
import { findMessage, type Message } from '#mailbox/messages/store/messages.ts'
import { auditOfSend } from '#outbound/send/apply-policy.ts'
import type { SendDeps } from '#outbound/send/sender.ts'
import { holdWaiting, type WaitingEnvelope } from '#outbound/waiting/store/waiting-sends.ts'
import { presentTime } from '#platform/clock.ts'
import { notFound } from '#platform/problem.ts'
import { type JudgedMessage, judgeSend, type SendJudgement } from '#policy/policy.ts'
import { hashFile, makeHold, namedFields } from './review-content.ts'

export type Due = { inbox: Inbox; messageId: string; envelope: WaitingEnvelope }

export function judgeWaiting(deps: SendDeps, due: Due): Promise<SendJudgement | null> {
  return judgeSend(deps, { inbox: due.inbox, readMessage: () => readJudged(deps, due) })
}

async function readJudged(deps: SendDeps, due: Due): Promise<JudgedMessage> {
  const message = await readWhole(deps, due)
  const raw = await readRawBytes(deps, message.rawId)
  const { to, cc, bcc, replyTo, names, subject, bodyText: text, bodyHtml: html } = message
  const { headers, isReply, attachments: composed, forwardedThreadId = null } = due.envelope
  const attachments = composed.length === 0 ? [] : await readFiles(deps, raw, composed)
  const threads = { threadId: isReply ? message.threadId : null, forwardedThreadId }
  return { to, cc, bcc, replyTo, names, subject, text, html, headers, attachments, ...threads }
}

/** Returns null if the parser does not find every composed file, as when it runs out of time. */
export async function readFiles(
  { parser }: Pick<SendDeps, 'parser'>,
  raw: Uint8Array,
  composed: WaitingEnvelope['attachments'],
) {
  const parsed = await parser.readAttachments(raw)
  const files = await Promise.all(
    parsed.map(async ({ attachment, content }) => {
      const { filename, contentType, contentId, isInline } = attachment
      const sha256 = await hashFile(content)
      return { filename, contentType, contentId, isInline, content, sha256 }
    }),
  )
  const found = new Set(files.map(({ sha256 }) => sha256))
  return composed.every(({ sha256 }) => found.has(sha256)) ? files : null
}

async function readWhole(deps: SendDeps, { inbox, messageId }: Due): Promise<Message> {
  const message = await findMessage(deps.db, inbox.accountId, messageId)
  if (message === null) throw notFound()
  return message
}

export async function holdDue(
  deps: SendDeps,
  due: Due,
  { reasons, findingHashes }: Pick<SendJudgement, 'reasons' | 'findingHashes'>,
): Promise<boolean> {
  const { inbox, messageId, envelope } = due
  const message = await readWhole(deps, due)
  const { subject, bodyText, bodyHtml } = message
  const nowMs = deps.clock.now()
  const judged = { inbox, recipients: envelope.recipients, messageId, reasons, nowMs }
  const isHeld = await deps.db.write(holdWaiting, {
    accountId: inbox.accountId,
    inboxId: inbox.id,
    messageId,
    heldMax: deps.sending.heldPerInbox,
    hold: makeHold(deps, {
      envelope: {
        inboxId: inbox.id,
        from: message.fromAddr,
        ...namedFields(message),
        threadId: message.threadId,
        inReplyTo: message.references.at(-1) ?? null,
        headers: Object.fromEntries(envelope.headers.map(({ name, value }) => [name, value])),
        attachments: envelope.attachments,
        sendAt: message.scheduledAtMs === null ? null : presentTime(message.scheduledAtMs),
        unsubscribe: envelope.hasUnsubscribe,
        isAutomatic: envelope.isAutomatic,
      },
      texts: { subject, bodyText, bodyHtml },
      reasons,
      findingHashes,
      nowMs,
    }),
    audit: auditOfSend(deps, { ...judged, decision: 'hold' }),
    nowMs,
  })
  if (isHeld) deps.wakeEvents()
  return isHeld
}
