// Which recipients a report of failures is about, among those that it may speak of, and how much of
// what it says holds for the address that mail was sent to.

import type { Report, ReportedRecipient } from '@mailroom/mail-reading/report/report.ts'
import { findRecipient } from '#inbound/find-recipient.ts'
import { checkEmailAddress } from '#platform/email-address.ts'
import type { Db } from '#schema/tables.ts'
import { isElsewhere, matchRecipient, type Named, spellingsOf } from './match-recipients.ts'
import type { CountedReport } from './report-outcome.ts'
import type { Finding } from './settle-reported.ts'

type BounceDeps = { db: Db; inboxDomain: string; countReport: (outcome: CountedReport) => void }

/**
 * Each delivery once, however often it is named; what else the report says is counted. Recipients who share
 * a return path can all forge reports to it, so none of these is hard: only a report to the path of a single
 * recipient suppresses its address.
 */
export async function findBounced(
  deps: BounceDeps,
  { recipients }: Extract<Report, { kind: 'bounce' }>,
  group: readonly Named[],
): Promise<Finding[]> {
  const findings = new Map<string, Finding>()
  const [only] = group.length === 1 ? group : []
  for (const said of recipients) {
    const { recipient, originalRecipient, action } = said
    if (action !== 'failed') {
      deps.countReport('not_final')
      continue
    }
    const isUnnamed = recipient === null && originalRecipient === null && recipients.length === 1
    const delivery = isUnnamed ? only : matchRecipient(group, [originalRecipient, recipient])
    if (delivery === undefined || delivery === null) {
      deps.countReport('unknown_recipient')
      continue
    }
    const reported = await believed(deps, said, delivery)
    if (reported === null) deps.countReport('ignored')
    else if (!findings.has(delivery.id)) {
      const told = only === undefined ? softened(reported) : reported
      findings.set(delivery.id, { kind: 'bounce', delivery, reported: told })
    }
  }
  return [...findings.values()]
}

/**
 * What holds for the recipient; null where nothing does. Where mail was passed on, the mailbox at the
 * end may be dead and the address that was written to is not: others may get mail by it. If that
 * mailbox is here, the refusal was this service's own, of its own mail that came back.
 */
async function believed(
  deps: BounceDeps,
  said: ReportedRecipient,
  { recipient: sentTo }: Named,
): Promise<ReportedRecipient | null> {
  const { recipient } = said
  if (recipient === null || !isElsewhere(recipient, sentTo)) return said
  if (await isHere(deps, recipient)) return null
  return softened(said)
}

/** Never hard, which would suppress the address. */
function softened(said: ReportedRecipient): ReportedRecipient {
  return said.bounceClass === 'hard' ? { ...said, bounceClass: 'soft' } : said
}

async function isHere(deps: BounceDeps, name: string): Promise<boolean> {
  for (const address of new Set(spellingsOf(name))) {
    if (checkEmailAddress(address) !== null) continue
    const { kind } = await findRecipient(deps, address)
    if (kind !== 'foreign_domain' && kind !== 'unknown_mailbox') return true
  }
  return false
}
