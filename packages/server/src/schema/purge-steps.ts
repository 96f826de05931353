import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { systemClock } from '#platform/clock.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Row, Tables, Tx } from './tables.ts'

/** Rows removed in one step of a purge, so that a large deletion never holds up mail. */
export const PURGE_STEP_ROWS = 500

type Column<Table extends keyof Tables> = keyof Row<Table> & string

/**
 * Removes up to PURGE_STEP_ROWS rows whose `time`, an indexed column, is `until` or before, the oldest first;
 * returns a column of each. `key` is the primary key. `isRenewed`: a row may be given a new time meanwhile,
 * which keeps it.
 */
export async function removeOldest<Table extends keyof Tables, Returned extends Column<Table>>(
  tx: Tx,
  table: Table,
  {
    key,
    time,
    until,
    returning,
    isRenewed = false,
  }: {
    key: readonly Column<Table>[]
    time: Column<Table>
    until: number
    returning: Returned
    isRenewed?: boolean
  },
): Promise<Row<Table>[Returned][]> {
  const columns = sql.join(key.map((column) => sql.ref(column)))
  const isOld = sql`${sql.ref(time)} <= ${until}`
  const { rows } = await sql<Row<Table>>`
    delete from ${sql.table(table)}
    where (${columns}) in (
      select ${columns} from ${sql.table(table)} where ${isOld}
      order by ${sql.ref(time)} limit ${PURGE_STEP_ROWS}
    )${isRenewed ? sql` and ${isOld}` : sql``}
    returning ${sql.ref(returning)}
  `.execute(tx.query)
  return rows.map((row) => row[returning])
}

/** Of a step's time, between two of them: a purge has a quarter of the writer's time. */
const PURGE_PAUSE_FACTOR = 3
/** Where the store stands still, no longer. */
export const PURGE_PAUSE_MS_MAX = SECOND_MS

type Pace = {
  /** Ends the steps, and the pause after one. */
  readonly signal?: AbortSignal
  readonly stepsMax?: number
  /** Asked before each step. */
  readonly mayGoOn?: (() => Promise<boolean>) | undefined
  /** False where somebody waits: the steps follow each other at once. */
  readonly isPaced?: boolean
}

/** Repeats the step until it is done; true then, false where the pace ended it. */
export async function inSteps(
  { signal, stepsMax = Number.POSITIVE_INFINITY, mayGoOn, isPaced = true }: Pace,
  step: () => Promise<{ isDone: boolean }>,
): Promise<boolean> {
  for (let count = 0; count < stepsMax && signal?.aborted !== true; count++) {
    if (mayGoOn !== undefined && !(await mayGoOn())) return false
    const { isDone } = await (isPaced ? paced(step, signal) : step())
    if (isDone) return true
  }
  return false
}

/**
 * Does a step and, unless it was the last, waits for PURGE_PAUSE_FACTOR times as long as it took, so
 * that most of what others write finds the writer free. An aborted `signal` ends the wait.
 */
export async function paced<Step extends { isDone: boolean }>(
  step: () => Promise<Step>,
  signal?: AbortSignal,
): Promise<Step> {
  const startMs = systemClock.monotonic()
  const done = await step()
  const tookMs = systemClock.monotonic() - startMs
  const waitMs = Math.min(tookMs * PURGE_PAUSE_FACTOR, PURGE_PAUSE_MS_MAX)
  // Timers are of whole milliseconds, and cut off what is beyond.
  if (!done.isDone) await pause(Math.ceil(waitMs), undefined, { signal }).catch(() => {})
  return done
}
