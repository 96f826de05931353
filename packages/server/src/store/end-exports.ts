import type { Tx } from './tables.ts'

/** Ends the exports of a deleted inbox or pod, so that their URLs stop working. */
export async function endExports(
  tx: Tx,
  of: { accountId: string; inboxId: string } | { accountId: string; podId: string },
  nowMs: number,
): Promise<void> {
  const ended = tx.query
    .updateTable('transfers')
    .set({
      status: 'failed',
      error: 'inbox_deleted',
      completed_at: nowMs,
      expires_at: nowMs,
    })
    .where('account_id', '=', of.accountId)
    .where('kind', '=', 'export')
    .where('status', 'in', ['queued', 'running', 'done'])
  const ofScope =
    'inboxId' in of
      ? ended.where('inbox_id', '=', of.inboxId)
      : ended.where('inbox_id', 'is', null).where('pod_id', '=', of.podId)
  await ofScope.execute()
}
