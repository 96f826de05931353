// Every operation of the contract, with every kind of credential: who is admitted is a rule, and an operation that the
// rule does not foresee fails here.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Auth, Operation } from '@mailroom/contract/operation.ts'
import { type OperationId, operationIds, operationOf } from '@mailroom/contract/operations.ts'
import { MCP_PATH, WEB_SOCKET_PATH } from '@mailroom/contract/vocabulary.ts'
import { reviewUrl } from '#reviews/review-link.ts'
import { openSocket } from '#test/http/socket-client.ts'
import { browse, signIn } from '#test/scenarios/console-world.ts'
import { type Probe, probe } from '#test/scenarios/isolation-matrix.ts'
import { outcomeOf } from '#test/scenarios/outcomes.ts'
import { OPERATOR_TOKEN, onEachEngine, opened, openWorld, prepared } from '#test/world.ts'

/** Objects that an approver may read or decide about. */
const TAGS_OF_APPROVERS = new Set(['Threads', 'Messages', 'Attachments'])
const DECISIONS = new Set(['Approvers', 'Policy', 'Reviews'])
/** Further reads of mail, and the parts of policy at older paths. */
const OTHERS_OF_APPROVERS: ReadonlySet<string> = new Set([
  'inboxes.search',
  'account.get',
  'account.update',
  'senderRules.list',
  'senderRules.create',
  'senderRules.get',
  'senderRules.delete',
  'erasures.create',
  'erasures.get',
])

function isForApprovers(id: OperationId, { tag, method, auth }: Operation): boolean {
  if (auth === 'signature' || auth === 'none') return false
  if (OTHERS_OF_APPROVERS.has(id)) return true
  return DECISIONS.has(tag) || (TAGS_OF_APPROVERS.has(tag) && method === 'GET')
}

test('approvers may call what reads mail, policy and reviews, changes policy and decides, and nothing else', () => {
  for (const id of operationIds) {
    const operation = operationOf(id)
    const isOpen = operation.auth.includes('approver')
    assert.equal(isOpen, isForApprovers(id, operation), id)
  }
})

type Caller = 'nobody' | 'key' | 'approver' | 'operator' | 'deleted'
type Expected = 'admitted' | '401 unauthorized' | '403 forbidden' | '403 approver_required'

const OPEN = { nobody: 'admitted', key: 'admitted', approver: 'admitted' } as const
const CLOSED = { nobody: '401 unauthorized', operator: '401 unauthorized' } as const

/** Of an account with an approver. A session is expected to do what its key or token does. */
const RULES: Record<Auth, Partial<Record<Caller, Expected>>> = {
  none: { ...OPEN, operator: 'admitted', deleted: 'admitted' },
  signature: { ...OPEN, operator: 'admitted', deleted: 'admitted' },
  session: { ...CLOSED },
  operator: { nobody: '401 unauthorized', operator: 'admitted' },
  key: { ...CLOSED, key: 'admitted', approver: '403 forbidden' },
  approver: { ...CLOSED, key: '403 approver_required', approver: 'admitted' },
  'key-or-approver': { ...CLOSED, key: 'admitted', approver: 'admitted' },
  'key-or-signature': { ...CLOSED, key: 'admitted', approver: '403 forbidden' },
  'key-or-approver-or-signature': { ...CLOSED, key: 'admitted', approver: 'admitted' },
}

function expectedOf({ auth, method, path }: Operation, caller: Caller): Expected {
  // A change that is open to approvers is a decision, or loosens or tightens what holds the agent back. An erasure is one
  // only of an address that the audit names.
  const isOpenToKeys = path === '/v1/erasures' || path === '/v1/reviews/{id}/comments'
  if (auth === 'key-or-approver' && method !== 'GET' && caller === 'key' && !isOpenToKeys) {
    return '403 approver_required'
  }
  return RULES[auth][caller] ?? '401 unauthorized'
}

/** Refusals of the credential itself; every other outcome means that it was admitted. */
const REFUSALS =
  /^(?:401 |403 (?:forbidden|approver_required|forbidden_origin|invalid_csrf_token)$)/

onEachEngine('an account with an approver', (engine) => {
  const world = opened(() =>
    openWorld(engine, { env: { MAILROOM_LIMIT_FAILED_AUTH_PER_MINUTE: '100000' } }),
  )
  const approver = prepared(() => world.client.approvers.create({ name: 'Ann' }))
  const other = prepared(async () => {
    const account = await world.newAccount()
    return { ...account, approver: await account.client.approvers.create({ name: 'Bob' }) }
  })
  const deleted = prepared(async () => {
    const made = world.clientWith(approver.token).approvers
    const gone = await made.create({ name: 'Gone' })
    const session = await signIn(world, gone.token)
    await made.delete(gone.id)
    return { token: gone.token, session }
  })

  function linkToken(): string {
    const digest = 'a'.repeat(64)
    const link = { accountId: 'acc_1', reviewId: 'hld_1', approverId: approver.id, digest }
    return reviewUrl(world.app.deps, link).replace(/^.*\//, '')
  }

  /** A well-formed request; its object does not exist. */
  const asked = (id: OperationId) => probe(id, `${id.slice(0, 3)}_01h455vb4pex5vsknk084sn02q`)

  async function outcomeWith(token: string | null, { path, ...request }: Probe): Promise<string> {
    const headers = { ...request.headers, ...(token && { authorization: `Bearer ${token}` }) }
    return admission(await fetch(`${world.baseUrl}${path}`, init(request, headers)))
  }

  /** Each request has a session of its own, because one of them signs out. */
  async function outcomeInSession(token: string, { path, ...request }: Probe): Promise<string> {
    const session = await signIn(world, token)
    return admission(await browse(world, session, path, init(request, request.headers)))
  }

  function init({ method, body }: Omit<Probe, 'path'>, headers: Record<string, string>) {
    return { method, headers, ...(body && { body: JSON.stringify(body) }) }
  }

  async function admission(response: Response): Promise<string> {
    if (response.ok) {
      await response.body?.cancel()
      return 'admitted'
    }
    const outcome = await outcomeOf(response)
    return REFUSALS.test(outcome) ? outcome : 'admitted'
  }

  test('decides for every operation and every bearer credential by the rule', async () => {
    const callers: [Caller, () => string | null][] = [
      ['nobody', () => null],
      ['key', () => world.key],
      ['key', () => other.key],
      ['approver', () => approver.token],
      ['approver', () => other.approver.token],
      ['operator', () => OPERATOR_TOKEN],
      ['deleted', () => deleted.token],
      // The secret of a link in the mail to an approver stands for nothing else.
      ['nobody', () => linkToken()],
    ]
    for (const id of operationIds) {
      for (const [caller, token] of callers) {
        const expected = expectedOf(operationOf(id), caller)
        assert.equal(await outcomeWith(token(), asked(id)), expected, `${id} with ${caller}`)
      }
    }
  })

  test('decides the same for sessions of the console, which may also see and end themselves', async () => {
    const callers = [
      { caller: 'key', token: world.key },
      { caller: 'approver', token: approver.token },
    ] as const
    for (const id of operationIds) {
      const operation = operationOf(id)
      for (const { caller, token } of callers) {
        const expected = operation.auth === 'session' ? 'admitted' : expectedOf(operation, caller)
        const outcome = await outcomeInSession(token, asked(id))
        assert.equal(outcome, expected, `${id} in a session of ${caller}`)
      }
      if (operation.auth === 'none' || operation.auth === 'signature') continue
      const { path, ...request } = asked(id)
      const gone = await browse(world, deleted.session, path, init(request, request.headers))
      assert.equal(await outcomeOf(gone), '401 unauthorized', `${id} of a deleted approver`)
    }
  })

  test('admits only keys to MCP and to WebSockets', async () => {
    const ask = (headers: Record<string, string>) =>
      outcomeOf(
        fetch(`${world.baseUrl}${MCP_PATH}`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            ...headers,
          },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
        }),
      )
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
    assert.equal(await ask(bearer(world.key)), '200')
    assert.equal(await ask(bearer(approver.token)), '403 forbidden')
    assert.equal(await ask(bearer(OPERATOR_TOKEN)), '401 unauthorized')
    const { cookie } = await signIn(world, approver.token)
    assert.equal(await ask({ cookie }), '401 unauthorized')
    const socket = openSocket(world.baseUrl, { headers: bearer(approver.token) })
    await assert.rejects(socket, { status: 403 }, WEB_SOCKET_PATH)
    const inSession = openSocket(world.baseUrl, { headers: { cookie, origin: world.baseUrl } })
    await assert.rejects(inSession, { status: 403 })
  })

  test('hides its objects from another account’s approver', async () => {
    const theirs = world.clientWith(other.approver.token)
    const inbox = await world.inbox()
    await assert.rejects(theirs.threads.list(inbox.id).page(), { status: 404 })
    await assert.rejects(theirs.messages.list(inbox.id).page(), { status: 404 })
    await assert.rejects(theirs.approvers.delete(approver.id), { status: 404 })
    const listed = (await theirs.approvers.list().page()).data.map(({ id }) => id)
    assert.ok(listed.includes(other.approver.id) && !listed.includes(approver.id))
  })
})
