// Which inboxes a message may reach, by the rules of their accounts about its sender.

import type { Screening } from '#inboxes/inbox.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Db } from '#schema/tables.ts'
import type { KeptOut, Receipt } from './receive-plan-rows.ts'
import {
  candidateValuesOf,
  type DecidingRule,
  judgeSender,
  type Sender,
  type Verdict,
} from './sender-rule.ts'
import { findRulesForValues } from './sender-rule-rows.ts'

export type ScreenedReceipt = {
  receipt: Receipt
  /** Null where everybody may write to the inbox. */
  screening: Screening | null
}

/** Those that the message may reach, and those that it is kept out of. */
export async function screenReceipts(
  deps: { db: Db; makeId: MakeId },
  receipts: readonly ScreenedReceipt[],
  sender: Sender,
): Promise<{ admitted: Receipt[]; keptOut: KeptOut[] }> {
  const screened = receipts.filter((one) => screeningOf(one) !== null)
  const accountIds = [...new Set(screened.map(({ receipt }) => receipt.accountId))]
  const rules =
    accountIds.length === 0
      ? []
      : await findRulesForValues(deps.db, accountIds, candidateValuesOf(sender))
  const admitted: Receipt[] = []
  const keptOut: KeptOut[] = []
  for (const one of receipts) {
    const { receipt } = one
    const own = rules.filter((rule) => rule.accountId === receipt.accountId)
    const verdict = judge(own, sender, one)
    if (verdict.kind === 'admitted') {
      admitted.push(receipt)
      continue
    }
    const { accountId, podId, inboxId, domainId, toAddr, deliveryRole } = receipt
    const { reason, ruleId } = verdict
    const quarantinedId = deps.makeId('qua')
    const to = { accountId, podId, inboxId, domainId, toAddr, deliveryRole }
    keptOut.push({ quarantinedId, ...to, reason, ruleId })
  }
  return { admitted, keptOut }
}

function judge(rules: readonly DecidingRule[], sender: Sender, one: ScreenedReceipt): Verdict {
  const screening = screeningOf(one)
  if (screening === null) return { kind: 'admitted' }
  return judgeSender(rules, sender, { ...one.receipt, ...screening })
}

/** RFC 5321 §4.5.1: who writes to a postmaster must be heard. */
function screeningOf({ receipt, screening }: ScreenedReceipt): Screening | null {
  return receipt.toAddr.startsWith('postmaster@') ? null : screening
}
