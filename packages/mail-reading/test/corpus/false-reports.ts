// Ordinary messages that the parser takes for reports: of the folders beside a folder of bounces, but
// for those that hold reports by their description, and for messages that are reports by their type.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { firstField, readHeaderSection } from '@mailroom/mail/header-fields.ts'
import { readReport } from '#report/read-report.ts'
import { messageFiles, reversePathOf } from './message-files.ts'

export const FALSE_REPORTS_PERCENT_MAX = 0.2

export type FalseReports = {
  readonly ordinary: number
  /** Reports, which are not judged. */
  readonly reports: number
  /** Paths of ordinary messages that were taken for reports. */
  readonly taken: readonly string[]
}

export function countFalseReports(folder: string): FalseReports {
  const parent = dirname(resolve(folder))
  const taken: string[] = []
  let ordinary = 0
  let reports = 0
  for (const name of foldersBeside(resolve(folder), parent)) {
    for (const { path, raw } of messageFiles(join(parent, name))) {
      if (isReportByItself(path, raw)) {
        reports += 1
        continue
      }
      ordinary += 1
      const { kind } = readReport(raw, { hasNullSender: reversePathOf(raw) === '' })
      if (kind !== 'none') taken.push(`${name}/${path}: taken for a ${kind}`)
    }
  }
  return { ordinary, reports, taken }
}

function foldersBeside(folder: string, parent: string): string[] {
  const index = join(parent, 'INDEX.md')
  const lines = existsSync(index) ? readFileSync(index, 'utf8').split('\n') : []
  const ofReports = lines.filter((line) =>
    /\b(?:bounces?|DSNs?|delivery (?:reports?|status))\b/i.test(line),
  )
  return readdirSync(parent, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && join(parent, entry.name) !== folder)
    .map(({ name }) => name)
    .filter((name) => !ofReports.some((line) => line.startsWith(`| ${name} |`)))
    .sort()
}

function isReportByItself(path: string, raw: Uint8Array): boolean {
  if (/bounce|dsn|delivery[-_]?status|complaint|feedback|\barf\b|report_emails/i.test(path))
    return true
  const type = firstField(readHeaderSection(raw).fields, 'content-type') ?? ''
  return /^multipart\/report\b.*(?:delivery-status|feedback-report)/is.test(type)
}
