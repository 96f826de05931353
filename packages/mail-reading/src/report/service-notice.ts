import { cleanLine } from '@mailroom/mail/charset.ts'
import { firstField, type HeaderField } from '@mailroom/mail/header-fields.ts'
import { readHeaders } from '@mailroom/mail/message-headers.ts'
import { parseMessageId } from '@mailroom/mail/message-id.ts'
import { REPORT_RECIPIENTS_MAX, readRecipientGroup } from './delivery-status.ts'
import type { OpenedReport } from './open-report.ts'
import type { Report } from './report.ts'
import { firstAddress } from './report-words.ts'

type Json = Readonly<Record<string, unknown>>

/** Null where the words are not such a notification. */
export function readServiceNotice({ lines }: OpenedReport): Report | null {
  const notice = jsonOf(lines)
  if (notice === null) return null
  const inner = typeof notice.Message === 'string' ? objectOf(parseJson(notice.Message)) : notice
  const type = inner?.notificationType ?? inner?.eventType
  if (inner === null || typeof type !== 'string') return null
  const mail = objectOf(inner.mail) ?? {}
  const originalMessageId = messageIdOf(mail)
  if (type === 'Complaint')
    return complaintOf(objectOf(inner.complaint) ?? {}, mail, originalMessageId)
  if (type !== 'Bounce' && type !== 'Delivery') return null
  const recipients =
    type === 'Bounce'
      ? bouncedOf(objectOf(inner.bounce) ?? {})
      : deliveredOf(objectOf(inner.delivery) ?? {})
  return recipients.length === 0
    ? null
    : { kind: 'bounce', recipients, originalMessageId, isStandard: false }
}

type Recipients = Extract<Report, { kind: 'bounce' }>['recipients']

function bouncedOf(bounce: Json): Recipients {
  const isTransient = bounce.bounceType === 'Transient'
  return listOf(bounce.bouncedRecipients).map((entry) => {
    const group = new Map<string, string>()
    group.set('final-recipient', textOf(entry.emailAddress))
    group.set('action', textOf(entry.action) || 'failed')
    group.set('status', textOf(entry.status) || (isTransient ? '4.0.0' : '5.0.0'))
    group.set('diagnostic-code', textOf(entry.diagnosticCode))
    return readRecipientGroup(group, '')
  })
}

function deliveredOf(delivery: Json): Recipients {
  const recipients = Array.isArray(delivery.recipients) ? delivery.recipients : []
  return recipients.slice(0, REPORT_RECIPIENTS_MAX).map((address) => {
    const response = textOf(delivery.smtpResponse)
    const group = new Map([
      ['final-recipient', textOf(address)],
      ['action', 'delivered'],
      ['status', '2.0.0'],
      ['diagnostic-code', `smtp; ${response}`],
    ])
    return readRecipientGroup(group, '')
  })
}

function complaintOf(complaint: Json, mail: Json, originalMessageId: string | null): Report {
  const addresses = listOf(complaint.complainedRecipients).map((entry) =>
    firstAddress(textOf(entry.emailAddress)),
  )
  const source = firstAddress(textOf(mail.source))
  return {
    kind: 'complaint',
    isStandard: false,
    feedbackType: (textOf(complaint.complaintFeedbackType) || 'abuse').toLowerCase(),
    recipients: addresses.filter((address) => address !== null),
    originalMessageId,
    originalMailFrom: source,
    reportedReturnPath: null,
    returnedLoopMarks: readHeaders(headersOf(mail)).loopMarks,
  }
}

function headersOf(mail: Json): HeaderField[] {
  return listOf(mail.headers).map(({ name, value }) => ({
    name: textOf(name).toLowerCase(),
    value: textOf(value),
  }))
}

function messageIdOf(mail: Json): string | null {
  const named = textOf(objectOf(mail.commonHeaders)?.messageId)
  const value = named || (firstField(headersOf(mail), 'message-id') ?? '')
  return value === '' ? null : parseMessageId(value)
}

/** Mail programs break the line of JSON as they like. */
function jsonOf(lines: readonly string[]): Json | null {
  const start = lines.findIndex((line) => line.trim() !== '')
  if (start < 0 || !(lines[start] ?? '').trimStart().startsWith('{')) return null
  const close = lines.findIndex((line, index) => index > start && /^-- ?$/.test(line))
  const text = lines.slice(start, close < 0 ? undefined : close).join('')
  return objectOf(parseJson(text.slice(0, text.lastIndexOf('}') + 1)))
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function objectOf(value: unknown): Json | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Json)
    : null
}

function listOf(value: unknown): Json[] {
  if (!Array.isArray(value)) return []
  return value
    .slice(0, REPORT_RECIPIENTS_MAX)
    .map(objectOf)
    .filter((entry) => entry !== null)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? cleanLine(value.slice(0, 4_000)) : ''
}
