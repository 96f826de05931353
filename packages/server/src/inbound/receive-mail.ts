// Receiving one message: reports go to what they report of, mail is read, screened by the rules of its
// recipients, and committed for all of them at once.

import { readHeaderSection } from '@mailroom/mail/header-fields.ts'
import { readHeaders } from '@mailroom/mail/message-headers.ts'
import type { Mailbox, ParsedHeaders } from '@mailroom/mail/mime/parsed-message.ts'
import type { Authenticator } from '#inbound/authenticate/authenticator.ts'
import { type Inbox, inboxAddressOf, type ReachedInbox, type Screening } from '#inboxes/inbox.ts'
import { withRawBytes } from '#mailbox/with-raw-bytes.ts'
import { type BlobStore, removeBlobs } from '#platform/blobs/blob-store.ts'
import type { MakeId } from '#platform/ids.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { Db } from '#schema/tables.ts'
import { type Authenticated, authenticateArriving } from './authenticate-arriving.ts'
import { findLoopOfHops, type Loop, ownMarkLoop, withoutOwnMail } from './find-loop.ts'
import type { AcceptedRecipient, MailRecipient } from './find-recipient.ts'
import { storeReceived } from './receive-message-rows.ts'
import type { KeptOut, Receipt } from './receive-plan-rows.ts'
import { contentOf, parentKeysOf, senderKeyOf } from './received-content.ts'
import { processReports, type ReportDeps } from './report/process-reports.ts'
import { candidateValuesOf, judgeSender, type Sender } from './sender-rule.ts'
import { findRulesForValues } from './sender-rule-rows.ts'

export type ArrivingMail = {
  raw: Uint8Array
  /** '' is the null reverse-path. */
  reversePath: string
  /** What was accepted at RCPT. */
  recipients: readonly AcceptedRecipient[]
  /** By SMTP, from an inbox of this service, or put in by hand in the sandbox. */
  origin: 'smtp' | 'service' | 'sandbox'
  /** These two are null unless it came by SMTP. */
  clientAddress: string | null
  helo: string | null
  tls: string | null
}

export type ReceiveResult =
  /** The messages that are new; one that an inbox had already, or that is kept out, is not among them. */
  | { kind: 'stored'; messageIds: string[] }
  /** Every recipient's inbox was deleted since RCPT. */
  | { kind: 'no_recipient' }
  | Loop
  /** The DMARC policy of the From domain has it refused. */
  | { kind: 'rejected_by_policy'; text: string }
  /** It reports of a message whose own outcome is not known yet: to be sent again. */
  | { kind: 'too_early' }

export type ReceiveDeps = ReportDeps & {
  parser: Parser
  blobs: BlobStore | null
  authenticator: Authenticator | null
  rejectDmarcFailures: boolean
}

/** For the outcome of our own attempt to be recorded, which its report may overtake. */
const REPORT_WAIT_MS_MAX = 3 * SECOND_MS

/**
 * Whoever calls may say 250 when this returns `stored`, and not before. What is refused for good has
 * changed nothing; else reports come first. The same mail again changes nothing that it changed before.
 */
export async function receiveMail(
  deps: ReceiveDeps,
  arriving: ArrivingMail,
): Promise<ReceiveResult> {
  const { raw, reversePath, recipients, origin } = arriving
  const direct = recipients.filter(isMailRecipient)
  if (direct.length === recipients.length) return storeMail(deps, arriving, direct)
  const { fields } = readHeaderSection(raw)
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
  const mailRecipients = await processReports(deps, recipients, {
    readReport: once(() => deps.parser.readReport(raw, { hasNullSender: reversePath === '' })),
    // Of its own inboxes the service says itself who they are, and none of them reports.
    authenticate: async () => (origin === 'smtp' ? (await authenticate()).authentication : null),
    deadlineMs: deps.clock.monotonic() + REPORT_WAIT_MS_MAX,
  })
  if (mailRecipients === 'too_early') return { kind: 'too_early' }
  if (mailRecipients.length === 0) return { kind: 'stored', messageIds: [] }
  const isProcessed = mailRecipients.length < recipients.length
  const reports = { authenticate, isProcessed }
  const result = await storeMail(deps, arriving, mailRecipients, reports)
  // For one recipient at least it has done what it could.
  return isProcessed && result.kind === 'no_recipient' ? { kind: 'stored', messageIds: [] } : result
}

function isMailRecipient(recipient: AcceptedRecipient): recipient is MailRecipient {
  return recipient.kind === 'inbox' || recipient.kind === 'postmaster'
}

function once<Value>(start: () => Promise<Value>): () => Promise<Value> {
  let started: Promise<Value> | undefined
  return () => {
    started ??= start()
    return started
  }
}

/** What was done with the message for recipients that take reports. */
type ProcessedReports = {
  authenticate: () => Promise<Authenticated>
  /** Whether it was a report, or for nobody, for one of them. */
  isProcessed: boolean
}

/**
 * Stores the message once for each inbox among its recipients, or keeps it in quarantine where the
 * account's rules say so, which is answered alike. The same message again (as from a peer that lost our
 * answer) is stored no second time and answered alike, too.
 */
async function storeMail(
  deps: ReceiveDeps,
  arriving: ArrivingMail,
  recipients: readonly MailRecipient[],
  reports?: ProcessedReports,
): Promise<ReceiveResult> {
  const { raw, reversePath } = arriving
  const { inboxes, postmaster } = targetsOf(recipients)
  if (inboxes.length === 0 && postmaster === null) return { kind: 'no_recipient' }
  const parsing = deps.parser.parse(raw)
  const reading = parsing.then(({ headers }) => headers)
  // Its failure is told by the parsing, and not everybody waits for it.
  reading.catch(() => {})
  // Side by side: for a large message each takes its time, in a thread of its own.
  const authenticating = reports?.authenticate() ?? authenticateArriving(deps, arriving, reading)
  const parsed = await parsing
  const { headers } = parsed
  const loop = findLoopOfHops(headers)
  if (loop !== null) return loop
  const reached = withoutOwnMail(deps, inboxes, { headers, origin: arriving.origin })
  const looped = inboxes.length - reached.length
  if (looped > 0) {
    const hasOthers = reached.length > 0 || postmaster !== null
    if (!hasOthers && reports?.isProcessed !== true) return ownMarkLoop(headers)
    // One answer goes for all recipients, and refused for one it would be lost to the others.
    const from = arriving.clientAddress
    deps.log.warn({ looped, from }, 'a mail loop was stopped; other recipients got the mail')
    if (!hasOthers) return { kind: 'stored', messageIds: [] }
  }

  const { authentication, refusal } = await authenticating
  if (refusal !== null) return { kind: 'rejected_by_policy', text: refusal }
  const { admitted, keptOut } = await screenReceipts(deps, reached, headers, {
    fromAddress: headers.from?.address ?? null,
    reversePath,
    isVerified: authentication?.verifiedFrom === true,
  })
  const outcome = await withRawBytes(deps, raw, {
    write(row) {
      const nowMs = deps.clock.now()
      return deps.db.write(storeReceived, {
        raw: {
          ...row,
          reverse_path: reversePath,
          client_address: arriving.clientAddress,
          helo: arriving.helo,
          tls: arriving.tls,
          origin: arriving.origin,
          created_at: nowMs,
        },
        content: contentOf(parsed, { sha256: row.sha256, reversePath, authentication }),
        receipts: admitted,
        keptOut,
        postmaster,
        parentKeys: parentKeysOf(headers),
        senderKey: senderKeyOf(headers),
        nowMs,
      })
    },
    isKept: (outcome) => outcome.isKept,
  })
  await removeBlobs(deps, outcome.blobIds)
  if (!outcome.isKept && outcome.duplicates === 0) return { kind: 'no_recipient' }
  if (outcome.stored > 0) deps.wakeEvents()
  return { kind: 'stored', messageIds: outcome.messageIds }
}

/** Inboxes among the recipients, each once however often it was named. */
function targetsOf(recipients: readonly MailRecipient[]) {
  const inboxes = new Map<string, ReachedInbox>()
  let postmaster: { recipient: string } | null = null
  for (const recipient of recipients) {
    if (recipient.kind === 'inbox') inboxes.set(recipient.inbox.id, recipient.inbox)
    else postmaster = { recipient: recipient.address }
  }
  return { inboxes: [...inboxes.values()], postmaster }
}

/** Receipts of the inboxes that the message may reach, and of those that their accounts' rules keep it out of. */
async function screenReceipts(
  deps: { db: Db; makeId: MakeId },
  inboxes: readonly ReachedInbox[],
  headers: ParsedHeaders,
  sender: Sender,
): Promise<{ admitted: Receipt[]; keptOut: KeptOut[] }> {
  const screened = inboxes.filter((inbox) => screeningOf(inbox) !== null)
  const accountIds = [...new Set(screened.map(({ accountId }) => accountId))]
  const rules =
    accountIds.length === 0
      ? []
      : await findRulesForValues(deps.db, accountIds, candidateValuesOf(sender))
  const admitted: Receipt[] = []
  const keptOut: KeptOut[] = []
  for (const inbox of inboxes) {
    const receipt = receiptOf(deps, inbox, headers)
    const screening = screeningOf(inbox)
    const own = rules.filter((rule) => rule.accountId === inbox.accountId)
    const verdict =
      screening === null
        ? ({ kind: 'admitted' } as const)
        : judgeSender(own, sender, { ...receipt, ...screening })
    if (verdict.kind === 'admitted') {
      admitted.push(receipt)
      continue
    }
    const { accountId, podId, inboxId, domainId, toAddr, deliveryRole } = receipt
    const to = { accountId, podId, inboxId, domainId, toAddr, deliveryRole }
    const { reason, ruleId } = verdict
    keptOut.push({ quarantinedId: deps.makeId('qua'), ...to, reason, ruleId })
  }
  return { admitted, keptOut }
}

/** Null where everybody may write to the inbox. RFC 5321 §4.5.1: a postmaster gets what anybody writes. */
function screeningOf({ address, screening }: ReachedInbox): Screening | null {
  return address.startsWith('postmaster@') ? null : screening
}

function receiptOf(deps: { makeId: MakeId }, inbox: Inbox, headers: ParsedHeaders): Receipt {
  return {
    accountId: inbox.accountId,
    podId: inbox.podId,
    inboxId: inbox.id,
    domainId: inbox.domainId,
    messageId: deps.makeId('msg'),
    threadId: deps.makeId('thr'),
    eventId: deps.makeId('evt'),
    toAddr: inbox.address,
    deliveryRole: !isNamed(headers.to, inbox) && isNamed(headers.cc, inbox) ? 'cc' : 'to',
  }
}

function isNamed(mailboxes: readonly Mailbox[], inbox: Inbox): boolean {
  return mailboxes.some(({ address }) => {
    const at = address.lastIndexOf('@')
    return inboxAddressOf(address.slice(0, at), address.slice(at + 1)) === inbox.address
  })
}
