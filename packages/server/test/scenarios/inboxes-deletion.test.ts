import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { openSender } from '#test/peers/sender.ts'
import { runSql } from '#test/peers/sql.ts'
import { countOutcomes, refusal, repeat, until } from '#test/scenarios/outcomes.ts'
import { filesHolding, multiplyMessage, rowsHolding } from '#test/scenarios/stored-content.ts'
import { onEachEngine, opened, openTenant, openWorld, plainMail, prepared } from '#test/world.ts'

/** Too large for a row. */
const LARGE = 200 * 1024
const MANY = sizeOf('TEST_MAILROOM_DELETED_MESSAGES', { quick: 600, usual: 3_000 })

onEachEngine('deleting an inbox', (engine) => {
  const env = { MAILROOM_BLOB_URL: 'disk' }
  const world = opened(() => openTenant(engine, env))
  const client = prepared(() => world.client)

  const blobFiles = async () => {
    const names = await readdir(join(world.dataDir, 'blobs'), { recursive: true })
    return names.filter((name) => name.includes('raw_'))
  }
  const mailTo = (to: string | string[], marker: string, paddingBytes = 0) => {
    const line = `${marker} ${'x'.repeat(64)}\r\n`
    const body = `${marker} in the body\r\n${line.repeat(Math.ceil(paddingBytes / line.length))}`
    const headers = ['MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=b']
    const parts = `--b\r\nContent-Type: text/plain\r\n\r\n${body}\r\n--b\r\nContent-Type: text/plain; name=a.txt\r\nContent-Disposition: attachment; filename=${marker}.txt\r\n\r\nattached ${marker}\r\n--b--`
    const raw = plainMail({
      subject: `About ${marker}`,
      messageId: `<${marker}@x.example>`,
      headers,
      body: parts,
    })
    return world.send({ to, raw })
  }

  test('its messages, threads, raw bytes, attachments and events are removed from every table and file', async () => {
    const inbox = await client.inboxes.create({ displayName: 'zqmarkerzero' })
    assert.equal((await mailTo(inbox.address, 'zqmarkerone')).code, 250)
    assert.equal((await mailTo(inbox.address, 'zqmarkertwo', LARGE)).code, 250)
    const { data } = await client.messages.list(inbox.id).page()
    const urls = data.flatMap(({ attachments }) => attachments.map(({ url }) => url))
    assert.equal(urls.length, 2)
    assert.equal((await blobFiles()).length, 1)
    assert.equal((await client.inboxes.search(inbox.id, { q: 'zqmarkerone' }).page()).total, 1)
    const holding = Object.keys(await rowsHolding(world, 'zqmarkerone'))
    const [index, mail] = [true, false].map((isIndex) =>
      holding.filter((table) => table.startsWith('search_index') === isIndex).sort(),
    )
    assert.deepEqual(mail, ['messages', 'raw_messages', 'threads'])
    assert.equal(index?.length, 1)

    await client.inboxes.delete(inbox.id)
    await until(async () => Object.keys(await rowsHolding(world, inbox.id)).length <= 1)
    assert.deepEqual(await rowsHolding(world, inbox.id), { inbox_creations: 1 })
    await until(async () => Object.keys(await rowsHolding(world, 'zqmarker')).length === 0)
    await until(async () => (await blobFiles()).length === 0)
    for (const url of urls) assert.equal((await fetch(url)).status, 404)
    for (const message of data) {
      assert.equal(await refusal(client.messages.get(message.id)), '404 not_found')
      assert.equal(await refusal(client.messages.raw(message.id)), '404 not_found')
      assert.equal(await refusal(client.threads.get(message.threadId)), '404 not_found')
    }
    assert.equal(await refusal(client.inboxes.delete(inbox.id)), '404 not_found')
  })

  test('mail for it is refused afterwards, even if RCPT was accepted before', async () => {
    const inbox = await client.inboxes.create()
    const sender = await openSender(world.smtpPort)
    await sender.command('MAIL FROM:<a@sender.example>')
    assert.equal((await sender.command(`RCPT TO:<${inbox.address}>`)).code, 250)
    await client.inboxes.delete(inbox.id)
    await sender.command('DATA')
    const late = await sender.command('Subject: late\r\n\r\nlate\r\n.')
    const next = await sender.send({ to: inbox.address, raw: plainMail({}) })
    await sender.quit()
    for (const reply of [late, next]) {
      assert.equal(reply.code, 550)
      assert.match(reply.lines[0] ?? '', /^5\.1\.1 /)
    }
    assert.deepEqual(await rowsHolding(world, 'Subject: late'), {})
  })

  test('a message shared with another inbox stays there until that one is deleted too', async () => {
    for (const [marker, size] of [
      ['zqsharedsmall', 0],
      ['zqsharedlarge', LARGE],
    ] as const) {
      const [one, two] = [await client.inboxes.create(), await client.inboxes.create()]
      assert.equal((await mailTo([one.address, two.address], marker, size)).code, 250)
      await client.inboxes.delete(one.id)
      await until(
        async () => (await runSql(world, "select key from jobs where kind = 'purge'")).length === 0,
      )
      const [kept] = (await client.messages.list(two.id).page()).data
      const raw = await client.messages.raw(kept?.id ?? '')
      assert.ok(Buffer.from(raw.content).includes(`attached ${marker}`))
      await client.inboxes.delete(two.id)
      await until(async () => Object.keys(await rowsHolding(world, marker)).length === 0)
      await until(async () => (await blobFiles()).length === 0)
    }
  })

  test(`an inbox with ${MANY} messages disappears at once, and its mail soon after`, async () => {
    const inbox = await client.inboxes.create()
    assert.equal((await mailTo(inbox.address, 'zqmany')).code, 250)
    await multiplyMessage(world, inbox.id, MANY)
    assert.equal((await client.messages.list(inbox.id).page()).total, MANY)
    await client.inboxes.delete(inbox.id)
    assert.equal(await refusal(client.messages.list(inbox.id).page()), '404 not_found')
    const left = async () => {
      const rows = await Promise.all(
        ['messages', 'threads', 'events'].map((table) =>
          runSql(world, `select 1 from ${table} where inbox_id = '${inbox.id}' limit 1`),
        ),
      )
      return rows.flat().length
    }
    await until(async () => (await left()) === 0)
    await until(
      async () => (await runSql(world, "select key from jobs where kind = 'purge'")).length === 0,
    )
    assert.deepEqual(await runSql(world, 'select id from raw_messages limit 1'), [])
  })

  test('the totals of pod and account stay right under concurrent creations and deletions', async () => {
    const { client } = await world.newAccount()
    const pod = await client.pods.create()
    const inboxes = await repeat(20, () => client.inboxes.create({ podId: pod.id }))
    const deletions = inboxes.flatMap(({ id }) => [0, 1].map(() => client.inboxes.delete(id)))
    const creations = inboxes.map(() => client.inboxes.create({ podId: pod.id }))
    const [deleted, made] = await Promise.all([countOutcomes(deletions), countOutcomes(creations)])
    const left = 20 - (deleted.done ?? 0) + (made.done ?? 0)
    assert.ok((deleted.done ?? 0) <= 20 && left > 0)
    for (const options of [{}, { podId: pod.id }]) {
      const { data, total } = await client.inboxes.list(options).page()
      assert.deepEqual([total, data.length], [left, left])
    }
  })
})

test('on SQLite deleted mail leaves no bytes in any file of a running service', async () => {
  await using world = await openWorld('sqlite')
  const kept = await world.inbox()
  const inbox = await world.inbox()
  for (let index = 0; index < 60; index++) {
    const to = index % 3 === 0 ? kept.address : inbox.address
    const marker = index % 3 === 0 ? 'zqkept' : 'zqgone'
    const raw = plainMail({ subject: `${marker}`, body: `${marker} `.repeat(100 * (index % 30)) })
    assert.equal((await world.send({ to, raw })).code, 250)
  }
  assert.notDeepEqual(await filesHolding(world.dataDir, 'zqgone'), [])
  await world.client.inboxes.delete(inbox.id)
  await until(async () => (await filesHolding(world.dataDir, 'zqgone')).length === 0)
  assert.notDeepEqual(await filesHolding(world.dataDir, 'zqkept'), [])
})
