// Finds the sent message and the recipients that a report is about, and how far to trust it. A
// complaint to abuse@ must contain our return path, or our hop mark, which only recipients know.

import type { Authentication } from '@mailroom/mail/authentication.ts'
import { messageIdKey } from '@mailroom/mail/message-headers.ts'
import type { Report, ReportedRecipient } from '@mailroom/mail-reading/report/report.ts'
import type { Settings } from '#config/settings.ts'
import { findRecipient } from '#inbound/receive/find-recipient.ts'
import {
  findSent,
  findSentByDelivery,
  type SentMessage,
} from '#outbound/deliveries/store/deliveries.ts'
import {
  hopMarkOf,
  isReturnPath,
  RETURN_PATH_MS,
  readReturnPath,
} from '#outbound/send/store/loop-marks.ts'
import { isPublicSuffix } from '#platform/domain-name.ts'
import { addressKey, checkEmailAddress, domainOf } from '#platform/email-address.ts'
import { idTimeMs, isIdOf } from '#platform/ids.ts'
import type { Keys } from '#secrets/secrets.ts'
import type { Store } from '#store/store.ts'

export type ReportDeps = Store &
  Pick<Settings, 'inboxDomain'> &
  Pick<Keys, 'deriveKey'> & { countReport: (outcome: CountedReport) => void }

type Named = { readonly id: string; readonly recipient: string }

export type Finding = { delivery: Named } & (
  | { kind: 'bounce'; reported: ReportedRecipient }
  | {
      kind: 'complaint'
      feedbackType: string
      /** True if no other recipient at this domain could have forged the complaint. */
      isAlone: boolean
    }
)

/** Returns the sent message and the recipients that reports to its return path may be about. */
export async function findAtReturnPath(
  deps: ReportDeps,
  localPart: string,
): Promise<{ sent: SentMessage; group: Named[] } | 'forged' | 'expired' | 'unknown_message'> {
  const key = deps.deriveKey('return-path')
  const read = readReturnPath(key, { localPart, nowMs: deps.clock.now() })
  if (read?.kind !== 'delivery') return read?.kind ?? 'forged'
  const { deliveryId } = read
  const sent = await findSentByDelivery(deps.db, deliveryId)
  const named = sent?.deliveries.find(({ id }) => id === deliveryId)
  if (sent === null || named === undefined) return 'unknown_message'
  // Only this domain's server received this return path, so it cannot report on other domains.
  const domain = domainOf(named.recipient)
  const group = sent.deliveries.filter(({ recipient }) => domainOf(recipient) === domain)
  return { sent, group }
}

/**
 * Returns each bounced delivery once. Recipients who share a return path can forge reports about
 * each other, so only a report to the return path of a single recipient can be a hard bounce and
 * suppress its address.
 */
export async function findBounced(
  deps: ReportDeps,
  { recipients }: Extract<Report, { kind: 'bounce' }>,
  group: readonly Named[],
): Promise<Finding[]> {
  const findings = new Map<string, Finding>()
  const [only] = group.length === 1 ? group : []
  for (const reportedRecipient of recipients) {
    const { recipient, originalRecipient, action } = reportedRecipient
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
    const reported = await believed(deps, reportedRecipient, delivery)
    if (reported === null) deps.countReport('ignored')
    else if (!findings.has(delivery.id)) {
      findings.set(delivery.id, {
        kind: 'bounce',
        delivery,
        reported: only === undefined ? softened(reported) : reported,
      })
    }
  }
  return [...findings.values()]
}

/**
 * If the mail was forwarded, the final mailbox may be dead while the original address is not.
 * Returns null if that mailbox is here, because this service then refused its own mail.
 */
async function believed(
  deps: ReportDeps,
  said: ReportedRecipient,
  { recipient: sentTo }: Named,
): Promise<ReportedRecipient | null> {
  const { recipient } = said
  if (recipient === null || !isElsewhere(recipient, sentTo)) return said
  if (await isHere(deps, recipient)) return null
  return softened(said)
}

/** Makes a hard bounce soft, so that it does not suppress the address. */
function softened(said: ReportedRecipient): ReportedRecipient {
  return said.bounceClass === 'hard' ? { ...said, bounceClass: 'soft' } : said
}

async function isHere(deps: ReportDeps, name: string): Promise<boolean> {
  for (const address of new Set(spellingsOf(name))) {
    if (checkEmailAddress(address) !== null) continue
    const { kind } = await findRecipient(deps, address)
    if (kind !== 'foreign_domain' && kind !== 'unknown_mailbox') return true
  }
  return false
}

export type Complaint = Extract<Report, { kind: 'complaint' }>

type About = {
  sent: SentMessage
  group: readonly Named[]
  /** Only these recipients' server knows the return path; any recipient knows the hop mark. */
  proof: 'return_path' | 'hop_mark'
}

/** Returns null if the complaint proves no message, and counts the reason. */
export async function findComplained(
  deps: ReportDeps,
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
  if (typeof about !== 'string') return { sent: about, group: about.deliveries, proof: 'hop_mark' }
  deps.countReport(about)
  return null
}

/** Later recipients of the thread know the Message-ID, but only the message has the hop mark. */
async function findMarked(
  deps: ReportDeps,
  { originalMessageId, returnedLoopMarks }: Complaint,
): Promise<SentMessage | 'unknown_message' | 'unproven' | 'expired'> {
  const messageId = messageIdOf(originalMessageId)
  const sent = messageId === null ? null : await findSent(deps.db, messageId)
  if (sent === null) return 'unknown_message'
  if (!returnedLoopMarks.includes(hopMarkOf(deps, sent.inboxId))) return 'unproven'
  return deps.clock.now() - idTimeMs(sent.messageId) > RETURN_PATH_MS ? 'expired' : sent
}

export function returnsMessage(
  deps: ReportDeps,
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

/** `authenticate` is costly, and null if authentication is impossible. */
export async function complaintsOf(
  deps: ReportDeps,
  { recipients, feedbackType, isStandard }: Complaint,
  {
    group,
    proof,
    authenticate,
  }: Pick<About, 'group' | 'proof'> & { authenticate(): Promise<Authentication | null> },
): Promise<Finding[]> {
  const [only] = group.length === 1 ? group : []
  // Standard complaints often hide the recipient; a complaint in free text must name it.
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
      (await isAuthorised(deps, await authenticate(), domainOf(delivery.recipient)))
    if (isBelieved) {
      const domain = domainOf(delivery.recipient)
      const isAlone = group.filter(({ recipient }) => domainOf(recipient) === domain).length === 1
      findings.push({ kind: 'complaint', delivery, feedbackType, isAlone })
    } else deps.countReport('unproven')
  }
  return findings
}

/** Many accounts share the inbox domain, so no sender may report for it. */
async function isAuthorised(
  { inboxDomain }: ReportDeps,
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

function messageIdOf(original: string | null): string | null {
  const [localPart = ''] = messageIdKey(original ?? '').split('@')
  const messageId = `msg_${localPart}`
  return isIdOf('msg', messageId) ? messageId : null
}

function localPartOf(address: string | null): string {
  return address?.slice(0, Math.max(0, address.lastIndexOf('@'))) ?? ''
}

/** Names may have an address type (RFC 3464 §2.3.2) and xtext encoding (RFC 3461 §4). */
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

/** A name without a domain is at the reporting host and is compared by its local part. */
function isElsewhere(name: string, address: string): boolean {
  const domain = address.slice(address.lastIndexOf('@'))
  const own = addressKey(address)
  return spellingsOf(name).every(
    (spelling) => addressKey(spelling.includes('@') ? spelling : `${spelling}${domain}`) !== own,
  )
}

/** The literal spelling comes first, because a tag may look like xtext. */
function spellingsOf(name: string): string[] {
  const bare = name.trim().replace(/^<(.*)>$/s, '$1')
  const address = bare.replace(/^(?:rfc822|utf-8)\s*;\s*/i, '').replace(/^<(.*)>$/s, '$1')
  const decoded = address.replace(/\+([0-9A-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return [bare, address, decoded]
}

/**
 * Outcomes of reports, as metrics count them. `bounced` and `complained` changed a delivery; with
 * `repeated`, an earlier report had. All others change nothing. The return path is `forged` or
 * `expired`, or its message is unknown. The report names an unknown recipient, is not final, or is
 * `ignored` because of its type or because it is about an inbox here. A `deferred` delivery is
 * retried. A complaint is `unproven` if knowing the Message-ID suffices to write it. A `too_early`
 * report must be sent again.
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
