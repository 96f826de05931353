import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openOwnBudgets } from '#limits/budgets.ts'
import { openServicePort } from '#operating/service-port.ts'
import { systemClock } from '#platform/clock.ts'
import { silentLog } from '#platform/log.ts'
import { MINUTE_MS } from '#platform/units.ts'

const TOKEN = 'the-operator-0123456789'
const FAILURES = 3

type Ask = (path: string, token?: string, method?: string) => Promise<Response>

async function withDoor(operatorToken: string | null, run: (ask: Ask) => Promise<void>) {
  const window = { name: 'failures', limit: FAILURES, windowMs: MINUTE_MS }
  const door = await openServicePort({
    host: '127.0.0.1',
    port: 0,
    operatorToken,
    failures: openOwnBudgets(systemClock).openWindow(window),
    findObstacle: async () => 'The database is not ready.',
    renderMetrics: async () => ({ contentType: 'text/plain', body: 'one 1\n' }),
    log: silentLog,
  })
  try {
    await run((path, token, method = 'GET') =>
      fetch(`http://127.0.0.1:${door.port}${path}`, {
        method,
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      }),
    )
  } finally {
    await door.close()
  }
}

test('figures are only for the operator, health and readiness are public', () =>
  withDoor(TOKEN, async (ask) => {
    const told = await ask('/metrics', TOKEN)
    assert.equal(told.status, 200)
    assert.equal(await told.text(), 'one 1\n')
    assert.equal((await ask('/metrics', TOKEN, 'HEAD')).status, 200)
    const refused = await ask('/metrics')
    assert.equal(refused.status, 401)
    assert.equal(refused.headers.get('www-authenticate'), 'Bearer')
    assert.equal((await ask('/health')).status, 200)
    const ready = await ask('/ready')
    assert.equal(ready.status, 503)
    assert.ok(Number(ready.headers.get('retry-after')) > 0)
    assert.equal((await ask('/v1/pods', TOKEN)).status, 404)
    assert.equal((await ask('/health', TOKEN, 'POST')).status, 405)
  }))

test("without an operator's token there are no figures", () =>
  withDoor(null, async (ask) => {
    for (const token of [undefined, 'null', 'any']) {
      assert.equal((await ask('/metrics', token)).status, 404)
    }
    assert.equal((await ask('/health')).status, 200)
    assert.equal((await ask('/ready')).status, 503)
  }))

test('after a few attempts a wrong token must wait, and the right one works', () =>
  withDoor(TOKEN, async (ask) => {
    for (let guess = 0; guess < FAILURES; guess++) {
      assert.equal((await ask('/metrics', `${TOKEN}${guess}`)).status, 401)
    }
    const refused = await ask('/metrics', 'another')
    assert.equal(refused.status, 429)
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    assert.equal((await ask('/metrics', TOKEN)).status, 200)
    assert.equal((await ask('/health')).status, 200)
  }))
