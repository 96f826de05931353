import type { QuarantineReason } from '@mailroom/contract/vocabulary.ts'
import type { Screening } from '#inboxes/inboxes.ts'
import { blockValuesOf, byPrecedence, ruleValuesOf } from '#policy/rule-value.ts'
import type { SenderRule } from '#store/nouns.ts'

export type { SenderRule }

export type DecidingRule = Omit<SenderRule, 'accountId' | 'createdAtMs' | 'expiresAtMs' | 'note'>

export type Sender = {
  /** Null if there is no From field. */
  fromAddress: string | null
  /** An empty string is the null reverse-path. */
  reversePath: string
  /** SPF or DKIM proves the domain of the From address. */
  isVerified: boolean
}

type Verdict =
  | { kind: 'admitted' }
  | { kind: 'kept_out'; reason: QuarantineReason; ruleId: string | null }

export function candidateValuesOf({
  fromAddress,
  reversePath,
}: Omit<Sender, 'isVerified'>): string[] {
  return [...new Set([...blockValuesOf(fromAddress ?? ''), ...blockValuesOf(reversePath)])]
}

export function judgeSender(
  rules: readonly DecidingRule[],
  sender: Sender,
  to: { podId: string; inboxId: string } & Screening,
): Verdict {
  const from = new Set(ruleValuesOf(sender.fromAddress ?? ''))
  const either = new Set(candidateValuesOf(sender))
  const matches = ({ type, value, requireVerified }: DecidingRule): boolean =>
    type === 'block'
      ? either.has(value)
      : from.has(value) && (sender.isVerified || !requireVerified)
  const [decisive] = rules.filter((rule) => isFor(rule, to) && matches(rule)).sort(byPrecedence)
  if (decisive?.type === 'block') {
    return { kind: 'kept_out', reason: 'blocked', ruleId: decisive.id }
  }
  if (decisive === undefined && to.filterMode === 'allowlist') {
    const isNamed = rules.some(
      (rule) => rule.type === 'allow' && isFor(rule, to) && from.has(rule.value),
    )
    return { kind: 'kept_out', reason: isNamed ? 'not_verified' : 'not_allowed', ruleId: null }
  }
  return { kind: 'admitted' }
}

function isFor(rule: DecidingRule, to: { podId: string; inboxId: string }): boolean {
  return rule.inboxId === null
    ? rule.podId === null || rule.podId === to.podId
    : rule.inboxId === to.inboxId
}
