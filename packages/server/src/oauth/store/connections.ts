// Connections and their tokens. A code is redeemed, and a token refreshed, in one transaction that
// locks the connection, so that parallel requests see each other.

import type { ConnectionScope } from '@mailroom/contract/vocabulary.ts'
import { lockAccount } from '#accounts/store/accounts.ts'
import { findActiveKeys } from '#accounts/store/keys.ts'
import { REFRESH_TOKEN_MS, REUSE_GRACE_MS, UNUSED_CLIENT_MS } from '#oauth/model.ts'
import { transaction } from '#platform/db/db.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { type Connection, connections } from '#store/nouns.ts'
import { PURGE_STEP_ROWS, removeOldest } from '#store/purge-steps.ts'
import { type ReadDb, type Row, readIn, type Tx } from '#store/tables.ts'
import { STEPS_KEPT_MS } from './connection-steps.ts'

export type { Connection }

const CONNECTIONS_MAX = 500

export type NewConnection = {
  connection: Connection
  redirectUri: string
  codeChallenge: string
  codeHash: Uint8Array
  codeExpiresAtMs: number
}

/** Keeps the client from expiring, and assigns the steps of its sign-in to the account. */
export const insertConnection = transaction({
  name: 'createConnection',
  accountOf: ({ connection }) => connection.accountId,
  async run(
    tx: Tx,
    { connection, redirectUri, codeChallenge, codeHash, codeExpiresAtMs }: NewConnection,
  ): Promise<'created' | 'no_key' | 'limit_reached'> {
    const { accountId, keyId, clientId, createdAtMs } = connection
    if ((await lockAccount(tx, accountId)) === null) return 'no_key'
    if ((await findActiveKeys(readIn(tx), [keyId])).length === 0) return 'no_key'
    const { count } = await tx.query
      .selectFrom('connections')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('account_id', '=', accountId)
      .where('ends_at', '>', createdAtMs)
      .executeTakeFirstOrThrow()
    if (count >= CONNECTIONS_MAX) return 'limit_reached'
    await tx.query
      .insertInto('connections')
      .values({
        ...connections.write(connection),
        redirect_uri: redirectUri,
        code_challenge: codeChallenge,
        code_hash: codeHash,
        redeemed_at: null,
        ends_at: codeExpiresAtMs,
      })
      .execute()
    const registered = await tx.query
      .updateTable('oauth_clients')
      .set({ expires_at: null })
      .where('id', '=', clientId)
      .returning('id')
      .executeTakeFirst()
    if (registered === undefined) return 'created'
    await tx.query
      .updateTable('connection_steps')
      .set({ account_id: accountId })
      .where('client_id', '=', clientId)
      .where('account_id', 'is', null)
      .execute()
    return 'created'
  },
})

/** The digests of the tokens to issue. */
export type NewTokens = {
  access: { hash: Uint8Array; expiresAtMs: number }
  refresh: Uint8Array
}

export type Issued =
  | { outcome: 'issued'; connection: Connection; scopes: ConnectionScope[] }
  | { outcome: 'unknown' | 'expired' }
  | { outcome: 'mismatch' | 'reused' | 'scope_exceeded'; connection: Connection }

type Redeeming = {
  codeHash: Uint8Array
  clientId: string
  redirectUri: string | null
  codeChallenge: string
  tokens: NewTokens
  nowMs: number
}

/** A second use ends the connection (RFC 6749 §4.1.2). */
export const redeemCode = transaction({
  name: 'redeemCode',
  accountOf: () => null,
  async run(tx: Tx, input: Redeeming): Promise<Issued> {
    const { codeHash, clientId, redirectUri, codeChallenge, tokens, nowMs } = input
    const query = tx.query.selectFrom('connections').selectAll().where('code_hash', '=', codeHash)
    const row = await lockRows(tx, query).executeTakeFirst()
    if (row === undefined) return { outcome: 'unknown' }
    const connection = connections.read(row)
    if (row.redeemed_at !== null) {
      await endConnection(tx, row, nowMs)
      return { outcome: 'reused', connection }
    }
    if (row.ends_at <= nowMs || !(await isKeyActive(tx, row))) return { outcome: 'expired' }
    const isMatch =
      row.client_id === clientId &&
      row.code_challenge === codeChallenge &&
      (redirectUri === null || row.redirect_uri === redirectUri)
    if (!isMatch) return { outcome: 'mismatch', connection }
    await issue(tx, row, { tokens, scopes: connection.scopes, nowMs })
    return { outcome: 'issued', connection, scopes: connection.scopes }
  },
})

type Refreshing = {
  tokenHash: Uint8Array
  clientId: string
  /** Null for all scopes of the connection. */
  scopes: ConnectionScope[] | null
  tokens: NewTokens
  nowMs: number
}

/** A use later than REUSE_GRACE_MS after the first one ends the connection (RFC 9700 §4.14.2). */
export const refreshTokens = transaction({
  name: 'refreshTokens',
  accountOf: () => null,
  async run(tx: Tx, { tokenHash, clientId, scopes, tokens, nowMs }: Refreshing): Promise<Issued> {
    const found = await lockToken(tx, tokenHash)
    if (found === null || found.token.kind !== 'refresh') return { outcome: 'unknown' }
    const { token, row } = found
    const connection = connections.read(row)
    if (row.client_id !== clientId) return { outcome: 'mismatch', connection }
    if (token.expires_at <= nowMs || row.ends_at <= nowMs || !(await isKeyActive(tx, row))) {
      return { outcome: 'expired' }
    }
    if (token.replaced_at !== null && nowMs - token.replaced_at > REUSE_GRACE_MS) {
      await endConnection(tx, row, nowMs)
      return { outcome: 'reused', connection }
    }
    const granted = scopes ?? connection.scopes
    if (!granted.every((scope) => connection.scopes.includes(scope))) {
      return { outcome: 'scope_exceeded', connection }
    }
    if (token.replaced_at === null) {
      await tx.query
        .updateTable('connection_tokens')
        .set({ replaced_at: nowMs })
        .where('token_hash', '=', tokenHash)
        .execute()
    }
    await issue(tx, row, { tokens, scopes: granted, nowMs })
    return { outcome: 'issued', connection, scopes: granted }
  },
})

async function isKeyActive(tx: Tx, row: Row<'connections'>): Promise<boolean> {
  return (await findActiveKeys(readIn(tx), [row.key_id])).length === 1
}

async function issue(
  tx: Tx,
  row: Row<'connections'>,
  { tokens, scopes, nowMs }: { tokens: NewTokens; scopes: ConnectionScope[]; nowMs: number },
): Promise<void> {
  const endsAt = Math.min(nowMs + REFRESH_TOKEN_MS, row.expires_at ?? Number.POSITIVE_INFINITY)
  const shared = { connection_id: row.id, account_id: row.account_id, replaced_at: null }
  await tx.query
    .insertInto('connection_tokens')
    .values([
      {
        ...shared,
        token_hash: tokens.access.hash,
        kind: 'access',
        scopes: JSON.stringify(scopes),
        expires_at: Math.min(tokens.access.expiresAtMs, endsAt),
      },
      {
        ...shared,
        token_hash: tokens.refresh,
        kind: 'refresh',
        scopes: row.scopes,
        expires_at: endsAt,
      },
    ])
    .execute()
  await tx.query
    .updateTable('connections')
    .set({ redeemed_at: row.redeemed_at ?? nowMs, ends_at: endsAt })
    .where('id', '=', row.id)
    .execute()
}

async function lockToken(
  tx: Tx,
  tokenHash: Uint8Array,
): Promise<{ token: Row<'connection_tokens'>; row: Row<'connections'> } | null> {
  const find = () =>
    tx.query
      .selectFrom('connection_tokens')
      .selectAll()
      .where('token_hash', '=', tokenHash)
      .executeTakeFirst()
  const named = await find()
  if (named === undefined) return null
  const query = tx.query.selectFrom('connections').selectAll().where('id', '=', named.connection_id)
  const row = await lockRows(tx, query).executeTakeFirst()
  // Read again, because another request may have used the token before the lock.
  const token = await find()
  return row === undefined || token === undefined ? null : { token, row }
}

/**
 * RFC 7009 §2.1: a refresh token ends its connection, an access token only itself. Does nothing if
 * the token is not the client's.
 */
export const revokeToken = transaction({
  name: 'revokeToken',
  accountOf: () => null,
  essential: true,
  async run(
    tx: Tx,
    { tokenHash, clientId, nowMs }: { tokenHash: Uint8Array; clientId: string; nowMs: number },
  ): Promise<void> {
    const found = await lockToken(tx, tokenHash)
    if (found === null || found.row.client_id !== clientId) return
    if (found.token.kind === 'refresh') await endConnection(tx, found.row, nowMs)
    else {
      await tx.query.deleteFrom('connection_tokens').where('token_hash', '=', tokenHash).execute()
    }
  },
})

/** False if the account has no such connection. */
export const revokeConnection = transaction({
  name: 'revokeConnection',
  accountOf: ({ accountId }) => accountId,
  essential: true,
  async run(
    tx: Tx,
    { accountId, id, nowMs }: { accountId: string; id: string; nowMs: number },
  ): Promise<boolean> {
    const query = tx.query
      .selectFrom('connections')
      .selectAll()
      .where('id', '=', id)
      .where('account_id', '=', accountId)
    const row = await lockRows(tx, query).executeTakeFirst()
    if (row === undefined || row.redeemed_at === null) return false
    await endConnection(tx, row, nowMs)
    return true
  },
})

/** A registered client without another connection may be removed. */
export async function endConnection(
  tx: Tx,
  { id, client_id: clientId }: Pick<Row<'connections'>, 'id' | 'client_id'>,
  nowMs: number,
): Promise<void> {
  await tx.query.deleteFrom('connection_tokens').where('connection_id', '=', id).execute()
  await tx.query.deleteFrom('connections').where('id', '=', id).execute()
  await tx.query
    .updateTable('oauth_clients')
    .set({ expires_at: nowMs + UNUSED_CLIENT_MS })
    .where('id', '=', clientId)
    .where('account_id', 'is', null)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('connections').select('id').where('client_id', '=', clientId))),
    )
    .execute()
}

export const touchConnection = transaction({
  name: 'touchConnection',
  accountOf: ({ accountId }) => accountId,
  async run(
    tx: Tx,
    { accountId, id, nowMs }: { accountId: string; id: string; nowMs: number },
  ): Promise<void> {
    await tx.query
      .updateTable('connections')
      .set({ last_used_at: nowMs })
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .execute()
  },
})

/** Null for an unknown or expired token, or one whose connection or key has ended. */
export async function findByAccessToken(
  db: ReadDb,
  { tokenHash, nowMs }: { tokenHash: Uint8Array; nowMs: number },
): Promise<Connection | null> {
  const row = await active(db, nowMs)
    .innerJoin('connection_tokens', 'connection_tokens.connection_id', 'connections.id')
    .select('connection_tokens.scopes as token_scopes')
    .where('connection_tokens.token_hash', '=', tokenHash)
    .where('connection_tokens.kind', '=', 'access')
    .where('connection_tokens.expires_at', '>', nowMs)
    .executeTakeFirst()
  return row === undefined ? null : connections.read({ ...row, scopes: row.token_scopes })
}

/** Newest first. */
export async function listConnections(
  db: ReadDb,
  input: { accountId: string; limit: number; offset: number; nowMs: number },
): Promise<{ connections: Connection[]; total: number }> {
  const rows = await active(db, input.nowMs)
    .where('connections.account_id', '=', input.accountId)
    .orderBy('connections.id', 'desc')
    .execute()
  const page = rows.slice(input.offset, input.offset + input.limit)
  return { connections: page.map(connections.read), total: rows.length }
}

function active(db: ReadDb, nowMs: number) {
  return db.read
    .selectFrom('connections')
    .innerJoin('api_keys', (join) =>
      join
        .onRef('api_keys.id', '=', 'connections.key_id')
        .onRef('api_keys.account_id', '=', 'connections.account_id'),
    )
    .select(connections.of('connections'))
    .where('api_keys.revoked_at', 'is', null)
    .where('connections.redeemed_at', 'is not', null)
    .where('connections.ends_at', '>', nowMs)
}

/** Removes what has expired. Must be called until it returns true. */
export const purgeConnections = transaction({
  name: 'purgeConnections',
  accountOf: () => null,
  async run(tx: Tx, { nowMs }: { nowMs: number }): Promise<boolean> {
    const ended = await tx.query
      .selectFrom('connections')
      .select(['id', 'client_id'])
      .where('ends_at', '<=', nowMs)
      .orderBy('ends_at')
      .limit(PURGE_STEP_ROWS)
      .execute()
    for (const row of ended) await endConnection(tx, row, nowMs)
    const tokens = await removeOldest(tx, 'connection_tokens', {
      key: ['token_hash'],
      time: 'expires_at',
      until: nowMs,
      returning: 'connection_id',
    })
    const clients = await removeOldest(tx, 'oauth_clients', {
      key: ['id'],
      time: 'expires_at',
      until: nowMs,
      // A person may approve the client before this commits.
      isRenewed: true,
      returning: 'id',
    })
    const steps = await removeOldest(tx, 'connection_steps', {
      key: ['id'],
      time: 'occurred_at',
      until: nowMs - STEPS_KEPT_MS,
      returning: 'id',
    })
    return [ended, tokens, clients, steps].every(({ length }) => length < PURGE_STEP_ROWS)
  },
})
