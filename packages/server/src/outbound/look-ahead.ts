// A look at what would refuse a send, before it is composed: what costs a lot is not done in vain.
// Whether it is accepted only the transaction says.

import { INLINE_HTML_LENGTH_MAX } from '@mailroom/mail/compose/body-parts.ts'
import type { Account } from '#accounts/account.ts'
import type { Inbox } from '#inboxes/inbox.ts'
import { findOwnInbox } from '#inboxes/read-inboxes.ts'
import type { Clock } from '#platform/clock.ts'
import { addressKey } from '#platform/email-address.ts'
import type { Db } from '#schema/tables.ts'
import type { SendLimits } from './send-limits-rows.ts'
import type { SendMessage } from './send-message.ts'
import { findRefusal, type SendRefusal } from './send-message-rows.ts'
import type { SendSettings } from './send-policy.ts'
import { coldAccountLimit, isYoung, utcDay } from './send-policy.ts'

/** Null where nothing would refuse it now, or where composing it costs no more than this look. */
export async function lookAhead(
  deps: { db: Db; clock: Clock; sending: SendSettings },
  input: SendMessage,
  to: { inbox: Inbox; account: Account; recipients: string[] },
): Promise<SendRefusal | null> {
  if (!isCostly(input)) return null
  const { accountId, idempotencyKey: key, requestHash } = input
  const nowMs = deps.clock.now()
  const candidates = await findStrangers(deps, accountId, to.recipients)
  return findRefusal(deps.db, {
    use: { accountId, key, requestHash, nowMs },
    inboxId: to.inbox.id,
    threadId: input.threadId,
    recipientKeys: to.recipients.map(addressKey),
    cold: { candidates, utcDay: utcDay(nowMs) },
    limits: limitsOf(deps, to, nowMs),
  })
}

function isCostly({ body, bodyHtml, threadId, attachments }: SendMessage): boolean {
  const length = body.length + (bodyHtml?.length ?? 0)
  return attachments.length > 0 || threadId !== null || length > INLINE_HTML_LENGTH_MAX
}

/** Keys of the recipients that are not the account's: mail between its inboxes is never cold. */
export async function findStrangers(
  deps: { db: Db },
  accountId: string,
  recipients: string[],
): Promise<string[]> {
  const owned = await Promise.all(
    recipients.map((recipient) => findOwnInbox(deps, accountId, recipient)),
  )
  return recipients.filter((_, index) => owned[index] === null).map(addressKey)
}

/** What the settings, the plan and their ages let an inbox and its account send. */
export function limitsOf(
  { sending }: { sending: SendSettings },
  { inbox, account }: { inbox: Inbox; account: Account },
  nowMs: number,
): SendLimits {
  const { sendsPerMinute, sendsPerDay, coldPerDay, coldAccountPerDay } = sending
  const isAccountYoung = isYoung(account.createdAtMs, nowMs)
  return {
    perMinute: sendsPerMinute,
    perDay: sendsPerDay,
    coldPerDay: isYoung(inbox.createdAtMs, nowMs) ? coldPerDay : null,
    coldAccountPerDay: coldAccountPerDay ?? coldAccountLimit(account.plan, isAccountYoung),
  }
}
