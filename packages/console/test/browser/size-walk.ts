// The size of the scripts that the first page loads, and the time until a full inbox appears.

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { runSql } from '@mailroom/server/test/peers/sql.ts'
import {
  type ConsoleWorld,
  foreignRequests,
  openConsoleWorld,
  plainMail,
} from '#test/browser/console-world.ts'

const SCRIPT_BYTES_MAX = 250_000
const MESSAGES = 300_000

suite('the size of the console', () => {
  let world: ConsoleWorld

  before(async () => {
    world = await openConsoleWorld()
    await world.signIn('/console/missing')
  })
  after(() => world.close())

  test('whatever page is opened first, it loads less than 250 KB of scripts, and no other page', async (t) => {
    const ofWhole: Record<string, number> = {}
    for (const name of ['', 'mail', 'inboxes', 'domains', 'reviews', 'webhooks']) {
      await world.open(`/console/${name}`)
      await world.page.locator('h1').waitFor()
      const scripts = await world.page.evaluate(() =>
        performance
          .getEntriesByType('resource')
          .map((entry) => entry as PerformanceResourceTiming)
          .filter((entry) => new URL(entry.name).pathname.endsWith('.js'))
          .map(({ name, decodedBodySize }) => ({ name, bytes: decodedBodySize })),
      )
      assert.ok(scripts.length > 1 && scripts.every(({ bytes }) => bytes > 0))
      const bytes = scripts.reduce((sum, one) => sum + one.bytes, 0)
      const names = scripts.map((one) => `${one.name} ${one.bytes}`).join(', ')
      assert.ok(bytes < SCRIPT_BYTES_MAX, `/${name} loads ${bytes} bytes: ${names}`)
      const pages = scripts.filter((one) =>
        /\/(?:overview|all-mail|policy|transfers)-/.test(one.name),
      )
      const own = { '': 'overview', mail: 'all-mail' }[name]
      assert.ok(
        pages.every((one) => own !== undefined && one.name.includes(`/${own}-`)),
        `/${name} loads the pages ${names}`,
      )
      ofWhole[`/${name}`] = bytes
    }
    t.diagnostic(JSON.stringify(ofWhole))
  })

  test('an inbox of 300,000 messages is shown and paged through', async (t) => {
    const inbox = await world.client.inboxes.create({ mailboxName: 'full' })
    await world.deliver(inbox.address, plainMail({ subject: 'Number 0', text: 'The first.' }))
    await fill(world.service)
    const { page } = world
    const times: number[] = []
    for (let round = 0; round < 3; round++) {
      const startMs = performance.now()
      await world.open(`/console/inboxes/${inbox.id}`)
      await page.locator('.thread').first().waitFor()
      times.push(Math.round(performance.now() - startMs))
    }
    t.diagnostic(`from the address to the first thread: ${times.join(', ')} ms`)
    await page.getByText(`of ${(MESSAGES + 1).toLocaleString('en')}`).waitFor()
    const first = await page.locator('.thread-subject').first().textContent()
    await page.getByRole('button', { name: 'Next page' }).click()
    await page.getByText(/^41–80 of/).waitFor()
    assert.notEqual(await page.locator('.thread-subject').first().textContent(), first)
    assert.deepEqual(foreignRequests(world), [])
  })
})

/** Copies the one message and its thread by SQL. */
async function fill(service: Parameters<typeof runSql>[0]): Promise<void> {
  const [message] = await runSql(service, 'select * from messages')
  const [thread] = await runSql(service, 'select * from threads')
  assert.ok(message !== undefined && thread !== undefined)
  await copyRow(service, 'threads', thread, {
    id: "'thd_full' || n",
    subject: "'Number ' || n",
    last_message_at: 'last_message_at + n',
  })
  await copyRow(service, 'messages', message, {
    id: "'msg_full' || n",
    thread_id: "'thd_full' || n",
    subject: "'Number ' || n",
    arrival: 'n + 1',
    created_at: 'created_at + n',
    receipt_key: 'null',
    message_key: 'null',
    rfc_message_id: "'<' || n || '@full.example>'",
  })
  await runSql(
    service,
    `update inbox_counters set inbound_count = inbound_count + ${MESSAGES}, last_arrival = last_arrival + ${MESSAGES},
        thread_count = thread_count + ${MESSAGES}, unread_thread_count = unread_thread_count + ${MESSAGES}
      where inbox_id = '${message.inbox_id}'`,
  )
  await runSql(service, `update raw_messages set reference_count = reference_count + ${MESSAGES}`)
}

/** MESSAGES copies of the row, with these columns computed from `n`, which counts from 1. */
async function copyRow(
  service: Parameters<typeof runSql>[0],
  table: string,
  row: Record<string, unknown>,
  changes: Record<string, string>,
): Promise<void> {
  const columns = Object.keys(row)
  const values = columns.map((column) => changes[column] ?? column)
  await runSql(
    service,
    `insert into ${table} (${columns.join(', ')})
      with recursive numbers (n) as (
        select 1 union all select n + 1 from numbers where n < ${MESSAGES}
      )
      select ${values.join(', ')} from ${table}, numbers where id = '${row.id}'`,
  )
}
