// The door for mail: what the SMTP engine asks, answered by actions and said in reply codes.

import { type Reply, reply } from '@mailroom/mail/smtp/reply.ts'
import type { Envelope, MailReceiver } from '@mailroom/smtp/server/session.ts'
import type { Log } from '#platform/log.ts'
import type { Recipient } from './find-recipient.ts'
import type { AcceptedRecipient, ArrivingMail, TakeResult } from './take-mail.ts'

export type ReceiverPorts = {
  findRecipient(address: string): Promise<Recipient>
  /** Whether the account of an inbox stores as much as it may. */
  isQuotaExceeded(accountId: string): Promise<boolean>
  /** `sinceMs` is when its first recipient was accepted, by `now`. */
  takeMail(arriving: ArrivingMail, sinceMs: number): Promise<TakeResult>
  now(): number
  /** How a store that cannot take mail now is told: full, or something else. Null for a fault. */
  storageTrouble(error: unknown): 'full' | 'busy' | 'unavailable' | null
  /** Whether the store keeps up; see `StorePressure`. */
  pressure?: {
    mayTake(underWay: number): boolean
    mayGoOn(underWay: number): boolean
    mayTakeOf(accountId: string): boolean
    isStrained(): boolean
  }
  log: Log
}

/** Answers the engine. Nothing here sends mail: what is refused, is refused in the session. */
export function makeReceiver(ports: ReceiverPorts): MailReceiver {
  const troubled = (error: unknown): Reply => {
    const trouble = ports.storageTrouble(error)
    if (trouble === 'full') return reply(452, '4.3.1', 'Out of storage, try again later')
    if (trouble === null) ports.log.error({ error }, 'a message could not be accepted')
    else
      ports.log.warn(
        { trouble, reason: error instanceof Error ? error.message : String(error) },
        'a message could not be accepted',
      )
    return CANNOT_TAKE
  }
  // What RCPT found is what DATA delivers to; an inbox deleted in between is noticed by the store.
  const accepted = new WeakMap<Envelope, { recipients: AcceptedRecipient[]; sinceMs: number }>()
  const { pressure } = ports
  return {
    isStrained: () => pressure?.isStrained() === true,
    findObstacle(stage, underWay) {
      if (pressure === undefined) return null
      const mayCome = stage === 'sender' ? pressure.mayTake(underWay) : pressure.mayGoOn(underWay)
      return mayCome ? null : CANNOT_TAKE
    },
    async checkRecipient(address, envelope) {
      try {
        const recipient = await ports.findRecipient(address)
        const accountId = recipient.kind === 'inbox' ? recipient.inbox.accountId : null
        if (accountId !== null && pressure?.mayTakeOf(accountId) === false) return CANNOT_TAKE
        if (accountId !== null && (await ports.isQuotaExceeded(accountId))) return MAILBOX_FULL
        if (recipient.kind !== 'unknown_mailbox' && recipient.kind !== 'foreign_domain') {
          const known = accepted.get(envelope) ?? { recipients: [], sinceMs: ports.now() }
          known.recipients.push({ ...recipient, address })
          accepted.set(envelope, known)
        }
        return replyTo(recipient)
      } catch (error) {
        return troubled(error)
      }
    },
    async receiveMessage(content, envelope, client) {
      const [only] = content.chunks
      const raw =
        content.chunks.length === 1 && only !== undefined ? only : Buffer.concat(content.chunks)
      const { recipients, sinceMs } = accepted.get(envelope) ?? {
        recipients: [],
        sinceMs: ports.now(),
      }
      try {
        const arriving = {
          raw,
          reversePath: envelope.reversePath,
          recipients,
          origin: 'smtp',
          clientAddress: client.address,
          helo: client.helo,
          tls: client.tls,
        } as const
        const result = await ports.takeMail(arriving, sinceMs)
        if (result.kind === 'loop') {
          const { reason, hops } = result
          ports.log.warn({ reason, hops, from: client.address }, 'a mail loop was refused')
        }
        return replyAfterData(result)
      } catch (error) {
        return troubled(error)
      }
    },
  }
}

const MAILBOX_FULL = reply(552, '5.2.2', 'Mailbox full')
const CANNOT_TAKE = reply(451, '4.3.0', 'Cannot take mail now, try again later')

function replyTo(recipient: Recipient): Reply {
  switch (recipient.kind) {
    case 'inbox':
    case 'postmaster':
    case 'return_path':
    case 'abuse':
      return reply(250, '2.1.5', 'Recipient OK')
    case 'unknown_mailbox':
      return reply(550, '5.1.1', 'No such mailbox here')
    case 'foreign_domain':
      return reply(550, '5.7.1', 'Relaying denied')
  }
}

function replyAfterData(result: TakeResult): Reply {
  switch (result.kind) {
    case 'stored':
      return reply(250, '2.0.0', 'Message stored')
    case 'no_recipient':
      return reply(550, '5.1.1', 'No such mailbox here')
    case 'too_early':
      return reply(451, '4.3.0', 'Delivery still in progress, try again later')
    case 'rejected_by_policy':
      return reply(550, '5.7.1', result.text)
    case 'loop':
      return reply(554, '5.4.6', result.text)
  }
}
