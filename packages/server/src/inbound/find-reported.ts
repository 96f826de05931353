// Which message a report is about, which of its recipients, and how much of what it says is believed of them.
// At an address that anybody knows a complaint needs a proof: our return path, or our mark, which only whoever
// got the message has.

import type { Authentication } from '@mailroom/mail/authentication.ts'
import { messageIdKey } from '@mailroom/mail/message-headers.ts'
import type { Report, ReportedRecipient } from '@mailroom/mail-reading/report/report.ts'
import { domainOf } from '#inboxes/inbox.ts'
import { findSent, findSentByDelivery, type SentMessage } from '#outbound/delivery-rows.ts'
import { hopMarkOf, isReturnPath, RETURN_PATH_MS, readReturnPath } from '#outbound/sent-marks.ts'
import type { Clock } from '#platform/clock.ts'
import { isPublicSuffix } from '#platform/domain-name.ts'
import { addressKey, checkEmailAddress } from '#platform/email-address.ts'
import { idTimeMs, isIdOf } from '#platform/ids.ts'
import type { Db } from '#schema/tables.ts'
import { findRecipient } from './find-recipient.ts'

export type Named = { readonly id: string; readonly recipient: string }

export type Finding = { delivery: Named } & (
  | { kind: 'bounce'; reported: ReportedRecipient }
  | {
      kind: 'complaint'
      feedbackType: string
      /** Whether the message went to nobody else at this domain, who could have forged it. */
      isAlone: boolean
    }
)

/** With the recipients that reports to it may speak of; or why there is none. */
export async function findAtReturnPath(
  deps: { db: Db; clock: Clock; deriveKey: (purpose: string) => Uint8Array },
  localPart: string,
): Promise<{ sent: SentMessage; group: Named[] } | 'forged' | 'expired' | 'unknown_message'> {
  const key = deps.deriveKey('return-path')
  const read = readReturnPath(key, { localPart, nowMs: deps.clock.now() })
  if (read?.kind !== 'delivery') return read?.kind ?? 'forged'
  const { deliveryId } = read
  const sent = await findSentByDelivery(deps.db, deliveryId)
  const named = sent?.deliveries.find(({ id }) => id === deliveryId)
  if (sent === null || named === undefined) return 'unknown_message'
  // Its server got this address with no others: it cannot speak for theirs.
  const domain = domainOf(named.recipient)
  const group = sent.deliveries.filter(({ recipient }) => domainOf(recipient) === domain)
  return { sent, group }
}

type BounceDeps = { db: Db; inboxDomain: string; countReport: (outcome: CountedReport) => void }

/**
 * Each delivery once, however often it is named; what else the report says is counted. Recipients who share
 * a return path can all forge reports to it, so none of these is hard: only a report to the path of a single
 * recipient suppresses its address.
 */
export async function findBounced(
  deps: BounceDeps,
  { recipients }: Extract<Report, { kind: 'bounce' }>,
  group: readonly Named[],
): Promise<Finding[]> {
  const findings = new Map<string, Finding>()
  const [only] = group.length === 1 ? group : []
  for (const said of recipients) {
    const { recipient, originalRecipient, action } = said
    if (action !== 'failed') {
      deps.countReport('not_final')
      continue
    }
    const isUnnamed = recipient === null && originalRecipient === null && recipients.length === 1
    const delivery = isUnnamed ? only : matchRecipient(group, [originalRecipient, recipient])
    if (delivery === undefined || delivery === null) {
      deps.countReport('unknown_recipient')
      continue
    }
    const reported = await believed(deps, said, delivery)
    if (reported === null) deps.countReport('ignored')
    else if (!findings.has(delivery.id)) {
      const told = only === undefined ? softened(reported) : reported
      findings.set(delivery.id, { kind: 'bounce', delivery, reported: told })
    }
  }
  return [...findings.values()]
}

/**
 * What holds for the recipient; null where nothing does. Where mail was passed on, the mailbox at the
 * end may be dead and the address that was written to is not: others may get mail by it. If that
 * mailbox is here, the refusal was this service's own, of its own mail that came back.
 */
async function believed(
  deps: BounceDeps,
  said: ReportedRecipient,
  { recipient: sentTo }: Named,
): Promise<ReportedRecipient | null> {
  const { recipient } = said
  if (recipient === null || !isElsewhere(recipient, sentTo)) return said
  if (await isHere(deps, recipient)) return null
  return softened(said)
}

/** Never hard, which would suppress the address. */
function softened(said: ReportedRecipient): ReportedRecipient {
  return said.bounceClass === 'hard' ? { ...said, bounceClass: 'soft' } : said
}

async function isHere(deps: BounceDeps, name: string): Promise<boolean> {
  for (const address of new Set(spellingsOf(name))) {
    if (checkEmailAddress(address) !== null) continue
    const { kind } = await findRecipient(deps, address)
    if (kind !== 'foreign_domain' && kind !== 'unknown_mailbox') return true
  }
  return false
}

export type Complaint = Extract<Report, { kind: 'complaint' }>

type ComplaintDeps = {
  db: Db
  clock: Clock
  deriveKey: (purpose: string) => Uint8Array
  inboxDomain: string
  countReport: (outcome: CountedReport) => void
}

export type About = {
  sent: SentMessage
  /** Of whom it may speak. */
  group: readonly Named[]
  /** By the return path it is the server of all these recipients that speaks, by the mark anybody. */
  proof: 'return_path' | 'mark'
}

/** Null where the complaint proves nothing of a message that was sent from here; why is counted. */
export async function findComplained(
  deps: ComplaintDeps,
  complaint: Complaint,
): Promise<About | null> {
  const { originalMailFrom, reportedReturnPath } = complaint
  const found = await Promise.all(
    [originalMailFrom, reportedReturnPath]
      .map(localPartOf)
      .filter(isReturnPath)
      .map((localPart) => findAtReturnPath(deps, localPart)),
  )
  for (const one of found) if (typeof one !== 'string') return { ...one, proof: 'return_path' }
  const [faulty] = found.filter((one) => typeof one === 'string')
  const about = faulty ?? (await findMarked(deps, complaint))
  if (typeof about !== 'string') return { sent: about, group: about.deliveries, proof: 'mark' }
  deps.countReport(about)
  return null
}

/** Its Message-ID is known to whoever was written to since; the mark stands in the message alone. */
async function findMarked(
  deps: ComplaintDeps,
  { originalMessageId, returnedLoopMarks }: Complaint,
): Promise<SentMessage | 'unknown_message' | 'unproven' | 'expired'> {
  const messageId = messageIdOf(originalMessageId)
  const sent = messageId === null ? null : await findSent(deps.db, messageId)
  if (sent === null) return 'unknown_message'
  if (!returnedLoopMarks.includes(hopMarkOf(deps, sent.inboxId))) return 'unproven'
  return deps.clock.now() - idTimeMs(sent.messageId) > RETURN_PATH_MS ? 'expired' : sent
}

/** Whether the message that comes back with the complaint is this one. */
export function returnsMessage(
  deps: { deriveKey: (purpose: string) => Uint8Array },
  { originalMessageId, returnedLoopMarks, reportedReturnPath }: Complaint,
  sent: SentMessage,
  returnPath: string,
): boolean {
  return (
    messageIdOf(originalMessageId) === sent.messageId ||
    returnedLoopMarks.includes(hopMarkOf(deps, sent.inboxId)) ||
    localPartOf(reportedReturnPath).toLowerCase() === returnPath.toLowerCase()
  )
}

/**
 * Of whom it is believed. `authenticate` says who sent it, which costs something, and gives null where
 * nobody can tell.
 */
export async function complaintsOf(
  deps: { inboxDomain: string; countReport: (outcome: CountedReport) => void },
  { recipients, feedbackType, isStandard }: Complaint,
  {
    group,
    proof,
    authenticate,
  }: Pick<About, 'group' | 'proof'> & { authenticate(): Promise<Authentication | null> },
): Promise<Finding[]> {
  const [only] = group.length === 1 ? group : []
  // Many hide the recipient. What is read from words alone counts as far as they go.
  const isUnnamed = isStandard && recipients.length === 0
  const meant = new Set<Named>()
  if (isUnnamed && only !== undefined) meant.add(only)
  for (const name of recipients) {
    const delivery = matchRecipient(group, [name])
    if (delivery !== null) meant.add(delivery)
  }
  if (meant.size === 0) deps.countReport('unknown_recipient')
  const findings: Finding[] = []
  for (const delivery of meant) {
    const isBelieved =
      proof === 'return_path' ||
      only !== undefined ||
      (await speaksFor(deps, await authenticate(), domainOf(delivery.recipient)))
    if (isBelieved) {
      const domain = domainOf(delivery.recipient)
      const isAlone = group.filter(({ recipient }) => domainOf(recipient) === domain).length === 1
      findings.push({ kind: 'complaint', delivery, feedbackType, isAlone })
    } else deps.countReport('unproven')
  }
  return findings
}

/** At the inbox domain there are inboxes of many accounts, none of which speaks for the others. */
async function speaksFor(
  { inboxDomain }: { inboxDomain: string },
  authentication: Authentication | null,
  domain: string,
): Promise<boolean> {
  if (authentication === null || domain === inboxDomain) return false
  const { spf, dkim, dmarc, verifiedFrom } = authentication
  const proven = [spf, ...dkim].filter(({ result }) => result === 'pass').map((one) => one.domain)
  if (verifiedFrom) proven.push(dmarc.domain)
  for (const name of proven) {
    if (name === domain) return true
    if (name === null || !domain.endsWith(`.${name}`)) continue
    if (!(await isPublicSuffix(name))) return true
  }
  return false
}

/** The local part of the Message-ID is the id of the message. */
function messageIdOf(original: string | null): string | null {
  const [localPart = ''] = messageIdKey(original ?? '').split('@')
  const messageId = `msg_${localPart}`
  return isIdOf('msg', messageId) ? messageId : null
}

function localPartOf(address: string | null): string {
  return address?.slice(0, Math.max(0, address.lastIndexOf('@'))) ?? ''
}

/**
 * The first of `names` that is a recipient of one of these; null when none is. Names may bear the
 * address type of RFC 3464 §2.3.2 and be encoded as xtext (RFC 3461 §4).
 */
function matchRecipient<Delivery extends Named>(
  deliveries: readonly Delivery[],
  names: readonly (string | null)[],
): Delivery | null {
  const byKey = new Map(deliveries.map((delivery) => [addressKey(delivery.recipient), delivery]))
  for (const key of names.flatMap((name) => (name === null ? [] : spellingsOf(name)))) {
    const found = byKey.get(addressKey(key))
    if (found !== undefined) return found
  }
  return null
}

/**
 * Whether the name is of another mailbox than the address: of one that mail to it is passed on to. A
 * name without a domain is that of the host that reports, and the same where the local part is.
 */
function isElsewhere(name: string, address: string): boolean {
  const domain = address.slice(address.lastIndexOf('@'))
  const own = addressKey(address)
  return spellingsOf(name).every(
    (spelling) => addressKey(spelling.includes('@') ? spelling : `${spelling}${domain}`) !== own,
  )
}

/** What the name may stand for. As it stands comes first: what looks like xtext may be a tag. */
function spellingsOf(name: string): string[] {
  const bare = name.trim().replace(/^<(.*)>$/s, '$1')
  const address = bare.replace(/^(?:rfc822|utf-8)\s*;\s*/i, '').replace(/^<(.*)>$/s, '$1')
  const decoded = address.replace(/\+([0-9A-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return [bare, address, decoded]
}

/**
 * `bounced` and `complained` changed a delivery, `repeated` one that was settled so before. Nothing
 * changes where the return path is `forged`, `expired` or of an `unknown_message`, where the report
 * names an `unknown_recipient`, is `not_final`, or `ignored` for its kind or since it tells of an inbox
 * here; nor where it is of a delivery that is `deferred`, and one that is tried again is told of again.
 * A complaint is `unproven` that whoever only knows the Message-ID could have written, and left to
 * people. `too_early` is refused for now and told again.
 */
export type CountedReport =
  | 'bounced'
  | 'complained'
  | 'repeated'
  | 'forged'
  | 'expired'
  | 'unknown_message'
  | 'unknown_recipient'
  | 'not_final'
  | 'ignored'
  | 'deferred'
  | 'unproven'
  | 'too_early'
