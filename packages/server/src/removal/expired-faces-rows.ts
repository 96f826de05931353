// What the console leaves behind that has outlived its time.

import { purgeEndedSessions } from '#accounts/ended-session-rows.ts'
import { purgePairings } from '#accounts/pairing-rows.ts'
import type { Tx } from '#schema/tables.ts'
import { purgeMailHours } from '#stats/mail-hours-rows.ts'

/** Removes up to PURGE_STEP_ROWS of each; how many of each that were. */
export async function purgeFaces(tx: Tx, nowMs: number): Promise<number[]> {
  const sessions = await purgeEndedSessions(tx, nowMs)
  return [sessions, await purgePairings(tx, nowMs), await purgeMailHours(tx, nowMs)]
}
