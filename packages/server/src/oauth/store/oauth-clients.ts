import { transaction } from '#platform/db/db.ts'
import { type OauthClient, oauthClients } from '#store/nouns.ts'
import type { ReadDb, Tx } from '#store/tables.ts'
import { endConnection } from './connections.ts'

export type { OauthClient }

/** Registered clients without a connection. A further one takes the place of the oldest. */
const UNUSED_CLIENTS_MAX = 10_000
const ACCOUNT_CLIENTS_MAX = 50

export const insertClient = transaction({
  name: 'createOauthClient',
  accountOf: ({ accountId }) => accountId,
  async run(tx: Tx, client: OauthClient): Promise<'created' | 'limit_reached'> {
    const of = tx.query
      .selectFrom('oauth_clients')
      .select(({ fn }) => fn.countAll<number>().as('count'))
    const { accountId } = client
    const { count } = await (accountId === null
      ? of.where('expires_at', '>', client.createdAtMs)
      : of.where('account_id', '=', accountId)
    ).executeTakeFirstOrThrow()
    if (accountId !== null && count >= ACCOUNT_CLIENTS_MAX) return 'limit_reached'
    if (accountId === null && count >= UNUSED_CLIENTS_MAX) await removeOldestUnused(tx)
    await tx.query.insertInto('oauth_clients').values(oauthClients.write(client)).execute()
    return 'created'
  },
})

/** A flood of registrations must not keep out the assistants of others. */
async function removeOldestUnused(tx: Tx): Promise<void> {
  await tx.query
    .deleteFrom('oauth_clients')
    .where('expires_at', 'is not', null)
    .where('id', 'in', (clients) =>
      clients
        .selectFrom('oauth_clients')
        .select('id')
        .where('expires_at', 'is not', null)
        .orderBy('expires_at')
        .limit(1),
    )
    .execute()
}

export async function findClient(
  db: ReadDb,
  { id, nowMs }: { id: string; nowMs: number },
): Promise<OauthClient | null> {
  const row = await db.read
    .selectFrom('oauth_clients')
    .selectAll()
    .where('id', '=', id)
    .where((is) => is.or([is('expires_at', 'is', null), is('expires_at', '>', nowMs)]))
    .executeTakeFirst()
  return row === undefined ? null : oauthClients.read(row)
}

export async function listClients(
  db: ReadDb,
  { accountId, limit, offset }: { accountId: string; limit: number; offset: number },
): Promise<{ clients: OauthClient[]; total: number }> {
  const rows = await db.read
    .selectFrom('oauth_clients')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('id', 'desc')
    .execute()
  const page = rows.slice(offset, offset + limit)
  return { clients: page.map(oauthClients.read), total: rows.length }
}

/** Also ends the client's connections. False if the account has no such client. */
export const removeClient = transaction({
  name: 'deleteOauthClient',
  accountOf: ({ accountId }) => accountId,
  essential: true,
  async run(
    tx: Tx,
    { accountId, clientId, nowMs }: { accountId: string; clientId: string; nowMs: number },
  ): Promise<boolean> {
    const removed = await tx.query
      .deleteFrom('oauth_clients')
      .where('id', '=', clientId)
      .where('account_id', '=', accountId)
      .returning('id')
      .executeTakeFirst()
    if (removed === undefined) return false
    const rows = await tx.query
      .selectFrom('connections')
      .select(['id', 'client_id'])
      .where('client_id', '=', clientId)
      .where('account_id', '=', accountId)
      .execute()
    for (const row of rows) await endConnection(tx, row, nowMs)
    return true
  },
})
