// Decides on recipients and messages for the SMTP engine.

import { type Reply, reply } from '@mailroom/mail/smtp/reply.ts'
import type { CountOutcome, Envelope, MailReceiver } from '@mailroom/smtp/server/session.ts'
import type { StorageQuota } from '#mailbox/messages/store/storage-quota.ts'
import type { StorePressure } from '#platform/db/paced-db.ts'
import type { Log } from '#platform/log.ts'
import { storageErrorKind } from '#platform/problem.ts'
import type { Metrics } from '#platform/telemetry/metrics.ts'
import type { Tracing } from '#platform/telemetry/tracing.ts'
import { type AcceptedRecipient, findRecipient, type Recipient } from './find-recipient.ts'
import {
  type ArrivingMail,
  type ReceiveDeps,
  type ReceiveResult,
  receiveMail,
  refusalReply,
} from './receive-mail.ts'

type ReceiverDeps = ReceiveDeps & {
  storageQuota: Pick<StorageQuota, 'isExceeded'>
  storePressure: Pick<StorePressure, 'mayTake' | 'mayContinue' | 'mayTakeOf' | 'isStrained'>
  tracing: Tracing
}

type Accepted = { recipients: AcceptedRecipient[]; sinceMs: number }

/** Recipients are looked up once `started` has resolved. Refusals send no mail. */
export function makeReceiver(
  deps: ReceiverDeps,
  { started, metrics }: { started: Promise<void>; metrics: Pick<Metrics, 'observeReceive'> },
): MailReceiver {
  const { storePressure: pressure, clock, log } = deps
  const replyToFailure = (error: unknown) => failureReply(log, error)
  const accepted = new WeakMap<Envelope, Accepted>()
  const acceptedOf = (envelope: Envelope): Accepted =>
    accepted.get(envelope) ?? { recipients: [], sinceMs: clock.now() }

  return {
    isStrained: () => pressure.isStrained(),
    findObstacle(stage, underWay) {
      const mayCome =
        stage === 'sender' ? pressure.mayTake(underWay) : pressure.mayContinue(underWay)
      return mayCome ? null : CANNOT_TAKE
    },
    async checkRecipient(address, envelope) {
      try {
        await started
        const recipient = await findRecipient(deps, address)
        const accountId = recipient.kind === 'inbox' ? recipient.inbox.accountId : null
        if (accountId !== null && !pressure.mayTakeOf(accountId)) return CANNOT_TAKE
        if (accountId !== null && (await deps.storageQuota.isExceeded(accountId))) {
          return MAILBOX_FULL
        }
        if (recipient.kind !== 'unknown_mailbox' && recipient.kind !== 'foreign_domain') {
          const known = acceptedOf(envelope)
          known.recipients.push({ ...recipient, address })
          accepted.set(envelope, known)
        }
        return replyTo(recipient)
      } catch (error) {
        return replyToFailure(error)
      }
    },
    async receiveMessage(content, envelope, client, answered) {
      const [only] = content.chunks
      const raw =
        content.chunks.length === 1 && only !== undefined ? only : Buffer.concat(content.chunks)
      const { recipients, sinceMs } = acceptedOf(envelope)
      const dotMs = clock.monotonic()
      try {
        const arriving = {
          raw,
          reversePath: envelope.reversePath,
          recipients,
          origin: 'smtp',
          clientAddress: client.address,
          helo: client.helo,
          tls: client.tls,
          answered,
        } as const
        const result = await receiveTraced(deps, arriving, sinceMs)
        if (result.kind === 'loop') {
          const { reason, hops } = result
          log.warn({ reason, hops, from: client.address }, 'a mail loop was refused')
        }
        return replyAfterData(result)
      } catch (error) {
        return replyToFailure(error)
      } finally {
        metrics.observeReceive(clock.monotonic() - dotMs)
      }
    },
  }
}

function receiveTraced(
  deps: ReceiverDeps,
  arriving: ArrivingMail,
  startMs: number,
): Promise<ReceiveResult> {
  const { tracing } = deps
  const attributes = {
    'mailroom.recipients': arriving.recipients.length,
    'mailroom.message.size': arriving.raw.length,
  }
  const options = { kind: 'server', parent: null, startMs, attributes } as const
  return tracing.begin('SMTP transaction', options, async (span) => {
    const result = await tracing.step('receive', {}, () => receiveMail(deps, arriving))
    span.set({ 'mailroom.outcome': result.kind })
    return result
  })
}

function failureReply(log: Log, error: unknown): Reply {
  const trouble = storageErrorKind(error)
  if (trouble === 'full') return reply(452, '4.3.1', 'Out of storage, try again later')
  if (trouble === null) log.error({ error }, 'a message could not be accepted')
  else {
    const reason = error instanceof Error ? error.message : String(error)
    log.warn({ trouble, reason }, 'a message could not be accepted')
  }
  return CANNOT_TAKE
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

function replyAfterData(result: ReceiveResult): Reply {
  if (result.kind === 'stored') return reply(250, '2.0.0', 'Message stored')
  const { code, enhanced, text } = refusalReply(result)
  return reply(code, enhanced, text)
}

export function outcomeCounter(metrics: Metrics): CountOutcome {
  return (outcome) => {
    metrics.countSmtpOutcome({ outcome: outcome.kind, code: codeOf(outcome) })
  }
}

function codeOf(outcome: Parameters<CountOutcome>[0]): number {
  switch (outcome.kind) {
    case 'recipient-refused':
    case 'message-refused':
      return outcome.code
    case 'recipient-accepted':
    case 'message-accepted':
      return 250
    case 'connection-refused':
    case 'connection-cut':
      return 421
    case 'connection-opened':
      return 220
    case 'connection-closed':
      return 221
    case 'message-aborted':
      return 0
  }
}
