// Mail to inboxes of this service: it takes the path of mail from outside, without leaving.

import { isLocal } from '#domains/domain.ts'
import { findHeldDomain } from '#domains/domain-rows.ts'
import { findRecipient, type Recipient } from '#inbound/find-recipient.ts'
import { type AcceptedRecipient, takeMail } from '#inbound/take-mail.ts'
import { domainOf } from '#inboxes/inbox.ts'
import type { HeldDelivery } from '#outbound/delivery-claim-rows.ts'
import type { Db } from '#schema/tables.ts'
import type { DeliverDeps, OutgoingMessage } from './deliver.ts'
import type { Attempted } from './outcome.ts'

/** Whether mail that leaves an inbox for this domain need not leave the service. */
async function isDomainHere(
  { db, inboxDomain }: { db: Db; inboxDomain: string },
  domain: string,
): Promise<boolean> {
  if (domain === inboxDomain) return true
  const held = await findHeldDomain(db, domain)
  return held !== null && isLocal(held)
}

type Here = { delivery: HeldDelivery; recipient: AcceptedRecipient }

/** What became of recipients here, and those who are elsewhere. */
export async function deliverHere(
  deps: DeliverDeps,
  deliveries: readonly HeldDelivery[],
  message: OutgoingMessage,
): Promise<{ here: Attempted[]; elsewhere: HeldDelivery[] }> {
  const settled: Attempted[] = []
  const elsewhere: HeldDelivery[] = []
  const accepted: Here[] = []
  const staysHere = new Map<string, boolean>()
  for (const delivery of deliveries) {
    const domain = domainOf(delivery.recipient)
    const isHere = staysHere.get(domain) ?? (await isDomainHere(deps, domain))
    staysHere.set(domain, isHere)
    if (!isHere) {
      elsewhere.push(delivery)
      continue
    }
    const recipient = await findRecipient(deps, delivery.recipient)
    if (recipient.kind === 'foreign_domain') elsewhere.push(delivery)
    else if (recipient.kind === 'unknown_mailbox') settled.push(refused(delivery, NO_MAILBOX))
    else if (await isFull(deps, recipient, delivery)) settled.push(refused(delivery, MAILBOX_FULL))
    else accepted.push({ delivery, recipient: { ...recipient, address: delivery.recipient } })
  }
  if (accepted.length > 0) settled.push(...(await receive(deps, accepted, message)))
  return { here: settled, elsewhere }
}

/** As for mail from outside; what an account sends to itself is not a stranger's. */
async function isFull(
  { storageQuota }: DeliverDeps,
  recipient: Recipient,
  { account_id: senderId }: HeldDelivery,
): Promise<boolean> {
  if (recipient.kind !== 'inbox' || recipient.inbox.accountId === senderId) return false
  return storageQuota.isExceeded(recipient.inbox.accountId)
}

async function receive(
  deps: DeliverDeps,
  accepted: Here[],
  { raw, reversePath }: OutgoingMessage,
): Promise<Attempted[]> {
  const outcome = await receiveHere(deps, accepted, { raw, reversePath })
  return accepted.map(({ delivery }) => ({ delivery, outcome, host: deps.inboxDomain, tls: null }))
}

async function receiveHere(
  deps: DeliverDeps,
  accepted: Here[],
  { raw, reversePath }: OutgoingMessage,
): Promise<Attempted['outcome']> {
  try {
    const result = await takeMail(deps, {
      raw,
      reversePath,
      recipients: accepted.map(({ recipient }) => recipient),
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
        return TOO_EARLY
      case 'rejected_by_policy':
        return {
          kind: 'refused',
          stage: 'final-dot',
          reply: { code: 550, enhanced: '5.7.1', text: result.text },
        }
      case 'loop':
        return {
          kind: 'refused',
          stage: 'final-dot',
          reply: { code: 554, enhanced: '5.4.6', text: result.text },
        }
    }
  } catch (error) {
    deps.log.warn({ error }, 'a message between inboxes of this service could not be stored')
    const text = 'The message could not be stored.'
    return { kind: 'refused', stage: 'final-dot', reply: { code: 451, enhanced: '4.3.0', text } }
  }
}

const TOO_EARLY: Attempted['outcome'] = {
  kind: 'refused',
  stage: 'final-dot',
  reply: { code: 451, enhanced: '4.3.0', text: 'Delivery still in progress, try again later' },
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

function refused(delivery: HeldDelivery, outcome: Attempted['outcome']): Attempted {
  return { delivery, outcome, host: null, tls: null }
}
