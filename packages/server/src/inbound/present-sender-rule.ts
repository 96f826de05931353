// Sender rules and what they kept out, as the API shows them.

import type { OwnAccount } from '@mailroom/contract/shapes/account.ts'
import type { Authentication } from '@mailroom/contract/shapes/message.ts'
import type {
  QuarantinedMessage,
  SenderRule as SenderRuleShape,
} from '@mailroom/contract/shapes/sender.ts'
import type { Account } from '#accounts/account-rows.ts'
import { presentTime } from '#platform/clock.ts'
import type { Quarantined } from './quarantined.ts'
import { QUARANTINE_MS } from './quarantined.ts'
import type { SenderRule } from './sender-rule.ts'

/** For the account's own keys. */
export function presentOwnAccount(account: Account): OwnAccount {
  const { id, name, plan, filterMode, createdAtMs } = account
  return { id, name, plan, filterMode, createdAt: presentTime(createdAtMs) }
}

/** A sender rule. */
export function presentSenderRule(rule: SenderRule): SenderRuleShape {
  const { id, type, value, podId, inboxId, requiresVerified, createdAtMs } = rule
  return {
    id,
    type,
    value,
    podId,
    inboxId,
    requireVerified: requiresVerified,
    createdAt: presentTime(createdAtMs),
  }
}

/** A quarantined message, without what it says. */
export function presentQuarantined(quarantined: Quarantined): QuarantinedMessage {
  const { id, inboxId, podId, fromAddr, toAddr, deliveryRole, subject } = quarantined
  const { reason, ruleId, authentication, createdAtMs } = quarantined
  return {
    id,
    inboxId,
    podId,
    fromAddr,
    toAddr,
    deliveryRole,
    subject,
    reason,
    ruleId,
    authentication: authentication as Authentication | null,
    createdAt: presentTime(createdAtMs),
    expiresAt: presentTime(createdAtMs + QUARANTINE_MS),
  }
}
