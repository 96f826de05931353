// What the console leaves behind that has outlived its time.

import { purgeEndedSessions } from './ended-session.ts'
import { purgeMailHours } from './mail-hours.ts'
import { purgePairings } from './pairing.ts'
import type { Tx } from './tables.ts'

/** Removes up to PURGE_STEP_ROWS of each; how many of each that were. */
export async function purgeFaces(tx: Tx, nowMs: number): Promise<number[]> {
  const sessions = await purgeEndedSessions(tx, nowMs)
  return [sessions, await purgePairings(tx, nowMs), await purgeMailHours(tx, nowMs)]
}
