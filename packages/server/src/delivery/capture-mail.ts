// The sandbox as a mail server: it takes everything and keeps it, but for the addresses that behave as
// they are named.

import type { HeldDelivery } from '#outbound/delivery-claim-rows.ts'
import type { SettleInput } from '#outbound/settle-deliveries-rows.ts'
import type { DeliverDeps, OutgoingMessage } from './deliver.ts'
import type { Attempted } from './outcome.ts'

/** Outcomes for all of these recipients of one message, and what is kept of it. */
export function captureMail(
  deps: Pick<DeliverDeps, 'clock' | 'makeId' | 'log'>,
  deliveries: readonly HeldDelivery[],
  { reversePath }: Pick<OutgoingMessage, 'reversePath'>,
): { attempted: Attempted[]; captured: SettleInput['captured'] } {
  const attempted = deliveries.map((delivery) => ({
    delivery,
    outcome: outcomeOf(delivery),
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

function outcomeOf({ recipient, status }: HeldDelivery): Attempted['outcome'] {
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
