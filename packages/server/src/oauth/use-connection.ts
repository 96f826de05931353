// Authenticates access tokens at the MCP endpoint, and checks each API call that a tool makes for
// scopes and inboxes, whatever the tools offer.

import type { OperationId } from '@mailroom/contract/operations.ts'
import { ACCESS_TOKEN_PREFIX } from '@mailroom/contract/vocabulary.ts'
import { Cache } from '#platform/cache.ts'
import { notFound, problem } from '#platform/problem.ts'
import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import type { Store } from '#store/store.ts'
import type { ReadDb } from '#store/tables.ts'
import { hashSecret } from './model.ts'
import { isPermitted, namedInboxes } from './permitted-operations.ts'
import type { From, RecordStep } from './record-step.ts'
import { type Connection, findByAccessToken, touchConnection } from './store/connections.ts'

/** The caller behind an access token, limited to what a person granted. */
export type Grant = Pick<Connection, 'accountId' | 'keyId' | 'scopes' | 'inboxIds'> & {
  /** Whether the connection has been neither revoked nor expired since the request began. */
  isLive(): Promise<boolean>
  /** Throws `forbidden` for an operation that no scope of the grant needs. */
  requireScope(operationId: OperationId | undefined): void
  /** Throws `not_found` for an object of an inbox that was not granted. */
  requireReach(operationId: OperationId, named: Named): Promise<void>
}

type Named = {
  readonly path: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
}

export type Connections = {
  /** Null if the token is not an access token, has expired or was revoked. */
  authenticate(token: string, from: From): Promise<Grant | null>
}

const TOUCH_EVERY_MS = MINUTE_MS
/** A request that is shorter is as good as one before the revocation. */
const UNCHECKED_MS = SECOND_MS / 2
const TOUCHED_MAX = 10_000

export function openConnections(deps: Store & { recordStep: RecordStep }): Connections {
  const { db, clock, log, recordStep } = deps
  const touched = new Cache<true>({ entriesMax: TOUCHED_MAX, now: () => clock.monotonic() })
  const touch = async (connection: Connection, from: From) => {
    const { id, accountId, lastUsedAtMs } = connection
    if (touched.get(id) !== null) return
    touched.set(id, true, { ttlMs: TOUCH_EVERY_MS })
    await db.write(touchConnection, { id, accountId, nowMs: clock.now() })
    if (lastUsedAtMs === null) await recordStep({ step: 'call', from, connection })
  }
  return {
    async authenticate(token, from) {
      if (!token.startsWith(ACCESS_TOKEN_PREFIX)) return null
      const asked = { tokenHash: hashSecret(token), nowMs: clock.now() }
      const connection = await findByAccessToken(db, asked)
      if (connection === null) return null
      const noted = touch(connection, from).catch((error) => {
        touched.delete(connection.id)
        log.debug({ error }, 'the last use of a connection was not noted')
      })
      if (connection.lastUsedAtMs === null) await noted
      const beganMs = clock.monotonic()
      return grantOf(db, connection, async () => {
        if (clock.monotonic() - beganMs < UNCHECKED_MS) return true
        return (await findByAccessToken(db, { ...asked, nowMs: clock.now() })) !== null
      })
    },
  }
}

function grantOf(
  db: ReadDb,
  { accountId, keyId, scopes, inboxIds }: Connection,
  isLive: () => Promise<boolean>,
): Grant {
  return {
    ...{ accountId, keyId, scopes, inboxIds },
    isLive,
    requireScope(operationId) {
      if (operationId !== undefined && isPermitted(operationId, scopes)) return
      throw problem('forbidden', 'The connection was not granted this operation.', {
        fix: 'Connect the assistant again and grant more, or use an API key.',
      })
    },
    async requireReach(operationId, named) {
      if (inboxIds === null) return
      const reached = await namedInboxes(db, { accountId, operationId, ...named })
      if (!reached.every((id) => id !== null && inboxIds.includes(id))) throw notFound()
    },
  }
}
