// Processes reports about sent mail to a return path or to abuse@. The service does not reply to
// reports, and does not reveal that a return path is forged.

import { setTimeout as pause } from 'node:timers/promises'
import type { Authentication } from '@mailroom/mail/authentication.ts'
import type { Report, ReportedRecipient } from '@mailroom/mail-reading/report/report.ts'
import { RESPONSE_LENGTH_MAX } from '@mailroom/mail-reading/report/report.ts'
import type { AcceptedRecipient, MailRecipient } from '#inbound/receive/find-recipient.ts'
import {
  type ReportedDelivery,
  type ReportOutcome,
  settleReport,
} from '#inbound/reports/store/settle-report.ts'
import { findReachedInbox } from '#inboxes/store/inboxes.ts'
import type { SentMessage } from '#outbound/deliveries/store/deliveries.ts'
import { newSuppression } from '#outbound/suppressions/suppressions.ts'
import {
  type Complaint,
  complaintsOf,
  type Finding,
  findAtReturnPath,
  findBounced,
  findComplained,
  type ReportDeps,
  returnsMessage,
} from './find-reported.ts'

const REPORT_RETRY_MS = 50

export type Arrived = {
  readReport(): Promise<Report>
  /** This is null if DNS authentication is impossible. */
  authenticate(): Promise<Authentication | null>
  /** The deadline is a time of the monotonic clock. */
  deadlineMs: number
}

/** `too_early`: the delivery is not settled, so the report must be sent again. */
type Processed = { kind: 'done' } | { kind: 'too_early' }

const DONE: Processed = { kind: 'done' }

/** Returns the recipients that receive the message as mail instead of as a report. */
export async function processReports(
  deps: ReportDeps,
  recipients: readonly AcceptedRecipient[],
  arrived: Arrived,
): Promise<MailRecipient[] | 'too_early'> {
  const mailRecipients: MailRecipient[] = []
  for (const recipient of recipients) {
    const result = await processFor(deps, recipient, arrived)
    if (result.kind === 'too_early') return 'too_early'
    if (result.kind !== 'done') mailRecipients.push(result)
  }
  return mailRecipients
}

async function processFor(
  deps: ReportDeps,
  recipient: AcceptedRecipient,
  arrived: Arrived,
): Promise<MailRecipient | Processed> {
  const { address } = recipient
  switch (recipient.kind) {
    case 'inbox':
    case 'postmaster':
      return recipient
    case 'return_path': {
      const result = await processAtReturnPath(deps, recipient.localPart, arrived)
      if (result.kind !== 'mail') return result
      // Automatic replies go to the reverse-path, so the inbox that sent the message receives them.
      const { accountId, inboxId } = result.sent
      const inbox = await findReachedInbox(deps.db, accountId, inboxId)
      if (inbox !== null) return { kind: 'inbox', inbox, through: null, address }
      deps.countReport('unknown_message')
      return DONE
    }
    case 'abuse': {
      const { inbox } = recipient
      const result = await processAtAbuse(deps, arrived)
      if (result !== null) return result
      if (inbox === null) return { kind: 'postmaster', address }
      return { kind: 'inbox', inbox, through: null, address }
    }
  }
}

/** The result `mail` means that the inbox that sent the message receives it. */
export async function processAtReturnPath(
  deps: ReportDeps,
  localPart: string,
  { readReport, authenticate, deadlineMs }: Arrived,
): Promise<Processed | { kind: 'mail'; sent: SentMessage }> {
  const found = await findAtReturnPath(deps, localPart)
  if (typeof found === 'string') {
    deps.countReport(found)
    return DONE
  }
  const report = await readReport()
  const { sent, group } = found
  switch (report.kind) {
    case 'none':
      return { kind: 'mail', sent }
    case 'bounce': {
      const findings = await findBounced(deps, report, group)
      return settleReported(deps, { sent, findings, deadlineMs })
    }
    case 'complaint': {
      // People, and programs that quote them, may use the words of a complaint.
      const isReport = report.isStandard || returnsMessage(deps, report, sent, localPart)
      if (!isReport) return { kind: 'mail', sent }
      if (isIgnored(deps, report)) return DONE
      const about = { group, proof: 'return_path', authenticate } as const
      const findings = await complaintsOf(deps, report, about)
      return settleReported(deps, { sent, findings, deadlineMs })
    }
  }
}

/** Returns null for mail that is not a complaint or proves nothing; people must read it. */
export async function processAtAbuse(
  deps: ReportDeps,
  { readReport, authenticate, deadlineMs }: Arrived,
): Promise<Processed | null> {
  const report = await readReport()
  if (report.kind !== 'complaint') return null
  const about = await findComplained(deps, report)
  if (about === null) return null
  if (isIgnored(deps, report)) return DONE
  const findings = await complaintsOf(deps, report, { ...about, authenticate })
  if (findings.length === 0) return null
  return settleReported(deps, { sent: about.sent, findings, deadlineMs })
}

/** Reports of these types are not complaints of a recipient (RFC 5965 §7.3, RFC 6430). */
const IGNORED = new Set(['not-spam', 'auth-failure'])

function isIgnored(deps: ReportDeps, { feedbackType }: Complaint): boolean {
  if (!IGNORED.has(feedbackType)) return false
  deps.countReport('ignored')
  return true
}

/**
 * Records the deliveries that can be settled, even if others are `too_early` at `deadlineMs`. A
 * repeated report changes nothing.
 */
async function settleReported(
  deps: ReportDeps,
  { sent, findings, deadlineMs }: { sent: SentMessage; findings: Finding[]; deadlineMs: number },
): Promise<Processed> {
  const { accountId, messageId } = sent
  let deliveries = findings.map((finding) => reportedOf(deps, accountId, finding))
  let retryMs = REPORT_RETRY_MS
  while (deliveries.length > 0) {
    const ids = { accountId, messageId, eventId: deps.makeId('evt') }
    const input = { ...ids, deliveries, nowMs: deps.clock.now() }
    const outcomes = await deps.db.write(settleReport, input)
    countOutcomes(deps, { messageId, deliveries, outcomes })
    deliveries = deliveries.filter((_, index) => outcomes[index] === 'underway')
    if (deliveries.length === 0) return DONE
    const leftMs = deadlineMs - deps.clock.monotonic()
    if (leftMs <= 0) {
      deps.countReport('too_early')
      return { kind: 'too_early' }
    }
    await pause(Math.min(retryMs, leftMs))
    retryMs *= 2
  }
  return DONE
}

function countOutcomes(
  deps: ReportDeps,
  {
    messageId: message,
    deliveries,
    outcomes,
  }: { messageId: string; deliveries: ReportedDelivery[]; outcomes: ReportOutcome[] },
): void {
  for (const [index, { deliveryId: delivery, status }] of deliveries.entries()) {
    const outcome = outcomes[index]
    switch (outcome) {
      case 'settled':
        deps.countReport(status)
        deps.log.info({ message, delivery, status }, 'a delivery report was processed')
        break
      case 'repeated':
      case 'deferred':
        deps.countReport(outcome)
        break
      case 'gone':
        deps.countReport('unknown_message')
    }
  }
  if (outcomes.includes('settled')) deps.wakeEvents()
}

function reportedOf(deps: ReportDeps, accountId: string, finding: Finding): ReportedDelivery {
  const { id: deliveryId, recipient: address } = finding.delivery
  const event = { deliveryId, eventId: deps.makeId('evt') }
  if (finding.kind === 'complaint') {
    const response = `Reported as ${finding.feedbackType}`.slice(0, RESPONSE_LENGTH_MAX)
    const why = { accountId, address, type: 'complaint', reason: response } as const
    const suppression = finding.isAlone ? newSuppression(deps, why) : null
    return { ...event, status: 'complained', response, suppression }
  }
  const { bounceClass, replyCode, enhancedCode } = finding.reported
  const response = wordsOf(finding.reported).slice(0, RESPONSE_LENGTH_MAX)
  const reason = [replyCode, enhancedCode, response].filter((part) => part !== null).join(' ')
  const why = { accountId, address, type: 'bounce', reason } as const
  return {
    ...event,
    status: 'bounced',
    bounceClass,
    responseCode: replyCode,
    enhancedCode,
    response,
    suppression: bounceClass === 'hard' ? newSuppression(deps, why) : null,
  }
}

function wordsOf({ replyCode, enhancedCode, diagnostic }: ReportedRecipient): string {
  const code = replyCode === null ? '' : String(replyCode)
  const words = diagnostic.startsWith(code)
    ? diagnostic.slice(code.length).replace(/^[ -]+/, '')
    : diagnostic
  const enhanced = enhancedCode ?? ''
  const text = words.startsWith(enhanced) ? words.slice(enhanced.length).trimStart() : words
  return text === '' ? NO_WORDS : text
}

const NO_WORDS = 'Reported as undeliverable'
