// Rules for recipients: to whom an inbox may write, and which of several rules decides.

import type { SenderRuleType } from '@mailroom/contract/vocabulary.ts'
import { blockValuesOf, ruleValuesOf, specificityOf } from './rule-value.ts'

export type RecipientRule = {
  id: string
  type: SenderRuleType
  /** An address or a domain in canonical form. */
  value: string
  /** Null for all pods; of a rule for one inbox, the pod of that inbox. */
  podId: string | null
  inboxId: string | null
}

/** All values of rules that may match this recipient, each once. */
export function recipientValuesOf(address: string): string[] {
  return [...new Set([...ruleValuesOf(address), ...blockedValuesOf(address)])]
}

/** A block of an address is one of its sub-addresses, `name+tag@domain` (RFC 5233), too. */
function blockedValuesOf(address: string): string[] {
  const at = address.lastIndexOf('@')
  const plus = address.indexOf('+')
  const isTagged = plus > 0 && plus < at
  const values = blockValuesOf(address)
  return isTagged
    ? [...values, ...blockValuesOf(`${address.slice(0, plus)}${address.slice(at)}`)]
    : values
}

/**
 * The rule that decides about a recipient, of those that apply to its inbox; null when none matches. One for the
 * inbox precedes one for its pod and one for the account, then one for an address one for a domain, a longer domain a
 * shorter one, then block allow.
 */
export function decidingRecipientRule(
  rules: readonly RecipientRule[],
  address: string,
): RecipientRule | null {
  const allowed = new Set(ruleValuesOf(address))
  const blocked = new Set(blockedValuesOf(address))
  const matching = rules.filter(({ type, value }) =>
    type === 'block' ? blocked.has(value) : allowed.has(value),
  )
  return matching.toSorted(byRecipientPrecedence)[0] ?? null
}

export function byRecipientPrecedence(a: RecipientRule, b: RecipientRule): number {
  return (
    widthOf(b) - widthOf(a) ||
    specificityOf(b.value) - specificityOf(a.value) ||
    Number(b.type === 'block') - Number(a.type === 'block') ||
    (a.id < b.id ? -1 : 1)
  )
}

function widthOf({ podId, inboxId }: RecipientRule): number {
  if (inboxId !== null) return 2
  return podId === null ? 0 : 1
}
