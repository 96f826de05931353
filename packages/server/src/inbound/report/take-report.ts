// Reports about mail that was sent: what came to a return path or to abuse@, and what it changes. The
// service answers none of it, and whoever forges an address of its own is not told.

import type { Authentication } from '@mailroom/mail/authentication.ts'
import type { Report } from '@mailroom/mail-reading/report/report.ts'
import type { SentMessage } from '#outbound/delivery-rows.ts'
import { findAtReturnPath } from './find-at-return-path.ts'
import { findBounced } from './find-bounced.ts'
import { type Complaint, complaintsOf, findComplained, returnsMessage } from './find-complained.ts'
import { type Finding, type SettleDeps, settleReported } from './settle-reported.ts'

export type ReportDeps = SettleDeps & {
  deriveKey: (purpose: string) => Uint8Array
  inboxDomain: string
}

export type Arrived = {
  /** Reads the message, which costs something. */
  readReport(): Promise<Report>
  /** Asks DNS who sent it; null where that is not to be known. */
  authenticate(): Promise<Authentication | null>
  /** By when our own outcome has to be recorded, on the monotonic clock. */
  deadlineMs: number
}

/**
 * `done`: taken, or dropped; `mail`: no report but a message for whoever sent; `too_early`: to be told
 * again, for what it is about is not settled.
 */
export type Taken = { kind: 'done' } | { kind: 'mail'; sent: SentMessage } | { kind: 'too_early' }

const DONE: Taken = { kind: 'done' }

/** What came to a return path. Recipients at other domains than the report's address are not its. */
export async function takeAtReturnPath(
  deps: ReportDeps,
  localPart: string,
  { readReport, authenticate, deadlineMs }: Arrived,
): Promise<Taken> {
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
      return settle(deps, { sent, findings, deadlineMs })
    }
    case 'complaint': {
      // Words of complaint are a person's, too, or those of a program that has got one.
      const isReport = report.isStandard || returnsMessage(deps, report, sent, localPart)
      if (!isReport) return { kind: 'mail', sent }
      if (isIgnored(deps, report)) return DONE
      const about = { group, proof: 'return_path', authenticate } as const
      const findings = await complaintsOf(deps, report, about)
      return settle(deps, { sent, findings, deadlineMs })
    }
  }
}

/**
 * A complaint that came to abuse@, about a message that it proves to be one that was sent from here;
 * null where it is none or proves nothing: then people have to read it.
 */
export async function takeAtAbuse(
  deps: ReportDeps,
  { readReport, authenticate, deadlineMs }: Arrived,
): Promise<Exclude<Taken, { kind: 'mail' }> | null> {
  const report = await readReport()
  if (report.kind !== 'complaint') return null
  const about = await findComplained(deps, report)
  if (about === null) return null
  if (isIgnored(deps, report)) return { kind: 'done' }
  const findings = await complaintsOf(deps, report, { ...about, authenticate })
  if (findings.length === 0) return null
  return settle(deps, { sent: about.sent, findings, deadlineMs })
}

async function settle(
  deps: ReportDeps,
  about: { sent: SentMessage; findings: Finding[]; deadlineMs: number },
): Promise<{ kind: 'done' } | { kind: 'too_early' }> {
  return (await settleReported(deps, about)) ? { kind: 'done' } : { kind: 'too_early' }
}

/** RFC 5965 §7.3 and RFC 6430: those that praise, or tell of a forgery, are no complaint of a recipient. */
const IGNORED = new Set(['not-spam', 'auth-failure'])

function isIgnored(deps: ReportDeps, { feedbackType }: Complaint): boolean {
  if (!IGNORED.has(feedbackType)) return false
  deps.countReport('ignored')
  return true
}
