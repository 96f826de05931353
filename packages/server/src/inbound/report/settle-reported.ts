// What a report says of deliveries, recorded. Our own attempt may not be recorded yet when its report
// comes: for that it waits a moment.

import { setTimeout as pause } from 'node:timers/promises'
import { RESPONSE_LENGTH_MAX } from '@mailroom/mail-reading/report/delivery-status.ts'
import type { ReportedRecipient } from '@mailroom/mail-reading/report/report.ts'
import {
  type ReportedDelivery,
  type ReportOutcome,
  settleReport,
} from '#inbound/settle-report-rows.ts'
import type { SentMessage } from '#outbound/delivery-rows.ts'
import { newSuppression } from '#outbound/suppressions.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import type { Db } from '#schema/tables.ts'
import type { Named } from './match-recipients.ts'
import type { CountedReport } from './report-outcome.ts'

const REPORT_LOOK_MS = 50

export type SettleDeps = {
  db: Db
  clock: Clock
  makeId: MakeId
  log: Log
  countReport: (outcome: CountedReport) => void
  wakeEvents: () => void
}

export type Finding = { delivery: Named } & (
  | { kind: 'bounce'; reported: ReportedRecipient }
  | {
      kind: 'complaint'
      feedbackType: string
      /** Whether the message went to nobody else at this domain, who could have forged it. */
      isAlone: boolean
    }
)

/**
 * False when an attempt is under way at `deadlineMs` of the monotonic clock, for a delivery that it
 * tells of. What is settled is recorded even so, and what is reported again changes nothing.
 */
export async function settleReported(
  deps: SettleDeps,
  { sent, findings, deadlineMs }: { sent: SentMessage; findings: Finding[]; deadlineMs: number },
): Promise<boolean> {
  const { accountId, messageId } = sent
  let deliveries = findings.map((finding) => reportedOf(deps, accountId, finding))
  let lookMs = REPORT_LOOK_MS
  while (deliveries.length > 0) {
    const ids = { accountId, messageId, eventId: deps.makeId('evt') }
    const input = { ...ids, deliveries, nowMs: deps.clock.now() }
    const outcomes = await deps.db.write(settleReport, input)
    tell(deps, { messageId, deliveries, outcomes })
    deliveries = deliveries.filter((_, index) => outcomes[index] === 'underway')
    if (deliveries.length === 0) return true
    const leftMs = deadlineMs - deps.clock.monotonic()
    if (leftMs <= 0) {
      deps.countReport('too_early')
      return false
    }
    await pause(Math.min(lookMs, leftMs))
    lookMs *= 2
  }
  return true
}

function tell(
  deps: SettleDeps,
  told: { messageId: string; deliveries: ReportedDelivery[]; outcomes: ReportOutcome[] },
): void {
  for (const [index, { deliveryId: delivery, status }] of told.deliveries.entries()) {
    const outcome = told.outcomes[index]
    switch (outcome) {
      case 'settled':
        deps.countReport(status)
        deps.log.info(
          { message: told.messageId, delivery, status },
          'a delivery report was processed',
        )
        break
      case 'repeated':
      case 'deferred':
        deps.countReport(outcome)
        break
      case 'gone':
        deps.countReport('unknown_message')
    }
  }
  if (told.outcomes.includes('settled')) deps.wakeEvents()
}

function reportedOf(deps: SettleDeps, accountId: string, finding: Finding): ReportedDelivery {
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

/** Without the codes in front, which are told beside the words. */
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
