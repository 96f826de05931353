import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { systemClock } from '#platform/clock.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Row, Tables, Tx } from './tables.ts'

/** Rows removed in one step of a purge, so that a large deletion never delays mail. */
export const PURGE_STEP_ROWS = 500

type Column<Table extends keyof Tables> = keyof Row<Table> & string

/** `time` must be indexed. With `isRenewed`, a row whose time grows during the step is kept. */
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

/** Pauses are this multiple of a step's time, so a purge uses a quarter of the writer's time. */
const PURGE_PAUSE_FACTOR = 3
export const PURGE_PAUSE_MS_MAX = SECOND_MS

type Pace = {
  readonly signal?: AbortSignal
  readonly stepsMax?: number
  /** Called before each step; false ends the purge. */
  readonly mayContinue?: (() => Promise<boolean>) | undefined
  /** False, without pauses, if a caller is waiting. */
  readonly isPaced?: boolean
}

/** Returns false if the purge ended early. */
export async function inSteps(
  { signal, stepsMax = Number.POSITIVE_INFINITY, mayContinue, isPaced = true }: Pace,
  step: () => Promise<{ isDone: boolean }>,
): Promise<boolean> {
  for (let count = 0; count < stepsMax && signal?.aborted !== true; count++) {
    if (mayContinue !== undefined && !(await mayContinue())) return false
    const { isDone } = await (isPaced ? paced(step, signal) : step())
    if (isDone) return true
  }
  return false
}

/** Pauses for PURGE_PAUSE_FACTOR times the step's duration, to leave the writer free. */
export async function paced<Step extends { isDone: boolean }>(
  step: () => Promise<Step>,
  signal?: AbortSignal,
): Promise<Step> {
  const startMs = systemClock.monotonic()
  const done = await step()
  const tookMs = systemClock.monotonic() - startMs
  const waitMs = Math.min(tookMs * PURGE_PAUSE_FACTOR, PURGE_PAUSE_MS_MAX)
  // Timers round down to whole milliseconds.
  if (!done.isDone) await pause(Math.ceil(waitMs), undefined, { signal }).catch(() => {})
  return done
}
