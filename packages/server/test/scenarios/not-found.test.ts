import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operationIds, operationOf } from '@mailroom/contract/operations.ts'
import { errorOf } from '#test/scenarios/outcomes.ts'
import { onAnyEngine, opened, openWorld } from '#test/world.ts'

onAnyEngine('a response not_found', () => {
  const world = opened(() => openWorld('sqlite'))

  async function missing(path: string, init?: RequestInit) {
    const response = await world.fetch(path, init)
    assert.equal(response.status, 404, path)
    const { message, fix } = await errorOf(response)
    return { message, fix }
  }

  test('names the kind and the id, and where the ids are', async () => {
    assert.deepEqual(await missing('/v1/threads/thr_zzz'), {
      message: 'There is no thread thr_zzz in this account.',
      fix: 'GET /v1/inboxes/{id}/threads returns the ids that exist.',
    })
    assert.deepEqual(await missing('/v1/webhooks/whk_a/deliveries/dlv_b'), {
      message: 'There is no delivery dlv_b of webhook whk_a in this account.',
      fix: 'GET /v1/webhooks/{id}/deliveries returns the ids that exist.',
    })
    assert.deepEqual(await missing('/v1/pods/acme'), {
      message: 'There is no such pod in this account.',
      fix: 'GET /v1/pods returns the ids that exist.',
    })
  })

  test('says how an id of the kind begins, if the id is of another kind', async () => {
    assert.deepEqual(await missing('/v1/threads/msg_zzz'), {
      message: 'There is no thread msg_zzz in this account.',
      fix: 'Such ids begin with thr_. GET /v1/inboxes/{id}/threads returns the ids that exist.',
    })
  })

  test('is the same for a resource of another account', async () => {
    const inbox = await world.inbox()
    const other = await world.newAccount()
    const headers = { authorization: `Bearer ${other.key}` }
    assert.deepEqual(await missing(`/v1/inboxes/${inbox.id}`, { headers }), {
      message: `There is no inbox ${inbox.id} in this account.`,
      fix: 'GET /v1/inboxes returns the ids that exist.',
    })
  })

  test('does not repeat control characters, or an id without end', async () => {
    for (const id of ['thr_%1b%5b31m', 'thr_%e2%80%ae', `thr_${'x'.repeat(300)}`]) {
      const { message } = await missing(`/v1/threads/${id}`)
      assert.match(String(message), /^The account has no such resource/)
    }
  })

  test('does not repeat a secret that was given as an id', async () => {
    for (const prefix of ['mr_', 'mra_', 'mro_', 'mrr_', 'mrc_']) {
      const { message } = await missing(`/v1/threads/${prefix}${'x'.repeat(40)}`)
      assert.equal(message, 'There is no such thread in this account.')
    }
  })

  test('knows the kind of every path with an id', async () => {
    const unknown: string[] = []
    for (const id of operationIds) {
      const { method, path, auth, isUnsupported } = operationOf(id)
      if (method !== 'GET' || !path.includes('{') || isUnsupported) continue
      if (auth === 'none' || auth === 'operator' || auth === 'signature') continue
      const response = await world.fetch(path.replaceAll(/\{\w+\}/g, 'none_1'))
      if (response.status === 400) continue
      const { message } = await errorOf(response)
      if (/no such resource/.test(String(message))) unknown.push(`${path}: ${message}`)
    }
    assert.deepEqual(unknown, [])
  })

  test('names an unknown route, and the nearest one', async () => {
    assert.deepEqual(await missing('/v1/inboxs?limit=1'), {
      message: 'There is no route GET /v1/inboxs.',
      fix: 'Did you mean /v1/inboxes? GET /openapi.json has all routes.',
    })
    assert.deepEqual(await missing('/v1/inboxes/inb_1/thread', { method: 'POST' }), {
      message: 'There is no route POST /v1/inboxes/inb_1/thread.',
      fix: 'Did you mean /v1/inboxes/{id}/threads? GET /openapi.json has all routes.',
    })
    assert.equal((await missing('/nothing/of/the/kind')).fix, 'Use a route from GET /openapi.json.')
  })
})
