// Sender rules: which senders an account admits or blocks, valid values of a rule, and which of several rules
// decides about a message.

import type { QuarantineReason, SenderRuleType } from '@mailroom/contract/vocabulary.ts'
import { ADDRESS_TEXT_LENGTH_MAX } from '@mailroom/mail/address-list.ts'
import { domainOf, type Screening } from '#inboxes/inboxes.ts'
import { isPublicSuffix, readNamedDomain } from '#platform/domain-name.ts'
import { addressKey, bareAddress, checkEmailAddress } from '#platform/email-address.ts'

/** RFC 1035 §2.3.4: 255 octets on the wire are 253 of text. */
export const DOMAIN_LENGTH_MAX = 253

export type { QuarantineReason, SenderRuleType }

export type SenderRule = {
  id: string
  type: SenderRuleType
  /** An address or a domain in canonical form. */
  value: string
  /** Null for all pods; of a rule for one inbox, the pod of that inbox. */
  podId: string | null
  inboxId: string | null
  /** Always false for a block rule. */
  requiresVerified: boolean
  createdAtMs: number
}

export type DecidingRule = Omit<SenderRule, 'createdAtMs'>

export type Sender = {
  /** Bare address of the From field; null without one. */
  fromAddress: string | null
  /** '' is the null reverse-path. */
  reversePath: string
  /** Whether SPF or DKIM proves the domain of the From address. */
  isVerified: boolean
}

type Verdict =
  | { kind: 'admitted' }
  | { kind: 'kept_out'; reason: QuarantineReason; ruleId: string | null }

type RuleValue =
  | { kind: 'value'; value: string }
  /** `message` follows the name of the field. */
  | { kind: 'defect'; message: string }

/** The value of a new rule in canonical form. */
export async function readRuleValue(text: string): Promise<RuleValue> {
  const read = compareValue(text)
  if (read.kind === 'defect' || read.value.includes('@')) return read
  // A rule for com would be far too wide; the domain of a hosting company may be what the client means.
  if (!(await isPublicSuffix(read.value, { ofRegistries: true }))) return read
  return { kind: 'defect', message: 'must not be a public suffix' }
}

/** An address or a domain in canonical form, whether or not a rule may have it. */
export function compareValue(written: string): RuleValue {
  const text = bareAddress(written)
  if (text.includes('@')) {
    const message = checkEmailAddress(text)
    return message === null
      ? { kind: 'value', value: addressKey(text) }
      : { kind: 'defect', message }
  }
  const named = readNamedDomain(text)
  if (named.kind === 'domain') return { kind: 'value', value: named.domain }
  return { kind: 'defect', message: `must be one email address or a domain; ${named.reason}` }
}

/**
 * The values of rules that match this address: the address, its domain, and the parents of the domain except
 * the top-level domain, which no rule may have. An invalid address has only its domain.
 */
export function ruleValuesOf(address: string): string[] {
  const own = checkEmailAddress(address) === null ? [addressKey(address)] : []
  const domain = address.includes('@') ? domainOf(address) : ''
  if (domain.startsWith('[')) return own
  const labels = labelsIn(domain)
  return [...own, ...labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'))]
}

/** The same for block rules, which a misspelt address must not evade: superfluous dots are ignored. */
function blockValuesOf(address: string): string[] {
  const at = address.lastIndexOf('@')
  const values = ruleValuesOf(address)
  if (at < 0 || address.length > ADDRESS_TEXT_LENGTH_MAX) return values
  const written = address.slice(0, at)
  const local = (/^".*"$/s.test(written) ? written.slice(1, -1).replace(/\\(.)/gs, '$1') : written)
    .trim()
    .toLowerCase()
  const domain = labelsIn(domainOf(address)).join('.')
  const alike = [local, local.split('.').filter(Boolean).join('.')].map(
    (name) => `${name}@${domain}`,
  )
  return [...new Set([...alike, ...values])]
}

/** Reads only the end of an overlong domain, one character more than any rule has. */
function labelsIn(domain: string): string[] {
  let end = domain.length
  while (domain[end - 1] === '.') end -= 1
  const start = Math.max(0, end - DOMAIN_LENGTH_MAX - 1)
  return domain.slice(start, end).split('.').filter(Boolean)
}

/** All values of rules that may match this sender, each once. */
export function candidateValuesOf({
  fromAddress,
  reversePath,
}: Omit<Sender, 'isVerified'>): string[] {
  return [...new Set([...blockValuesOf(fromAddress ?? ''), ...blockValuesOf(reversePath)])]
}

/**
 * Whether a message may reach an inbox. Of the matching rules, one for an address precedes one for a domain, a
 * domain of more labels precedes one of fewer, then one for the inbox precedes one for its pod and one for the
 * account, then block precedes allow, and finally the oldest rule wins.
 */
export function judgeSender(
  rules: readonly DecidingRule[],
  sender: Sender,
  to: { podId: string; inboxId: string } & Screening,
): Verdict {
  const from = new Set(ruleValuesOf(sender.fromAddress ?? ''))
  const either = new Set(candidateValuesOf(sender))
  const matches = ({ type, value, requiresVerified }: DecidingRule): boolean =>
    type === 'block'
      ? either.has(value)
      : from.has(value) && (sender.isVerified || !requiresVerified)
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

function byPrecedence(a: DecidingRule, b: DecidingRule): number {
  return (
    specificityOf(b) - specificityOf(a) ||
    scopeOf(b) - scopeOf(a) ||
    Number(b.type === 'block') - Number(a.type === 'block') ||
    (a.id < b.id ? -1 : 1)
  )
}

/** How specific the value is. */
function specificityOf({ value }: DecidingRule): number {
  return value.includes('@') ? DOMAIN_LENGTH_MAX : value.split('.').length
}

function scopeOf({ podId, inboxId }: DecidingRule): number {
  if (inboxId !== null) return 2
  return podId === null ? 0 : 1
}
