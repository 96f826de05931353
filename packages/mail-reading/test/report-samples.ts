// Reports as mail systems write them, assembled from their parts.

import { readReport } from '#report/read-report.ts'
import type { Report, ReportEnvelope, ReportedRecipient } from '#report/report.ts'

export type Part = { type: string; lines: readonly string[]; fields?: readonly string[] }

export type Notice = {
  from?: string
  subject?: string
  /** The content type of the report, instead of text/plain or multipart/report. */
  contentType?: string
  fields?: readonly string[]
}

export const RETURNED = [
  'Return-Path: <b+token@ours.example>',
  'From: Ann <ann@ours.example>',
  'To: bob@far.example',
  'Message-ID: <01hq@ours.example>',
  'X-Loop: ownmark',
  'Subject: Hello',
  '',
  'Hello Bob',
]

/** A report with only text. */
export function notice(lines: readonly string[], options: Notice = {}): string {
  return [...headOf(options, 'text/plain; charset=utf-8'), '', ...lines, ''].join('\n')
}

/** A report of several parts. */
export function report(parts: readonly Part[], options: Notice = {}): string {
  const type = 'multipart/report; report-type=delivery-status; boundary="=_part"'
  const written = parts.flatMap(({ type, lines, fields = [] }) => [
    '--=_part',
    `Content-Type: ${type}`,
    ...fields,
    '',
    ...lines,
  ])
  return [...headOf(options, type), '', ...written, '--=_part--', ''].join('\n')
}

/** RFC 3464: the words, the fields of each recipient, and the message. */
export function standard(...recipients: (readonly string[])[]): string {
  const fields = recipients.flatMap((lines) => ['', ...lines])
  return report([
    { type: 'text/plain', lines: ['Your message could not be delivered.'] },
    { type: 'message/delivery-status', lines: ['Reporting-MTA: dns; mx.far.example', ...fields] },
    { type: 'message/rfc822', lines: RETURNED },
  ])
}

export function read(text: string, envelope: ReportEnvelope = { hasNullSender: true }): Report {
  return readReport(Buffer.from(text), envelope)
}

export function bounceOf(text: string): Extract<Report, { kind: 'bounce' }> {
  const found = read(text)
  if (found.kind !== 'bounce') throw new Error(`It is read as ${found.kind}.`)
  return found
}

/** The only recipient of a bounce. */
export function onlyOf(text: string): ReportedRecipient {
  const [only, ...others] = bounceOf(text).recipients
  if (only === undefined || others.length > 0) throw new Error(`${others.length + 1} recipients`)
  return only
}

function headOf(options: Notice, contentType: string): string[] {
  const { from = 'Mail Delivery System <MAILER-DAEMON@mx.far.example>' } = options
  return [
    'Return-Path: <>',
    `From: ${from}`,
    'To: b+token@ours.example',
    `Subject: ${options.subject ?? 'Undelivered mail returned to sender'}`,
    'MIME-Version: 1.0',
    ...(options.fields ?? []),
    `Content-Type: ${options.contentType ?? contentType}`,
  ]
}
