import type { SenderRuleType } from '@mailroom/contract/vocabulary.ts'
import type { Authentication } from '@mailroom/mail/authentication.ts'
import { hiddenRecipientsOf } from '#mailbox/messages/store/messages.ts'
import { statement } from '#platform/db/statement.ts'
import type { RecipientRule } from '#policy/match-recipient.ts'
import {
  type EffectiveOutbound,
  effectiveOutbound,
  isOpen,
  readOutbound,
} from '#policy/outbound-policy.ts'
import type { ReadDb, Tables } from '#store/tables.ts'

export type SendPolicy = EffectiveOutbound & { hasRules: boolean }

/** Returns null if no policy applies or the inbox was deleted. */
export async function findSendPolicy(
  db: ReadDb,
  input: { accountId: string; inboxId: string },
): Promise<SendPolicy | null> {
  const [row] = await selectPolicies(db.reading, input)
  if (row === undefined) return null
  const hasRules = row.recipient_rule_count > 0
  const { of_account, of_pod, of_inbox } = row
  if (!hasRules && of_account === null && of_pod === null && of_inbox === null) return null
  const policy = effectiveOutbound({
    account: readOutbound(of_account, 'account'),
    pod: readOutbound(of_pod, 'pod'),
    inbox: readOutbound(of_inbox, 'inbox'),
  })
  return !hasRules && isOpen(policy) ? null : { ...policy, hasRules }
}

type PolicyRow = {
  recipient_rule_count: number
  of_account: string | null
  of_pod: string | null
  of_inbox: string | null
}

const selectPolicies = statement<Tables, { accountId: string; inboxId: string }, PolicyRow>(
  (query, given) =>
    query
      .selectFrom('inboxes')
      .innerJoin('accounts', 'accounts.id', 'inboxes.account_id')
      .innerJoin('pods', 'pods.id', 'inboxes.pod_id')
      .select([
        'accounts.recipient_rule_count',
        'accounts.outbound_policy as of_account',
        'pods.outbound_policy as of_pod',
        'inboxes.outbound_policy as of_inbox',
      ])
      .where('inboxes.account_id', '=', given('accountId'))
      .where('inboxes.id', '=', given('inboxId')),
)

export async function findRecipientRules(
  db: ReadDb,
  input: {
    accountId: string
    podId: string
    inboxId: string
    values: readonly string[]
    nowMs: number
  },
): Promise<(RecipientRule & { createdAtMs: number })[]> {
  const { accountId, podId, inboxId, values, nowMs } = input
  if (values.length === 0) return []
  const rows = await db.read
    .selectFrom('recipient_rules')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('value', 'in', values)
    .where(({ eb, or }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', nowMs)]))
    .execute()
  return rows
    .filter((row) =>
      row.inbox_id === null
        ? row.pod_id === null || row.pod_id === podId
        : row.inbox_id === inboxId,
    )
    .map((row) => ({
      id: row.id,
      type: row.type as SenderRuleType,
      value: row.value,
      podId: row.pod_id,
      inboxId: row.inbox_id,
      createdAtMs: row.created_at,
    }))
}

/** Shows how strongly the author of received mail is proven. */
export const SENDER_PROOFS = {
  /** An API key released the message from quarantine. */
  none: 0,
  /** Only the From field names the author. */
  claimed: 1,
  /** SPF or DKIM passed, or the author is an inbox of this service. */
  verified: 2,
} as const

export type SenderProof = (typeof SENDER_PROOFS)[keyof typeof SENDER_PROOFS]

/** Returns the keys of addresses that wrote to the inbox with at least this proof. */
export async function findWriters(
  db: ReadDb,
  { inboxId, proofMin }: { inboxId: string; proofMin: SenderProof },
  keys: readonly string[],
): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  const rows = await db.read
    .selectFrom('correspondents')
    .select('address_key')
    .where('inbox_id', '=', inboxId)
    .where('address_key', 'in', keys)
    .where('proof', '>=', proofMin)
    .execute()
  return new Set(rows.map(({ address_key }) => address_key))
}

/** Returns the keys of addresses that the inbox has written to in queued mail. */
export async function findWrittenTo(
  db: ReadDb,
  inboxId: string,
  keys: readonly string[],
): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  const rows = await db.read
    .selectFrom('written_to')
    .select('address_key')
    .where('inbox_id', '=', inboxId)
    .where('address_key', 'in', keys)
    .execute()
  return new Set(rows.map(({ address_key }) => address_key))
}

export type ThreadMessage = {
  id: string
  isReceived: boolean
  isImported: boolean
  isVerified: boolean
  hasFiles: boolean
  rawId: string
  sizeBytes: number
  from: string
  to: string[]
  cc: string[]
  bcc: string[]
  replyTo: string | null
}

/** Reads received and queued messages. Returns null if there are more than `limit`. */
export async function readThreadMessages(
  db: ReadDb,
  input: { accountId: string; threadId: string; limit: number },
): Promise<ThreadMessage[] | null> {
  const rows = await db.read
    .selectFrom('messages')
    .innerJoin('raw_messages', 'raw_messages.id', 'messages.raw_id')
    .select((row) => [
      'messages.id',
      'messages.authentication',
      'messages.attachments',
      'messages.direction',
      'messages.raw_id',
      'raw_messages.size_bytes',
      'messages.from_addr',
      'messages.to_addr',
      'messages.to_addrs',
      'messages.header_to',
      'messages.cc',
      'messages.bcc',
      'messages.reply_to',
      'messages.is_imported',
      row
        .selectFrom('deliveries')
        .select('deliveries.id')
        .whereRef('deliveries.message_id', '=', 'messages.id')
        .limit(1)
        .as('delivery_id'),
    ])
    .where('messages.account_id', '=', input.accountId)
    .where('messages.thread_id', '=', input.threadId)
    .orderBy('messages.created_at')
    .orderBy('messages.id')
    .limit(input.limit + 1)
    .execute()
  if (rows.length > input.limit) return null
  return rows
    .filter((row) => row.direction === 'inbound' || row.delivery_id !== null)
    .map((row) => ({
      id: row.id,
      isReceived: row.direction === 'inbound',
      isImported: row.is_imported !== null,
      isVerified: isVerified(row.authentication),
      hasFiles: row.attachments !== '[]',
      rawId: row.raw_id,
      sizeBytes: row.size_bytes,
      from: row.from_addr,
      to:
        row.direction === 'inbound'
          ? [row.header_to ?? '']
          : row.to_addrs === null
            ? [row.to_addr]
            : (JSON.parse(row.to_addrs) as string[]),
      cc: JSON.parse(row.cc) as string[],
      bcc: hiddenRecipientsOf(row),
      replyTo: row.reply_to,
    }))
}

function isVerified(authentication: string | null): boolean {
  return authentication !== null && (JSON.parse(authentication) as Authentication).verifiedFrom
}
