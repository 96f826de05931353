// The policy of an inbox at the time when a scheduled send is due: it may have changed since the send was accepted, and
// so may its thread.

import type { HoldReason } from '@mailroom/contract/sending.ts'
import type { Inbox } from '#inboxes/inboxes.ts'
import { readRawBytes } from '#mailbox/mailbox.ts'
import { findMessage, type Message } from '#mailbox/mailbox-rows.ts'
import { notFound } from '#platform/problem.ts'
import { type JudgedMessage, judgeSend, type SendJudgement } from '#policy/policy.ts'
import { auditOfSend } from './apply-policy.ts'
import { hashAttachments, makeHold } from './review-content.ts'
import type { SendDeps } from './sender.ts'
import { holdWaiting, type WaitingEnvelope } from './waiting-send-rows.ts'

type Due = { inbox: Inbox; messageId: string; envelope: WaitingEnvelope }

/** Null where no policy applies. */
export function judgeWaiting(deps: SendDeps, due: Due): Promise<SendJudgement | null> {
  return judgeSend(deps, { inbox: due.inbox, readMessage: () => readJudged(deps, due) })
}

async function readJudged(deps: SendDeps, due: Due): Promise<JudgedMessage> {
  const { message, raw } = await readWhole(deps, due)
  const { to, cc, bcc, replyTo, subject, bodyText: text, bodyHtml: html } = message
  const files = message.attachments.length === 0 ? [] : await deps.parser.readAttachments(raw)
  const attachments = files.map(({ attachment: { filename, contentType }, content }) => ({
    filename,
    contentType,
    content,
  }))
  const { headers, isReply } = due.envelope
  const threadId = isReply ? message.threadId : null
  return { to, cc, bcc, replyTo, subject, text, html, headers, attachments, threadId }
}

async function readWhole(
  deps: SendDeps,
  { inbox, messageId }: Due,
): Promise<{ message: Message; raw: Uint8Array }> {
  const message = await findMessage(deps.db, inbox.accountId, messageId)
  if (message === null) throw notFound()
  return { message, raw: await readRawBytes(deps, message.rawId) }
}

/** Holds a send that was to be sent now. False when it does not wait any more. */
export async function holdDue(
  deps: SendDeps,
  due: Due,
  reasons: readonly HoldReason[],
): Promise<boolean> {
  const { inbox, messageId, envelope } = due
  const { message, raw } = await readWhole(deps, due)
  const { subject, bodyText, bodyHtml } = message
  const nowMs = deps.clock.now()
  const judged = { inbox, recipients: envelope.recipients, messageId, reasons, nowMs }
  const isHeld = await deps.db.write(holdWaiting, {
    accountId: inbox.accountId,
    messageId,
    hold: makeHold(deps, {
      envelope: {
        inboxId: inbox.id,
        from: message.fromAddr,
        to: message.to,
        cc: message.cc,
        bcc: message.bcc,
        threadId: message.threadId,
        replyTo: message.replyTo,
        inReplyTo: message.references.at(-1) ?? null,
        headers: Object.fromEntries(envelope.headers.map(({ name, value }) => [name, value])),
        attachments: message.attachments.length > 0 ? await hashAttachments(deps, raw) : [],
      },
      texts: { subject, bodyText, bodyHtml },
      reasons,
      nowMs,
    }),
    audit: auditOfSend(deps, { ...judged, decision: 'hold' }),
    nowMs,
  })
  if (isHeld) deps.wakeEvents()
  return isHeld
}
