import { parseAddressList } from '@mailroom/mail/address-list.ts'
import { cleanLine } from '@mailroom/mail/charset.ts'
import { firstField, type HeaderField } from '@mailroom/mail/header-fields.ts'
import { parseMessageId, readHeaders } from '@mailroom/mail/message-headers.ts'
import { namedRecipients, readNotice, wordsOf } from './failure-notice.ts'
import { type OpenedReport, openReport, subjectOf } from './open-report.ts'
import {
  REPORT_RECIPIENTS_MAX,
  type RecipientFields,
  type Report,
  type ReportEnvelope,
  type ReportedRecipient,
  readRecipientGroup,
  recipientGroups,
  recipientNames,
} from './report.ts'
import {
  findAddresses,
  findCodes,
  firstAddress,
  isAbsence,
  isAutomaticAnswer,
  isFailurePhrase,
  isFromMailSystem,
  isNoticeSubject,
} from './report-words.ts'

/**
 * The report in a message, or `none` for ordinary mail and for out-of-office replies. Never throws.
 * Reads at most REPORT_BYTES_MAX octets, in linear time.
 */
export function readReport(raw: Uint8Array, envelope: ReportEnvelope): Report {
  const report = openReport(raw)
  const read = readOpened(report, envelope)
  const isNameless =
    read?.kind === 'bounce' &&
    !read.isStandard &&
    namedBy(report).length === 0 &&
    !hasFailedField(report)
  if (isNameless && isFromMailSystem(report.returned)) {
    // Some systems forward another system's report below a notice without recipients.
    const inner = readOpened(openReport(report.returnedOctets), envelope)
    if (inner?.kind === 'bounce') return inner
  }
  return read ?? { kind: 'none' }
}

function readOpened(report: OpenedReport, envelope: ReportEnvelope): Report | null {
  return (
    readComplaint(report) ??
    readStandard(report, envelope) ??
    readServiceNotice(report) ??
    readWords(report, envelope)
  )
}

function namedBy(report: OpenedReport): ReturnType<typeof namedRecipients> {
  return namedRecipients(report.lines, strangersOf(report))
}

function hasFailedField({ fields }: OpenedReport): boolean {
  return firstField(fields, 'x-failed-recipients') !== null
}

function readStandard(report: OpenedReport, envelope: ReportEnvelope): Report | null {
  const groups = report.statusParts.flatMap(recipientGroups).slice(0, REPORT_RECIPIENTS_MAX)
  const isStandard = groups.length > 0
  const all = isStandard ? groups : looseGroups(report, envelope)
  if (all.length === 0) return null
  const named = namedBy(report)
  const reasons = new Map(named.map(({ address, reason }) => [address.toLowerCase(), reason]))
  const whole = wordsOf(report.lines)
  const isAlone = all.length === 1
  const only = (named.length === 1 ? named[0]?.address : undefined) ?? onlyAddressee(report)
  const recipients = all.map((group) => {
    const own = wordsOf(takeReason(reasons, group))
    const words = isAlone ? own || whole : own
    const read = readRecipientGroup(group, words, isAlone ? whole : words)
    // Some systems omit the recipient's address, or write a name instead.
    return { ...read, recipient: read.recipient ?? read.originalRecipient ?? only }
  })
  return bounceOf(report, recipients, isStandard)
}

/** The words about a group's recipient, for the first group that names the recipient. */
function takeReason(
  reasons: Map<string, readonly string[]>,
  group: RecipientFields,
): readonly string[] {
  for (const name of recipientNames(group)) {
    const reason = reasons.get(name.toLowerCase())
    if (reason === undefined) continue
    reasons.delete(name.toLowerCase())
    return reason
  }
  return []
}

/** Fields of a status report within the text of a malformed report. */
function looseGroups(report: OpenedReport, { hasNullSender }: ReportEnvelope): RecipientFields[] {
  const isLikely = report.lines.some((line) => /^(?:final|original)-recipient\s*:/i.test(line))
  if (!isLikely || !(hasNullSender || isFromMailSystem(report.fields))) return []
  return recipientGroups(report.lines).slice(0, REPORT_RECIPIENTS_MAX)
}

function readWords(report: OpenedReport, envelope: ReportEnvelope): Report | null {
  const { fields, lines } = report
  const subject = subjectOf(report)
  const failed = firstField(fields, 'x-failed-recipients')
  if (failed === null && (isAbsence(fields, subject) || !isNotice(report, subject, envelope)))
    return null
  const listed = failed === null ? [] : listedIn(failed)
  const context = { strangers: strangersOf(report, listed), subject }
  const read = readNotice(lines, context)
  const known = new Set(read.map(({ recipient }) => recipient?.toLowerCase()))
  const missing = listed.filter((address) => !known.has(address.toLowerCase()))
  const recipients = [
    ...read.filter(({ recipient }) => recipient !== null || missing.length === 0),
    ...missing.flatMap((address) =>
      read.slice(0, 1).map((one) => ({ ...one, recipient: address })),
    ),
  ]
  const named = recipients.map((one) =>
    one.recipient === null ? { ...one, recipient: onlyAddressee(report) } : one,
  )
  if (!hasSubstance(report, named)) return null
  return bounceOf(report, named.slice(0, REPORT_RECIPIENTS_MAX), false)
}

function listedIn(field: string): string[] {
  const addresses = findAddresses(field).map(({ address }) => address)
  return addresses.slice(0, REPORT_RECIPIENTS_MAX)
}

/**
 * Whether subject or text are those of a mail system that reports a failure. Automatic replies also
 * use the null reverse-path. If that path is the only other sign, or the message is an automatic
 * reply, it must also contain the returned message or a server's reply.
 */
function isNotice(
  report: OpenedReport,
  subject: string,
  { hasNullSender }: ReportEnvelope,
): boolean {
  const { fields, lines, hasReturned, contentType } = report
  const says = lines.some(isFailurePhrase)
  const isSubject = isNoticeSubject(subject)
  if (!says && !isSubject) return false
  const isReturning = hasReturned || contentType === 'multipart/report'
  const shows = isReturning || findCodes(wordsOf(lines)).replyCode !== null
  if (isAutomaticAnswer(fields) && !shows) return false
  if (isFromMailSystem(fields)) return true
  return hasNullSender ? shows : says && isSubject && isReturning
}

function hasSubstance(report: OpenedReport, recipients: readonly ReportedRecipient[]): boolean {
  if (report.hasReturned || recipients.some(({ recipient }) => recipient !== null)) return true
  return findCodes(wordsOf(report.lines)).replyCode !== null || report.lines.some(isFailurePhrase)
}

/** The recipient of the returned message if it is a single address. */
function onlyAddressee({ returned }: OpenedReport): string | null {
  const fields = returned.filter(({ name }) => name === 'to' || name === 'cc')
  const boxes = parseAddressList(fields.map(({ value }) => value).join(', '))
  const addresses = new Set(
    boxes.map(({ address }) => address).filter((text) => text.includes('@')),
  )
  const [only] = addresses
  return addresses.size === 1 && only !== undefined ? only : null
}

/** The sender's and reporter's addresses, which are recipients only if the report lists them. */
function strangersOf(report: OpenedReport, listed: readonly string[] = []): ReadonlySet<string> {
  const strangers = new Set<string>()
  for (const { name, value } of report.fields) {
    if (!['to', 'from', 'delivered-to', 'envelope-to', 'return-path'].includes(name)) continue
    for (const { address } of findAddresses(value)) strangers.add(address.toLowerCase())
  }
  for (const { name, value } of report.returned) {
    if (name !== 'return-path' && name !== 'from' && name !== 'sender') continue
    for (const { address } of findAddresses(value)) strangers.add(address.toLowerCase())
  }
  for (const address of listed) strangers.delete(address.toLowerCase())
  return strangers
}

function bounceOf(
  report: OpenedReport,
  recipients: ReportedRecipient[],
  isStandard: boolean,
): Report {
  const messageId = firstField(report.returned, 'message-id')
  return {
    kind: 'bounce',
    recipients,
    originalMessageId: messageId === null ? null : parseMessageId(messageId),
    isStandard,
  }
}

type Complaint = Extract<Report, { kind: 'complaint' }>

/** Parses a complaint; null if the message is not one. Its text alone is not sufficient. */
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

/** Recipients in the report, most reliable first, or else the To of the returned message. */
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
 * Whether a provider returned the message unchanged as a complaint, recognised by the provider's
 * fields or sender. The message must show its origin, because a complaint may be about other mail.
 * An automatic reply is not a complaint.
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

/** Whether the declared type (RFC 5965 §2) means a complaint without a feedback part. */
function isFeedbackReport({ fields, contentType }: OpenedReport): boolean {
  const type = firstField(fields, 'content-type') ?? ''
  return contentType === 'multipart/report' && /report-type ?= ?"?feedback-report/i.test(type)
}

function pathOf(value: string): string {
  return /^\s*<\s*>/.test(value) ? '' : (firstAddress(value) ?? cleanLine(value))
}

type Json = Readonly<Record<string, unknown>>

/** Parses a JSON notification in the format of Amazon SES; null for other text. */
export function readServiceNotice({ lines }: OpenedReport): Report | null {
  const notice = jsonOf(lines)
  if (notice === null) return null
  const inner = typeof notice.Message === 'string' ? objectOf(parseJson(notice.Message)) : notice
  const type = inner?.notificationType ?? inner?.eventType
  if (inner === null || typeof type !== 'string') return null
  const mail = objectOf(inner.mail) ?? {}
  const originalMessageId = messageIdOf(mail)
  if (type === 'Complaint')
    return serviceComplaint(objectOf(inner.complaint) ?? {}, mail, originalMessageId)
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
    const group = new Map([
      ['final-recipient', textOf(entry.emailAddress)],
      ['action', textOf(entry.action) || 'failed'],
      ['status', textOf(entry.status) || (isTransient ? '4.0.0' : '5.0.0')],
      ['diagnostic-code', textOf(entry.diagnosticCode)],
    ])
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

function serviceComplaint(complaint: Json, mail: Json, originalMessageId: string | null): Report {
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

/** Joins the lines, because mail programs wrap the JSON. */
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
