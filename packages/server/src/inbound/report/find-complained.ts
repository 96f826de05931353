// Which message a complaint is about, and of which of its recipients it is believed. At an address that
// anybody knows it takes a proof: our return path, or our mark, which only whoever got the message has.

import type { Authentication } from '@mailroom/mail/authentication.ts'
import { messageIdKey } from '@mailroom/mail/message-id.ts'
import type { Report } from '@mailroom/mail-reading/report/report.ts'
import { domainOf } from '#inboxes/inbox.ts'
import { findSent, type SentMessage } from '#outbound/delivery-rows.ts'
import { hopMarkKey, hopMarkOf } from '#outbound/hop-mark.ts'
import { isReturnPath, RETURN_PATH_MS } from '#outbound/return-path.ts'
import type { Clock } from '#platform/clock.ts'
import { isPublicSuffix } from '#platform/domain-name.ts'
import { idTimeMs, isIdOf } from '#platform/ids.ts'
import type { Db } from '#schema/tables.ts'
import { findAtReturnPath } from './find-at-return-path.ts'
import { matchRecipient, type Named } from './match-recipients.ts'
import type { CountedReport } from './report-outcome.ts'
import type { Finding } from './settle-reported.ts'

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
  if (!returnedLoopMarks.includes(hopMarkOf(hopMarkKey(deps), sent.inboxId))) return 'unproven'
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
    returnedLoopMarks.includes(hopMarkOf(hopMarkKey(deps), sent.inboxId)) ||
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
