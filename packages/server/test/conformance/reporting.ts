// Parsed reports, and their effects in a real database: messages that were sent, and their states afterwards.

import { after, before, beforeEach } from 'node:test'
import type { Authentication } from '@mailroom/mail/authentication.ts'
import type { Report, ReportedRecipient } from '@mailroom/mail-reading/report/report.ts'
import type { CountedReport, ReportDeps } from '#inbound/reports/find-reported.ts'
import {
  type Arrived,
  processAtAbuse,
  processAtReturnPath,
} from '#inbound/reports/process-reports.ts'
import type { SendInput } from '#outbound/send/store/accept-send.ts'
import { hopMarkOf, makeReturnPath } from '#outbound/send/store/loop-marks.ts'
import { systemClock } from '#platform/clock.ts'
import type { Engine } from '#platform/db/db.ts'
import type { Db } from '#store/tables.ts'
import { deliverDeps, deliveriesOf } from '#test/conformance/delivering.ts'
import {
  addAccount,
  addInbox,
  type Owner,
  openDatabase,
  type TestDatabase,
} from '#test/conformance/open-database.ts'
import { queueAll, sending } from '#test/conformance/sending.ts'
import { runSql } from '#test/peers/sql.ts'

const KEY = new Uint8Array(32).fill(1)

export function reported(recipient: string | null, fields: Partial<ReportedRecipient> = {}) {
  return {
    recipient,
    originalRecipient: null,
    action: 'failed',
    enhancedCode: '5.1.1',
    replyCode: 550,
    diagnostic: 'No such user',
    bounceClass: 'hard',
    ...fields,
  } as const satisfies ReportedRecipient
}

export function bounce(...recipients: ReportedRecipient[]): Report {
  return { kind: 'bounce', recipients, originalMessageId: null, isStandard: true }
}

export type Complaint = Extract<Report, { kind: 'complaint' }>

export function complaint(fields: Partial<Complaint> = {}): Complaint {
  return {
    kind: 'complaint',
    isStandard: true,
    feedbackType: 'abuse',
    recipients: [],
    originalMessageId: null,
    originalMailFrom: null,
    reportedReturnPath: null,
    returnedLoopMarks: [],
    ...fields,
  }
}

export function localPartOf(address: string): string {
  return address.slice(0, address.indexOf('@'))
}

export function messageIdOf({ messageId }: SendInput): string {
  return `<${messageId.slice('msg_'.length)}@mailroom.localhost>`
}

export function markOf(inboxId: string): string {
  return hopMarkOf({ deriveKey: () => KEY }, inboxId)
}

export function pathOf({ deliveries }: SendInput, index = 0): string {
  const deliveryId = deliveries[index]?.id ?? ''
  return makeReturnPath(KEY, { deliveryId, domain: 'mailroom.localhost' })
}

/** A report without an authenticated sender, unless one is given. */
export function arrivedWith(
  report: Report,
  { waitMs = 0, authentication = null as Authentication | null } = {},
): Arrived {
  return {
    readReport: () => Promise.resolve(report),
    authenticate: () => Promise.resolve(authentication),
    deadlineMs: systemClock.monotonic() + waitMs,
  }
}

/** A database for the suite that calls it, with an account and an inbox for each of its tests. */
export function useReporting(engine: Engine) {
  let database: TestDatabase
  let db: Db
  let owner: Owner
  let inboxId: string
  let counts: CountedReport[]
  before(async () => {
    database = await openDatabase(engine)
    db = database.db
  })
  beforeEach(async () => {
    await runSql(database, 'delete from deliveries')
    owner = await addAccount(db)
    inboxId = await addInbox(db, owner)
    counts = []
  })
  after(() => database.close())

  const run = (text: string) => runSql(database, text)
  const depsWith = (aheadMs = 0): ReportDeps => ({
    ...deliverDeps(db, { ...systemClock, now: () => Date.now() + aheadMs }, null),
    deriveKey: () => KEY,
    countReport: (outcome) => counts.push(outcome),
  })
  const report = (to: SendInput, what: Report, { index = 0 } = {}) =>
    processAtReturnPath(depsWith(), localPartOf(pathOf(to, index)), arrivedWith(what))

  return {
    db: () => db,
    owner: () => owner,
    inboxId: () => inboxId,
    counts: () => counts,
    run,
    depsWith,
    report,
    reportAtAbuse: (what: Report, authentication: Authentication | null = null) =>
      processAtAbuse(depsWith(), arrivedWith(what, { authentication })),
    /** A message of which every recipient is in this state. */
    async sent(status: string, ...recipients: string[]): Promise<SendInput> {
      const input = sending(owner, inboxId, { recipients })
      await queueAll(db, [input])
      const { messageId } = input
      const state = status === 'accepted' ? 'sent' : status === 'queued' ? 'pending' : 'failed'
      if (status !== 'queued') {
        await run(
          `update deliveries set status = '${status}', queue_state = null, next_attempt_at = null
           where message_id = '${messageId}'`,
        )
        await run(`update messages set status = '${state}' where id = '${messageId}'`)
      }
      return input
    },
    async statesOf({ messageId }: SendInput) {
      const rows = await deliveriesOf(db, [messageId])
      return rows.map((row) => row.status)
    },
    async messageOf({ messageId }: SendInput) {
      const row = await db.read
        .selectFrom('messages')
        .select(['status', 'failure_reason'])
        .where('id', '=', messageId)
        .executeTakeFirstOrThrow()
      return [row.status, row.failure_reason]
    },
    async eventsOf({ messageId }: SendInput) {
      const rows = await db.read
        .selectFrom('events')
        .select(['kind', 'details'])
        .where('message_id', '=', messageId)
        .orderBy('sequence')
        .execute()
      return rows.map(({ kind, details }) => [kind, details === null ? null : JSON.parse(details)])
    },
    async suppressionsOf(accountId = owner.accountId) {
      const rows = await db.read
        .selectFrom('suppressions')
        .select(['address', 'type', 'reason'])
        .where('account_id', '=', accountId)
        .orderBy('id')
        .execute()
      return rows.map(({ address, type, reason }) => [address, type, reason])
    },
  }
}
