import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { runSql } from '#test/peers/sql.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { imported, mailFrom, mboxOf } from '#test/scenarios/transfer-mail.ts'
import { onEachEngine, opened, openTenant } from '#test/world.ts'

const MINUTE_MS = 60_000

onEachEngine('work on files that always fails', (engine) => {
  const world = opened(() => openTenant(engine))

  /** Until its result is called, or the test ends, the statement fails on rows for which `when` is true. */
  async function breakStatement(
    t: TestContext,
    on: string,
    when: string,
  ): Promise<() => Promise<void>> {
    const sql = (text: string) => runSql(world, text)
    if (engine === 'sqlite') {
      await sql(
        `create trigger broken before ${on} for each row when ${when} begin select raise(abort, 'broken'); end`,
      )
    } else {
      await sql(
        `create function broken() returns trigger language plpgsql as $$ begin raise 'broken'; end $$`,
      )
      await sql(
        `create trigger broken before ${on} for each row when (${when}) execute function broken()`,
      )
    }
    const mend = async () => {
      const dropped =
        engine === 'sqlite' ? 'trigger if exists broken' : 'function if exists broken cascade'
      await sql(`drop ${dropped}`)
    }
    t.after(mend)
    return mend
  }

  /** Moves the clock to the next attempt each time, until `isOver`. */
  async function passAttempts<Job extends { nextAttemptAt: string | null }>(
    get: () => Promise<Job>,
    isOver: (job: Job, waitMs: number) => boolean,
  ): Promise<Job> {
    for (let last: string | null = null; ; ) {
      let job = await get()
      let waitMs = 0
      await until(async () => {
        job = await get()
        waitMs = job.nextAttemptAt === null ? 0 : Date.parse(job.nextAttemptAt) - world.clock.now()
        return isOver(job, waitMs) || (job.nextAttemptAt !== null && job.nextAttemptAt !== last)
      })
      if (isOver(job, waitMs)) return job
      last = job.nextAttemptAt
      world.clock.advance(waitMs)
      world.app.deps.wakeWorker()
    }
  }

  const file = (name: string) =>
    mboxOf(...Array.from({ length: 60 }, (_, at) => mailFrom('ann@a.example', `${name}${at}`)))

  test('ends an import after growing waits, says why, and holds up no other; what came before stays', async (t) => {
    const { client } = world
    const inbox = await world.inbox()
    const mend = await breakStatement(t, 'insert on messages', "new.subject = 'bad55'")
    const { id } = await client.imports.create(inbox.id, file('bad'))
    await until(async () => (await client.imports.get(id)).nextAttemptAt !== null)
    const waiting = await client.imports.get(id)
    assert.deepEqual([waiting.status, waiting.error, waiting.imported], ['running', null, 50])
    assert.match(waiting.errorMessage ?? '', /internal error occurred/)
    const other = await imported(client, inbox.id, file('good'))
    assert.deepEqual([other.status, other.imported, other.errorMessage], ['done', 60, null])

    const get = () => client.imports.get(id)
    const job = await passAttempts(get, ({ status }) => status === 'failed')
    assert.deepEqual([job.error, job.imported, job.nextAttemptAt], ['internal_error', 50, null])
    assert.match(
      job.errorMessage ?? '',
      /^Importing the messages after message 50 of the file failed 8 times within 2\d minutes\. .*nothing twice\.$/,
    )
    assert.equal((await client.messages.list(inbox.id).page()).total, 110)
    // Nobody needs its file any more.
    const chunks = () => runSql(world, `select id from transfer_chunks where transfer_id = '${id}'`)
    await until(async () => (await chunks()).length === 0)
    await mend()
    const again = await imported(client, inbox.id, file('bad'))
    assert.deepEqual([again.imported, again.duplicates, again.status], [10, 50, 'done'])
  })

  test('goes on with an import once its fault is mended, and with its attempts counted anew', async (t) => {
    const { client } = world
    const inbox = await world.inbox()
    const mend = await breakStatement(t, 'insert on messages', "new.subject = 'odd55'")
    const { id } = await client.imports.create(inbox.id, file('odd'))
    const get = () => client.imports.get(id)
    await passAttempts(get, (_, waitMs) => waitMs > 5 * MINUTE_MS)
    await mend()
    world.clock.advance(11 * MINUTE_MS)
    world.app.deps.wakeWorker()
    await until(async () => (await get()).status === 'done')
    const job = await get()
    assert.deepEqual([job.imported, job.duplicates, job.errorMessage], [60, 0, null])
  })

  test('ends an export too', async (t) => {
    const { client } = world
    const inbox = await world.inbox()
    await imported(client, inbox.id, mboxOf(mailFrom('ann@a.example', 'one')))
    await breakStatement(t, 'insert on transfer_chunks', 'new.size_bytes > 1')
    const { id } = await client.exports.create({ inboxId: inbox.id, format: 'mbox' })
    const get = () => client.exports.get(id)
    const job = await passAttempts(get, ({ status }) => status === 'failed')
    assert.deepEqual([job.error, job.url, job.sizeBytes], ['internal_error', null, null])
    assert.match(job.errorMessage ?? '', /^Writing the file failed 8 times .* Export again\.$/)
  })

  test('never ends an erasure: it waits up to an hour, and says why', async (t) => {
    const { client } = world
    const inbox = await world.inbox()
    await imported(client, inbox.id, mboxOf(mailFrom('eve@erased.example', 'eve')))
    const mend = await breakStatement(t, 'delete on messages', 'true')
    const { id } = await client.erasures.create({ address: 'eve@erased.example' })
    const get = () => client.erasures.get(id)
    const job = await passAttempts(get, (_, waitMs) => waitMs > 55 * MINUTE_MS)
    assert.ok(Date.parse(job.nextAttemptAt ?? '') <= world.clock.now() + 60 * MINUTE_MS)
    assert.equal(job.status, 'running')
    assert.match(job.errorMessage ?? '', /internal error occurred/)
    await mend()
    world.clock.advance(60 * MINUTE_MS)
    world.app.deps.wakeWorker()
    await until(async () => (await get()).status === 'done')
    const done = await get()
    assert.deepEqual(
      [done.errorMessage, done.nextAttemptAt, done.removed.messages],
      [null, null, 1],
    )
  })
})
