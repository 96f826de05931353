import type { HoldReason } from '@mailroom/contract/sending.ts'
import type { PolicyDecision } from '@mailroom/contract/vocabulary.ts'
import { type NewAuditEntry, noteRejection } from '#accounts/store/audit.ts'
import type { Inbox } from '#inboxes/inboxes.ts'
import type { MakeId } from '#platform/ids.ts'
import { type AppError, problem } from '#platform/problem.ts'
import type { JudgedMessage, SendJudgement } from '#policy/policy.ts'
import type { Store } from '#store/store.ts'
import type { Addressees, Composition } from './compose-send.ts'

export function judgedMessageOf(
  { outgoing }: Composition,
  { to, cc, bcc, names }: Addressees,
  threads: Pick<JudgedMessage, 'threadId' | 'forwardedThreadId'>,
): JudgedMessage {
  const { replyTo, subject, text, html, extraFields = [], attachments } = outgoing
  return {
    to,
    cc,
    bcc,
    replyTo: replyTo === null ? null : replyTo.address,
    names,
    subject,
    text,
    html,
    headers: extraFields,
    attachments,
    ...threads,
  }
}

export function tooManyPerHour(limit: number): HoldReason {
  const detail = `The inbox has sent ${limit} messages within an hour, as many as the policy allows without approval.`
  return { guard: 'maxPerHour', detail }
}

/** The findings must contain no secrets. */
function policyProblem(reasons: readonly HoldReason[]): AppError {
  const about = reasons.find(({ recipient }) => recipient !== undefined)
  if (about?.recipient !== undefined) {
    const { detail, recipient } = about
    return problem('recipient_not_permitted', detail, { fields: { recipient } })
  }
  const findings = reasons.flatMap((reason) => reason.findings ?? [])
  return problem('content_not_permitted', reasons[0]?.detail, { fields: { findings } })
}

type Judged = {
  inbox: Inbox
  recipients: readonly string[]
  messageId: string | null
  decision: PolicyDecision
  reasons: readonly HoldReason[]
  nowMs: number
}

export function auditOfSend(deps: { makeId: MakeId }, judged: Judged): NewAuditEntry {
  const { inbox, messageId, recipients, reasons } = withoutSecretAddresses(judged)
  return {
    id: deps.makeId('aud'),
    accountId: inbox.accountId,
    direction: 'outbound',
    decision: judged.decision,
    podId: inbox.podId,
    inboxId: inbox.id,
    actor: null,
    details: { messageId, sender: null, recipients: [...recipients], reasons: [...reasons] },
    createdAtMs: judged.nowMs,
  }
}

/** If an address contains a secret, only domains are kept, as the audit outlives the message. */
function withoutSecretAddresses(judged: Judged): Judged {
  const parts = judged.reasons.flatMap(({ findings = [] }) => findings.map(({ part }) => part))
  if (!parts.some((part) => /^(?:to|cc|bcc|replyTo)$/.test(part))) return judged
  const hide = (address: string) => `…${address.slice(address.lastIndexOf('@'))}`
  return {
    ...judged,
    recipients: judged.recipients.map(hide),
    reasons: judged.reasons.map(({ recipient, ...reason }) => {
      if (recipient === undefined) return reason
      const hidden = hide(recipient)
      return { ...reason, detail: reason.detail.replaceAll(recipient, hidden), recipient: hidden }
    }),
  }
}

export async function rejectSend(
  deps: Store,
  {
    inbox,
    recipients,
    messageId,
    judgement,
  }: Pick<Judged, 'inbox' | 'recipients' | 'messageId'> & {
    judgement: SendJudgement
  },
): Promise<AppError> {
  const { reasons } = judgement
  const nowMs = deps.clock.now()
  const judged = { inbox, recipients, messageId, decision: 'reject', reasons, nowMs } as const
  await deps.db.write(noteRejection, auditOfSend(deps, judged))
  return policyProblem(reasons)
}
