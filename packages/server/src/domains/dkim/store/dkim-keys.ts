import {
  type DkimKey,
  type DkimKeyState,
  type DkimOwner,
  dkimKeyName,
  dkimKeyRecord,
  publishedSince,
  SERVICE_OWNER,
} from '#domains/dkim/dkim-key.ts'
import type { RecordCheck } from '#domains/model.ts'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { dkimKeys } from '#store/nouns.ts'
import { type NewRow, type ReadDb, readIn, type Tx } from '#store/tables.ts'

/** Skips a key whose selector is taken. */
export async function insertDkimKeys(tx: Tx, rows: readonly NewRow<'dkim_keys'>[]): Promise<void> {
  if (rows.length === 0) return
  await tx.query
    .insertInto('dkim_keys')
    .values([...rows])
    .onConflict((conflict) => conflict.columns(['owner_id', 'domain', 'selector']).doNothing())
    .execute()
}

export async function deleteDkimKeys(tx: Tx, ownerId: string): Promise<void> {
  await tx.query.deleteFrom('dkim_keys').where('owner_id', '=', ownerId).execute()
}

/** Keys are ordered by selector; at most one is active. */
export async function listDkimKeys(db: ReadDb, owner: DkimOwner): Promise<DkimKey[]> {
  const rows = await db.read
    .selectFrom('dkim_keys')
    .select(dkimKeys.names)
    .where('owner_id', '=', owner.ownerId)
    .where('domain', '=', owner.domain)
    .orderBy('selector')
    .execute()
  return rows.map(dkimKeys.read)
}

export async function listKeysOfDomains(
  db: ReadDb,
  ownerIds: readonly string[],
): Promise<ReadonlyMap<string, DkimKey[]>> {
  if (ownerIds.length === 0) return new Map()
  const rows = await db.read
    .selectFrom('dkim_keys')
    .select(dkimKeys.names)
    .where('owner_id', 'in', ownerIds)
    .orderBy('selector')
    .execute()
  return Map.groupBy(rows.map(dkimKeys.read), ({ ownerId }) => ownerId)
}

export async function findActiveDkimKey(
  db: ReadDb,
  owner: DkimOwner,
): Promise<{ id: string; selector: string; sealedKey: Uint8Array } | null> {
  const row = await db.read
    .selectFrom('dkim_keys')
    .select(['id', 'selector', 'sealed_key as sealedKey'])
    .where('owner_id', '=', owner.ownerId)
    .where('domain', '=', owner.domain)
    .where('state', '=', 'active')
    .executeTakeFirst()
  return row ?? null
}

export async function listAllDkimKeys(db: ReadDb): Promise<DkimKey[]> {
  const rows = await db.read
    .selectFrom('dkim_keys')
    .selectAll()
    .orderBy('domain')
    .orderBy('owner_id')
    .orderBy('selector')
    .execute()
  return rows.map(dkimKeys.read)
}

/** Ordered by id. Excludes active keys of unverified domains, because they sign no mail. */
export async function listDkimKeysDue(
  db: ReadDb,
  due: { state: 'active' | 'retiring'; untilMs: number; afterId: string; limit: number },
): Promise<DkimKey[]> {
  const all = db.read
    .selectFrom('dkim_keys')
    .selectAll()
    .where('state', '=', due.state)
    .where(due.state === 'active' ? 'activated_at' : 'retired_at', '<=', due.untilMs)
    .where('id', '>', due.afterId)
    .orderBy('id')
    .limit(due.limit)
  const rows = await (due.state === 'retiring'
    ? all
    : all.where(({ or, eb, exists, selectFrom }) =>
        or([
          eb('owner_id', '=', SERVICE_OWNER),
          exists(
            selectFrom('domains')
              .select('domains.id')
              .whereRef('domains.id', '=', 'dkim_keys.owner_id')
              .where('domains.is_holder', '=', 1)
              .where('domains.status', 'in', ['verified', 'degraded']),
          ),
        ]),
      )
  ).execute()
  return rows.map(dkimKeys.read)
}

/** Skips taken selectors, so that processes that start at the same time agree on one set. */
export const ensureDkimKeys = transaction({
  name: 'ensureDkimKeys',
  accountOf: () => null,
  async run(tx: Tx, { rows }: { rows: readonly NewRow<'dkim_keys'>[] }): Promise<void> {
    await insertDkimKeys(tx, rows)
  },
})

/** False if another process was first or the domain is gone. */
export const switchDkimKeys = transaction({
  name: 'switchDkimKeys',
  accountOf: () => null,
  async run(
    tx: Tx,
    { activeId, standbyId, nowMs }: { activeId: string; standbyId: string; nowMs: number },
  ): Promise<boolean> {
    const inState = (id: string, state: DkimKeyState) =>
      tx.query.updateTable('dkim_keys').where('id', '=', id).where('state', '=', state)
    const retired = await inState(activeId, 'active')
      .set({ state: 'retiring', retired_at: nowMs, is_required: 0 })
      .returning('id')
      .execute()
    if (retired.length === 0) return false
    const activated = await inState(standbyId, 'standby')
      .set({ state: 'active', activated_at: nowMs, is_required: 1 })
      .returning('id')
      .execute()
    // Rolls back the retirement: a domain always has a key that signs.
    if (activated.length === 0) throw new Error(`the DKIM key ${standbyId} is no standby.`)
    return true
  },
})

/** The new key reuses the selector. False if another process was first or the domain is gone. */
export const replaceRetiredKey = transaction({
  name: 'replaceRetiredKey',
  accountOf: () => null,
  erasing: true,
  async run(tx: Tx, input: { keyId: string; row: NewRow<'dkim_keys'> }): Promise<boolean> {
    if (!(await lockOwner(tx, input.row.owner_id))) return false
    const ended = await tx.query
      .deleteFrom('dkim_keys')
      .where('id', '=', input.keyId)
      .where('state', '=', 'retiring')
      .returning('id')
      .execute()
    if (ended.length === 0) return false
    await insertDkimKeys(tx, [input.row])
    return true
  },
})

async function lockOwner(tx: Tx, ownerId: string): Promise<boolean> {
  if (ownerId === SERVICE_OWNER) return true
  const query = tx.query.selectFrom('domains').select('id').where('id', '=', ownerId)
  return (await lockRows(tx, query).executeTakeFirst()) !== undefined
}

/** Records when a check first found the keys in DNS; null if DNS no longer has them. */
export const markPublished = transaction({
  name: 'markPublished',
  accountOf: () => null,
  async run(
    tx: Tx,
    { keyIds, nowMs }: { keyIds: readonly string[]; nowMs: number | null },
  ): Promise<void> {
    if (keyIds.length === 0) return
    const update = tx.query.updateTable('dkim_keys').where('id', 'in', [...keyIds])
    await (nowMs === null
      ? update.set({ published_at: null })
      : update
          .set({ published_at: nowMs })
          // A time in the future was written before the clock was set back.
          .where(({ or, eb }) =>
            or([eb('published_at', 'is', null), eb('published_at', '>', nowMs + CLOCK_SKEW_MS)]),
          )
    ).execute()
  },
})

export async function noteKeysSeen(
  tx: Tx,
  ownerId: string,
  { checks, nowMs }: { checks: readonly RecordCheck[]; nowMs: number },
): Promise<void> {
  const keys = (await listKeysOfDomains(readIn(tx), [ownerId])).get(ownerId) ?? []
  const seen: string[] = []
  const gone: string[] = []
  for (const key of keys) {
    const [name, value] = [dkimKeyName(key), dkimKeyRecord(key)]
    const check = checks.find((one) => one.name === name && one.value === value)
    if (check === undefined) continue
    if (check.status !== 'valid') {
      if (key.publishedAtMs !== null) gone.push(key.id)
    } else if (publishedSince(key, nowMs) === null) seen.push(key.id)
  }
  await markPublished.run(tx, { keyIds: seen, nowMs })
  // Caches keep the negative answer, so a key that returns later has to settle again.
  await markPublished.run(tx, { keyIds: gone, nowMs: null })
}
