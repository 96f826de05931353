// Sender rules: whose mail an account lets in or keeps out, what a rule may be for, and which of
// several decides about a message.

import type { FilterMode, QuarantineReason, SenderRuleType } from '@mailroom/contract/vocabulary.ts'
import { ADDRESS_TEXT_LENGTH_MAX } from '@mailroom/mail/address-list.ts'
import { domainOf, type Screening } from '#inboxes/inbox.ts'
import { isPublicSuffix, readNamedDomain } from '#platform/domain-name.ts'
import { addressKey, bareAddress, checkEmailAddress } from '#platform/email-address.ts'

/** RFC 1035 §2.3.4: 255 octets on the wire are 253 of text. */
export const DOMAIN_LENGTH_MAX = 253

export type { FilterMode, QuarantineReason, SenderRuleType }

export type SenderRule = {
  id: string
  type: SenderRuleType
  /** An address or a domain, as they are compared. */
  value: string
  /** Null for all pods; of a rule for one inbox, the pod of that inbox. */
  podId: string | null
  inboxId: string | null
  /** Of an allow rule; false of any other. */
  requiresVerified: boolean
  createdAtMs: number
}

/** What of a rule decides. */
export type DecidingRule = Pick<
  SenderRule,
  'id' | 'type' | 'value' | 'podId' | 'inboxId' | 'requiresVerified'
>

/** What a message says of its sender. */
export type Sender = {
  /** Bare address of the From field; null when there is none. */
  fromAddress: string | null
  /** '' is the null reverse-path. */
  reversePath: string
  /** Whether the From address is proven to be its domain's own. */
  isVerified: boolean
}

export type Verdict =
  | { kind: 'admitted' }
  | { kind: 'kept_out'; reason: QuarantineReason; ruleId: string | null }

export type RuleValue =
  | { kind: 'value'; value: string }
  /** `message` says what is wrong, to follow the field's name. */
  | { kind: 'defect'; message: string }

/** What a client names in a new rule, as it is compared. */
export async function readRuleValue(text: string): Promise<RuleValue> {
  const read = compareValue(text)
  if (read.kind === 'defect' || read.value.includes('@')) return read
  // A rule for com would be one for the world; what a company lets others have names under may be meant.
  if (!(await isPublicSuffix(read.value, { ofRegistries: true }))) return read
  return { kind: 'defect', message: 'must not be a public suffix' }
}

/** An address or a domain as rules are compared by it, whether there may be one or not. */
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
 * The values that a rule for this address may have: the address, then its domain and the domains that
 * this lies under, without the topmost, which no rule is for. What is no address has its domain alone.
 */
export function ruleValuesOf(address: string): string[] {
  const own = checkEmailAddress(address) === null ? [addressKey(address)] : []
  const domain = address.includes('@') ? domainOf(address) : ''
  if (domain.startsWith('[')) return own
  const labels = labelsIn(domain)
  return [...own, ...labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'))]
}

/** The same for a block, which no misspelling of an address gets around: dots too many count for nothing. */
export function blockValuesOf(address: string): string[] {
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

/** Of what is longer than a domain can be the end is looked at, with one character more than any rule has. */
function labelsIn(domain: string): string[] {
  let end = domain.length
  while (domain[end - 1] === '.') end -= 1
  const start = Math.max(0, end - DOMAIN_LENGTH_MAX - 1)
  return domain.slice(start, end).split('.').filter(Boolean)
}

/** All values of rules that may be about this sender, each once. */
export function candidateValuesOf({
  fromAddress,
  reversePath,
}: Omit<Sender, 'isVerified'>): string[] {
  return [...new Set([...blockValuesOf(fromAddress ?? ''), ...blockValuesOf(reversePath)])]
}

/**
 * Whether a message may reach an inbox. Of the rules that fit, one for an address decides before one
 * for a domain, one for a domain of more labels before one of fewer, then one for the inbox before one
 * for its pod before one for the account, then block before allow; of what is still alike, the oldest.
 */
export function judgeSender(
  rules: readonly DecidingRule[],
  sender: Sender,
  to: { podId: string; inboxId: string } & Screening,
): Verdict {
  const from = new Set(ruleValuesOf(sender.fromAddress ?? ''))
  const either = new Set(candidateValuesOf(sender))
  const isAbout = ({ type, value, requiresVerified }: DecidingRule): boolean =>
    type === 'block'
      ? either.has(value)
      : from.has(value) && (sender.isVerified || !requiresVerified)
  const [decisive] = rules.filter((rule) => isFor(rule, to) && isAbout(rule)).sort(byPrecedence)
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
    labelsOf(b) - labelsOf(a) ||
    scopeOf(b) - scopeOf(a) ||
    Number(b.type === 'block') - Number(a.type === 'block') ||
    (a.id < b.id ? -1 : 1)
  )
}

/** How closely a rule names its sender. */
function labelsOf({ value }: DecidingRule): number {
  return value.includes('@') ? DOMAIN_LENGTH_MAX : value.split('.').length
}

function scopeOf({ podId, inboxId }: DecidingRule): number {
  if (inboxId !== null) return 2
  return podId === null ? 0 : 1
}
