// Taking in one message that arrived by SMTP: read it, store its bytes, and commit it for all its
// recipients at once. Whoever calls may say 250 when this returns, and not before.

import type { Mailbox, ParsedHeaders } from '@mailroom/mail/mime/parsed-message.ts'
import type { Authenticator } from '#inbound/authenticate/authenticator.ts'
import { type Inbox, inboxAddressOf, type ReachedInbox } from '#inboxes/inbox.ts'
import { withRawBytes } from '#mailbox/with-raw-bytes.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import { removeBlobs } from '#platform/blobs/remove-blobs.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { Db } from '#schema/tables.ts'
import { type Authenticated, authenticateArriving } from './authenticate-arriving.ts'
import { findLoopOfHops, type Loop, ownMarkLoop, withoutOwnMail } from './find-loop.ts'
import type { Recipient } from './find-recipient.ts'
import { storeReceived } from './receive-message-rows.ts'
import type { Receipt } from './receive-plan-rows.ts'
import { contentOf, parentKeysOf, senderKeyOf } from './received-content.ts'
import { type ScreenedReceipt, screenReceipts } from './screen-receipts.ts'

export type AcceptedRecipient = Extract<Recipient, { kind: 'inbox' | 'postmaster' }> & {
  /** As the client wrote it. */
  readonly address: string
  /** Of an address for reports, which this mail is none of. */
  readonly takesReports?: true
}

export type ArrivingMessage = {
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

/** What was done before with the same mail, for recipients that take it as a report. */
export type Heard = {
  authenticate?: () => Promise<Authenticated>
  /** Whether one of them has taken it, or dropped it. */
  isHeard?: boolean
}

type ReceiveDeps = {
  db: Db
  clock: Clock
  makeId: MakeId
  parser: Parser
  blobs: BlobStore | null
  wakeEvents: () => void
  deriveKey: (purpose: string) => Uint8Array
  log: Log
  authenticator: Authenticator | null
  rejectDmarcFailures: boolean
}

/**
 * Stores the message once for each inbox among its recipients, or keeps it in quarantine where the
 * account's rules say so, which is answered alike. The same message again (as from a peer that lost our
 * answer) is stored no second time and answered alike, too.
 */
export async function receiveMessage(
  deps: ReceiveDeps,
  arriving: ArrivingMessage,
  heard: Heard = {},
): Promise<ReceiveResult> {
  const { raw, reversePath } = arriving
  const { inboxes, postmaster } = targetsOf(arriving.recipients)
  if (inboxes.length === 0 && postmaster === null) return { kind: 'no_recipient' }
  const parsing = deps.parser.parse(raw)
  const reading = parsing.then(({ headers }) => headers)
  // Its failure is told by the parsing, and not everybody waits for it.
  reading.catch(() => {})
  // Side by side: for a large message each takes its time, in a thread of its own.
  const authenticating = heard.authenticate?.() ?? authenticateArriving(deps, arriving, reading)
  const parsed = await parsing
  const { headers } = parsed
  const loop = findLoopOfHops(headers)
  if (loop !== null) return loop
  const reached = withoutOwnMail(deps, inboxes, { headers, origin: arriving.origin })
  const looped = inboxes.length - reached.length
  if (looped > 0) {
    const hasOthers = reached.length > 0 || postmaster !== null
    if (!hasOthers && heard.isHeard !== true) return ownMarkLoop(headers)
    // One answer goes for all recipients, and refused for one it would be lost to the others.
    const from = arriving.clientAddress
    deps.log.warn({ looped, from }, 'a mail loop was stopped; other recipients got the mail')
    if (!hasOthers) return { kind: 'stored', messageIds: [] }
  }

  const { authentication, refusal } = await authenticating
  if (refusal !== null) return { kind: 'rejected_by_policy', text: refusal }
  const { admitted, keptOut } = await screenReceipts(deps, receiptsOf(deps, reached, headers), {
    fromAddress: headers.from?.address ?? null,
    reversePath,
    isVerified: authentication?.verifiedFrom === true,
  })
  const outcome = await withRawBytes(deps, raw, {
    write(row) {
      const nowMs = deps.clock.now()
      return deps.db.write(storeReceived, {
        raw: { ...row, ...wireColumns(arriving), created_at: nowMs },
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

/** How it came. */
function wireColumns({ reversePath, clientAddress, helo, tls, origin }: ArrivingMessage) {
  return { reverse_path: reversePath, client_address: clientAddress, helo, tls, origin }
}

/** Inboxes among the recipients, each once however often it was named. */
function targetsOf(recipients: readonly AcceptedRecipient[]) {
  const inboxes = new Map<string, ReachedInbox>()
  let postmaster: { recipient: string } | null = null
  for (const recipient of recipients) {
    if (recipient.kind === 'inbox') inboxes.set(recipient.inbox.id, recipient.inbox)
    else postmaster = { recipient: recipient.address }
  }
  return { inboxes: [...inboxes.values()], postmaster }
}

function receiptsOf(
  deps: { makeId: MakeId },
  inboxes: readonly ReachedInbox[],
  headers: ParsedHeaders,
): ScreenedReceipt[] {
  return inboxes.map((inbox) => ({
    receipt: receiptOf(deps, inbox, headers),
    screening: inbox.screening,
  }))
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
