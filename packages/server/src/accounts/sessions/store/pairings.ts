// Pairings. The transaction that creates a key returns the token once, so that none is stored.

import {
  ACTIVE_KEYS_MAX,
  findActiveKeys,
  insertKey,
  listKeys,
  type NewKey,
} from '#accounts/store/keys.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { type ReadDb, type Row, readIn, type Tx } from '#store/tables.ts'

export type Pairing = {
  userCode: string
  clientName: string | null
  clientAddress: string
  createdAtMs: number
  expiresAtMs: number
}

/** Maximum pending pairings, over all addresses. */
const PAIRINGS_PENDING_MAX = 10_000

/** Returns `taken` if another pairing has this code, `too_many` at PAIRINGS_PENDING_MAX. */
export const insertPairing = transaction({
  name: 'startPairing',
  accountOf: () => null,
  async run(
    tx: Tx,
    input: {
      requestHash: Uint8Array
      userCode: string
      clientName: string | null
      clientAddress: string
      nowMs: number
      expiresAtMs: number
    },
  ): Promise<'started' | 'taken' | 'too_many'> {
    const { waiting } = await tx.query
      .selectFrom('pairings')
      .select(({ fn }) => fn.countAll<number>().as('waiting'))
      .where('expires_at', '>', input.nowMs)
      .executeTakeFirstOrThrow()
    if (waiting >= PAIRINGS_PENDING_MAX) return 'too_many'
    const added = await tx.query
      .insertInto('pairings')
      .values({
        request_hash: input.requestHash,
        user_code: input.userCode,
        client_name: input.clientName,
        client_address: input.clientAddress,
        status: 'pending',
        account_id: null,
        approved_by: null,
        created_at: input.nowMs,
        expires_at: input.expiresAtMs,
      })
      .onConflict((conflict) => conflict.doNothing())
      .returning('user_code')
      .execute()
    return added.length === 1 ? 'started' : 'taken'
  },
})

export async function findPendingPairing(
  db: ReadDb,
  { userCode, nowMs }: { userCode: string; nowMs: number },
): Promise<Pairing | null> {
  const row = await db.read
    .selectFrom('pairings')
    .selectAll()
    .where('user_code', '=', userCode)
    .where('status', '=', 'pending')
    .where('expires_at', '>', nowMs)
    .executeTakeFirst()
  return row === undefined ? null : toPairing(row)
}

type Decision = { userCode: string; accountId: string; keyId: string; nowMs: number }

/** Idempotent for the same account. Returns `limit_reached` if the account has too many keys. */
export const markPairingApproved = transaction({
  name: 'approvePairing',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    { userCode, accountId, keyId, nowMs }: Decision,
  ): Promise<'approved' | 'not_found' | 'limit_reached'> {
    const row = await lockPairing(tx, userCode, nowMs)
    if (row === null || (row.status !== 'pending' && row.account_id !== accountId))
      return 'not_found'
    const { total } = await listKeys(readIn(tx), { accountId, limit: 1, offset: 0 })
    if (total >= ACTIVE_KEYS_MAX) return 'limit_reached'
    await tx.query
      .updateTable('pairings')
      .set({ status: 'approved', account_id: accountId, approved_by: keyId })
      .where('request_hash', '=', row.request_hash)
      .execute()
    return 'approved'
  },
})

/** Also ends an approved pairing if its key was not fetched. False if there is no such pairing. */
export const markPairingDenied = transaction({
  name: 'denyPairing',
  accountOf: ({ accountId }) => accountId,
  async run(tx: Tx, { userCode, accountId, nowMs }: Omit<Decision, 'keyId'>): Promise<boolean> {
    const row = await lockPairing(tx, userCode, nowMs)
    if (row === null || (row.status !== 'pending' && row.account_id !== accountId)) return false
    await removePairing(tx, row)
    return true
  },
})

type Taking = { requestHash: Uint8Array; key: Omit<NewKey, 'name'>; nowMs: number }
type Taken =
  | { outcome: 'taken'; accountId: string; approvedBy: string; pairing: Pairing }
  | { outcome: 'pending' }
  | { outcome: 'not_found' }
  | { outcome: 'limit_reached' }

/** Creates the pairing's key. Returns `not_found` if the key that approved it was revoked. */
export const takePairing = transaction({
  name: 'takePairing',
  accountOf: () => null,
  async run(tx: Tx, { requestHash, key, nowMs }: Taking): Promise<Taken> {
    const query = tx.query
      .selectFrom('pairings')
      .selectAll()
      .where('request_hash', '=', requestHash)
      .where('expires_at', '>', nowMs)
    const row = await lockRows(tx, query).executeTakeFirst()
    if (row === undefined) return { outcome: 'not_found' }
    const { account_id: accountId, approved_by: approvedBy } = row
    if (accountId === null || approvedBy === null) return { outcome: 'pending' }
    const isGood = (await findActiveKeys(readIn(tx), [approvedBy])).length === 1
    if (!isGood) {
      await removePairing(tx, row)
      return { outcome: 'not_found' }
    }
    const name = row.client_name ?? UNNAMED
    const outcome = await insertKey.run(tx, { accountId, key: { ...key, name }, nowMs })
    if (outcome === 'limit_reached') return { outcome }
    await removePairing(tx, row)
    if (outcome === 'no_account') return { outcome: 'not_found' }
    return { outcome: 'taken', accountId, approvedBy, pairing: toPairing(row) }
  },
})

const UNNAMED = 'Paired client'

async function lockPairing(
  tx: Tx,
  userCode: string,
  nowMs: number,
): Promise<Row<'pairings'> | null> {
  const query = tx.query
    .selectFrom('pairings')
    .selectAll()
    .where('user_code', '=', userCode)
    .where('expires_at', '>', nowMs)
  return (await lockRows(tx, query).executeTakeFirst()) ?? null
}

async function removePairing(tx: Tx, { request_hash }: Row<'pairings'>): Promise<void> {
  await tx.query.deleteFrom('pairings').where('request_hash', '=', request_hash).execute()
}

function toPairing(row: Row<'pairings'>): Pairing {
  return {
    userCode: row.user_code,
    clientName: row.client_name,
    clientAddress: row.client_address,
    createdAtMs: row.created_at,
    expiresAtMs: row.expires_at,
  }
}
