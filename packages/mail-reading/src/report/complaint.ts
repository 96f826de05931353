import { parseAddressList } from '@mailroom/mail/address-list.ts'
import { cleanLine } from '@mailroom/mail/charset.ts'
import { firstField, type HeaderField } from '@mailroom/mail/header-fields.ts'
import { readHeaders } from '@mailroom/mail/message-headers.ts'
import { REPORT_RECIPIENTS_MAX } from './delivery-status.ts'
import { type OpenedReport, subjectOf } from './open-report.ts'
import type { Report } from './report.ts'
import { firstAddress, isAbsence, isAutomaticAnswer } from './report-words.ts'

type Complaint = Extract<Report, { kind: 'complaint' }>

/** Null where the message is no complaint: words alone are none, whatever they say. */
export function readComplaint(report: OpenedReport): Complaint | null {
  const { feedback, returned } = report
  if (feedback !== null) {
    const feedbackType = (firstField(feedback, 'feedback-type') ?? 'abuse').trim().toLowerCase()
    return {
      ...complaintOf(report, feedback),
      isStandard: true,
      feedbackType: cleanLine(feedbackType).slice(0, 40) || 'other',
    }
  }
  if (!isProviderComplaint(report)) return null
  return { ...complaintOf(report, returned), isStandard: false, feedbackType: 'abuse' }
}

function complaintOf(
  { fields, returned }: OpenedReport,
  feedback: readonly HeaderField[],
): Omit<Complaint, 'isStandard' | 'feedbackType'> {
  const mailFrom = firstField(feedback, 'original-mail-from')
  const returnPath = firstField(returned, 'return-path')
  const { messageId, loopMarks } = readHeaders(returned)
  return {
    kind: 'complaint',
    recipients: recipientsOf(fields, feedback, returned),
    originalMessageId: messageId,
    originalMailFrom: mailFrom === null ? null : pathOf(mailFrom),
    reportedReturnPath: returnPath === null ? null : pathOf(returnPath),
    returnedLoopMarks: loopMarks,
  }
}

/** Whom the reports name, most reliable first; the To of the message where they name nobody. */
function recipientsOf(
  fields: readonly HeaderField[],
  feedback: readonly HeaderField[],
  returned: readonly HeaderField[],
): string[] {
  for (const values of [
    valuesOf(feedback, ['original-rcpt-to', 'original-recipient', 'removal-recipient']),
    valuesOf(fields, ['x-hmxmroriginalrecipient']),
    valuesOf(returned, ['x-hmxmroriginalrecipient', 'x-apparently-to', 'x-original-to']),
  ]) {
    const addresses = values.map((value) => firstAddress(value.replace(/^\s*rfc822\s*;/i, '')))
    const named = [...new Set(addresses.filter((address) => address !== null))]
    if (named.length > 0) return named.slice(0, REPORT_RECIPIENTS_MAX)
  }
  const to = parseAddressList(valuesOf(returned, ['to', 'cc']).join(', '))
  const named = to.map(({ address }) => address).filter((address) => address.includes('@'))
  return [...new Set(named)].slice(0, REPORT_RECIPIENTS_MAX)
}

function valuesOf(fields: readonly HeaderField[], names: readonly string[]): string[] {
  return fields.filter(({ name }) => names.includes(name)).map(({ value }) => value)
}

/**
 * Of providers that return the message as it is, marked by fields of their own or their sender. It must
 * show where it came from, for a complaint may be about other mail; and an answer is none.
 */
function isProviderComplaint(report: OpenedReport): boolean {
  const { fields, returned, hasReturnedPart } = report
  const isKnowable = returned.some(({ name }) => IDENTIFYING.has(name))
  if (!hasReturnedPart || !isKnowable) return false
  if (isAutomaticAnswer(fields) || isAbsence(fields, subjectOf(report))) return false
  if (isFeedbackReport(report) || firstField(fields, 'x-hmxmroriginalrecipient') !== null)
    return true
  const from = firstAddress(firstField(fields, 'from') ?? '') ?? ''
  return /^(?:staff@hotmail\.com$|(?:fbl|feedback-?loop)(?:[-+][^@]*)?@)/i.test(from)
}

const IDENTIFYING = new Set(['message-id', 'return-path', 'x-loop'])

/** By its type (RFC 5965 §2), though the part that the type asks for is missing. */
function isFeedbackReport({ fields, contentType }: OpenedReport): boolean {
  const type = firstField(fields, 'content-type') ?? ''
  return contentType === 'multipart/report' && /report-type ?= ?"?feedback-report/i.test(type)
}

function pathOf(value: string): string {
  return /^\s*<\s*>/.test(value) ? '' : (firstAddress(value) ?? cleanLine(value))
}
