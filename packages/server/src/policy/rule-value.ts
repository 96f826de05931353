// Validity, matches and precedence of rule values, which are addresses or domains.

import type { SenderRuleType } from '@mailroom/contract/vocabulary.ts'
import { ADDRESS_TEXT_LENGTH_MAX } from '@mailroom/mail/address-list.ts'
import { isPublicSuffix, readNamedDomain } from '#platform/domain-name.ts'
import { addressKey, bareAddress, checkEmailAddress, domainOf } from '#platform/email-address.ts'

/** RFC 1035 §2.3.4 allows 255 octets on the wire, which are 253 of text. */
export const DOMAIN_LENGTH_MAX = 253

type RuleValue = { kind: 'value'; value: string } | { kind: 'defect'; message: string }

export async function readRuleValue(text: string): Promise<RuleValue> {
  const read = compareValue(text)
  if (read.kind === 'defect') return read
  // As an address, this value would match no sender at all.
  if (read.value.startsWith('*@')) {
    return { kind: 'defect', message: 'must be only the domain, to match all of its addresses' }
  }
  if (read.value.includes('@')) return read
  const domain = read.value.replace(WILDCARD, '')
  // A rule for com would be far too broad. A rule for a hosting company's domain may be intended.
  if (!(await isPublicSuffix(domain, { ofRegistries: true }))) return read
  return { kind: 'defect', message: 'must not be a public suffix' }
}

/** A wildcard before a domain matches only its subdomains. */
const WILDCARD = /^\*\./

/** Makes an address or a domain canonical, whether or not a rule may have it. */
export function compareValue(written: string): RuleValue {
  const text = bareAddress(written)
  if (text.includes('@')) {
    const message = checkEmailAddress(text)
    return message === null
      ? { kind: 'value', value: addressKey(text) }
      : { kind: 'defect', message }
  }
  const [wildcard = ''] = WILDCARD.exec(text) ?? []
  const named = readNamedDomain(text.slice(wildcard.length))
  if (named.kind === 'domain') return { kind: 'value', value: `${wildcard}${named.domain}` }
  return { kind: 'defect', message: `must be one email address or a domain; ${named.reason}` }
}

/**
 * Returns the address, its domain, and the domain's parents except the top level, each also with a
 * wildcard. An invalid address has only its domain.
 */
export function ruleValuesOf(address: string): string[] {
  const own = checkEmailAddress(address) === null ? [addressKey(address)] : []
  const domain = address.includes('@') ? domainOf(address) : ''
  if (domain.startsWith('[')) return own
  const labels = labelsIn(domain)
  const domains = labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'))
  return [...own, ...domains, ...domains.slice(1).map((parent) => `*.${parent}`)]
}

/** Ignores superfluous dots, because a misspelt address must not evade a block. */
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

/** Examines only the end of an overlong domain, one character more than any rule has. */
function labelsIn(domain: string): string[] {
  let end = domain.length
  while (domain[end - 1] === '.') end -= 1
  const start = Math.max(0, end - DOMAIN_LENGTH_MAX - 1)
  return domain.slice(start, end).split('.').filter(Boolean)
}

function specificityOf(value: string): number {
  if (value.includes('@')) return 2 * DOMAIN_LENGTH_MAX
  const labels = value.split('.').length
  // A wildcard is not a label, but is more specific than the domain itself.
  return value.startsWith('*.') ? 2 * labels - 1 : 2 * labels
}

/**
 * The first matching rule decides. Rules for an inbox precede those for its pod and the account;
 * then an address precedes a domain, a longer domain a shorter one, and block precedes allow.
 */
export function byPrecedence(a: OrderedRule, b: OrderedRule): number {
  return (
    scopeRankOf(b) - scopeRankOf(a) ||
    specificityOf(b.value) - specificityOf(a.value) ||
    Number(b.type === 'block') - Number(a.type === 'block') ||
    (a.id < b.id ? -1 : 1)
  )
}

type OrderedRule = {
  id: string
  type: SenderRuleType
  value: string
  podId: string | null
  inboxId: string | null
}

function scopeRankOf({ podId, inboxId }: OrderedRule): number {
  if (inboxId !== null) return 2
  return podId === null ? 0 : 1
}
