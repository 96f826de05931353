// A quarantined message: mail that a sender rule, or the lack of one, kept out of an inbox.

import type { DeliveryRole } from '#mailbox/message.ts'
import { DAY_MS } from '#platform/units.ts'
import type { Authentication } from './authentication.ts'
import type { QuarantineReason } from './sender-rule.ts'

export const QUARANTINE_MS = 30 * DAY_MS

export type Quarantined = {
  id: string
  accountId: string
  podId: string
  inboxId: string
  rawId: string
  reason: QuarantineReason
  /** Null where no rule allowed it. */
  ruleId: string | null
  fromAddr: string
  toAddr: string
  deliveryRole: DeliveryRole
  subject: string
  /** '' is the null reverse-path. */
  reversePath: string
  /** Null where it was not looked at. */
  authentication: Authentication | null
  createdAtMs: number
}
