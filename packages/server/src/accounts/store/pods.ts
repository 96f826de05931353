import { transaction } from '#platform/db/db.ts'
import { isIdOf } from '#platform/ids.ts'
import type { EditsOf } from '#store/columns.ts'
import { endExports } from '#store/end-exports.ts'
import { type Pod, pods } from '#store/nouns.ts'
import { deleteRulesOf, hasPolicy } from '#store/own-policy.ts'
import { type ReadDb, type Row, readIn, type Tx } from '#store/tables.ts'
import { changeAccountTotal, lockAccount } from './accounts.ts'
import type { Actor } from './actor.ts'
import { needsApprover } from './authority.ts'

export type { Pod }

/** Far above normal use; it bounds what one key can create. */
const PODS_MAX = 10_000

export type PodRefusal = 'not_found' | 'client_id_taken' | 'too_many_pods'

export const insertPod = transaction({
  name: 'createPod',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: EditsOf<typeof pods> & { accountId: string; podId: string; nowMs: number },
  ): Promise<Pod | PodRefusal> {
    const account = await lockAccount(tx, input.accountId)
    if (account === null) return 'not_found'
    if (account.pod_count >= PODS_MAX) return 'too_many_pods'
    if (await isClientIdTaken(tx, input, null)) return 'client_id_taken'
    const row = await tx.query
      .insertInto('pods')
      .values({
        ...pods.edit(input),
        ...pods.write({ id: input.podId, isDefault: false, createdAtMs: input.nowMs }),
        account_id: input.accountId,
      })
      .returning(pods.names)
      .executeTakeFirstOrThrow()
    await changeAccountTotal(tx, input.accountId, { column: 'pod_count', by: 1 })
    return pods.read(row)
  },
})

/** Changes the given fields; null clears a field. `pod` is an id or a `clientId`. */
export const changePod = transaction({
  name: 'updatePod',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    input: EditsOf<typeof pods> & { accountId: string; pod: string },
  ): Promise<Pod | PodRefusal> {
    await lockAccount(tx, input.accountId)
    const pod = await findPodRow(readIn(tx), input.accountId, input.pod)
    if (pod === null) return 'not_found'
    const change = pods.edit(input)
    if (await isClientIdTaken(tx, input, pod.id)) return 'client_id_taken'
    if (Object.keys(change).length > 0) {
      await tx.query
        .updateTable('pods')
        .set(change)
        .where('account_id', '=', input.accountId)
        .where('id', '=', pod.id)
        .execute()
    }
    return pods.read({ ...pod, ...change })
  },
})

type PodDeletion =
  | 'deleted'
  | 'not_found'
  | 'default_pod'
  | 'pod_not_empty'
  | 'pod_has_domains'
  | 'approver_required'

/** Removes an empty pod. The default pod is never removed. */
export const removePod = transaction({
  name: 'deletePod',
  accountOf: ({ accountId }) => accountId,
  erasing: true,
  async run(
    tx: Tx,
    input: { accountId: string; pod: string; actor: Actor; nowMs: number },
  ): Promise<PodDeletion> {
    await lockAccount(tx, input.accountId)
    const pod = await findPodRow(readIn(tx), input.accountId, input.pod)
    if (pod === null) return 'not_found'
    if (pod.is_default === 1) return 'default_pod'
    if (pod.inbox_count > 0) return 'pod_not_empty'
    if (pod.domain_count > 0) return 'pod_has_domains'
    // A new pod could have the same clientId, but would not have the policy.
    if (await hasPolicy(tx, 'pods', pod)) {
      if (await needsApprover(tx, input.accountId, input.actor)) return 'approver_required'
    }
    await deleteRulesOf(tx, input.accountId, { podId: pod.id })
    await endExports(tx, { accountId: input.accountId, podId: pod.id }, input.nowMs)
    await tx.query
      .deleteFrom('pods')
      .where('account_id', '=', input.accountId)
      .where('id', '=', pod.id)
      .execute()
    // Addresses that were reserved for this pod are free for the whole account.
    await tx.query
      .updateTable('released_addresses')
      .set({ account_id: input.accountId, pod_id: null })
      .where((row) => row.or([row('pod_id', '=', pod.id), row('account_id', '=', pod.id)]))
      .execute()
    await changeAccountTotal(tx, input.accountId, { column: 'pod_count', by: -1 })
    return 'deleted'
  },
})

/** Lists the default pod first, then the newest pods. */
export async function listPods(
  db: ReadDb,
  input: { accountId: string; limit: number; offset: number },
): Promise<{ pods: Pod[]; total: number }> {
  const rows = await db.read
    .selectFrom('pods')
    .selectAll()
    .where('account_id', '=', input.accountId)
    .orderBy('is_default', 'desc')
    .orderBy('id', 'desc')
    .limit(input.limit)
    .offset(input.offset)
    .execute()
  const account = await db.read
    .selectFrom('accounts')
    .select('pod_count')
    .where('id', '=', input.accountId)
    .executeTakeFirst()
  return { pods: rows.map(pods.read), total: account?.pod_count ?? 0 }
}

export async function findPod(db: ReadDb, accountId: string, pod: string): Promise<Pod | null> {
  const row = await findPodRow(db, accountId, pod)
  return row === null ? null : pods.read(row)
}

/** The keys of the result are the ids or `clientId`s as given. */
export async function findPodIds(
  db: ReadDb,
  accountId: string,
  named: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db.read
    .selectFrom('pods')
    .select(['id', 'client_id'])
    .where('account_id', '=', accountId)
    .where(({ eb, or }) => or([eb('id', 'in', named), eb('client_id', 'in', named)]))
    .execute()
  const ids = new Map<string, string>()
  for (const { id, client_id: clientId } of rows) {
    ids.set(id, id)
    if (clientId !== null && !isIdOf('pod', clientId)) ids.set(clientId, id)
  }
  return ids
}

export async function findPodRow(
  db: ReadDb,
  accountId: string,
  pod: string,
): Promise<Row<'pods'> | null> {
  const column = isIdOf('pod', pod) ? 'id' : 'client_id'
  const row = await db.read
    .selectFrom('pods')
    .selectAll()
    .where('account_id', '=', accountId)
    .where(column, '=', pod)
    .executeTakeFirst()
  return row ?? null
}

export async function defaultPodRow(tx: Tx, accountId: string): Promise<Row<'pods'>> {
  return tx.query
    .selectFrom('pods')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('is_default', '=', 1)
    .executeTakeFirstOrThrow()
}

export async function changePodTotal(
  tx: Tx,
  { accountId, podId }: { accountId: string; podId: string },
  { column, by }: { column: 'inbox_count' | 'domain_count'; by: 1 | -1 },
): Promise<void> {
  await tx.query
    .updateTable('pods')
    .set((row) => ({ [column]: row(column, '+', by) }))
    .where('account_id', '=', accountId)
    .where('id', '=', podId)
    .execute()
}

async function isClientIdTaken(
  tx: Tx,
  { accountId, clientId }: { accountId: string; clientId?: string | null },
  exceptPodId: string | null,
): Promise<boolean> {
  if (clientId == null) return false
  const other = await tx.query
    .selectFrom('pods')
    .select('id')
    .where('account_id', '=', accountId)
    .where('client_id', '=', clientId)
    .executeTakeFirst()
  return other !== undefined && other.id !== exceptPodId
}
