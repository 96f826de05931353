import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { MailroomError } from '@mailroom/sdk'
import pg from 'pg'
import { databasePath } from '#app/open-store.ts'
import { STRAINED_WRITES_MIN } from '#platform/db/paced-db.ts'
import { lockDatabase } from '#test/crash/database-lock.ts'
import { openSender } from '#test/peers/sender.ts'
import { figureOf } from '#test/scenarios/figures.ts'
import { opened, openWorld, plainMail, type World } from '#test/world.ts'

/** STRAINED_WRITES_MIN exceeds the connections that one address may have. */
const CLIENTS = 12
const LARGE = Buffer.from(`${plainMail({})}${`${'x'.repeat(998)}\r\n`.repeat(4_000)}`)
const GUARD_MS = 60_000

suite('a PostgreSQL whose commits hang', () => {
  const world = opened(() => openWorld('postgres'))

  test('mail is deferred before its content, requests before their body, and both are accepted again afterwards', async (t) => {
    const inbox = await world.inbox()
    const lock = await holdWrites(world)
    const begun = Array.from({ length: STRAINED_WRITES_MIN }, () =>
      world.send({ to: inbox.address, raw: plainMail({}) }),
    )
    await until(async () => (await figureOf(world, 'mailroom_store_strained')) === 1)

    const replies = await Promise.all(
      Array.from({ length: CLIENTS }, () => stageOfRefusal(world, inbox.address)),
    )
    t.diagnostic(JSON.stringify(replies))
    const late = replies.filter(({ stage }) => stage === 'content')
    assert.ok(late.length <= STRAINED_WRITES_MIN, `${late.length} were refused after their content`)
    assert.ok(replies.every(({ code }) => code === 451))
    const heldBytes = await figureOf(world, 'mailroom_smtp_held_bytes')
    assert.ok(heldBytes < 2 * STRAINED_WRITES_MIN * LARGE.length, `${heldBytes}`)

    const refusal = await world.client.inboxes.create({}).then(
      () => null,
      (error: unknown) => error,
    )
    assert.ok(refusal instanceof MailroomError && refusal.status === 503, String(refusal))
    assert.equal(refusal.code, 'service_unavailable')
    assert.ok(refusal.retryAfterSeconds !== null)
    assert.equal((await world.client.inboxes.get(inbox.id)).id, inbox.id, 'reads go on')
    assert.ok((await figureOf(world, 'mailroom_store_refusals_total')) > 0)

    await lock.release()
    for (const { code } of await Promise.all(begun)) assert.ok(code === 250 || code === 451)
    await until(
      async () => (await world.send({ to: inbox.address, raw: plainMail({}) })).code === 250,
    )
    assert.ok((await world.client.inboxes.create({})).id)
    await until(async () => (await figureOf(world, 'mailroom_store_strained')) === 0)
    assert.equal(await figureOf(world, 'mailroom_smtp_held_bytes'), 0)
  })

  test('mail for one inbox that waits for a row delays no mail for others', async () => {
    const [busy, other] = [
      await world.inbox(),
      await (await world.newAccount()).client.inboxes.create({}),
    ]
    const client = await connect(world)
    try {
      await client.query('begin')
      await client.query('select * from inbox_counters where inbox_id = $1 for update', [busy.id])
      const waiting = Array.from({ length: 30 }, () =>
        world.send({ to: busy.address, raw: plainMail({}) }),
      )
      await until(async () => (await figureOf(world, 'mailroom_write_queue_length')) >= 7)
      for (let count = 0; count < 3; count++) {
        assert.equal((await world.send({ to: other.address, raw: plainMail({}) })).code, 250)
      }
      await client.query('rollback')
      for (const { code } of await Promise.all(waiting)) assert.ok(code === 250 || code === 451)
    } finally {
      await client.end()
    }
  })
})

suite('a SQLite database locked by another program', () => {
  test('mail is deferred at once, without waiting for the lock, and accepted when it is released', async (t) => {
    await using world = await openWorld('sqlite')
    const inbox = await world.inbox()
    const lock = await lockDatabase(t, databasePath(world.settings))
    for (const { code } of await Promise.all(
      Array.from({ length: 3 }, () => world.send({ to: inbox.address, raw: plainMail({}) })),
    )) {
      assert.equal(code, 451)
    }
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => stageOfRefusal(world, inbox.address)),
    )
    const early = replies.filter(({ stage }) => stage !== 'content')
    assert.ok(early.length >= 5, JSON.stringify(replies))
    await lock.release()
    await until(
      async () => (await world.send({ to: inbox.address, raw: plainMail({}) })).code === 250,
    )
    assert.ok((await world.client.inboxes.create({})).id)
  })
})

/** The stage at which a large message is refused: MAIL, RCPT, DATA or after its content. */
async function stageOfRefusal(world: World, to: string): Promise<{ stage: string; code: number }> {
  const sender = await openSender(world.smtpPort)
  try {
    for (const [stage, line] of [
      ['sender', 'MAIL FROM:<ann@sender.example>'],
      ['recipient', `RCPT TO:<${to}>`],
      ['data', 'DATA'],
    ] as const) {
      const { code } = await sender.command(line)
      if (code >= 400) return { stage, code }
    }
    sender.write(LARGE)
    sender.write('.\r\n')
    return { stage: 'content', code: (await sender.reply()).code }
  } finally {
    await sender.quit()
  }
}

function connect(world: World): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: world.settings.databaseUrl ?? '' })
  return client.connect().then(() => client)
}

/** Blocks writes of messages until released; reads continue. */
async function holdWrites(world: World) {
  const client = await connect(world)
  await client.query('begin')
  await client.query('lock table raw_messages, inbox_counters, inboxes in exclusive mode')
  return {
    async release() {
      await client.query('rollback')
      await client.end()
    },
  }
}

async function until(isMet: () => Promise<boolean>): Promise<void> {
  for (const startMs = performance.now(); !(await isMet()); await sleep(50)) {
    assert.ok(performance.now() - startMs < GUARD_MS, 'it came to that in time')
  }
}
