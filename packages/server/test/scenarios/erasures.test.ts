import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Erasure } from '@mailroom/sdk'
import { removeMessage } from '#removal/store/trash.ts'
import { startS3, type TestS3 } from '#test/peers/s3.ts'
import { runSql } from '#test/peers/sql.ts'
import { outcomeOf, refusal, refusalOf, until } from '#test/scenarios/outcomes.ts'
import { filesHolding, rowsHolding } from '#test/scenarios/stored-content.ts'
import { exported, imported, mailFrom, mboxOf } from '#test/scenarios/transfer-mail.ts'
import { onEachEngine, openWorld, type World } from '#test/world.ts'

/** In the address, the subject, the body and a file; a word that the search index keeps. */
const CANARY = 'zyxcanarywvu'
const ADDRESS = `${CANARY}@canary.example`
/** Over the size that a row has, so that it is in the bucket. */
const LARGE_BYTES = 200_000

function canaryMail(id: string, header: string, { bytes = 10 } = {}): string {
  const file = Buffer.from(`${CANARY} `.repeat(Math.ceil(bytes / 13)))
  return [
    header,
    `Subject: about ${CANARY} ${id}`,
    `Message-ID: <${id}-${CANARY}@x.example>`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    `A text with ${CANARY} in it.`,
    '--b',
    `Content-Type: text/plain; name=${CANARY}.txt`,
    `Content-Disposition: attachment; filename=${CANARY}.txt`,
    '',
    file.toString(),
    '--b--',
    '',
  ].join('\r\n')
}

onEachEngine('an erasure', (engine) => {
  let s3: TestS3
  let world: World
  before(async () => {
    s3 = await startS3()
    world = await openWorld(engine, { env: s3.envAt('erasures/') })
  })
  after(async () => {
    await world.close()
    await s3.close()
  })

  test('removes every byte of an address, and its receipt says what and where from', async () => {
    const { client } = world
    const inbox = await world.inbox()
    const other = await world.inbox()
    const send = async (id: string, header: string, from: string, bytes?: number) => {
      const raw = canaryMail(id, header, bytes === undefined ? {} : { bytes })
      const { code } = await world.send({ from, to: [inbox.address, other.address], raw })
      assert.equal(code, 250)
    }
    const to = `To: ${inbox.address}`
    await send('from', `From: Eve <${ADDRESS.toUpperCase()}>\r\n${to}`, ADDRESS)
    await send('cc', `From: ann@a.example\r\n${to}\r\nCc: Eve <${ADDRESS}>`, 'ann@a.example')
    await send('bcc', `From: ann@a.example\r\n${to}\r\nBcc: Eve <${ADDRESS}>`, 'ann@a.example')
    await send('envelope', `From: list@lists.example\r\n${to}`, ADDRESS)
    await send('large', `From: ${ADDRESS}\r\n${to}`, ADDRESS, LARGE_BYTES)
    await client.senderRules.create({ type: 'block', value: 'blocked.example' })
    for (const field of ['To', 'Bcc']) {
      const header = `From: b@blocked.example\r\n${field}: ${ADDRESS}`
      await send(`quarantined-${field}`, header, 'b@blocked.example')
    }
    await client.inboxes.send(
      inbox.id,
      { to: ADDRESS, subject: `To ${CANARY}`, body: `Dear ${CANARY}` },
      { idempotencyKey: `welcome-${ADDRESS}` },
    )
    await client.inboxes.send(inbox.id, {
      to: 'ann@a.example',
      bcc: [ADDRESS],
      subject: `Later ${CANARY}`,
      body: 'x',
      sendAt: new Date(world.clock.now() + 3_600_000).toISOString(),
    })
    await client.drafts.create(inbox.id, { to: ADDRESS, subject: CANARY })
    const kept = mailFrom('ann@a.example', 'kept')
    await imported(client, inbox.id, mboxOf(kept, mailFrom(ADDRESS, `old-${CANARY}`)))
    const [trashed] = (await client.threads.list(other.id).page()).data
    await client.threads.delete(trashed?.id ?? '')
    const file = await exported(client, { inboxId: inbox.id, format: 'jsonl' })
    await until(
      async () => (await client.inboxes.search(inbox.id, { q: CANARY }).page()).total >= 5,
    )
    assert.notDeepEqual(await rowsHolding(world, CANARY), {})

    const { id } = await client.erasures.create({ address: `Eve <${ADDRESS}>` })
    const done = await client.erasures.untilDone(id)
    assert.deepEqual([done.status, done.address], ['done', null])
    assertRemoved(done, { messages: 13, quarantined: 4, drafts: 1, files: 1 })
    const { events, correspondents } = done.removed
    assert.ok(events >= 8 && correspondents >= 1, `${events} ${correspondents}`)
    assert.ok(done.left.some(({ place }) => place === 'backups'))
    assert.equal((await client.inboxes.search(inbox.id, { q: CANARY }).page()).total, 0)
    const left = (await client.messages.list(inbox.id).page()).data
    assert.deepEqual(
      left.map(({ subject }) => subject),
      ['kept'],
    )
    assert.equal((await client.exports.get(file.id)).error, 'address_erased')
    const other1 = await world.newAccount()
    assert.equal(await refusal(other1.client.erasures.get(id)), '404 not_found')

    assert.deepEqual(await rowsHolding(world, CANARY), {})
    assert.deepEqual(await filesHolding(world.dataDir, CANARY), [])
    assert.deepEqual(await filesHolding(s3.directory, CANARY), [])
    if (engine === 'postgres') {
      await runSql(world, 'vacuum full')
      await runSql(world, 'checkpoint')
      assert.deepEqual(await postgresFilesHolding(CANARY), [])
    }
  })

  test('leaves no copy of rows that grew and moved before', async (t) => {
    if (engine === 'postgres') return t.skip('its receipt names the free space of its files')
    const { client } = world
    const inbox = await world.inbox()
    const word = 'zyxmovedwvu'
    const mails = Array.from({ length: 200 }, (_, at) =>
      mailFrom(at % 2 === 0 ? `${word}@moved.example` : 'ann@a.example', `moved-${at}`),
    )
    await imported(client, inbox.id, mboxOf(...mails))
    const threads = await Array.fromAsync(client.threads.list(inbox.id))
    // Rows that grow in an order that is not theirs make SQLite split their pages and move their neighbours.
    for (let count = 0; count < 600; count++) {
      const { id } = threads[(count * 77) % threads.length] ?? { id: '' }
      const metadata = { [`note${count % 7}`]: 'x'.repeat((count * 131) % 500) }
      await client.threads.update(id, { metadata, assignee: 'y'.repeat(1 + ((count * 17) % 60)) })
    }
    const { id } = await client.erasures.create({ address: `${word}@moved.example` })
    assertRemoved(await client.erasures.untilDone(id), { messages: 100 })
    assert.deepEqual(await filesHolding(world.dataDir, word), [])
  })

  test('finds the Bcc field of received and of imported mail, which no answer shows for received mail', async () => {
    const { client } = world
    const inbox = await world.inbox()
    const address = 'hidden@bcc.example'
    const send = async (id: string, bcc: string, bytes: number) => {
      const header = `From: ann@a.example\r\nTo: ${inbox.address}\r\nBcc: ${bcc}`
      const raw = canaryMail(id, header, { bytes })
      await world.send({ from: 'ann@a.example', to: [inbox.address], raw })
    }
    const file = (id: string, to: string) =>
      mboxOf(mailFrom(inbox.address, id, `Bcc: Hidden <${to}>\n`))
    await send('small', `Someone <else@bcc.example>, Hidden <${address.toUpperCase()}>`, 10)
    await send('large', address, LARGE_BYTES)
    await send('kept', 'else@bcc.example', 10)
    await imported(client, inbox.id, file('sent', address))
    await imported(client, inbox.id, file('sent-kept', 'else@bcc.example'))
    for (const { id, direction, subject } of (await client.messages.list(inbox.id).page()).data) {
      const { bcc } = await client.messages.get(id)
      assert.equal(bcc.length, direction === 'outbound' ? 1 : 0, subject)
    }
    const { id } = await client.erasures.create({ address })
    assertRemoved(await client.erasures.untilDone(id), { messages: 3 })
    const left = (await client.messages.list(inbox.id).page()).data.map(({ subject }) => subject)
    assert.equal(left.length, 2)
    assert.ok(left.every((subject) => subject.includes('kept')))
  })

  test('and every removal leave no stored file for long, also when the process ends before it is removed', async () => {
    const inbox = await world.inbox()
    const raw = canaryMail('late', 'From: late@late.example', { bytes: LARGE_BYTES })
    await world.send({ from: 'late@late.example', to: [inbox.address], raw })
    const [message] = (await world.client.messages.list(inbox.id).page()).data
    const [row] = await runSql(
      world,
      `select raw_id, account_id from messages where id = '${message?.id}'`,
    )
    const isStored = async () =>
      (await s3.namesUnder('erasures/')).some((name) => name.endsWith(String(row?.raw_id)))
    assert.ok(await isStored())
    // As far as a process came that ended after the commit.
    await world.app.deps.db.write(removeMessage, {
      accountId: String(row?.account_id),
      messageId: message?.id ?? '',
      nowMs: world.clock.now(),
    })
    await until(async () => !(await isStored()))
    await until(async () => (await runSql(world, 'select id from unreferenced_blobs')).length === 0)
  })

  test('refuses a file that arrives for an import, with its reason', async () => {
    const { client } = world
    const inbox = await world.inbox()
    const piece = Buffer.alloc(1_100_000, 'x\n')
    const erased = Promise.withResolvers<void>()
    async function* file() {
      yield Buffer.from('From a@b.example Tue Feb  3 04:05:06 2015\nSubject: x\n\n')
      yield piece
      await erased.promise
      yield piece
    }
    const answer = world.fetch(`/v1/inboxes/${inbox.id}/imports`, {
      method: 'POST',
      body: file() as never,
      duplex: 'half',
      headers: { 'content-type': 'application/mbox' },
    } as RequestInit)
    const arrived = `select c.id from transfers t join transfer_chunks c on c.transfer_id = t.id where t.inbox_id = '${inbox.id}'`
    await until(async () => (await runSql(world, arrived)).length > 0)
    const { id } = await client.erasures.create({ address: 'nobody@arriving.example' })
    await client.erasures.untilDone(id)
    erased.resolve()
    assert.equal(await outcomeOf(answer), '409 address_erased')
    assert.deepEqual(
      (await client.imports.list().page()).data.filter(({ inboxId }) => inboxId === inbox.id),
      [],
    )
  })

  /** Data files of the database, without the write-ahead log, which is the whole server's. */
  async function postgresFilesHolding(text: string): Promise<string[]> {
    const [row] = await runSql(
      world,
      "select current_setting('data_directory') as folder, (select oid from pg_database where datname = current_database()) as oid",
    )
    const folder = join(String(row?.folder), 'base', String(row?.oid))
    const held: string[] = []
    for (const name of await readdir(folder)) {
      if ((await readFile(join(folder, name))).includes(text)) held.push(name)
    }
    return held
  }

  function assertRemoved({ removed }: Erasure, expected: Partial<Erasure['removed']>): void {
    for (const [name, count] of Object.entries(expected)) {
      assert.equal(removed[name as keyof Erasure['removed']], count, name)
    }
  }

  test('ends an export that begins while it removes mail', async () => {
    const { client } = world
    const address = 'sender@exported.example'
    const [first, last] = [await world.inbox(), await world.inbox()].sort((a, b) =>
      a.id < b.id ? -1 : 1,
    )
    if (first === undefined || last === undefined) throw new Error('An inbox is missing.')
    const many = Array.from({ length: 1_200 }, (_, at) => mailFrom(address, `many-${at}`))
    await imported(client, first.id, mboxOf(...many))
    await imported(client, last.id, mboxOf(mailFrom(address, 'one')))
    const { id } = await client.erasures.create({ address })
    await until(async () => (await client.erasures.get(id)).removed.messages > 0)
    const file = await client.exports.create({ inboxId: last.id, format: 'mbox' })
    assert.equal((await client.erasures.untilDone(id)).removed.messages, 1_201)
    const { error, progress, url } = await client.exports.untilDone(file.id)
    assert.ok(error === 'address_erased' || progress.total === 0, `${error} ${progress.total}`)
    assert.equal(url === null, error !== null)
  })

  test('counts each message once when several of one address run at once', async () => {
    const { client } = world
    const address = 'twice@counted.example'
    const inbox = await world.inbox()
    const many = Array.from({ length: 40 }, (_, at) => mailFrom(address, `twice-${at}`))
    await imported(client, inbox.id, mboxOf(...many))
    const begun = await Promise.all(
      Array.from({ length: 5 }, () => client.erasures.create({ address })),
    )
    const done = await Promise.all(begun.map(({ id }) => client.erasures.untilDone(id)))
    const counted = done.map(({ removed }) => removed.messages)
    assert.equal(
      counted.reduce((sum, count) => sum + count, 0),
      40,
      String(counted),
    )
  })

  test('is one of five at most that an account has under way', async () => {
    const { client } = await world.newAccount()
    const other = await world.newAccount()
    const asked = Array.from({ length: 20 }, (_, at) =>
      client.erasures.create({ address: `a${at}@many.example` }),
    )
    const settled = await Promise.allSettled(asked)
    const refused = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    assert.ok(refused.length > 0 && refused.length <= 15, `${refused.length} were refused`)
    for (const { status, code } of refused) {
      assert.equal(`${status} ${code}`, '422 transfer_limit_reached')
    }
    const { id } = await other.client.erasures.create({ address: 'eve@many.example' })
    assert.equal((await other.client.erasures.untilDone(id)).status, 'done')
    for (const one of settled) {
      if (one.status === 'fulfilled') await client.erasures.untilDone(one.value.id)
    }
    assert.ok((await client.erasures.create({ address: 'more@many.example' })).id)
  })

  test('names what is wrong, and spares the own inboxes', async () => {
    const { client } = world
    const inbox = await world.inbox()
    for (const address of ['nobody', '', inbox.address.toUpperCase()]) {
      const { status, details } = await refusalOf(client.erasures.create({ address }))
      assert.deepEqual([status, details?.map(({ path }) => path)], [400, ['address']])
    }
    assert.equal(await refusal(client.erasures.get('ers_none')), '404 not_found')
  })
})
