import { USAGE_DAYS_MAX } from '@mailroom/contract/usage.ts'
import type { Handlers } from '#http/handler.ts'
import { readFileBytes, readStored } from '#mailbox/messages/store/stored-bytes.ts'
import { type Clock, presentTime } from '#platform/clock.ts'
import { wrongQuery } from '#platform/problem.ts'
import { DAY_MS } from '#platform/units.ts'
import { findUncounted, sumMailHours } from '#stats/store/stats.ts'
import { type Days, listInboxUsage } from '#stats/store/usage.ts'
import type { Db } from '#store/tables.ts'

/** The default number of days, including today. */
const DAYS_DEFAULT = 30

export function usageHandlers(deps: { db: Db; clock: Clock }): Pick<Handlers, 'usage.get'> {
  return {
    'usage.get': async ({ query }, { accountId }) => {
      const { group_by: groupBy = 'account', limit, offset } = query
      const nowMs = deps.clock.now()
      const range = readDays(query, nowMs)
      const days = { accountId, ...range }
      const [{ sinceMs: uncountedMs }, { entries, ...counted }] = await Promise.all([
        findUncounted(deps.db, groupBy === 'inbox' ? 'inbox_days' : 'figures'),
        groupBy === 'inbox'
          ? listInboxUsage(deps.db, { ...days, limit, offset })
          : readAccountUsage(deps.db, days, offset),
      ])
      return {
        from: presentTime(range.sinceMs),
        to: presentTime(range.untilMs),
        groupBy,
        data: entries,
        ...counted,
        asOf: presentTime(Math.min(nowMs, uncountedMs ?? nowMs)),
      }
    },
  }
}

async function readAccountUsage(db: Db, days: Days, offset: number) {
  const [totals, stored, fileBytes] = await Promise.all([
    sumMailHours(db, days),
    readStored(db, days.accountId),
    readFileBytes(db, days.accountId),
  ])
  const storedBytes = stored.storedBytes + fileBytes
  const entries = [{ inboxId: null, address: null, ...totals, storedBytes }]
  return { entries: entries.slice(offset), total: 1, totals }
}

/** Throws `bad_request` for dates that do not exist, are in the wrong order or too far apart. */
function readDays(
  { from, to }: { from?: string | undefined; to?: string | undefined },
  nowMs: number,
): { sinceMs: number; untilMs: number } {
  const endMs = to === undefined ? dayOf(nowMs) : readTime(to, 'to')
  const lastMs = dayOf(endMs)
  const startMs = from === undefined ? lastMs - (DAYS_DEFAULT - 1) * DAY_MS : readTime(from, 'from')
  const firstMs = dayOf(startMs)
  if (firstMs > lastMs) throw wrongQuery('from', 'must not be after to')
  const untilMs = lastMs + DAY_MS
  // A date without a time extends to the end of its day.
  const lengthMs = (to?.includes('T') ? endMs : untilMs) - startMs
  if (lengthMs > USAGE_DAYS_MAX * DAY_MS) {
    throw wrongQuery('from', `must not be more than ${USAGE_DAYS_MAX} days before the end of to`)
  }
  return { sinceMs: firstMs, untilMs }
}

function readTime(text: string, name: string): number {
  const timeMs = Date.parse(text)
  const [date = ''] = text.split('T')
  // The parser reads 30 February as 2 March.
  const isReal = !Number.isNaN(timeMs) && presentTime(Date.parse(date)).startsWith(date)
  if (!isReal) throw wrongQuery(name, 'must be a date that exists')
  return timeMs
}

function dayOf(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS) * DAY_MS
}
