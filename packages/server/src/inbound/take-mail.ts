// Taking in what arrives, by what it was sent to: inboxes, the operator, or the addresses at which the
// service hears what became of the mail that it sent.

import { readHeaderSection } from '@mailroom/mail/header-fields.ts'
import { readHeaders } from '@mailroom/mail/message-headers.ts'
import {
  type Arrived,
  type ReportDeps,
  type Taken,
  takeAtAbuse,
  takeAtReturnPath,
} from '#inbound/report/take-report.ts'
import { findReachedInbox } from '#inboxes/inbox-rows.ts'
import { SECOND_MS } from '#platform/units.ts'
import { type Authenticated, authenticateArriving } from './authenticate-arriving.ts'
import { findLoopOfHops } from './find-loop.ts'
import type { Recipient } from './find-recipient.ts'
import {
  type AcceptedRecipient as Addressee,
  type ArrivingMessage,
  type ReceiveResult,
  receiveMessage,
} from './receive-message.ts'

/** For the outcome of our own attempt to be recorded, which its report may overtake. */
const REPORT_WAIT_MS_MAX = 3 * SECOND_MS

export type TakeDeps = Parameters<typeof receiveMessage>[0] & ReportDeps

export type AcceptedRecipient = Exclude<
  Recipient,
  { kind: 'unknown_mailbox' | 'foreign_domain' }
> & {
  /** As the client wrote it. */
  readonly address: string
}

export type ArrivingMail = Omit<ArrivingMessage, 'recipients'> & {
  recipients: readonly AcceptedRecipient[]
}

export type TakeResult =
  | ReceiveResult
  /** It reports of a message whose own outcome is not known yet: to be sent again. */
  | { kind: 'too_early' }

/**
 * Whoever calls may say 250 when this returns `stored`, and not before. What is refused for good has
 * changed nothing; else reports come first. The same mail again changes nothing that it changed before.
 */
export async function takeMail(deps: TakeDeps, arriving: ArrivingMail): Promise<TakeResult> {
  const direct = arriving.recipients.filter(isDirect)
  if (direct.length === arriving.recipients.length) {
    return receiveMessage(deps, { ...arriving, recipients: direct })
  }
  const { fields } = readHeaderSection(arriving.raw)
  const receivedCount = fields.filter(({ name }) => name === 'received').length
  const loop = findLoopOfHops({ receivedCount })
  if (loop !== null) return loop
  const authenticate = once(() =>
    authenticateArriving(deps, arriving, Promise.resolve(readHeaders(fields))),
  )
  if (direct.some(({ kind }) => kind === 'inbox')) {
    const { refusal } = await authenticate()
    if (refusal !== null) return { kind: 'rejected_by_policy', text: refusal }
  }
  const addressees = await hear(deps, arriving, authenticate)
  if (addressees === 'too_early') return { kind: 'too_early' }
  const isHeard = addressees.length < arriving.recipients.length
  if (addressees.length === 0) return { kind: 'stored', messageIds: [] }
  const mail = { ...arriving, recipients: addressees }
  const result = await receiveMessage(deps, mail, { authenticate, isHeard })
  // For one recipient at least it has done what it could.
  return isHeard && result.kind === 'no_recipient' ? { kind: 'stored', messageIds: [] } : result
}

/** Takes it as a report where it was sent to where reports come; who is to get it as mail. */
async function hear(
  deps: TakeDeps,
  { raw, reversePath, recipients, origin }: ArrivingMail,
  authenticate: () => Promise<Authenticated>,
): Promise<Addressee[] | 'too_early'> {
  const hasNullSender = reversePath === ''
  const arrived = {
    readReport: once(() => deps.parser.readReport(raw, { hasNullSender })),
    // Of its own inboxes the service says itself who they are, and none of them reports.
    authenticate: async () => (origin === 'smtp' ? (await authenticate()).authentication : null),
    deadlineMs: deps.clock.monotonic() + REPORT_WAIT_MS_MAX,
  }
  const addressees: Addressee[] = []
  for (const recipient of recipients) {
    const taken = await takeFor(deps, recipient, arrived)
    if (taken === 'too_early') return 'too_early'
    if (taken !== null) addressees.push(taken)
  }
  return addressees
}

function isDirect(recipient: AcceptedRecipient): recipient is Addressee {
  return recipient.kind === 'inbox' || recipient.kind === 'postmaster'
}

function once<Value>(start: () => Promise<Value>): () => Promise<Value> {
  let started: Promise<Value> | undefined
  return () => {
    started ??= start()
    return started
  }
}

/** Who is to get it as mail; null when it was heard, or is for nobody. */
async function takeFor(
  deps: TakeDeps,
  recipient: AcceptedRecipient,
  arrived: Arrived,
): Promise<Addressee | 'too_early' | null> {
  const { address } = recipient
  switch (recipient.kind) {
    case 'inbox':
    case 'postmaster':
      return recipient
    case 'return_path': {
      const taken = await takeAtReturnPath(deps, recipient.localPart, arrived)
      return taken.kind === 'mail' ? senderOf(deps, taken, address) : heard(taken)
    }
    case 'abuse': {
      const taken = await takeAtAbuse(deps, arrived)
      if (taken !== null) return heard(taken)
      const { inbox } = recipient
      if (inbox === null) return { kind: 'postmaster', address }
      return { kind: 'inbox', inbox, address, takesReports: true }
    }
  }
}

function heard({ kind }: Exclude<Taken, { kind: 'mail' }>): 'too_early' | null {
  return kind === 'too_early' ? kind : null
}

/** An answer that went to the reverse-path, as that of a program does, is for the inbox that sent. */
async function senderOf(
  deps: TakeDeps,
  { sent: { accountId, inboxId } }: Extract<Taken, { kind: 'mail' }>,
  address: string,
): Promise<Addressee | null> {
  const inbox = await findReachedInbox(deps.db, accountId, inboxId)
  if (inbox !== null) return { kind: 'inbox', inbox, address, takesReports: true }
  deps.countReport('unknown_message')
  return null
}
