// One attempt: a message for the recipients that share a next hop, carried there, and what came of it
// recorded. The leases are the caller's to hold.

import type { Deps } from '#actions/deps.ts'
import { readRawBytes } from '#actions/message/read-content.ts'
import { storageTrouble } from '#actions/storage-trouble.ts'
import { SETTLE_RETRY_MS } from '#base/limits.ts'
import { domainOf } from '#model/inbox.ts'
import type { HeldDelivery } from '#store/delivery.ts'
import { findRawMessage } from '#store/raw-message.ts'
import type { SettledDelivery, SettleInput } from '#store/settle-deliveries.ts'
import { captureMail } from './capture-mail.ts'
import { deliverHere } from './deliver-here.ts'
import { type Attempted, settledOf } from './outcome.ts'

export type DeliverDeps = Pick<
  Deps,
  | 'db'
  | 'blobs'
  | 'clock'
  | 'makeId'
  | 'log'
  | 'parser'
  | 'inboxDomain'
  | 'carrier'
  | 'countDelivery'
>

/** A message for some of its recipients, all of one lane. */
export type Group = readonly [HeldDelivery, ...HeldDelivery[]]

/** Whether a server was spoken to; `returned` when the queue has all of it back as it was. */
export type GroupOutcome = 'reached' | 'unreached' | 'returned'

export type OutgoingMessage = { raw: Uint8Array; reversePath: string }

/**
 * Attempts the group and records the outcome; on return the worker holds it no more. When `signal` is
 * aborted, what was not sent yet is given back. Rejects only where the outcome could not be recorded
 * before that: then the leases end by themselves.
 */
export async function deliver(
  deps: DeliverDeps,
  group: Group,
  { worker, signal }: { worker: string; signal: AbortSignal },
): Promise<GroupOutcome> {
  const { attempted, captured } = await attempt(deps, group, signal)
  const unsent = attempted.filter(({ outcome }) => NOT_SENT.has(outcome.kind))
  // Cut on our side, which says nothing about the server.
  const returned = signal.aborted ? unsent : []
  const settled = attempted
    .filter((one) => !returned.includes(one))
    .map((one) => settledOf(deps, one))
  if (settled.length > 0) {
    const [{ message_id: messageId }] = group
    const nowMs = deps.clock.now()
    const eventId = deps.makeId('evt')
    const outcome = { worker, messageId, deliveries: settled, captured, eventId, nowMs }
    await outlast(deps, { group, signal }, () => deps.db.write('settleDeliveries', outcome))
    tell(deps, group, settled)
  }
  if (returned.length > 0) {
    const ids = returned.map(({ delivery }) => delivery.id)
    await deps.db.write('returnDeliveries', { worker, ids })
  }
  if (settled.length === 0) return 'returned'
  return unsent.length === attempted.length ? 'unreached' : 'reached'
}

const NOT_SENT: ReadonlySet<string> = new Set(['unsent', 'no-route'])

type Attempt = { attempted: Attempted[]; captured: SettleInput['captured'] }

async function attempt(deps: DeliverDeps, group: Group, signal: AbortSignal): Promise<Attempt> {
  const message = await readOutgoing(deps, group, signal)
  if ('kind' in message) {
    const attempted = group.map((delivery) => ({
      delivery,
      outcome: message,
      host: null,
      tls: null,
    }))
    return { attempted, captured: null }
  }
  // It rejects before anything is stored, or not at all.
  const { here, elsewhere } = await outlast(deps, { group, signal }, () =>
    deliverHere(deps, group, message),
  )
  const [first] = elsewhere
  if (first === undefined) return { attempted: here, captured: null }
  if (deps.carrier === null) {
    const { attempted, captured } = captureMail(deps, elsewhere)
    return { attempted: [...here, ...attempted], captured }
  }
  const carried = await deps.carrier.carry(
    {
      destination: domainOf(first.recipient),
      reversePath: message.reversePath,
      recipients: elsewhere.map(({ recipient }) => recipient),
      raw: message.raw,
      needsSmtpUtf8: first.needs_smtputf8 === 1,
    },
    signal,
  )
  const { host, tls } = carried
  const attempted = elsewhere.map((delivery, index) => ({
    delivery,
    outcome: carried.outcomes[index] ?? { kind: 'no-route' as const, text: 'No outcome' },
    host,
    tls,
  }))
  return { attempted: [...here, ...attempted], captured: null }
}

/** The message, or what its recipients are told when it cannot be had. */
async function readOutgoing(
  deps: DeliverDeps,
  group: Group,
  signal: AbortSignal,
): Promise<OutgoingMessage | Extract<Attempted['outcome'], { kind: 'unroutable' | 'no-route' }>> {
  const [{ raw_id: rawId }] = group
  try {
    const row = await outlast(deps, { group, signal }, () => findRawMessage(deps.db, rawId))
    if (row === null) {
      const reply = { code: 550, enhanced: '5.6.0', text: 'The message was deleted.' }
      return { kind: 'unroutable', reply }
    }
    const raw = row.content ?? (await readRawBytes(deps, rawId))
    return { raw, reversePath: row.reversePath }
  } catch (error) {
    deps.log.error({ error, raw: rawId }, 'a message to be sent could not be read')
    return { kind: 'no-route', text: 'The message could not be read.' }
  }
}

/**
 * What `run` gives. A store that is away says nothing about a recipient, and what a server has taken
 * must not be sent again for it: tried until it is back, or `signal` is aborted.
 */
async function outlast<Value>(
  deps: DeliverDeps,
  { group, signal }: { group: Group; signal: AbortSignal },
  run: () => Promise<Value>,
): Promise<Value> {
  for (let failures = 0; ; failures++) {
    try {
      return await run()
    } catch (error) {
      if (storageTrouble(error) === null || signal.aborted) throw error
      const [{ message_id: message }] = group
      if (failures === 0) deps.log.warn({ error, message }, 'a delivery waits for the store')
      await new Promise((resolve) => setTimeout(resolve, SETTLE_RETRY_MS))
    }
  }
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
