import { transaction } from '#platform/db/db.ts'
import { DAY_MS } from '#platform/units.ts'
import { type ConnectionStep, connectionSteps } from '#store/nouns.ts'
import type { ReadDb, Tx } from '#store/tables.ts'

export type { ConnectionStep }

export const STEPS_KEPT_MS = 7 * DAY_MS

export const insertStep = transaction({
  name: 'recordConnectionStep',
  accountOf: ({ accountId }) => accountId,
  async run(tx: Tx, step: ConnectionStep): Promise<void> {
    await tx.query.insertInto('connection_steps').values(connectionSteps.write(step)).execute()
  },
})

/** Newest first. Steps of no account are shown without their client, which may be another's. */
export async function listSteps(
  db: ReadDb,
  {
    accountId,
    limit,
    offset,
    nowMs,
  }: {
    accountId: string
    limit: number
    offset: number
    nowMs: number
  },
): Promise<{ steps: ConnectionStep[]; total: number }> {
  const visible = db.read
    .selectFrom('connection_steps')
    .where('occurred_at', '>', nowMs - STEPS_KEPT_MS)
    .where((is) => is.or([is('account_id', '=', accountId), is('account_id', 'is', null)]))
  const { total } = await visible
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  const rows = await visible.selectAll().orderBy('id', 'desc').limit(limit).offset(offset).execute()
  const steps = rows.map(connectionSteps.read).map((step) => {
    if (step.accountId !== null) return step
    return { ...step, clientId: null, clientName: null, connectionId: null }
  })
  return { steps, total }
}
