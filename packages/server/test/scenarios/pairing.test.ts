import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ACTIVE_KEYS_MAX } from '#accounts/store/keys.ts'
import type { Log } from '#platform/log.ts'
import { purgeExpiredStep } from '#removal/store/purge.ts'
import { runSql } from '#test/peers/sql.ts'
import { browse, signIn } from '#test/scenarios/console-world.ts'
import { outcomeOf } from '#test/scenarios/outcomes.ts'
import { onEachEngine, opened, openWorld } from '#test/world.ts'

type Started = { requestId: string; userCode: string; verifyUrl: string; expiresInSeconds: number }

onEachEngine('pairing', (engine) => {
  const world = opened(() => openWorld(engine, { log }))
  const lines: string[] = []
  const keep = (fields: object, text: string) => lines.push(JSON.stringify({ ...fields, text }))
  const log: Log = { debug: keep, info: keep, warn: keep, error: keep }

  const post = (path: string, body?: object) =>
    fetch(`${world.baseUrl}${path}`, {
      method: 'POST',
      ...(body && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    })
  const poll = (requestId: string) => post('/auth/cli/poll', { requestId })
  const decide = (code: string, decision: 'approve' | 'deny', key = world.key) =>
    world.fetch(`/auth/cli/requests/${code}/${decision}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
    })
  const look = (code: string) => world.fetch(`/auth/cli/requests/${encodeURIComponent(code)}`)

  async function start(clientName = 'a laptop'): Promise<Started> {
    // Each has a rate limit of its own.
    world.clock.advance(61_000)
    const response = await post('/auth/cli/start', { clientName })
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('cache-control'), 'no-store')
    return (await response.json()) as Started
  }

  async function take(requestId: string): Promise<string> {
    const response = await poll(requestId)
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('cache-control'), 'no-store')
    const { status, apiKey } = (await response.json()) as { status: string; apiKey: string }
    assert.equal(status, 'ready')
    return apiKey
  }

  test('gives the client a key with the client’s name once a person approves it', async () => {
    const { requestId, userCode, verifyUrl, expiresInSeconds } = await start('Bob’s laptop')
    assert.match(userCode, /^[B-DF-HJ-NP-TV-XZ3479]{4}-[B-DF-HJ-NP-TV-XZ3479]{4}$/)
    assert.match(requestId, /^[\w-]{43}$/)
    assert.equal(verifyUrl, `${world.app.deps.publicUrl()}/console/pair?code=${userCode}`)
    assert.equal(expiresInSeconds, 600)
    const waiting = await poll(requestId)
    assert.equal(waiting.status, 202)
    assert.deepEqual(await waiting.json(), { status: 'pending' })

    const person = await signIn(world)
    const path = `/auth/cli/requests/${userCode}`
    const shown = (await (await browse(world, person, path)).json()) as Record<string, string>
    assert.equal(shown.clientName, 'Bob’s laptop')
    assert.equal(shown.clientAddress, '127.0.0.1')
    assert.equal(Date.parse(shown.expiresAt ?? '') - Date.parse(shown.createdAt ?? ''), 600_000)
    const headers = { 'x-csrf-token': '' }
    const forged = browse(world, person, `${path}/approve`, { method: 'POST', headers })
    assert.equal(await outcomeOf(forged), '403 invalid_csrf_token')
    assert.equal((await poll(requestId)).status, 202)
    const approved = await browse(world, person, `${path}/approve`, { method: 'POST' })
    assert.equal(approved.status, 204)

    const apiKey = await take(requestId)
    const keys = (await world.client.apiKeys.list().page()).data
    assert.equal(keys[0]?.name, 'Bob’s laptop')
    assert.equal(keys[0]?.last4, apiKey.slice(-4))
    const account = await world.clientWith(apiKey).account.get()
    assert.equal(account.id, person.session.account.id)
    assert.equal(await outcomeOf(poll(requestId)), '404 not_found')
    const told = lines.find((line) => line.includes('received its key')) ?? ''
    assert.ok(
      told.includes(keys[0]?.id ?? 'no key') && told.includes(person.session.key?.id ?? 'no key'),
    )
    assert.ok(lines.every((line) => !line.includes(apiKey) && !line.includes(requestId)))
  })

  test('does not accept a poll without content', async () => {
    const { requestId, userCode } = await start('asked by HEAD')
    assert.equal((await decide(userCode, 'approve')).status, 204)
    const path = `/auth/cli/poll?requestId=${requestId}`
    assert.equal((await fetch(`${world.baseUrl}${path}`, { method: 'HEAD' })).status, 202)
    await take(requestId)
  })

  test('can be polled with the requestId in the URL, too', async () => {
    const { requestId, userCode } = await start('old')
    const path = `${world.baseUrl}/auth/cli/poll?requestId=${requestId}`
    assert.equal((await fetch(path)).status, 202)
    assert.equal((await decide(userCode, 'approve')).status, 204)
    assert.equal((await fetch(path)).status, 200)
    assert.equal(await outcomeOf(poll(requestId)), '404 not_found')
  })

  test('accepts the code as people type it, and no other', async () => {
    const { userCode } = await start()
    const typed = [userCode.toLowerCase(), userCode.replace('-', ''), ` ${userCode} `]
    for (const code of typed) assert.equal((await look(code)).status, 200, code)
    for (const code of [
      '',
      'AAAA-AAAA',
      `${userCode}X`,
      userCode.slice(1),
      '%',
      'x'.repeat(3_000),
    ]) {
      assert.equal(await outcomeOf(look(code)), '404 not_found', code)
    }
  })

  test('gives the key to one of twenty concurrent polls, and creates one key', async () => {
    const { requestId, userCode } = await start('raced')
    assert.equal((await decide(userCode, 'approve')).status, 204)
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => outcomeOf(poll(requestId))))
    assert.deepEqual(outcomes.filter((outcome) => outcome === '200').length, 1)
    assert.deepEqual(new Set(outcomes), new Set(['200', '404 not_found']))
    const keys = (await world.client.apiKeys.list().page()).data
    assert.equal(keys.filter(({ name }) => name === 'raced').length, 1)
  })

  test('never gives an unapproved key, nor two keys, under concurrent polls and decisions', async () => {
    const { requestId, userCode } = await start('decided')
    const requests = [
      ...Array.from({ length: 8 }, () => outcomeOf(poll(requestId))),
      ...Array.from({ length: 4 }, () => outcomeOf(decide(userCode, 'approve'))),
      ...Array.from({ length: 4 }, () => outcomeOf(decide(userCode, 'deny'))),
    ]
    const outcomes = await Promise.all(requests)
    const denied = outcomes.slice(12).filter((outcome) => outcome === '204').length
    const taken = outcomes.slice(0, 8).filter((outcome) => outcome === '200').length
    assert.ok(denied + taken <= 1, JSON.stringify(outcomes))
    const keys = (await world.client.apiKeys.list().page()).data
    assert.equal(keys.filter(({ name }) => name === 'decided').length, taken)
  })

  test('ends when it is denied, even after its approval', async () => {
    for (const isApproved of [false, true]) {
      const { requestId, userCode } = await start()
      if (isApproved) assert.equal((await decide(userCode, 'approve')).status, 204)
      assert.equal((await decide(userCode, 'deny')).status, 204)
      assert.equal(await outcomeOf(poll(requestId)), '404 not_found')
      assert.equal(await outcomeOf(look(userCode)), '404 not_found')
      assert.equal(await outcomeOf(decide(userCode, 'deny')), '404 not_found')
      assert.equal(await outcomeOf(decide(userCode, 'approve')), '404 not_found')
    }
  })

  test('belongs to one account after its approval', async () => {
    const other = await world.newAccount()
    const { requestId, userCode } = await start()
    assert.equal((await decide(userCode, 'approve', other.key)).status, 204)
    assert.equal((await decide(userCode, 'approve', other.key)).status, 204)
    assert.equal(await outcomeOf(decide(userCode, 'approve')), '404 not_found')
    assert.equal(await outcomeOf(decide(userCode, 'deny')), '404 not_found')
    const account = await world.clientWith(await take(requestId)).account.get()
    assert.equal(account.id, other.id)
  })

  test('expires after ten minutes, and leaves nothing behind', async () => {
    const { requestId, userCode } = await start()
    const approved = await start()
    await decide(approved.userCode, 'approve')
    world.clock.advance(600_000)
    for (const id of [requestId, approved.requestId]) {
      assert.equal(await outcomeOf(poll(id)), '404 not_found')
    }
    assert.equal(await outcomeOf(look(userCode)), '404 not_found')
    assert.equal(await outcomeOf(decide(userCode, 'approve')), '404 not_found')
    await world.app.deps.db.write(purgeExpiredStep, { nowMs: world.clock.now() })
    const rows = await runSql(world, 'select count(*) as count from pairings')
    assert.equal(Number(rows[0]?.count), 0)
  })

  test('ends with the key that approved it', async () => {
    const key = await world.client.apiKeys.create()
    const { requestId, userCode } = await start()
    assert.equal((await decide(userCode, 'approve', key.token)).status, 204)
    await world.client.apiKeys.delete(key.id)
    assert.equal(await outcomeOf(poll(requestId)), '404 not_found')
  })

  test('stores no secret that only the client knows', async () => {
    const { requestId } = await start()
    const rows = await runSql(world, 'select * from pairings')
    const kept = JSON.stringify(rows, (_, value) =>
      value?.type === 'Buffer' ? Buffer.from(value.data).toString('latin1') : value,
    )
    assert.ok(rows.length > 0 && !kept.includes(requestId))
  })

  test('tells the person when the account cannot have another key', async () => {
    const { client, key } = await world.newAccount()
    const waiting = await start()
    assert.equal((await decide(waiting.userCode, 'approve', key)).status, 204)
    for (let keys = 1; keys < ACTIVE_KEYS_MAX; keys += 1) await client.apiKeys.create()
    const { userCode } = await start()
    assert.equal(await outcomeOf(decide(userCode, 'approve', key)), '422 api_key_limit_reached')
    assert.equal(await outcomeOf(poll(waiting.requestId)), '422 api_key_limit_reached')
    const [newest] = (await client.apiKeys.list().page()).data
    await client.apiKeys.delete(newest?.id ?? '')
    await take(waiting.requestId)
  })

  test('refuses malformed requests', async () => {
    assert.equal(await outcomeOf(post('/auth/cli/start', { clientName: 5 })), '400 bad_request')
    assert.equal(
      await outcomeOf(post('/auth/cli/start', { clientName: 'a\nb' })),
      '400 bad_request',
    )
    assert.equal(await outcomeOf(post('/auth/cli/start', { name: 'x' })), '400 bad_request')
    assert.equal(await outcomeOf(fetch(`${world.baseUrl}/auth/cli/poll`)), '400 bad_request')
    assert.equal(await outcomeOf(poll('x')), '404 not_found')
    const nobody = fetch(`${world.baseUrl}/auth/cli/requests/BCDF-GHJK`)
    assert.equal(await outcomeOf(nobody), '401 unauthorized')
    const unnamed = await post('/auth/cli/start')
    assert.equal(unnamed.status, 200)
  })

  test('is limited in starts and polls for an address and in lookups for an account', async () => {
    const other = await world.newAccount()
    world.clock.advance(61_000)
    const countOf = async (count: number, run: () => Promise<Response>) => {
      const outcomes = await Promise.all(Array.from({ length: count }, () => outcomeOf(run())))
      return outcomes.filter((outcome) => outcome === '429 rate_limit_exceeded').length
    }
    assert.equal(await countOf(15, () => post('/auth/cli/start')), 5)
    assert.equal(await countOf(65, () => poll('x')), 5)
    assert.equal(await countOf(23, () => look('BCDF-GHJK')), 3)
    const theirs = { authorization: `Bearer ${other.key}` }
    const look2 = world.fetch('/auth/cli/requests/BCDF-GHJK', { headers: theirs })
    assert.equal(await outcomeOf(look2), '404 not_found')
    const late = await post('/auth/cli/start')
    assert.ok(Number(late.headers.get('retry-after')) > 0)
  })
})
