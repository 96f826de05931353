// One attempt: a message for the recipients that share a next hop, carried there, and what came of it
// recorded. The leases are the caller's to hold.

import type { Carried, Carrier, CarryOutcome } from '#delivery/transport/carrier.ts'
import type { Authenticator } from '#inbound/authenticate/authenticator.ts'
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
import { giveBack } from '#queue/give-back.ts'
import type { LeaseKeeper } from '#queue/lease-keeper.ts'
import { outlastStore } from '#queue/outlast-store.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Db } from '#schema/tables.ts'
import { captureMail } from './capture-mail.ts'
import { deliverHere } from './deliver-here.ts'
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

/** A message for some of its recipients, all of one lane. */
export type Group = AnyGroup<HeldDelivery>

export type OutgoingMessage = { raw: Uint8Array; reversePath: string }

export type Holding = {
  worker: string
  signal: AbortSignal
  leases: Pick<LeaseKeeper, 'confirm' | 'giveBack'>
  /** See `AttemptObserver`. */
  onAnswer: (() => void) | undefined
}

/**
 * Attempts what is still held of the group and records the outcome; on return the worker holds it no
 * more. When `signal` is aborted, what was not sent yet is given back. Rejects only where the outcome
 * could not be recorded before that: then the leases end by themselves.
 */
export async function deliver(
  deps: DeliverDeps,
  claimed: Group,
  holding: Holding,
): Promise<GroupOutcome> {
  const { worker, signal, leases } = holding
  const [first, ...rest] = await outlast(deps, { group: claimed, signal }, () =>
    leases.confirm(claimed),
  )
  if (first === undefined) {
    // What is another's stays so; what belongs to no inbox any more goes at the next claim.
    await giveBack(deps, claimed, { leases, signal, fields: fieldsOf(claimed) })
    return 'returned'
  }
  const group: Group = [first, ...rest]
  const { attempted, captured } = await attempt(deps, group, holding)
  const back = attempted.filter((one) => isGivenBack(one.outcome, signal))
  const kept = attempted.filter((one): one is Settled => !back.includes(one))
  if (kept.length > 0) {
    const settled = kept.map((one) => settle(deps, one, signal))
    const { account_id: accountId, message_id: messageId } = first
    const [nowMs, eventId] = [deps.clock.now(), deps.makeId('evt')]
    const outcome = { worker, accountId, messageId, deliveries: settled, captured, eventId, nowMs }
    const ids = await outlast(deps, { group, signal }, () =>
      deps.db.write(settleDeliveries, outcome),
    )
    if (settled.some(mayTell)) deps.wakeEvents()
    tell(
      deps,
      group,
      settled.filter(({ id }) => ids.includes(id)),
    )
  }
  if (back.length > 0) {
    const untried = back.map(({ delivery }) => delivery)
    await giveBack(deps, untried, { leases, signal, fields: fieldsOf(group) })
  }
  return meaningOf(attempted.map(({ outcome }) => outcome.kind))
}

type Tried = Omit<Attempted, 'outcome'> & {
  outcome: Attempted['outcome'] | Extract<CarryOutcome, { kind: 'crowded' }>
}
type Settled = Attempted

/** What was not tried, or was cut on our side before anything was sent, is as it was. */
function isGivenBack({ kind }: Tried['outcome'], signal: AbortSignal): boolean {
  return kind === 'crowded' || (signal.aborted && NOT_SENT.has(kind))
}

const NOT_SENT: ReadonlySet<string> = new Set(['unsent', 'no-route'])

/** Whether an event may have come of it: one that is tried again changes nothing. */
function mayTell({ nextAttemptAtMs }: SettledDelivery): boolean {
  return nextAttemptAtMs === null
}

/** An end without an answer that we made ourselves says nothing about the server: it is not counted. */
function settle(deps: DeliverDeps, one: Attempted, signal: AbortSignal): SettledDelivery {
  if (!signal.aborted || one.outcome.kind !== 'ambiguous') return settledOf(deps, one)
  const delivery = { ...one.delivery, ambiguous_attempts: 0 }
  return { ...settledOf(deps, { ...one, delivery }), isAmbiguous: false }
}

const ANSWERED: ReadonlySet<string> = new Set(['accepted', 'complained', 'refused'])
const UNANSWERED: ReadonlySet<string> = new Set(['unsent', 'no-route', 'ambiguous'])

function meaningOf(kinds: string[]): GroupOutcome {
  if (kinds.some((kind) => ANSWERED.has(kind))) return 'reached'
  if (kinds.includes('crowded')) return 'crowded'
  return kinds.some((kind) => UNANSWERED.has(kind)) ? 'unreached' : 'returned'
}

type Attempt = { attempted: Tried[]; captured: SettleInput['captured'] }

async function attempt(
  deps: DeliverDeps,
  group: Group,
  { signal, onAnswer }: Holding,
): Promise<Attempt> {
  const all = (outcome: Tried['outcome']): Attempt => ({
    attempted: group.map((delivery) => ({ delivery, outcome, host: null, tls: null })),
    captured: null,
  })
  // Its last attempt was due long ago: whatever kept it from ending must not go on for ever.
  const [{ expires_at: expiresAtMs }] = group
  if (deps.queueClock.now() > expiresAtMs + DELIVERY_GRACE_MS) return all({ kind: 'expired' })
  const message = await readOutgoing(deps, group, signal)
  if ('kind' in message) return all(message)
  // It rejects before anything is stored, or not at all.
  const { here, elsewhere } = await outlast(deps, { group, signal }, () =>
    deliverHere(deps, group, message),
  )
  if (elsewhere.length === 0) return { attempted: here, captured: null }
  if (deps.carrier === null) {
    const { attempted, captured } = captureMail(deps, elsewhere, message)
    return { attempted: [...here, ...attempted], captured }
  }
  const { host, tls, outcomes } = await carry(deps, { elsewhere, message, signal, onAnswer })
  const attempted = elsewhere.map((delivery, index) => ({
    delivery,
    outcome: outcomes[index] ?? NO_OUTCOME,
    host,
    tls,
  }))
  return { attempted: [...here, ...attempted], captured: null }
}

const NO_OUTCOME = { kind: 'no-route', text: 'The attempt failed within the service.' } as const

/** A fault of ours is no outcome of theirs: it is tried again by schedule, and ends with it. */
async function carry(
  deps: DeliverDeps,
  {
    elsewhere,
    message,
    signal,
    onAnswer,
  }: { elsewhere: HeldDelivery[]; message: OutgoingMessage } & Pick<Holding, 'signal' | 'onAnswer'>,
): Promise<Carried> {
  const [first] = elsewhere
  if (deps.carrier === null || first === undefined) return NOTHING_CARRIED
  try {
    return await deps.carrier.carry(
      {
        destination: domainOf(first.recipient),
        reversePath: message.reversePath,
        recipients: elsewhere.map(({ recipient }) => recipient),
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
    return NOTHING_CARRIED
  }
}

const NOTHING_CARRIED: Carried = { host: null, tls: null, outcomes: [] }

/** The message, or what its recipients are told when it cannot be had. */
async function readOutgoing(
  deps: DeliverDeps,
  group: Group,
  signal: AbortSignal,
): Promise<OutgoingMessage | Extract<Attempted['outcome'], { kind: 'unroutable' | 'no-route' }>> {
  // That of any recipient of the group takes reports about all of them.
  const [{ raw_id: rawId, return_path: returnPath }] = group
  try {
    const find = () => outlast(deps, { group, signal }, () => findRawMessage(deps.db, rawId))
    const row = await find()
    if (row === null) return DELETED
    // One that is broken is not waited for: it may stay so, and would keep its place for ever.
    const raw = row.content ?? (await readBytes(deps, rawId, signal))
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

/** A store that hangs holds up no end: then it is null, as for bytes that are not there. */
async function readBytes(
  { blobs }: { blobs: BlobStore | null },
  rawId: string,
  signal: AbortSignal,
): Promise<Uint8Array | null> {
  return blobs && raceAbort(blobs.get(rawId), { signal })
}

const CUT_SHORT = {
  kind: 'no-route',
  text: 'The service stopped before the message was read.',
} as const

const DELETED = {
  kind: 'unroutable',
  reply: { code: 550, enhanced: '5.6.0', text: 'The message was deleted.' },
} as const

function outlast<Value>(
  deps: DeliverDeps,
  { group, signal }: { group: Group; signal: AbortSignal },
  run: () => Promise<Value>,
): Promise<Value> {
  return outlastStore(deps, { fields: fieldsOf(group), signal }, run)
}

function fieldsOf([{ message_id: message }]: Group): { message: string } {
  return { message }
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
