// What an inbox may still send: the sliding limits on its messages and the caps on strangers, read and
// kept in the transaction of the send, which holds the inbox's lock.

import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { statement } from '#platform/db/statement.ts'
import { DAY_MS, MINUTE_MS } from '#platform/units.ts'
import type { NewRow, Tables, Tx } from '#schema/tables.ts'
import { endOfUtcDay } from './send-policy.ts'

export type SendLimits = {
  perMinute: number
  perDay: number
  /** Different strangers a day; null where only the account's cap holds. */
  coldPerDay: number | null
  coldAccountPerDay: number
}

export type TooMany = {
  kind: 'too_many'
  limit: number
  window: 'minute' | 'day'
  retryAtMs: number
}
export type TooCold = {
  kind: 'too_cold'
  limit: number
  scope: 'inbox' | 'account'
  /** Strangers among the recipients of this message alone. */
  strangers: number
  /** The midnight after which there is room again. */
  retryAtMs: number
}

/**
 * Whether send number `number` of the inbox would be one too many in some window ending now, or the
 * time at which it counts.
 */
export async function checkSendRate(
  tx: Tx,
  input: { inboxId: string; number: number; limits: SendLimits; nowMs: number },
): Promise<{ kind: 'allowed'; sentMs: number } | TooMany> {
  const { inboxId, number, limits } = input
  const windows = [
    { window: 'minute', limit: limits.perMinute, ms: MINUTE_MS },
    { window: 'day', limit: limits.perDay, ms: DAY_MS },
  ] as const
  const rows = await selectSends(tx, {
    inboxId,
    minute: number - limits.perMinute,
    day: number - limits.perDay,
    last: number - 1,
  })
  const timeOf = (wanted: number) =>
    rows.find(({ send_number }) => send_number === wanted)?.sent_at ?? Number.NEGATIVE_INFINITY
  // A time well in the future was written before the clock was set back, and says nothing.
  const isFuture = (timeMs: number) => timeMs > input.nowMs + CLOCK_SKEW_MS
  // One that took long to compose comes here with an older time than its predecessors: times that
  // were out of order would let windows slip by.
  const lastMs = timeOf(number - 1)
  const nowMs = isFuture(lastMs) ? input.nowMs : Math.max(input.nowMs, lastMs)
  let found: TooMany | null = null
  for (const { window, limit, ms } of windows) {
    // With a limit of 0 there is no send to wait for.
    const sentMs = limit === 0 ? nowMs : timeOf(number - limit)
    if (sentMs <= nowMs - ms || isFuture(sentMs)) continue
    const retryAtMs = sentMs + ms
    if (found === null || retryAtMs > found.retryAtMs) {
      found = { kind: 'too_many', limit, window, retryAtMs }
    }
  }
  return found ?? { kind: 'allowed', sentMs: nowMs }
}

/** Counts the send; of those before it only what the limits look at is kept. */
export async function countSend(
  tx: Tx,
  input: { inboxId: string; number: number; limits: SendLimits; sentMs: number },
): Promise<void> {
  const { inboxId, number, limits, sentMs } = input
  await insertSend(tx, { inbox_id: inboxId, send_number: number, sent_at: sentMs })
  const last = number - Math.max(limits.perDay, limits.perMinute)
  if (last > 0) await deleteSend(tx, { inboxId, number: last })
}

export type ColdSend = {
  accountId: string
  inboxId: string
  /** Recipients by their keys that are no inboxes of the account, each once. */
  candidates: string[]
  utcDay: number
}

type ColdCheck = ColdSend & { limits: SendLimits }
type ColdVerdict = { kind: 'allowed'; fresh: string[] } | TooCold

/**
 * Strangers among the recipients whom the inbox has not written to today, or the cap they break.
 * Takes the lock of the account's day, so that sends of its other inboxes wait.
 */
export function checkCold(tx: Tx, input: ColdCheck): Promise<ColdVerdict> {
  return judgeCold(tx, input, async ({ accountId, utcDay }) => {
    const first = { account_id: accountId, utc_day: utcDay, recipient_count: 0 }
    return openColdDay(tx, first)
  })
}

/** The same without the lock: what `checkCold` would have said a moment ago. */
export function lookAtCold(tx: Tx, input: ColdCheck): Promise<ColdVerdict> {
  return judgeCold(tx, input, ({ accountId, utcDay }) => selectColdDay(tx, { accountId, utcDay }))
}

async function judgeCold(
  tx: Tx,
  input: ColdCheck,
  readDay: (input: ColdCheck) => Promise<{ recipient_count: number }[]>,
): Promise<ColdVerdict> {
  const { inboxId, utcDay, limits } = input
  const strangers = await withoutCorrespondents(tx, inboxId, input.candidates)
  if (strangers.length === 0) return { kind: 'allowed', fresh: [] }
  const [day] = await readDay(input)
  const known = await selectCold(tx, { inboxId, utcDay })
  const keys = new Set(known.map((row) => row.address_key))
  const fresh = strangers.filter((key) => !keys.has(key))
  if (fresh.length === 0) return { kind: 'allowed', fresh }
  const retryAtMs = endOfUtcDay(utcDay)
  if (limits.coldPerDay !== null && keys.size + fresh.length > limits.coldPerDay) {
    const limit = limits.coldPerDay
    return { kind: 'too_cold', limit, scope: 'inbox', strangers: strangers.length, retryAtMs }
  }
  if ((day?.recipient_count ?? 0) + fresh.length > limits.coldAccountPerDay) {
    const limit = limits.coldAccountPerDay
    return { kind: 'too_cold', limit, scope: 'account', strangers: strangers.length, retryAtMs }
  }
  return { kind: 'allowed', fresh }
}

/** Counts strangers that `checkCold` found fresh. */
export async function countCold(tx: Tx, input: ColdSend & { fresh: string[] }): Promise<void> {
  const { accountId, inboxId, utcDay, fresh } = input
  if (fresh.length === 0) return
  for (const key of fresh) {
    await insertCold(tx, { inbox_id: inboxId, utc_day: utcDay, address_key: key })
  }
  await tx.query
    .updateTable('account_cold_days')
    .set((row) => ({ recipient_count: row('recipient_count', '+', fresh.length) }))
    .where('account_id', '=', accountId)
    .where('utc_day', '=', utcDay)
    .execute()
}

async function withoutCorrespondents(tx: Tx, inboxId: string, keys: string[]): Promise<string[]> {
  const [only] = keys
  if (only === undefined) return []
  if (keys.length === 1) {
    const [row] = await selectCorrespondent(tx, { inboxId, key: only })
    return row === undefined ? keys : []
  }
  const rows = await tx.query
    .selectFrom('correspondents')
    .select('address_key')
    .where('inbox_id', '=', inboxId)
    .where('address_key', 'in', keys)
    .execute()
  const known = new Set(rows.map((row) => row.address_key))
  return keys.filter((key) => !known.has(key))
}

const selectSends = statement<
  Tables,
  { inboxId: string; minute: number; day: number; last: number },
  { send_number: number; sent_at: number }
>((query, place) =>
  query
    .selectFrom('inbox_sends')
    .select(['send_number', 'sent_at'])
    .where('inbox_id', '=', place('inboxId'))
    .where('send_number', 'in', [place('minute'), place('day'), place('last')]),
)

const insertSend = statement<Tables, NewRow<'inbox_sends'>, never>((query, place) =>
  query.insertInto('inbox_sends').values({
    inbox_id: place('inbox_id'),
    send_number: place('send_number'),
    sent_at: place('sent_at'),
  }),
)

const deleteSend = statement<Tables, { inboxId: string; number: number }, never>((query, place) =>
  query
    .deleteFrom('inbox_sends')
    .where('inbox_id', '=', place('inboxId'))
    .where('send_number', '=', place('number')),
)

const selectCorrespondent = statement<
  Tables,
  { inboxId: string; key: string },
  { address_key: string }
>((query, place) =>
  query
    .selectFrom('correspondents')
    .select('address_key')
    .where('inbox_id', '=', place('inboxId'))
    .where('address_key', '=', place('key')),
)

const selectCold = statement<Tables, { inboxId: string; utcDay: number }, { address_key: string }>(
  (query, place) =>
    query
      .selectFrom('cold_recipients')
      .select('address_key')
      .where('inbox_id', '=', place('inboxId'))
      .where('utc_day', '=', place('utcDay')),
)

const insertCold = statement<Tables, NewRow<'cold_recipients'>, never>((query, place) =>
  query.insertInto('cold_recipients').values({
    inbox_id: place('inbox_id'),
    utc_day: place('utc_day'),
    address_key: place('address_key'),
  }),
)

const selectColdDay = statement<
  Tables,
  { accountId: string; utcDay: number },
  { recipient_count: number }
>((query, place) =>
  query
    .selectFrom('account_cold_days')
    .select('recipient_count')
    .where('account_id', '=', place('accountId'))
    .where('utc_day', '=', place('utcDay')),
)

const openColdDay = statement<Tables, NewRow<'account_cold_days'>, { recipient_count: number }>(
  (query, place) =>
    query
      .insertInto('account_cold_days')
      .values({
        account_id: place('account_id'),
        utc_day: place('utc_day'),
        recipient_count: place('recipient_count'),
      })
      .onConflict((conflict) =>
        conflict.columns(['account_id', 'utc_day']).doUpdateSet((row) => ({
          recipient_count: row.ref('account_cold_days.recipient_count'),
        })),
      )
      .returning('recipient_count'),
)
