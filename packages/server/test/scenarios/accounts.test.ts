import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcomeOf, refusal, refusalOf } from '#test/scenarios/outcomes.ts'
import {
  OPERATOR_TOKEN,
  onAnyEngine,
  onEachEngine,
  opened,
  openTenant,
  openWorld,
  prepared,
} from '#test/world.ts'

const ROUTES = [
  ['GET', '/admin/accounts'],
  ['POST', '/admin/accounts'],
  ['PATCH', '/admin/accounts/acc_01'],
  ['GET', '/metrics'],
] as const

onEachEngine('accounts', (engine) => {
  const world = opened(() => openTenant(engine))
  const operator = prepared(() => world.clientWith(OPERATOR_TOKEN))

  test('a new account has a key that works at once and exactly one default pod', async () => {
    const made = await operator.admin.accounts.create({ name: 'Acme', plan: 'developer' })
    assert.match(made.account.id, /^acc_[0-9a-z]{26}$/)
    assert.deepEqual([made.account.name, made.account.plan], ['Acme', 'developer'])
    assert.match(made.apiKey.token, /^mr_[0-9A-Za-z]{40}$/)
    const { data, total } = await world.clientWith(made.apiKey.token).pods.list().page()
    assert.equal(total, 1)
    assert.equal(data[0]?.isDefault, true)
  })

  test('accounts are listed newest first, the first account of the service last', async () => {
    const made = await operator.admin.accounts.create({ name: 'Newest', plan: 'free' })
    const { data, total } = await operator.admin.accounts.list().page()
    assert.deepEqual(data[0], made.account)
    assert.equal(data.at(-1)?.id, world.app.firstAccount?.account.id)
    assert.equal(total, data.length)
    const { data: second } = await operator.admin.accounts.list({ limit: 1, offset: 1 }).page()
    assert.deepEqual(second, data.slice(1, 2))
  })

  test('name and plan of an account are changed separately or together', async () => {
    const { account } = await operator.admin.accounts.create({ name: 'Old', plan: 'free' })
    const renamed = await operator.admin.accounts.update(account.id, { name: 'New' })
    assert.deepEqual(renamed, { ...account, name: 'New' })
    const changed = await operator.admin.accounts.update(account.id, { plan: 'launch' })
    assert.deepEqual(changed, { ...account, name: 'New', plan: 'launch' })
    assert.deepEqual(await operator.admin.accounts.update(account.id, {}), changed)
  })

  test('a larger plan allows more inboxes at once, and a smaller one keeps existing inboxes', async () => {
    const { id, client } = await world.newAccount('free')
    for (let count = 0; count < 3; count++) await client.inboxes.create()
    assert.equal(await refusal(client.inboxes.create()), '422 inbox_limit_reached')
    await operator.admin.accounts.update(id, { plan: 'developer' })
    await client.inboxes.create()
    await operator.admin.accounts.update(id, { plan: 'free' })
    const { message } = await refusalOf(client.inboxes.create())
    assert.match(message, /3 inboxes/)
    assert.equal((await client.inboxes.list().page()).total, 4)
  })

  test('an account that does not exist is 404 not_found', async () => {
    for (const id of [
      'acc_01h455vb4pex5vsknk084sn02q',
      'nonsense',
      'pod_01h455vb4pex5vsknk084sn02q',
    ]) {
      const outcome = await refusal(operator.admin.accounts.update(id, { name: 'Nobody' }))
      assert.equal(outcome, '404 not_found')
    }
  })

  test('an invalid field of an account is named, and nothing is stored', async () => {
    const before = (await operator.admin.accounts.list().page()).total
    const bodies: [object, string][] = [
      [{ plan: 'free' }, 'name'],
      [{ name: '', plan: 'free' }, 'name'],
      [{ name: 'x'.repeat(201), plan: 'free' }, 'name'],
      [{ name: 'a\nb', plan: 'free' }, 'name'],
      [{ name: 'a' }, 'plan'],
      [{ name: 'a', plan: 'gold' }, 'plan'],
      [{ name: 'a', plan: 'free', colour: 'red' }, 'colour'],
    ]
    for (const [body, field] of bodies) {
      const error = await refusalOf(operator.admin.accounts.create(body as never))
      assert.equal(error.code, 'bad_request')
      assert.equal(error.details[0]?.path, field)
    }
    assert.equal((await operator.admin.accounts.list().page()).total, before)
  })

  test('the operator’s routes refuse everyone except the operator', async () => {
    for (const [method, path] of ROUTES) {
      for (const authorization of ['', 'Bearer wrong-token', `Bearer ${world.key}`]) {
        const response = await world.fetch(path, { method, headers: { authorization } })
        assert.equal(response.headers.get('www-authenticate'), 'Bearer')
        assert.equal(await outcomeOf(response), '401 unauthorized')
      }
    }
  })

  test('the operator’s token is not a key of an account', async () => {
    assert.equal(await refusal(operator.pods.list().page()), '401 unauthorized')
  })
})

onAnyEngine('a service without an operator’s token', (engine) => {
  const world = opened(() => openWorld(engine, { env: { MAILROOM_ADMIN_TOKEN: '' } }))

  test('the operator’s routes do not exist', async () => {
    for (const [method, path] of ROUTES) {
      for (const authorization of [
        '',
        'Bearer ',
        `Bearer ${OPERATOR_TOKEN}`,
        `Bearer ${world.key}`,
      ]) {
        const response = await world.fetch(path, { method, headers: { authorization } })
        assert.equal(await outcomeOf(response), '404 not_found')
      }
    }
  })
})
