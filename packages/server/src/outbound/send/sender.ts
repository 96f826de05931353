// Parts that new and waiting sends share: sender, limits, signature, and deliveries.

import type { Account } from '#accounts/store/accounts.ts'
import { type DkimOwner, SERVICE_OWNER } from '#domains/dkim/dkim.ts'
import { isUsable } from '#domains/model.ts'
import type { Signers } from '#domains/signing/signing.ts'
import { findDomain } from '#domains/store/domains.ts'
import type { Inbox } from '#inboxes/inboxes.ts'
import { findOwnInbox } from '#inboxes/store/inboxes.ts'
import type { StorageQuota } from '#mailbox/messages/store/storage-quota.ts'
import type { NewDelivery } from '#outbound/deliveries/store/deliveries.ts'
import {
  coldAccountLimit,
  hasWritten,
  isYoung,
  type SendLimits,
  type SendSettings,
} from '#outbound/send/store/check-send.ts'
import { makeReturnPath } from '#outbound/send/store/loop-marks.ts'
import type { Parser } from '#parser/parser.ts'
import { addressKey, domainOf } from '#platform/email-address.ts'
import { freeMemory } from '#platform/free-memory.ts'
import { problem } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import { DAY_MS } from '#platform/units.ts'
import type { FileReader } from '#platform/workers/file-reader.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Store } from '#store/store.ts'
import type { Db, NewRow } from '#store/tables.ts'

export const DELIVERY_MS_MAX = 2 * DAY_MS

export type SendDeps = Store & {
  parser: Parser
  fileReader: FileReader
  signers: Signers
  inboxDomain: string
  sending: SendSettings
  storageQuota: StorageQuota
  laneOf: (domain: string) => string
  queueClock: QueueClock
  wakeDelivery: () => void
  deriveKey: (purpose: string) => Uint8Array
  sealer: Sealer
  publicUrl: () => string
  /** Null in the sandbox, where no mail leaves the machine. */
  carrier: object | null
}

export type Sender = { inbox: Inbox; account: Account; domain: SendingDomain }

type SendingDomain = {
  owner: DkimOwner
  returnPathDomain: string
}

/** Throws `invalid_domain` if the domain has failed or now belongs to another account. */
export async function findSendingDomain(
  deps: { db: Db; inboxDomain: string },
  inbox: Inbox,
): Promise<SendingDomain> {
  const { inboxDomain } = deps
  if (inbox.domainId === null) {
    return { owner: { ownerId: SERVICE_OWNER, domain: inboxDomain }, returnPathDomain: inboxDomain }
  }
  const domain = await findDomain(deps.db, inbox.accountId, inbox.domainId)
  if (domain === null || !isUsable(domain)) {
    const name = domain?.domain ?? domainOf(inbox.address)
    const reason =
      domain?.isHolder === false
        ? `another account has since verified ${name}`
        : `${name} has failed its DNS checks`
    throw problem('invalid_domain', `The inbox cannot send: ${reason}.`, {
      fix: 'Publish the records that GET /v1/domains/{id} lists and verify the domain again.',
    })
  }
  return {
    owner: { ownerId: domain.id, domain: domain.domain },
    returnPathDomain: domain.takesBounces ? domain.domain : inboxDomain,
  }
}

/** Excludes recipients that have written to the inbox, and inboxes of the account. */
export async function findColdRecipients(
  deps: { db: Db },
  { id: inboxId, accountId }: Inbox,
  recipients: string[],
): Promise<string[]> {
  const isStranger = async (address: string) =>
    (await findOwnInbox(deps.db, accountId, address)) === null &&
    !(await hasWritten(deps.db, { inboxId, addressKey: addressKey(address) }))
  const answers = await Promise.all(recipients.map(isStranger))
  return recipients.filter((_, index) => answers[index]).map(addressKey)
}

export function limitsOf(
  { sending }: { sending: SendSettings },
  { inbox, account }: Pick<Sender, 'inbox' | 'account'>,
  nowMs: number,
): SendLimits {
  const { sendsPerMinute, sendsPerDay, heldPerInbox, coldPerDay, coldAccountPerDay } = sending
  const isAccountYoung = isYoung(account.createdAtMs, nowMs)
  return {
    perMinute: sendsPerMinute,
    perDay: sendsPerDay,
    held: heldPerInbox,
    coldPerDay: isYoung(inbox.createdAtMs, nowMs) ? coldPerDay : null,
    coldAccountPerDay: coldAccountPerDay ?? coldAccountLimit(account.plan, isAccountYoung),
  }
}

/** The unsigned bytes are freed. */
export async function sign(
  deps: SendDeps,
  sender: Sender,
  unsigned: Uint8Array,
  nowMs: number,
): Promise<Uint8Array> {
  const raw = await deps.signers.sign(sender.domain.owner, unsigned, nowMs)
  freeMemory(unsigned)
  return raw
}

type RawRow = Omit<NewRow<'raw_messages'>, 'reference_count'>

export function sentRaw(
  row: Pick<RawRow, 'id' | 'sha256' | 'size_bytes' | 'content'>,
  { address: reverse_path }: Inbox,
  nowMs: number,
): RawRow {
  const unknown = { client_address: null, helo: null, tls: null }
  return { ...row, reverse_path, ...unknown, origin: 'service', created_at: nowMs }
}

type DeliveredMessage = Pick<
  NewDelivery,
  'message_id' | 'raw_id' | 'size_bytes' | 'needs_smtputf8' | 'created_at'
>

export function deliveriesOf(
  deps: SendDeps,
  { inbox, domain }: Sender,
  { recipients, ...message }: DeliveredMessage & { recipients: string[] },
): NewDelivery[] {
  const queueMs = deps.queueClock.now()
  const key = deps.deriveKey('return-path')
  return recipients.map((recipient) => {
    const id = deps.makeId('dlv')
    return {
      ...message,
      id,
      account_id: inbox.accountId,
      inbox_id: inbox.id,
      recipient,
      return_path: makeReturnPath(key, { deliveryId: id, domain: domain.returnPathDomain }),
      lane: deps.laneOf(domainOf(recipient)),
      next_attempt_at: queueMs,
      expires_at: queueMs + DELIVERY_MS_MAX,
    }
  })
}
