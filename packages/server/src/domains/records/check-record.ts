// Compares DNS answers with the records of a custom domain, and describes what to change. Pure.

import { findKeyDefect, type KeyDefect } from '@mailroom/mail/dkim.ts'
import type { RecordCheck } from '#domains/model.ts'
import type { DnsRecord } from './dns-records.ts'

/** Maximum number of foreign records that are stored, and maximum characters of each. */
export const FOUND_RECORDS_MAX = 20
export const FOUND_TEXT_LENGTH_MAX = 1_000
const RIVALS_NAMED_MAX = 3

export type Answered<Found> =
  | { readonly kind: 'found'; readonly records: readonly Found[] }
  | { readonly kind: 'none' }
  | { readonly kind: 'fault'; readonly text: string }

export type MailHost = { readonly exchange: string; readonly preference: number }

type Verdict = Pick<RecordCheck, 'status' | 'found' | 'hint'>

export function checkMxRecord(record: DnsRecord, found: readonly MailHost[]): RecordCheck {
  const texts = found.map(({ exchange, preference }) => `${preference} ${exchange}`)
  const host = (exchange: string) => exchange.toLowerCase().replace(/\.$/, '')
  const ours = found.filter(({ exchange }) => host(exchange) === record.value)
  const others = found.filter(({ exchange }) => host(exchange) !== record.value)
  const first = Math.min(...ours.map(({ preference }) => preference))
  const rivals = others.filter(({ preference }) => preference <= first)
  if (found.length === 0) return judge(record, { status: 'missing', found: [], hint: null })
  if (ours.length === 0) {
    const hint = `Replace the MX records of ${record.name} by one for ${record.value} with priority ${record.priority}: mail goes elsewhere now.`
    return judge(record, { status: 'invalid', found: texts, hint })
  }
  if (rivals.length > 0) {
    const named = rivals.slice(0, RIVALS_NAMED_MAX).map(({ exchange }) => showText(exchange))
    const more = rivals.length - named.length
    const names = named.join(', ') + (more > 0 ? ` and ${more} others` : '')
    const hint = `Remove the MX record for ${names}, or give it a higher number than ${first}: mail goes there as well or instead.`
    return judge(record, { status: 'invalid', found: texts, hint })
  }
  return judge(record, { status: 'valid', found: texts, hint: null })
}

/** `found` contains all TXT records of the name, for any purpose. */
export function checkTextRecord(record: DnsRecord, found: readonly string[]): RecordCheck {
  switch (record.purpose) {
    case 'ownership':
      return judge(record, checkOwnership(record, found))
    case 'spf':
      return judge(record, checkSpf(record, found))
    case 'dkim':
      return judge(record, checkDkim(record, found))
    case 'dmarc':
      return judge(record, checkDmarc(record, found))
    case 'mx':
    case 'subdomains':
      throw new TypeError('An MX record is no text.')
  }
}

/** Other texts are allowed, because another account may want the same domain. */
function checkOwnership({ name, value }: DnsRecord, found: readonly string[]): Verdict {
  if (found.length === 0) return { status: 'missing', found: [], hint: null }
  if (found.some((text) => text.trim() === value)) {
    return { status: 'valid', found: [...found], hint: null }
  }
  const hint = `Add a TXT record to ${name} with exactly this value: ${value}`
  return { status: 'invalid', found: [...found], hint }
}

/** If there is more than one record, receivers use none (RFC 7208 §4.5). */
function checkSpf({ name, value }: DnsRecord, found: readonly string[]): Verdict {
  // Includes malformed SPF records that receivers would ignore.
  const records = found.filter((text) => /^\s*v=spf1(?:\s|$)/i.test(text))
  const [record, ...others] = records
  if (record === undefined) return { status: 'missing', found: [], hint: null }
  if (others.length > 0) {
    const hint = `Join the ${records.length} SPF records of ${name} into one: with more than one, none counts.`
    return { status: 'invalid', found: records, hint }
  }
  const mechanism = value.split(' ').find((term) => term.startsWith('a:')) ?? value
  if (!/^v=spf1(?: |$)/i.test(record) || /[^ -~]/.test(record)) {
    const hint = `Write the SPF record of ${name} with v=spf1 first and plain spaces between its parts: as it is, it does not count.`
    return { status: 'invalid', found: records, hint }
  }
  const terms = record.toLowerCase().split(' ')
  const ours = terms.findIndex((term) => bareMechanism(term) === mechanism)
  const end = terms.findIndex((term) => /^[-+?~]?all$/.test(term))
  if (ours >= 0 && (end < 0 || ours < end)) return { status: 'valid', found: records, hint: null }
  const hint =
    ours < 0
      ? `Add ${mechanism} to the SPF record of ${name}, right after v=spf1.`
      : `Move ${mechanism} in the SPF record of ${name} right after v=spf1: what stands behind ${terms[end]} does not count.`
  return { status: 'invalid', found: records, hint }
}

function bareMechanism(term: string): string {
  return term.replace(/^\+/, '').replace(/\.?(?:\/\d{1,2})?(?:\/\/\d{1,3})?$/, '')
}

/** RFC 6376 §3.6.2.2: verifiers may take any of several records, so only one is allowed. */
function checkDkim({ name, value }: DnsRecord, found: readonly string[]): Verdict {
  if (found.length === 0) return { status: 'missing', found: [], hint: null }
  const publicKey = value.slice(value.indexOf('p=') + 2)
  const defects = found.map((text) => findKeyDefect(text, publicKey))
  const [defect] = defects.filter((one) => one !== null)
  if (defect === undefined) return { status: 'valid', found: [...found], hint: null }
  if (defects.includes(null)) {
    const hint = `Remove the other records of ${name} and leave the one with this value: with another beside it, mail may be checked against that.`
    return { status: 'invalid', found: [...found], hint }
  }
  const worst = defects.find((one) => one !== null && one !== 'key') ?? defect
  return { status: 'invalid', found: [...found], hint: keyHint(name, worst) }
}

function keyHint(name: string, defect: KeyDefect): string {
  switch (defect) {
    case 'key':
      return `Replace what ${name} has by the value of this record: it is another key, or a part of this one.`
    case 'test':
      return `Remove the tag t=y from the record of ${name}: it says that the key is only tried out, and signatures need not count.`
    case 'tags':
      return `Replace what ${name} has by the value of this record: the key is this one, but the tags beside it (v, k, h or s) keep it from counting for mail.`
  }
}

/** If there is more than one policy, receivers use none (RFC 7489 §6.6.3). */
function checkDmarc({ name }: DnsRecord, found: readonly string[]): Verdict {
  const policies = found.filter((text) => /^v\s*=\s*DMARC1\s*(?:;|$)/.test(text))
  const [policy, ...others] = policies
  if (policy === undefined) return { status: 'missing', found: [], hint: null }
  if (others.length > 0) {
    const hint = `Leave one of the ${policies.length} policies of ${name}: with more than one, none counts.`
    return { status: 'invalid', found: policies, hint }
  }
  if (/;\s*p\s*=\s*(?:none|quarantine|reject)\s*(?:;|$)/i.test(policy)) {
    return { status: 'valid', found: policies, hint: null }
  }
  const hint = `Give the policy of ${name} a tag p with none, quarantine or reject.`
  return { status: 'invalid', found: policies, hint }
}

function judge(record: DnsRecord, { status, found, hint }: Verdict): RecordCheck {
  const { purpose, name, value } = record
  return {
    purpose,
    name,
    value,
    status,
    found: found.slice(0, FOUND_RECORDS_MAX).map(showText),
    hint: status === 'missing' ? hintToPublish(record) : hint,
  }
}

export function hintToPublish({ type, name, priority, required }: DnsRecord): string {
  const withPriority = priority === null ? '' : ` and priority ${priority}`
  const records = `a ${type} record at ${name} with this value${withPriority}`.replace(
    'a MX',
    'an MX',
  )
  return required ? `Publish ${records}.` : `Publish ${records}; it is recommended, not required.`
}

/** Shortens foreign text and escapes unsafe characters as in zone files (RFC 1035 §5.1). */
function showText(text: string): string {
  let shown = ''
  let room = FOUND_TEXT_LENGTH_MAX
  for (const character of text) {
    const added = UNSHOWN.test(character) ? octetsOf(character) : character
    room -= UNSHOWN.test(character) ? added.length : 1
    if (room < 0) break
    shown += added
  }
  return shown
}

const UNSHOWN = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u

function octetsOf(character: string): string {
  const octets = [...Buffer.from(character)]
  return octets.map((octet) => `\\${String(octet).padStart(3, '0')}`).join('')
}
