import type { Carried, Carrier, CarryOutcome } from '#delivery/transport/carrier.ts'
import { isLocal } from '#domains/domain.ts'
import { findHeldDomain } from '#domains/domain-rows.ts'
import type { Authenticator } from '#inbound/authenticate/authenticator.ts'
import { type AcceptedRecipient, findRecipient, type Recipient } from '#inbound/find-recipient.ts'
import { receiveMail } from '#inbound/receive-mail.ts'
import type { CountedReport } from '#inbound/report/report-outcome.ts'
import { domainOf } from '#inboxes/inbox.ts'
import { findRawMessage } from '#mailbox/raw-message-rows.ts'
import type { StorageQuota } from '#mailbox/storage-quota.ts'
import type { HeldDelivery } from '#outbound/delivery-claim-rows.ts'
import type { SettledDelivery, SettleInput } from '#outbound/settle-deliveries-rows.ts'
import { settleDeliveries } from '#outbound/settle-deliveries-rows.ts'
import { raceAbort } from '#platform/abort.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Log } from '#platform/log.ts'
import { HOUR_MS } from '#platform/units.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { Group as AnyGroup, GroupOutcome } from '#queue/dispatched-queue.ts'
import { giveBack, type LeaseKeeper, outlastStore } from '#queue/lease-keeper.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Db } from '#schema/tables.ts'
import { type Attempted, settledOf } from './outcome.ts'

/** After the last attempt's time nothing is sent any more, whatever came in between. */
const DELIVERY_GRACE_MS = HOUR_MS

export type DeliverDeps = {
  db: Db
  blobs: BlobStore | null
  clock: Clock
  makeId: MakeId
  log: Log
  parser: Parser
  authenticator: Authenticator | null
  rejectDmarcFailures: boolean
  deriveKey: (purpose: string) => Uint8Array
  countReport: (outcome: CountedReport) => void
  inboxDomain: string
  carrier: Carrier | null
  storageQuota: StorageQuota
  queueClock: QueueClock
  countDelivery: (status: string) => void
  wakeEvents: () => void
}

/** A message for its recipients at one domain. */
export type Group = AnyGroup<HeldDelivery>

export type Holding = {
  worker: string
  signal: AbortSignal
  leases: Pick<LeaseKeeper<HeldDelivery>, 'confirm' | 'giveBack'>
  /** See `AttemptObserver`. */
  onAnswer: (() => void) | undefined
}

/**
 * Attempts the deliveries of the group that the worker still holds and records their outcome; on return
 * the worker holds none of them. When `signal` is aborted, unsent ones are given back. Rejects only where
 * the outcome could not be recorded before that: then the leases end by themselves.
 */
export async function deliver(
  deps: DeliverDeps,
  claimed: Group,
  holding: Holding,
): Promise<GroupOutcome> {
  const { worker, signal, leases } = holding
  const fields = { message: claimed[0].message_id }
  const outlast: Outlast = (run) => outlastStore(deps, { fields, signal }, run)
  const [first, ...rest] = await outlast(() => leases.confirm(claimed))
  if (first === undefined) {
    // Deliveries that another worker took over stay with it; those of a deleted inbox go at the next claim.
    await giveBack(deps, claimed, { leases, signal, fields })
    return 'returned'
  }
  const group: Group = [first, ...rest]
  const { attempted, captured } = await attempt(deps, group, { ...holding, outlast })
  const untried = attempted.filter(({ outcome }) => isGivenBack(outcome, signal))
  const kept = attempted.filter((one): one is Attempted => !untried.includes(one))
  if (kept.length > 0) {
    const deliveries = kept.map((one) => settle(deps, one, signal))
    const { account_id: accountId, message_id: messageId } = first
    const [nowMs, eventId] = [deps.clock.now(), deps.makeId('evt')]
    const outcome = { worker, accountId, messageId, deliveries, captured, eventId, nowMs }
    const ids = await outlast(() => deps.db.write(settleDeliveries, outcome))
    // A delivery that is tried again writes no event.
    if (deliveries.some(({ nextAttemptAtMs }) => nextAttemptAtMs === null)) deps.wakeEvents()
    tell(
      deps,
      group,
      deliveries.filter(({ id }) => ids.includes(id)),
    )
  }
  if (untried.length > 0) {
    const deliveries = untried.map(({ delivery }) => delivery)
    await giveBack(deps, deliveries, { leases, signal, fields })
  }
  return groupOutcomeOf(attempted.map(({ outcome }) => outcome.kind))
}

/** Tries until the store is back. */
type Outlast = <Value>(run: () => Promise<Value>) => Promise<Value>

type Attempting = Pick<Holding, 'signal' | 'onAnswer'> & { outlast: Outlast }

type Tried = Omit<Attempted, 'outcome'> & {
  outcome: Attempted['outcome'] | Extract<CarryOutcome, { kind: 'crowded' }>
}

/** A delivery that was not tried, or was cut on our side before anything was sent, is as it was. */
function isGivenBack({ kind }: Tried['outcome'], signal: AbortSignal): boolean {
  return kind === 'crowded' || (signal.aborted && NOT_SENT.has(kind))
}

const NOT_SENT: ReadonlySet<string> = new Set(['unsent', 'no-route'])

/** An end without an answer that we made ourselves says nothing about the server: it is not counted. */
function settle(deps: DeliverDeps, one: Attempted, signal: AbortSignal): SettledDelivery {
  if (!signal.aborted || one.outcome.kind !== 'ambiguous') return settledOf(deps, one)
  const delivery = { ...one.delivery, ambiguous_attempts: 0 }
  return { ...settledOf(deps, { ...one, delivery }), isAmbiguous: false }
}

const ANSWERED: ReadonlySet<string> = new Set(['accepted', 'complained', 'refused'])
const UNANSWERED: ReadonlySet<string> = new Set(['unsent', 'no-route', 'ambiguous'])

function groupOutcomeOf(kinds: string[]): GroupOutcome {
  if (kinds.some((kind) => ANSWERED.has(kind))) return 'reached'
  if (kinds.includes('crowded')) return 'crowded'
  return kinds.some((kind) => UNANSWERED.has(kind)) ? 'unreached' : 'returned'
}

function tell(deps: DeliverDeps, group: Group, settled: SettledDelivery[]): void {
  for (const { id, status, host, responseCode, response } of settled) {
    deps.countDelivery(status)
    const delivery = group.find((one) => one.id === id)
    const fields = {
      message: delivery?.message_id,
      recipient: delivery?.recipient,
      attempt: delivery?.attempts,
      host,
      responseCode,
      response,
    }
    if (status === 'accepted' || status === 'complained') deps.log.debug(fields, 'delivered')
    else if (status === 'deferred') deps.log.info(fields, 'deferred')
    else deps.log.warn(fields, 'not delivered')
  }
}

async function attempt(
  deps: DeliverDeps,
  group: Group,
  attempting: Attempting,
): Promise<{ attempted: Tried[]; captured: SettleInput['captured'] }> {
  const all = (outcome: Tried['outcome']) => ({
    attempted: group.map((delivery) => ({ delivery, outcome, host: null, tls: null })),
    captured: null,
  })
  // Its last attempt was due long ago: whatever kept it from ending must not go on for ever.
  const [{ expires_at: expiresAtMs }] = group
  if (deps.queueClock.now() > expiresAtMs + DELIVERY_GRACE_MS) return all({ kind: 'expired' })
  const message = await readOutgoing(deps, group, attempting)
  if ('kind' in message) return all(message)
  // It rejects before anything is stored, or not at all.
  const { here, elsewhere } = await attempting.outlast(() => deliverHere(deps, group, message))
  const [first, ...rest] = elsewhere
  if (first === undefined) return { attempted: here, captured: null }
  const { carrier } = deps
  if (carrier === null) {
    const { attempted, captured } = captureMail(deps, elsewhere, message)
    return { attempted: [...here, ...attempted], captured }
  }
  const carrying = { ...attempting, carrier, message }
  const { host, tls, outcomes } = await carry(deps, [first, ...rest], carrying)
  const attempted = elsewhere.map((delivery, index) => {
    return { delivery, outcome: outcomes[index] ?? NO_OUTCOME, host, tls }
  })
  return { attempted: [...here, ...attempted], captured: null }
}

type OutgoingMessage = { raw: Uint8Array; reversePath: string }

/** The message, or the outcome for its recipients when it cannot be had. */
async function readOutgoing(
  deps: DeliverDeps,
  group: Group,
  { outlast, signal }: Attempting,
): Promise<OutgoingMessage | Extract<Attempted['outcome'], { kind: 'unroutable' | 'no-route' }>> {
  // That of any recipient of the group takes reports about all of them.
  const [{ raw_id: rawId, return_path: returnPath }] = group
  try {
    const find = () => outlast(() => findRawMessage(deps.db, rawId))
    const row = await find()
    if (row === null) return DELETED
    // A broken blob store is not waited for: it may stay so, and the attempt would keep its slot for ever.
    const bytes = () => deps.blobs && raceAbort(deps.blobs.get(rawId), { signal })
    const raw = row.content ?? (await bytes())
    if (raw === null) {
      if (signal.aborted) return CUT_SHORT
      // A deletion takes the row first and the bytes after it.
      if ((await find()) === null) return DELETED
      throw new Error(`The bytes of ${rawId} are not in the blob store.`)
    }
    return { raw, reversePath: returnPath === '' ? row.reversePath : returnPath }
  } catch (error) {
    deps.log.error({ error, raw: rawId }, 'an outgoing message could not be read')
    return { kind: 'no-route', text: 'The message could not be read.' }
  }
}

const CUT_SHORT = {
  kind: 'no-route',
  text: 'The service stopped before the message was read.',
} as const

const DELETED = {
  kind: 'unroutable',
  reply: { code: 550, enhanced: '5.6.0', text: 'The message was deleted.' },
} as const

/** A fault of ours is no outcome of theirs: it is tried again by schedule, and ends with it. */
async function carry(
  deps: { log: Log },
  group: Group,
  {
    carrier,
    message,
    signal,
    onAnswer,
  }: Attempting & { carrier: Carrier; message: OutgoingMessage },
): Promise<Carried> {
  const [first] = group
  try {
    return await carrier.carry(
      {
        destination: domainOf(first.recipient),
        reversePath: message.reversePath,
        recipients: group.map(({ recipient }) => recipient),
        raw: message.raw,
        needsSmtpUtf8: first.needs_smtputf8 === 1,
        onAnswer,
      },
      signal,
    )
  } catch (error) {
    deps.log.error(
      { error, message: first.message_id },
      'a delivery attempt failed with an internal error',
    )
    return { host: null, tls: null, outcomes: [] }
  }
}

const NO_OUTCOME = { kind: 'no-route', text: 'The attempt failed within the service.' } as const

type Here = { delivery: HeldDelivery; recipient: AcceptedRecipient }

/**
 * Mail to inboxes of this service takes the path of mail from outside, without leaving: the outcomes for
 * recipients here, and the recipients that are elsewhere.
 */
async function deliverHere(
  deps: DeliverDeps,
  group: Group,
  message: OutgoingMessage,
): Promise<{ here: Attempted[]; elsewhere: readonly HeldDelivery[] }> {
  if (!(await isDomainHere(deps, domainOf(group[0].recipient)))) {
    return { here: [], elsewhere: group }
  }
  const here: Attempted[] = []
  const elsewhere: HeldDelivery[] = []
  const accepted: Here[] = []
  for (const delivery of group) {
    const refuse = (outcome: Attempted['outcome']) =>
      here.push({ delivery, outcome, host: null, tls: null })
    const recipient = await findRecipient(deps, delivery.recipient)
    if (recipient.kind === 'foreign_domain') elsewhere.push(delivery)
    else if (recipient.kind === 'unknown_mailbox') refuse(NO_MAILBOX)
    else if (await isFull(deps, recipient, delivery)) refuse(MAILBOX_FULL)
    else accepted.push({ delivery, recipient: { ...recipient, address: delivery.recipient } })
  }
  if (accepted.length > 0) {
    const recipients = accepted.map(({ recipient }) => recipient)
    const outcome = await receiveHere(deps, recipients, message)
    const host = deps.inboxDomain
    here.push(...accepted.map(({ delivery }) => ({ delivery, outcome, host, tls: null })))
  }
  return { here, elsewhere }
}

/** Whether mail that leaves an inbox for this domain need not leave the service. */
async function isDomainHere(
  { db, inboxDomain }: { db: Db; inboxDomain: string },
  domain: string,
): Promise<boolean> {
  if (domain === inboxDomain) return true
  const held = await findHeldDomain(db, domain)
  return held !== null && isLocal(held)
}

/** As for mail from outside; an account may send to itself. */
async function isFull(
  { storageQuota }: DeliverDeps,
  recipient: Recipient,
  { account_id: senderId }: HeldDelivery,
): Promise<boolean> {
  if (recipient.kind !== 'inbox' || recipient.inbox.accountId === senderId) return false
  return storageQuota.isExceeded(recipient.inbox.accountId)
}

async function receiveHere(
  deps: DeliverDeps,
  recipients: AcceptedRecipient[],
  { raw, reversePath }: OutgoingMessage,
): Promise<Attempted['outcome']> {
  try {
    const result = await receiveMail(deps, {
      raw,
      reversePath,
      recipients,
      origin: 'service',
      clientAddress: null,
      helo: null,
      tls: null,
    })
    switch (result.kind) {
      case 'stored':
        return { kind: 'accepted', reply: { code: 250, enhanced: '2.0.0', text: 'Stored here' } }
      case 'no_recipient':
        return NO_MAILBOX
      case 'too_early':
        return refusedAtEnd(451, '4.3.0', 'Delivery still in progress, try again later')
      case 'rejected_by_policy':
        return refusedAtEnd(550, '5.7.1', result.text)
      case 'loop':
        return refusedAtEnd(554, '5.4.6', result.text)
    }
  } catch (error) {
    deps.log.warn({ error }, 'a message between inboxes of this service could not be stored')
    return refusedAtEnd(451, '4.3.0', 'The message could not be stored.')
  }
}

function refusedAtEnd(code: number, enhanced: string, text: string): Attempted['outcome'] {
  return { kind: 'refused', stage: 'final-dot', reply: { code, enhanced, text } }
}

/** Not for good: the account may make the inbox tomorrow, so the address is not suppressed. */
const NO_MAILBOX: Attempted['outcome'] = {
  kind: 'unroutable',
  reply: { code: 550, enhanced: '5.1.1', text: 'No such mailbox here' },
}

const MAILBOX_FULL: Attempted['outcome'] = {
  kind: 'refused',
  stage: 'rcpt',
  reply: { code: 552, enhanced: '5.2.2', text: 'Mailbox full' },
}

/**
 * The sandbox as a mail server: it takes a message for all of these recipients, but for the addresses that
 * behave as they are named. `captured` is the row to keep; null when nobody took it.
 */
function captureMail(
  deps: Pick<DeliverDeps, 'clock' | 'makeId' | 'log'>,
  deliveries: readonly HeldDelivery[],
  { reversePath }: OutgoingMessage,
): { attempted: Attempted[]; captured: SettleInput['captured'] } {
  const attempted = deliveries.map((delivery) => ({
    delivery,
    outcome: capturedOutcome(delivery),
    host: 'sandbox',
    tls: null,
  }))
  const taken = attempted.filter(({ outcome }) => TAKEN.has(outcome.kind))
  const [first] = taken
  if (first === undefined) return { attempted, captured: null }
  const recipients = taken.map(({ delivery: { id, recipient } }) => ({
    deliveryId: id,
    address: recipient,
  }))
  const { account_id: account, message_id: message } = first.delivery
  const addresses = recipients.map(({ address }) => address)
  deps.log.info({ message, recipients: addresses }, 'captured mail in the sandbox')
  const captured = {
    id: deps.makeId('cap'),
    account_id: account,
    message_id: message,
    recipients,
    reverse_path: reversePath,
    created_at: deps.clock.now(),
  }
  return { attempted, captured }
}

const TAKEN: ReadonlySet<string> = new Set(['accepted', 'complained'])

function capturedOutcome({ recipient, status }: HeldDelivery): Attempted['outcome'] {
  const name = recipient.slice(0, recipient.lastIndexOf('@')).replace(/\+.*$/s, '').toLowerCase()
  switch (name) {
    case 'bounce-550': {
      const reply = { code: 550, enhanced: '5.1.1', text: 'No such user (sandbox)' }
      return { kind: 'refused', stage: 'rcpt', reply }
    }
    case 'defer-451': {
      const reply = { code: 451, enhanced: '4.7.1', text: 'Try again later (sandbox)' }
      return status === 'deferred' ? ACCEPTED : { kind: 'refused', stage: 'rcpt', reply }
    }
    case 'complain':
      return { kind: 'complained', text: 'Reported as spam (sandbox)' }
    default:
      return ACCEPTED
  }
}

const ACCEPTED: Attempted['outcome'] = {
  kind: 'accepted',
  reply: { code: 250, enhanced: '2.0.0', text: 'Captured in the sandbox' },
}
