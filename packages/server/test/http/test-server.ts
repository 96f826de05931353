// The HTTP server alone, on a free port, with handlers that answer with their input.

import type { Operation } from '@mailroom/contract/operation.ts'
import { type OperationId, operationIds, operationOf } from '@mailroom/contract/operations.ts'
import type { Sessions, SignedIn } from '#accounts/sessions/sign-in.ts'
import type { RequestPorts } from '#api/routes.ts'
import { type HttpServer, type HttpServerOptions, openHttpServer } from '#api/server.ts'
import { EventReaders, type EventReadersOptions } from '#http/event-readers.ts'
import type { Handlers } from '#http/handler.ts'
import { openOwnBudgets } from '#limits/budgets.ts'
import { systemClock } from '#platform/clock.ts'
import { type Log, silentLog } from '#platform/log.ts'
import { SOCKETS_PER_ACCOUNT_MAX } from '#streams/event-stream.ts'

export const GOOD_KEY = 'mr_good0000000000000000000000000000000000000'
const GOOD_APPROVER = 'mra_good000000000000000000000000000000000000'
export const OPERATOR_TOKEN = 'operator-token-of-the-test'

/** A credential that may call the operation. */
export function tokenFor({ auth }: Pick<Operation, 'auth'>): string {
  if (auth === 'approver') return GOOD_APPROVER
  return auth === 'operator' ? OPERATOR_TOKEN : GOOD_KEY
}

export type TestServer = HttpServer & {
  /** `null` as the token sends none; GOOD_KEY unless given. */
  request(path: string, init?: RequestInit & { token?: string | null }): Promise<Response>
  [Symbol.asyncDispose](): Promise<void>
}

export type TestServerOptions = Partial<Omit<HttpServerOptions, 'ports'>> & {
  answers?: Partial<Handlers>
  ports?: Partial<RequestPorts>
}

/** Close it, or the test run does not end. */
export async function openTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { answers, ports, ...rest } = options
  let requests = 0
  const server = await openHttpServer({
    host: '127.0.0.1',
    port: 0,
    started: Promise.resolve(),
    handlers: { ...echoes(), ...answers },
    ports: { ...quietPorts, ...ports },
    readers: openReaders({}),
    budgets: openOwnBudgets(rest.clock ?? systemClock),
    authenticate: async (token) =>
      token === GOOD_KEY
        ? { accountId: 'acc_1', actor: { kind: 'key', keyId: 'key_1' } }
        : token === GOOD_APPROVER
          ? { accountId: 'acc_1', actor: { kind: 'approver', approverId: 'apr_1' } }
          : null,
    sessions: quietSessions,
    console: null,
    oauth: null,
    operatorToken: OPERATOR_TOKEN,
    inboxDomain: 'mailroom.example',
    publicUrl: () => 'http://mailroom.example',
    clock: systemClock,
    makeRequestId: () => `req_${++requests}`,
    log: silentLog,
    limits: { apiPerMinute: 1_000, failedAuthPerMinute: 60 },
    ...rest,
  })
  return {
    ...server,
    request(path, { token = GOOD_KEY, ...init } = {}) {
      const headers = new Headers(init.headers)
      if (token !== null) headers.set('authorization', `Bearer ${token}`)
      return fetch(`${server.address}${path}`, { ...init, headers })
    },
    [Symbol.asyncDispose]: () => server.close(0),
  }
}

/** Accepts every key, with ten connections of each kind at once. */
export function openReaders(options: Partial<EventReadersOptions>): EventReaders {
  const budgets = openOwnBudgets(systemClock)
  const slotsOf = (name: string) => budgets.openSlots({ name, limit: SOCKETS_PER_ACCOUNT_MAX })
  return new EventReaders({
    slots: { socket: slotsOf('sockets'), stream: slotsOf('streams') },
    findGoodKeys: async (keyIds) => keyIds,
    log: silentLog,
    ...options,
  })
}

/** Headers of a signed-in browser. */
export const GOOD_SESSION = { cookie: 'mailroom_session=good', 'x-csrf-token': 'token' }

const person: SignedIn = {
  session: {
    accountId: 'acc_1',
    actor: { kind: 'key', keyId: 'key_1' },
    csrfToken: 'token',
    expiresAtMs: 1,
  },
  approver: null,
  account: {
    id: 'acc_1',
    name: 'one',
    plan: 'free',
    filterMode: 'none',
    retentionDays: null,
    undoSeconds: 0,
    createdAtMs: 0,
  },
  key: {
    id: 'key_1',
    name: null,
    tokenPrefix: 'mr_good',
    last4: '0000',
    createdAtMs: 0,
    lastUsedAtMs: null,
  },
}

/** There is one person who can sign in. */
const quietSessions: Sessions = {
  create: async () => ({ ...person, cookie: 'good' }),
  find: async (cookie) => (cookie === 'good' ? person : null),
  end: async () => {},
}

/** An account without events. */
const quietPorts: RequestPorts = {
  findReplay: async () => null,
  isSandbox: () => true,
  checkFilter: async () => ({
    kind: 'filter',
    filter: { kinds: [], podIds: [], inboxIds: [], categories: [] },
    unknownKinds: [],
  }),
  openEventStream: () => ({
    subscribe: async ({ onAccepted }) => {
      onAccepted({ lastEventId: 'evt_1', notice: null })
      return 'subscribed'
    },
    unsubscribe: () => 'unsubscribed',
    resume() {},
    close() {},
  }),
}

/** Handlers that answer with their input and context. */
function echoes(): Handlers {
  const echo = (input: unknown, context: unknown) => ({ input, context })
  const binary = () => ({ headers: { 'content-type': 'text/plain' }, content: 'bytes' })
  const once = (input: unknown, context: unknown) => ({
    isReplay: false,
    body: { input, context },
  })
  const oneOf = (status: number) => (input: unknown, context: unknown) => ({
    status,
    body: { input, context },
  })
  const echoOf = (id: OperationId) => {
    const { success, otherSuccess, hasEtag, needsIdempotencyKey } = operationOf(id)
    if ('mediaType' in success) return binary
    if (otherSuccess !== undefined) return oneOf(success.status)
    if (hasEtag) return oneOf(success.status)
    return needsIdempotencyKey ? once : echo
  }
  return Object.fromEntries(
    operationIds.map((id): [string, unknown] => [id, echoOf(id)]),
  ) as Handlers
}

/** JSON of an answer, read as an error body. */
export async function errorOf(response: Response): Promise<Record<string, unknown>> {
  return (await response.json()) as Record<string, unknown>
}

export type LoggedLine = { level: string; fields: Readonly<Record<string, unknown>>; text: string }

/** A log that keeps its lines. */
export function keepingLog(): { log: Log; lines: LoggedLine[] } {
  const lines: LoggedLine[] = []
  const at = (level: string) => (fields: Readonly<Record<string, unknown>>, text: string) => {
    lines.push({ level, fields, text })
  }
  const log: Log = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  }
  return { log, lines }
}
