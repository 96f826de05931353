import { parseAddressList } from '@mailroom/mail/address-list.ts'
import { firstField } from '@mailroom/mail/header-fields.ts'
import { parseMessageId } from '@mailroom/mail/message-id.ts'
import { readComplaint } from './complaint.ts'
import {
  REPORT_RECIPIENTS_MAX,
  type RecipientFields,
  readRecipientGroup,
  recipientGroups,
  recipientNames,
} from './delivery-status.ts'
import { namedRecipients, readNotice, wordsOf } from './failure-notice.ts'
import { type OpenedReport, openReport, subjectOf } from './open-report.ts'
import type { Report, ReportEnvelope, ReportedRecipient } from './report.ts'
import {
  findAddresses,
  findCodes,
  isAbsence,
  isAutomaticAnswer,
  isFailurePhrase,
  isFromMailSystem,
  isNoticeSubject,
} from './report-words.ts'
import { readServiceNotice } from './service-notice.ts'

/**
 * What the message reports; `none` for ordinary mail and for replies of absent people. Never throws;
 * reads at most REPORT_BYTES_MAX octets, in time that grows with their number only.
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
    // Some systems pass on another's report, under a notice that names nobody.
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
    // Some systems leave out the recipient's field, or write a name in it.
    return { ...read, recipient: read.recipient ?? read.originalRecipient ?? only }
  })
  return bounceOf(report, recipients, isStandard)
}

/** What the words say of the group's recipient; the first group that names it has them. */
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

/** Fields of a status report that stand among the words, its structure being broken. */
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
 * A mail system must speak, and say by subject or words that something did not arrive. Programs that
 * answer for people use the null reverse-path as well, so beside it alone the message or a server's
 * reply has to be shown; and so it has in whatever calls itself an answer.
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

/** To whom the returned message went, where that is one address. */
function onlyAddressee({ returned }: OpenedReport): string | null {
  const fields = returned.filter(({ name }) => name === 'to' || name === 'cc')
  const boxes = parseAddressList(fields.map(({ value }) => value).join(', '))
  const addresses = new Set(
    boxes.map(({ address }) => address).filter((text) => text.includes('@')),
  )
  const [only] = addresses
  return addresses.size === 1 && only !== undefined ? only : null
}

/** Who sent the message and who reports; never the recipient, unless the report lists it as such. */
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
