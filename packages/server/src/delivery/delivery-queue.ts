// The delivery queue of one worker, and its attempts.

import { isDeadAddress } from '@mailroom/mail-reading/report/bounce-class.ts'
import { RESPONSE_LENGTH_MAX } from '@mailroom/mail-reading/report/report.ts'
import { isLocal } from '#domains/model.ts'
import { findHeldDomain, findServingDomain } from '#domains/store/domains.ts'
import type { Authenticator } from '#inbound/authenticate/authenticate.ts'
import {
  type AcceptedRecipient,
  findRecipient,
  type ReadsFiles,
  type Recipient,
  receiveMail,
  refusalReply,
} from '#inbound/receive/receive.ts'
import type { CountedReport } from '#inbound/reports/reports.ts'
import { findRawMessage } from '#mailbox/messages/store/raw-messages.ts'
import type { StorageQuota } from '#mailbox/messages/store/storage-quota.ts'
import { deliveryQueue, type HeldDelivery } from '#outbound/deliveries/store/leases.ts'
import {
  type SettledDelivery,
  type SettleInput,
  settleDeliveries,
} from '#outbound/deliveries/store/settle.ts'
import type { SuppressionType } from '#outbound/suppressions/store/suppressions.ts'
import { newSuppression } from '#outbound/suppressions/suppressions.ts'
import type { Parser } from '#parser/parser.ts'
import { raceAbort } from '#platform/abort.ts'
import { domainOf } from '#platform/email-address.ts'
import type { Log } from '#platform/log.ts'
import { HOUR_MS } from '#platform/units.ts'
import type { Group as AnyGroup, DispatchedQueue, GroupOutcome } from '#queue/dispatched-queue.ts'
import { DELIVERY_LEASE_MS } from '#queue/dispatcher-bounds.ts'
import {
  type LeaseKeeper,
  openLeaseKeeper,
  retryUntilStored,
  returnLeases,
} from '#queue/lease-keeper.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import { BACKOFF_MS_MAX, nextAttemptAt } from '#queue/retry-schedules.ts'
import type { Store } from '#store/store.ts'
import type { Carried, Carrier, CarryOutcome } from './carrier.ts'

export type DeliveryQueue = DispatchedQueue<HeldDelivery>

/** `worker` must be unique among processes. */
export function openDeliveryQueue(
  deps: DeliverDeps & { laneOf: (domain: string) => string },
  worker: string,
): DeliveryQueue {
  const leases = openLeaseKeeper(deps, {
    queue: deliveryQueue,
    worker,
    leaseMs: DELIVERY_LEASE_MS,
    backoffMaxMs: BACKOFF_MS_MAX,
  })
  return {
    ...leases,
    lease: (heads) => leases.lease(heads, deps.clock.now()),
    group: (held) => groupByDomain(held, deps.laneOf),
    async deliver(group, signal, onAnswer) {
      try {
        return await deliver(deps, group, { worker, signal, leases, onAnswer })
      } finally {
        leases.drop(group)
      }
    },
  }
}

/**
 * Uses the current next hop, because the mode of delivery may have changed since the message was
 * queued. Groups by domain even if all mail has one next hop, because a server may report on all
 * recipients of the reverse-path that it receives.
 */
function groupByDomain(held: readonly HeldDelivery[], laneOf: (domain: string) => string): Group[] {
  const groups = new Map<string, [HeldDelivery, ...HeldDelivery[]]>()
  for (const delivery of held) {
    const domain = domainOf(delivery.recipient)
    const key = `${delivery.message_id} ${laneOf(domain)} ${domain}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [delivery])
    else group.push(delivery)
  }
  return [...groups.values()]
}

/** A delivery may be sent up to this long after its expiry. */
const DELIVERY_GRACE_MS = HOUR_MS

export type DeliverDeps = Store & {
  parser: Parser
  authenticator: Authenticator | null
  rejectDmarcFailures: boolean
  readsFiles: ReadsFiles
  deriveKey: (purpose: string) => Uint8Array
  countReport: (outcome: CountedReport) => void
  inboxDomain: string
  carrier: Carrier | null
  isMailHostOf: (domain: string) => Promise<boolean>
  storageQuota: StorageQuota
  queueClock: QueueClock
  countDelivery: (status: string) => void
}

type Group = AnyGroup<HeldDelivery>

type Holding = {
  worker: string
  signal: AbortSignal
  leases: Pick<LeaseKeeper<HeldDelivery>, 'confirm' | 'return'>
  /** Called as `DispatchedQueue.deliver` describes. */
  onAnswer: (() => void) | undefined
}

/**
 * Attempts the group's deliveries that the worker still holds, and records their outcomes;
 * afterwards the worker holds none of them. If `signal` is aborted, unsent deliveries return to the
 * queue. If an outcome could not be recorded by then, the promise rejects and the leases expire.
 */
async function deliver(deps: DeliverDeps, claimed: Group, holding: Holding): Promise<GroupOutcome> {
  const { worker, signal, leases } = holding
  const fields = { message: claimed[0].message_id }
  const untilStored: UntilStored = (run) => retryUntilStored(deps, { fields, signal }, run)
  const [first, ...rest] = await untilStored(() => leases.confirm(claimed))
  if (first === undefined) {
    // A delivery that another worker took over stays there; the next claim removes deliveries of a
    // deleted inbox.
    await returnLeases(deps, claimed, { leases, signal, fields })
    return 'returned'
  }
  const group: Group = [first, ...rest]
  const { attempted, captured } = await attempt(deps, group, { ...holding, untilStored })
  const untried = attempted.filter(({ outcome }) => isUntried(outcome, signal))
  const kept = attempted.filter((one): one is Attempted => !untried.includes(one))
  if (kept.length > 0) {
    const deliveries = kept.map((one) => settle(deps, one, signal))
    const { account_id: accountId, message_id: messageId } = first
    const [nowMs, eventId] = [deps.clock.now(), deps.makeId('evt')]
    const outcome = { worker, accountId, messageId, deliveries, captured, eventId, nowMs }
    const ids = await untilStored(() => deps.db.write(settleDeliveries, outcome))
    // No event is emitted for a retry.
    if (deliveries.some(({ next_attempt_at }) => next_attempt_at === null)) deps.wakeEvents()
    report(
      deps,
      group,
      deliveries.filter(({ id }) => ids.includes(id)),
    )
  }
  if (untried.length > 0) {
    const deliveries = untried.map(({ delivery }) => delivery)
    await returnLeases(deps, deliveries, { leases, signal, fields })
  }
  return groupOutcomeOf(attempted.map(({ outcome }) => outcome.kind))
}

type UntilStored = <Value>(run: () => Promise<Value>) => Promise<Value>

type Attempting = Pick<Holding, 'signal' | 'onAnswer'> & { untilStored: UntilStored }

type Tried = Omit<Attempted, 'outcome'> & {
  outcome: Attempted['outcome'] | Extract<CarryOutcome, { kind: 'crowded' }>
}

/** Returns true if nothing was sent and the attempt is not counted. */
function isUntried({ kind }: Tried['outcome'], signal: AbortSignal): boolean {
  return kind === 'crowded' || (signal.aborted && NOT_SENT.has(kind))
}

const NOT_SENT: ReadonlySet<string> = new Set(['unsent', 'no-route'])

/** An ambiguous end that our own abort caused is not counted as an ambiguous attempt. */
function settle(deps: DeliverDeps, one: Attempted, signal: AbortSignal): SettledDelivery {
  if (!signal.aborted || one.outcome.kind !== 'ambiguous') return settledOf(deps, one)
  const delivery = { ...one.delivery, ambiguous_attempts: 0 }
  return { ...settledOf(deps, { ...one, delivery }), ambiguous_attempts: 0 }
}

const ANSWERED: ReadonlySet<string> = new Set(['accepted', 'complained', 'refused'])
const UNANSWERED: ReadonlySet<string> = new Set(['unsent', 'no-route', 'ambiguous'])

function groupOutcomeOf(kinds: string[]): GroupOutcome {
  if (kinds.some((kind) => ANSWERED.has(kind))) return 'reached'
  if (kinds.includes('crowded')) return 'crowded'
  return kinds.some((kind) => UNANSWERED.has(kind)) ? 'unreached' : 'returned'
}

function report(deps: DeliverDeps, group: Group, settled: SettledDelivery[]): void {
  for (const { id, status, host, response_code: responseCode, response } of settled) {
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
  // Without this, a permanent fault would keep an expired delivery in the queue forever.
  const [{ expires_at: expiresAtMs }] = group
  if (deps.queueClock.now() > expiresAtMs + DELIVERY_GRACE_MS) return all({ kind: 'expired' })
  const message = await readOutgoing(deps, group, attempting)
  if ('kind' in message) return all(message)
  // `deliverHere` rejects before it stores anything, or never.
  const { here, elsewhere } = await attempting.untilStored(() => deliverHere(deps, group, message))
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

async function readOutgoing(
  deps: DeliverDeps,
  group: Group,
  { untilStored, signal }: Attempting,
): Promise<OutgoingMessage | Extract<Attempted['outcome'], { kind: 'unroutable' | 'no-route' }>> {
  // Reports to the return path of any recipient of the group may be about all of them.
  const [{ raw_id: rawId, return_path: returnPath }] = group
  try {
    const find = () => untilStored(() => findRawMessage(deps.db, rawId))
    const row = await find()
    if (row === null) return DELETED
    // A retry here could keep the attempt's slot forever if the blob store stays broken.
    const bytes = () => deps.blobs && raceAbort(deps.blobs.get(rawId), { signal })
    const raw = row.content ?? (await bytes())
    if (raw === null) {
      if (signal.aborted) return CUT_SHORT
      // A deletion removes the row first and then the bytes.
      if ((await find()) === null) return DELETED
      throw new Error(`The bytes of ${rawId} are not in the blob store.`)
    }
    return { raw, reversePath: returnPath }
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

/** Receives mail to inboxes of this service as if it came from outside. */
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
  const accepted: { delivery: HeldDelivery; recipient: AcceptedRecipient }[] = []
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

async function isDomainHere(deps: DeliverDeps, domain: string): Promise<boolean> {
  if (domain === deps.inboxDomain) return true
  const serving = await findServingDomain(deps, domain)
  if (serving === null) return false
  const held = await findHeldDomain(deps.db, serving.domain)
  if (held === null || !isLocal(held)) return false
  // A subdomain may have a mail server of its own.
  return serving.domain === domain || deps.isMailHostOf(domain)
}

/** The quota applies as for mail from outside, but an account may send to itself. */
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
      default:
        return { kind: 'refused', stage: 'final-dot', reply: refusalReply(result) }
    }
  } catch (error) {
    deps.log.warn({ error }, 'a message between inboxes of this service could not be stored')
    const reply = { code: 451, enhanced: '4.3.0', text: 'The message could not be stored.' }
    return { kind: 'refused', stage: 'final-dot', reply }
  }
}

/** The account may create the inbox later, so the address is not suppressed. */
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
 * Acts as a mail server in the sandbox. Some addresses simulate an outcome (see `capturedOutcome`).
 * `captured` is null if no recipient accepted.
 */
function captureMail(
  deps: Store,
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

/** Attempts that may end without a reply to the final dot. */
const AMBIGUOUS_ATTEMPTS_MAX = 3

type Attempted = {
  delivery: HeldDelivery
  outcome:
    | Exclude<CarryOutcome, { kind: 'crowded' }>
    | { kind: 'complained'; text: string }
    | { kind: 'expired' }
  host: string | null
  tls: string | null
}

type OutcomeDeps = Store & { queueClock: QueueClock }

/**
 * A 5xx reply is permanent. Any other code but 2xx, a failed connection and a missing route are
 * retried until the delivery expires. An end without a reply to the final dot is retried up to
 * AMBIGUOUS_ATTEMPTS_MAX times.
 */
function settledOf(deps: OutcomeDeps, attempted: Attempted): SettledDelivery {
  const { outcome, delivery } = attempted
  const suppress = (type: SuppressionType, reason: string) => {
    const { account_id: accountId, recipient: address } = delivery
    return newSuppression(deps, { accountId, address, type, reason })
  }
  switch (outcome.kind) {
    case 'accepted':
      return final(attempted, 'accepted', outcome.reply)
    case 'complained':
      return {
        ...final(attempted, 'complained', { code: 250, enhanced: '2.0.0', text: outcome.text }),
        suppression: suppress('complaint', outcome.text),
        complaintEventId: deps.makeId('evt'),
      }
    case 'unroutable':
      return final(attempted, 'failed', outcome.reply)
    case 'refused': {
      const { reply } = outcome
      if (reply.code < 500 || reply.code > 599) return retried(deps, attempted, reply)
      const isDead = outcome.stage === 'rcpt' && isDeadAddress(reply)
      const reason = `${reply.code} ${reply.enhanced ?? ''} ${reply.text}`.replace(/\s+/g, ' ')
      const suppression = isDead ? suppress('bounce', reason) : null
      return { ...final(attempted, 'failed', reply), suppression }
    }
    case 'expired':
      return final(attempted, 'failed', wordsOnly(EXPIRED))
    case 'unsent':
      return retried(
        deps,
        attempted,
        outcome.failure.kind === 'reply' ? outcome.failure.reply : wordsOnly(outcome.failure.text),
      )
    case 'no-route':
      return retried(deps, attempted, wordsOnly(outcome.text))
    case 'ambiguous':
      return ambiguous(deps, attempted, textOf(outcome.failure))
  }
}

const EXPIRED = 'Given up: 48 hours passed before it could be tried again'

type Words = { code: number | null; enhanced: string | null; text: string }

function wordsOnly(text: string): Words {
  return { code: null, enhanced: null, text }
}

function final(
  { delivery, host, tls }: Attempted,
  status: SettledDelivery['status'],
  { code, enhanced, text }: Words,
): SettledDelivery {
  return {
    id: delivery.id,
    status,
    next_attempt_at: null,
    ambiguous_attempts: 0,
    host,
    tls,
    response_code: code,
    enhanced_code: enhanced,
    response: text.slice(0, RESPONSE_LENGTH_MAX),
    suppression: null,
    complaintEventId: null,
  }
}

function retried(deps: OutcomeDeps, attempted: Attempted, words: Words): SettledDelivery {
  const { attempts, expires_at: expiresAtMs } = attempted.delivery
  const next_attempt_at = nextAttemptAt({ attempts, nowMs: deps.queueClock.now(), expiresAtMs })
  if (next_attempt_at === null) {
    const text = `Given up after 48 hours and ${attempts} attempts: ${words.text}`
    return final(attempted, 'failed', { ...words, text })
  }
  return { ...final(attempted, 'deferred', words), next_attempt_at }
}

function ambiguous(deps: OutcomeDeps, attempted: Attempted, why: string): SettledDelivery {
  const count = attempted.delivery.ambiguous_attempts + 1
  const words = wordsOnly(`${NO_ANSWER} (${why})`)
  const again = count < AMBIGUOUS_ATTEMPTS_MAX ? retried(deps, attempted, words) : null
  const settled =
    again === null || again.next_attempt_at === null ? final(attempted, 'unknown', words) : again
  return { ...settled, ambiguous_attempts: 1 }
}

const NO_ANSWER = 'The server received the message but sent no reply'

function textOf(failure: Extract<CarryOutcome, { kind: 'ambiguous' }>['failure']): string {
  if (failure.kind !== 'reply') return failure.text
  return `${failure.reply.code} ${failure.reply.text}`
}
