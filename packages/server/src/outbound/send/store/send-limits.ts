import { countPending } from '#reviews/store/pending-reviews.ts'
import type { ReadDb } from '#store/tables.ts'
import {
  endOfUtcDay,
  readCounters,
  type SendLimits,
  selectCold,
  selectColdDay,
  sendNumber,
  sendWindows,
  utcDay,
} from './check-send.ts'

/** `limit` is null if it does not apply; `resetsAtMs` is null while nothing is used. */
export type UsedLimit = { limit: number | null; used: number; resetsAtMs: number | null }

export type UsedLimits = {
  sendsPerMinute: UsedLimit
  sendsPerDay: UsedLimit
  coldRecipientsPerDay: UsedLimit
  accountColdRecipientsPerDay: UsedLimit
  heldMessages: UsedLimit
}

export async function readUsedLimits(
  db: ReadDb,
  input: { accountId: string; inboxId: string; limits: SendLimits; nowMs: number },
): Promise<UsedLimits | null> {
  const { accountId, inboxId, limits, nowMs } = input
  const [counters] = await readCounters(db.reading, { inboxId })
  if (counters === undefined) return null
  const [minute, day] = await readWindows(db, { ...input, sends: sendNumber(counters) - 1 })
  const utcDayNow = utcDay(nowMs)
  const [known, [total], held] = await Promise.all([
    selectCold(db.reading, { inboxId, utcDay: utcDayNow }),
    selectColdDay(db.reading, { accountId, utcDay: utcDayNow }),
    countPending(db, inboxId),
  ])
  const ofDay = (limit: number | null, used: number): UsedLimit => {
    return { limit, used, resetsAtMs: used === 0 ? null : endOfUtcDay(utcDayNow) }
  }
  return {
    sendsPerMinute: minute,
    sendsPerDay: day,
    coldRecipientsPerDay: ofDay(limits.coldPerDay, known.length),
    accountColdRecipientsPerDay: ofDay(limits.coldAccountPerDay, total?.recipient_count ?? 0),
    heldMessages: { limit: limits.held, ...held },
  }
}

async function readWindows(
  db: ReadDb,
  {
    inboxId,
    limits,
    nowMs,
    sends,
  }: { inboxId: string; limits: SendLimits; nowMs: number; sends: number },
): Promise<[UsedLimit, UsedLimit]> {
  const inboxSends = db.read
    .selectFrom('inbox_sends')
    .select(['send_number', 'sent_at'])
    .where('inbox_id', '=', inboxId)
  const last = await inboxSends.where('send_number', '=', sends).executeTakeFirst()
  const lastMs = last?.sent_at ?? Number.NEGATIVE_INFINITY
  const { windows } = sendWindows(limits, { lastMs, nowMs })
  const [minute, day] = await Promise.all(
    windows.map(async ({ limit, ms, afterMs, untilMs }): Promise<UsedLimit> => {
      // The limit resets when the `limit`-th newest send leaves the window, because all older sends
      // have left it by then.
      const oldest = await inboxSends
        .where('send_number', '>', sends - limit)
        .where('sent_at', '>', afterMs)
        .where('sent_at', '<=', untilMs)
        .orderBy('send_number')
        .limit(1)
        .executeTakeFirst()
      if (oldest === undefined) return { limit, used: 0, resetsAtMs: null }
      return { limit, used: sends - oldest.send_number + 1, resetsAtMs: oldest.sent_at + ms }
    }),
  )
  if (minute === undefined || day === undefined) throw new Error('A window is missing.')
  return [minute, day]
}
