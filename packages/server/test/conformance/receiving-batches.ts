// Batches of arriving mail by chance, from a seed: duplicates, answers, threads, several recipients, inboxes
// that are gone and domains that were lost. And what a database holds afterwards, to be compared.

import type { ReceiveInput } from '#inbound/receive-message-rows.ts'
import { ROW_BODY_LENGTH_MAX } from '#mailbox/long-body-rows.ts'
import type { Db } from '#schema/tables.ts'
import { arriving, makeId, type Owner } from '#test/conformance/open-database.ts'

export type Target = { owner: Owner; inboxId: string; domainId: string | null }

/** Numbers from 0 below `below`; the same for the same seed (mulberry32). */
export function openDice(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** Few Message-IDs and senders, so that much of it meets. */
export function arrivingByChance(
  roll: (below: number) => number,
  targets: readonly Target[],
): ReceiveInput {
  const to = targets.filter(() => roll(targets.length) === 0)
  if (to.length === 0) to.push(targets[roll(targets.length)] as Target)
  const [first] = to as [Target]
  const key = roll(5) === 0 ? null : `key-${roll(12)}@sender.example`
  const parentKeys = Array.from({ length: roll(4) }, () => `key-${roll(14)}@sender.example`)
  const input = arriving(first.owner, [], {
    content: Buffer.from([roll(256), 0, 92, 39]),
    parentKeys,
    ...(key !== null && { key }),
  })
  const isLong = roll(12) === 0
  const isKeptOut = roll(6) === 0
  const receipts = to.map(({ owner, inboxId, domainId }) => ({
    ...owner,
    inboxId,
    domainId,
    toAddr: `${inboxId}@mailroom.localhost`,
    deliveryRole: roll(2) === 0 ? ('to' as const) : ('cc' as const),
  }))
  return {
    ...input,
    content: {
      ...input.content,
      receipt_key: roll(6) === 0 ? null : Buffer.from([roll(3)]),
      subject: `'"\\{} ${roll(1_000)} ü🙂`,
      body_length: isLong ? ROW_BODY_LENGTH_MAX + 1 : 5,
      cc: '["a@x.example"]',
      automatic_reason: roll(3) === 0 ? 'list' : null,
    },
    receipts: receipts.slice(isKeptOut ? 1 : 0).map((receipt) => ({ ...receipt, ...newIds() })),
    keptOut: receipts.slice(0, isKeptOut ? 1 : 0).map((receipt) => ({
      ...receipt,
      quarantinedId: makeId('qua'),
      reason: 'blocked',
      ruleId: null,
    })),
    senderKey: roll(4) === 0 ? null : `sender-${roll(5)}@sender.example`,
    nowMs: 1_000 + roll(1_000),
  }
}

const newIds = () => ({
  messageId: makeId('msg'),
  threadId: makeId('thr'),
  eventId: makeId('evt'),
})

const TABLES = [
  ['inbox_counters', 'inbox_id'],
  ['raw_messages', 'id'],
  ['long_bodies', 'raw_id'],
  ['threads', 'id'],
  ['thread_ranges', 'inbox_id', 'position_range'],
  ['messages', 'id'],
  ['events', 'sequence'],
  ['correspondents', 'inbox_id', 'address_key'],
  ['quarantined_messages', 'id'],
] as const

/** Every row that receiving writes, alike for both engines. */
export async function readAll(db: Db): Promise<Record<string, unknown[]>> {
  const all: Record<string, unknown[]> = {}
  for (const [table, ...order] of TABLES) {
    let query = db.read.selectFrom(table).selectAll()
    for (const column of order) query = query.orderBy(column as never)
    const rows = await query.execute()
    all[table] = rows.map((row) => {
      const columns = Object.entries(row).filter(([name]) => name !== 'transaction_id')
      return Object.fromEntries(columns.map(([name, value]) => [name, plain(value)]))
    })
  }
  return all
}

function plain(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}
