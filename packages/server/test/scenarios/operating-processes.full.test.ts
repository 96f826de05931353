import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSender } from '#test/peers/sender.ts'
import { clientOf, emptyPlace } from '#test/scenarios/service-process.ts'
import { plainMail } from '#test/world.ts'

const KEY = 'the-key-of-this-test-0123456789'

test('a second process on the same SQLite data directory is refused in words, the first goes on, and after its crash the directory is free at once', async (t) => {
  const place = await emptyPlace('sqlite')
  t.after(() => place.remove())
  const first = place.start({ MAILROOM_BOOTSTRAP_API_KEY: KEY })
  const { http } = await first.ready
  const second = place.start()
  assert.notEqual(await second.ended, 0)
  assert.match(second.output(), /Another process already serves this data directory/)
  assert.doesNotMatch(second.output(), /^ {4}at /m)
  await clientOf(http, KEY).inboxes.create()
  await first.kill()

  const third = place.start()
  const again = (await third.ready).http
  assert.equal((await clientOf(again, KEY).inboxes.list().page()).total, 1)
  assert.equal(await third.stop(), 0)
})

test('several processes serve one PostgreSQL database as one service', async (t) => {
  const place = await emptyPlace('postgres')
  t.after(() => place.remove())
  const env = { MAILROOM_BOOTSTRAP_API_KEY: KEY }
  const first = place.start({ ...env, MAILROOM_DATA_DIR: `${place.dataDir}/one` })
  const one = await first.ready
  const second = place.start({ ...env, MAILROOM_DATA_DIR: `${place.dataDir}/two` })
  const two = await second.ready
  const inbox = await clientOf(one.http, KEY).inboxes.create()
  const sender = await openSender(two.smtpPort)
  assert.equal((await sender.send({ to: inbox.address, raw: plainMail({}) })).code, 250)
  await sender.quit()
  assert.equal((await clientOf(one.http, KEY).messages.list(inbox.id).page()).total, 1)

  const made = await clientOf(one.http, KEY).apiKeys.create()
  await clientOf(two.http, made.token).pods.list().page()
  await clientOf(one.http, KEY).apiKeys.delete(made.id)
  await assert.rejects(clientOf(two.http, made.token).pods.list().page(), { status: 401 })
  assert.deepEqual(await Promise.all([first.stop(), second.stop()]), [0, 0])
})
