// The first start and the ones after it, as the operator sees them: in a process of its own.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '#test/scenarios/outcomes.ts'
import { clientOf, emptyPlace } from '#test/scenarios/service-process.ts'
import { OPERATOR_TOKEN, onEachEngine } from '#test/world.ts'

const KEY = /mr_[0-9A-Za-z]{40}/

onEachEngine('the start of the service', (engine) => {
  test('the first start prints a key that works, and the second prints none and makes none', async (t) => {
    const place = await emptyPlace(engine)
    t.after(() => place.remove())
    const env = { MAILROOM_ADMIN_TOKEN: OPERATOR_TOKEN }

    const first = place.start(env)
    const { http } = await first.ready
    await until(async () => first.output().includes('curl -s'))
    const key = KEY.exec(first.output())?.[0] ?? ''
    assert.equal((await clientOf(http, key).pods.list().page()).total, 1)
    assert.ok(first.output().includes(`curl -s ${http}/v1/inboxes`))
    assert.equal(await first.stop(), 0)

    const second = place.start(env)
    const again = (await second.ready).http
    const accounts = await clientOf(again, OPERATOR_TOKEN).admin.accounts.list().page()
    assert.equal((await clientOf(again, key).pods.list().page()).total, 1)
    assert.equal(await second.stop(), 0)
    assert.equal(accounts.total, 1)
    assert.doesNotMatch(second.output(), KEY)
    for (const line of second.output().trim().split('\n')) JSON.parse(line)
  })

  test('a configured key and plan are those of the first account, and are not printed', async (t) => {
    const place = await emptyPlace(engine)
    t.after(() => place.remove())
    const key = 'a-key-of-my-own_0123456789'
    const env = {
      MAILROOM_ADMIN_TOKEN: OPERATOR_TOKEN,
      MAILROOM_BOOTSTRAP_API_KEY: key,
      MAILROOM_BOOTSTRAP_PLAN: 'developer',
    }
    const service = place.start(env)
    const { http } = await service.ready
    const { data } = await clientOf(http, OPERATOR_TOKEN).admin.accounts.list().page()
    const keys = await clientOf(http, key).apiKeys.list().page()
    assert.equal(await service.stop(), 0)
    assert.deepEqual(
      data.map(({ plan }) => plan),
      ['developer'],
    )
    assert.deepEqual([keys.data[0]?.tokenPrefix, keys.data[0]?.last4], ['a-key-o', '6789'])
    assert.ok(!service.output().includes(key))
  })

  test('another configured key does not change an account that there is', async (t) => {
    const place = await emptyPlace(engine)
    t.after(() => place.remove())
    const [old, other] = ['the-first-key-0123456789', 'the-other-key-0123456789']
    const first = place.start({ MAILROOM_BOOTSTRAP_API_KEY: old })
    await first.ready
    await first.stop()
    const second = place.start({ MAILROOM_BOOTSTRAP_API_KEY: other })
    const { http } = await second.ready
    assert.equal((await clientOf(http, old).pods.list().page()).total, 1)
    await assert.rejects(clientOf(http, other).pods.list().page(), { status: 401 })
    await second.stop()
  })
})

test('processes that start together on one empty database make one account', async (t) => {
  const place = await emptyPlace('postgres')
  t.after(() => place.remove())
  const processes = Array.from({ length: 3 }, (_, index) =>
    place.start({
      MAILROOM_DATA_DIR: `${place.dataDir}/${index}`,
      MAILROOM_ADMIN_TOKEN: OPERATOR_TOKEN,
    }),
  )
  const [first] = await Promise.all(processes.map(({ ready }) => ready))
  const { total } = await clientOf(first?.http ?? '', OPERATOR_TOKEN)
    .admin.accounts.list()
    .page()
  await Promise.all(processes.map((service) => service.stop()))
  assert.equal(total, 1)
  const printed = processes.filter((service) => KEY.test(service.output()))
  assert.equal(printed.length, 1)
})
