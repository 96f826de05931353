import type { SenderRuleType } from '@mailroom/contract/vocabulary.ts'
import { addressKey } from '#platform/email-address.ts'
import { blockValuesOf, byPrecedence, ruleValuesOf } from './rule-value.ts'

export type RecipientRule = {
  id: string
  type: SenderRuleType
  /** The value is in canonical form. */
  value: string
  /** Null for all pods. A rule for an inbox has the pod of that inbox. */
  podId: string | null
  inboxId: string | null
}

export function recipientValuesOf(address: string): string[] {
  return [...new Set([...ruleValuesOf(address), ...blockedValuesOf(address)])]
}

/** A block rule for an address also covers its sub-addresses, `name+tag@domain` (RFC 5233). */
function blockedValuesOf(address: string): string[] {
  const values = blockValuesOf(address)
  // Quotes (RFC 5321 §4.1.2) are ignored: "name+tag" and name+tag are one local part.
  const key = addressKey(address)
  const at = key.lastIndexOf('@')
  const plus = key.indexOf('+')
  const isTagged = plus > 0 && plus < at
  return isTagged ? [...values, ...blockValuesOf(`${key.slice(0, plus)}${key.slice(at)}`)] : values
}

export function decidingRecipientRule(
  rules: readonly RecipientRule[],
  address: string,
): RecipientRule | null {
  const allowed = new Set(ruleValuesOf(address))
  const blocked = new Set(blockedValuesOf(address))
  const matching = rules.filter(({ type, value }) =>
    type === 'block' ? blocked.has(value) : allowed.has(value),
  )
  return matching.toSorted(byPrecedence)[0] ?? null
}
