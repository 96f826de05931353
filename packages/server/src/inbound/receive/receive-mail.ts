// Receives a message: processes reports, checks sender and loops, applies the sender rules, and
// commits the message for all recipients at once.

import { readDomainName } from '@mailroom/mail/address.ts'
import type { Authentication } from '@mailroom/mail/authentication.ts'
import { readSignatureFields } from '@mailroom/mail/authentication.ts'
import { readHeaderSection } from '@mailroom/mail/header-fields.ts'
import { isHopMark } from '@mailroom/mail/mail-kind.ts'
import { readHeaders } from '@mailroom/mail/message-headers.ts'
import type { Mailbox, ParsedHeaders, ParsedMessage } from '@mailroom/mail/mime/parsed-message.ts'
import type { Answered } from '@mailroom/smtp/server/session.ts'
import type { Authenticator } from '#inbound/authenticate/authenticate.ts'
import type { KeptOut, Receipt } from '#inbound/receive/store/plan.ts'
import {
  noteLostAnswer,
  type ReceiveInput,
  type ReceiveOutcome,
  storeReceived,
} from '#inbound/receive/store/receive-messages.ts'
import type { ReportDeps } from '#inbound/reports/find-reported.ts'
import { processReports } from '#inbound/reports/process-reports.ts'
import type { MailScanner } from '#inbound/scan/scan.ts'
import type { ReachedInbox, Screening } from '#inboxes/inboxes.ts'
import { inboxAddressOf } from '#inboxes/model.ts'
import { NOT_SCANNED, type ScanResult } from '#mailbox/messages/store/message-kind.ts'
import { withRawBytes } from '#mailbox/messages/store/with-raw-bytes.ts'
import { type DeriveKey, hopMarkOf } from '#outbound/send/store/loop-marks.ts'
import type { Parser } from '#parser/parser.ts'
import { removeBlobs } from '#platform/blobs/blob-store.ts'
import { checkEmailAddress } from '#platform/email-address.ts'
import { SECOND_MS } from '#platform/units.ts'
import { candidateValuesOf, judgeSender, type Sender } from '#policy/store/match-sender.ts'
import { SENDER_PROOFS } from '#policy/store/send-policies.ts'
import { findRulesForValues } from '#policy/store/sender-rules.ts'
import type { Store } from '#store/store.ts'
import type { AcceptedRecipient, MailRecipient } from './find-recipient.ts'
import {
  contentOf,
  keyOfBytes,
  mentionsOf,
  parentKeysOf,
  type ReadsFiles,
  repeatedSince,
  senderKeyOf,
} from './received-content.ts'

export type ArrivingMail = {
  raw: Uint8Array
  /** An empty string is the null reverse-path. */
  reversePath: string
  recipients: readonly AcceptedRecipient[]
  /** `service`: an inbox here sent the mail; `sandbox`: an API call injected it. */
  origin: 'smtp' | 'service' | 'sandbox'
  /** Null unless the message came by SMTP, as are `helo` and `tls`. */
  clientAddress: string | null
  helo: string | null
  tls: string | null
  answered?: Answered
}

export type ReceiveResult =
  /** Ids of new messages, excluding duplicates and quarantined messages. */
  | { kind: 'stored'; messageIds: string[] }
  | { kind: 'no_recipient' }
  | Loop
  | { kind: 'rejected_by_policy'; text: string }
  /** The outcome of the delivery is not recorded yet, so the sender must retry. */
  | { kind: 'too_early' }

export function refusalReply(result: Exclude<ReceiveResult, { kind: 'stored' }>) {
  switch (result.kind) {
    case 'no_recipient':
      return { code: 550, enhanced: '5.1.1', text: 'No such mailbox here' }
    case 'too_early':
      return {
        code: 451,
        enhanced: '4.3.0',
        text: 'Delivery still in progress, try again later',
      }
    case 'rejected_by_policy':
      return { code: 550, enhanced: '5.7.1', text: result.text }
    case 'loop':
      return { code: 554, enhanced: '5.4.6', text: result.text }
  }
}

export type ReceiveDeps = ReportDeps & {
  parser: Parser
  authenticator: Authenticator | null
  rejectDmarcFailures: boolean
  scanner?: MailScanner | null
  readsFiles: ReadsFiles
}

/** A report may arrive before our own attempt is recorded, and waits this long for its outcome. */
const REPORT_WAIT_MS_MAX = 3 * SECOND_MS

/**
 * The caller may reply 250 only after the result `stored`. A permanent refusal changes nothing, and
 * neither does receiving the same mail again.
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
    authenticate: async () => (origin === 'smtp' ? (await authenticate()).authentication : null),
    deadlineMs: deps.clock.monotonic() + REPORT_WAIT_MS_MAX,
  })
  if (mailRecipients === 'too_early') return { kind: 'too_early' }
  if (mailRecipients.length === 0) return { kind: 'stored', messageIds: [] }
  const isProcessed = mailRecipients.length < recipients.length
  const reports = { authenticate, isProcessed }
  const result = await storeMail(deps, arriving, mailRecipients, reports)
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

type ProcessedReports = {
  authenticate: () => Promise<Authenticated>
  isProcessed: boolean
}

/**
 * Stores the message once for each inbox, or in quarantine if the account's rules require it. The
 * result is `stored` even for a duplicate, as from a peer that lost our reply.
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
  // `parsing` reports its failure, and some paths do not await `reading`.
  reading.catch(() => {})
  const authenticating = reports?.authenticate() ?? authenticateArriving(deps, arriving, reading)
  const scanning = scanArriving(deps, arriving)
  const parsed = await parsing
  const { headers } = parsed
  const loop = findLoopOfHops(headers)
  if (loop !== null) return loop
  const reached = withoutSenders(deps, inboxes, { headers, origin: arriving.origin })
  const looped = inboxes.length - reached.length
  if (looped > 0) {
    const hasOthers = reached.length > 0 || postmaster !== null
    if (!hasOthers && reports?.isProcessed !== true) {
      const text = 'Mail loop: the mailbox sent this itself'
      return { kind: 'loop', reason: 'own_mark', text, hops: headers.receivedCount }
    }
    // All recipients share one reply, so a refusal would lose the mail of the rest.
    const from = arriving.clientAddress
    deps.log.warn({ looped, from }, 'a mail loop was stopped; other recipients got the mail')
    if (!hasOthers) return { kind: 'stored', messageIds: [] }
  }

  const { authentication, refusal } = await authenticating
  if (refusal !== null) return { kind: 'rejected_by_policy', text: refusal }
  const scanned = await scanning
  const sender = {
    fromAddress: headers.from?.address ?? null,
    reversePath,
    isVerified: authentication?.verifiedFrom === true,
  }
  const hasVirus = scanned.verdict === 'malicious'
  const screened = await screenReceipts(deps, reached, { headers, sender, hasVirus })
  const addresses = reached.flatMap(({ address, recipient }) => [address, recipient])
  const outcome = await commit(deps, arriving, {
    parsed,
    envelope: { reversePath, recipients: addresses, authentication, scanned },
    ...screened,
    postmaster,
  })
  await removeBlobs(deps, outcome.blobIds)
  if (!outcome.isKept && outcome.duplicates === 0) return { kind: 'no_recipient' }
  if (outcome.stored + outcome.quarantined > 0) deps.wakeEvents()
  return { kind: 'stored', messageIds: outcome.messageIds }
}

function noteLost({ db }: ReceiveDeps, lost: Parameters<typeof noteLostAnswer.run>[1]): void {
  db.write(noteLostAnswer, lost).catch(() => {})
}

type Accepted = Pick<ReceiveInput, 'receipts' | 'keptOut' | 'postmaster'> & {
  parsed: ParsedMessage
  envelope: Omit<Parameters<typeof contentOf>[1], 'sha256'>
}

function commit(
  deps: ReceiveDeps,
  { raw, reversePath, clientAddress, helo, tls, origin, answered }: ArrivingMail,
  { parsed, envelope, ...accepted }: Accepted,
): Promise<ReceiveOutcome> {
  return withRawBytes(deps, raw, {
    async write(row) {
      const nowMs = deps.clock.now()
      const is_marked = parsed.headers.loopMarks.some(isHopMark) ? 1 : 0
      const sender = { reverse_path: reversePath, client_address: clientAddress, helo, tls }
      const came = { ...sender, origin, is_marked }
      const content = contentOf(parsed, { sha256: row.sha256, ...envelope })
      const repeated = {
        key: keyOfBytes(row.sha256),
        sinceMs: repeatedSince(parsed.headers, nowMs),
      }
      const lostKey = answered?.isGone() === true ? repeated.key : null
      const outcome = await deps.db.write(storeReceived, {
        raw: { ...row, ...came, created_at: nowMs },
        content: { ...content, receipt_key: content.receipt_key ?? lostKey },
        repeated,
        ...accepted,
        readsFiles: deps.readsFiles(parsed.attachments),
        mentions: mentionsOf(parsed, deps),
        parentKeys: parentKeysOf(parsed.headers),
        senderKey: senderKeyOf(parsed.headers),
        senderProof: isProof(origin, envelope.authentication)
          ? SENDER_PROOFS.verified
          : SENDER_PROOFS.claimed,
        nowMs,
      })
      const { messageIds } = outcome
      if (content.receipt_key === null && messageIds.length > 0) {
        answered?.onLost(() => noteLost(deps, { messageIds, receiptKey: repeated.key }))
      }
      return outcome
    },
    isKept: (outcome) => outcome.isKept,
  })
}

/** Mail injected through the sandbox may be a copy, so a valid signature proves nothing. */
function isProof(origin: ArrivingMail['origin'], authentication: Authentication | null): boolean {
  return origin !== 'sandbox' && authentication?.verifiedFrom === true
}

function scanArriving({ scanner }: ReceiveDeps, arriving: ArrivingMail): Promise<ScanResult> {
  const recipients = arriving.recipients.map(({ address }) => address)
  return scanner?.scan({ ...arriving, recipients }) ?? Promise.resolve(NOT_SCANNED)
}

type Target = ReachedInbox & Pick<Receipt, 'through'> & { recipient: string }

function targetsOf(recipients: readonly MailRecipient[]) {
  const inboxes = new Map<string, Target>()
  let postmaster: { recipient: string } | null = null
  for (const recipient of recipients) {
    if (recipient.kind === 'postmaster') postmaster = { recipient: recipient.address }
    else addAddress(inboxes, recipient)
  }
  return { inboxes: [...inboxes.values()], postmaster }
}

function addAddress(
  inboxes: Map<string, Target>,
  { inbox, through, address }: Extract<MailRecipient, { kind: 'inbox' }>,
): void {
  const known = inboxes.get(inbox.id)
  if (known === undefined) {
    inboxes.set(inbox.id, {
      ...inbox,
      recipient: address,
      through: through === null ? [] : [through],
    })
  } else if (through === null) known.through = []
  else if (known.through.length > 0) known.through.push(through)
}

async function screenReceipts(
  deps: Store,
  inboxes: readonly Target[],
  { headers, sender, hasVirus }: { headers: ParsedHeaders; sender: Sender; hasVirus: boolean },
): Promise<{ receipts: Receipt[]; keptOut: KeptOut[] }> {
  const screened = inboxes.filter((inbox) => screeningOf(inbox) !== null)
  const accountIds = [...new Set(screened.map(({ accountId }) => accountId))]
  const rules =
    accountIds.length === 0
      ? []
      : await findRulesForValues(deps.db, accountIds, {
          values: candidateValuesOf(sender),
          nowMs: deps.clock.now(),
        })
  const receipts: Receipt[] = []
  const keptOut: KeptOut[] = []
  for (const inbox of inboxes) {
    const receipt = receiptOf(deps, inbox, headers)
    const screening = screeningOf(inbox)
    const own = rules.filter((rule) => rule.accountId === inbox.accountId)
    const verdict = hasVirus
      ? ({ kind: 'kept_out', reason: 'malware', ruleId: null } as const)
      : screening === null
        ? ({ kind: 'admitted' } as const)
        : judgeSender(own, sender, { ...receipt, ...screening })
    if (verdict.kind === 'admitted') {
      receipts.push(receipt)
      continue
    }
    const { messageId: _, threadId: __, ...to } = receipt
    const { reason, ruleId } = verdict
    const ids = { quarantinedId: deps.makeId('qua'), auditId: deps.makeId('aud') }
    keptOut.push({ ...ids, ...to, reason, ruleId })
  }
  return { receipts, keptOut }
}

/** Returns null if anyone may write to the inbox, as to a postmaster (RFC 5321 §4.5.1). */
function screeningOf({ address, screening }: ReachedInbox): Screening | null {
  return address.startsWith('postmaster@') ? null : screening
}

function receiptOf({ makeId }: Store, inbox: Target, headers: ParsedHeaders): Receipt {
  return {
    accountId: inbox.accountId,
    podId: inbox.podId,
    inboxId: inbox.id,
    messageId: makeId('msg'),
    threadId: makeId('thr'),
    eventId: makeId('evt'),
    toAddr: inbox.address,
    recipient: inbox.recipient,
    through: inbox.through,
    deliveryRole: !isNamed(headers.to, inbox) && isNamed(headers.cc, inbox) ? 'cc' : 'to',
  }
}

function isNamed(mailboxes: readonly Mailbox[], { address: own, recipient }: Target): boolean {
  const addresses = new Set([own, comparedAddress(recipient)])
  return mailboxes.some(({ address }) => addresses.has(comparedAddress(address)))
}

function comparedAddress(address: string): string {
  const at = address.lastIndexOf('@')
  return inboxAddressOf(address.slice(0, at), address.slice(at + 1))
}

/** RFC 5321 §6.3 suggests a limit of at least 100 hops; current servers use 50. */
const RECEIVED_HEADERS_MAX = 50

export type Loop = {
  kind: 'loop'
  reason: 'hops' | 'own_mark'
  text: string
  hops: number
}

function findLoopOfHops({
  receivedCount: hops,
}: Pick<ParsedHeaders, 'receivedCount'>): Loop | null {
  if (hops <= RECEIVED_HEADERS_MAX) return null
  return { kind: 'loop', reason: 'hops', text: `Too many hops (${hops})`, hops }
}

/**
 * Excludes inboxes whose hop mark is in the message, because they sent it. Mailing lists return
 * mail to its author by design, and an inbox may send to itself here.
 */
function withoutSenders(
  deps: DeriveKey,
  inboxes: readonly Target[],
  { headers, origin }: { headers: ParsedHeaders; origin: ArrivingMail['origin'] },
): Target[] {
  const marks = new Set(headers.loopMarks)
  if (marks.size === 0 || headers.hasListId || origin === 'service') return [...inboxes]
  return inboxes.filter(({ id }) => !marks.has(hopMarkOf(deps, id)))
}

type Authenticated = {
  authentication: Authentication | null
  /** The text of the reply, or null if the author's DMARC policy does not refuse the message. */
  refusal: string | null
}

/**
 * Mail from this service needs no DNS. No policy refuses mail that is only for the postmaster,
 * abuse@ and return paths, because it may be about such refusals. Never rejects, and takes at most
 * AUTHENTICATE_MS_MAX after `reading` has settled.
 */
export async function authenticateArriving(
  deps: { authenticator: Authenticator | null; rejectDmarcFailures: boolean },
  arriving: Omit<ArrivingMail, 'tls'>,
  reading: Promise<ParsedHeaders>,
): Promise<Authenticated> {
  if (arriving.origin === 'service') {
    return { authentication: ownMail(arriving.raw, await settled(reading)), refusal: null }
  }
  if (deps.authenticator === null) return { authentication: null, refusal: null }
  if (arriving.origin === 'sandbox' && !isSigned(arriving.raw)) {
    return { authentication: injectedMail(await settled(reading)), refusal: null }
  }
  const { raw, clientAddress, helo, reversePath } = arriving
  const found = await deps.authenticator.authenticate({
    raw,
    clientAddress,
    helo,
    reversePath,
    author: reading,
  })
  // Text that only resembles an address may be parsed as another address.
  const hasAddress = checkEmailAddress((await settled(reading))?.from?.address ?? '') === null
  const authentication = { ...found, verifiedFrom: found.verifiedFrom && hasAddress }
  const isRefusable =
    deps.rejectDmarcFailures &&
    arriving.origin === 'smtp' &&
    arriving.recipients.some(isSubjectToPolicy)
  return { authentication, refusal: isRefusable ? policyRefusal(authentication) : null }
}

/** A postmaster receives all mail, even in an inbox of this name (RFC 5321 §4.5.1). */
function isSubjectToPolicy(recipient: AcceptedRecipient): boolean {
  return recipient.kind === 'inbox' && !recipient.inbox.address.startsWith('postmaster@')
}

/** Applies the policy of the author's domain (RFC 9989 §5.4). */
function policyRefusal({ dmarc }: Authentication): string | null {
  if (dmarc.result !== 'fail' || dmarc.policy !== 'reject') return null
  return `The DMARC policy of ${dmarc.domain} requires refusing unauthenticated mail`
}

function ownMail(raw: Uint8Array, headers: ParsedHeaders | null): Authentication {
  const [signer] = readSignatureFields(raw).signers
  return {
    spf: { result: 'none', domain: null },
    dkim: signer === undefined ? [] : [{ result: 'pass', ...signer }],
    dmarc: { result: 'pass', policy: null, domain: authorDomain(headers) },
    arc: { result: 'none' },
    verifiedFrom: true,
  }
}

function injectedMail(headers: ParsedHeaders | null): Authentication {
  return {
    spf: { result: 'none', domain: null },
    dkim: [],
    dmarc: { result: 'none', policy: null, domain: authorDomain(headers) },
    arc: { result: 'none' },
    verifiedFrom: false,
  }
}

function isSigned(raw: Uint8Array): boolean {
  const { count, hasArc } = readSignatureFields(raw)
  return count > 0 || hasArc
}

function authorDomain(headers: ParsedHeaders | null): string | null {
  const address = headers?.from?.address ?? ''
  const at = address.lastIndexOf('@')
  return at < 0 ? null : readDomainName(address.slice(at + 1))
}

function settled<Value>(work: Promise<Value>): Promise<Value | null> {
  return work.catch(() => null)
}
