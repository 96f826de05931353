// The size of the scripts, and the time until a full inbox appears.

import assert from 'node:assert/strict'
import { readdir, stat } from 'node:fs/promises'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runSql } from '@mailroom/server/test/peers/sql.ts'
import { foreignRequests, openConsoleWorld, plainMail } from '#test/browser/console-world.ts'

const SCRIPT_BYTES_MAX = 250_000
const MESSAGES = 300_000

suite('the size of the console', () => {
  test('all scripts together are under 250 KB', async () => {
    const folder = fileURLToPath(import.meta.resolve('@mailroom/console/dist/assets'))
    const names = (await readdir(folder)).filter((name) => name.endsWith('.js'))
    const sizes = await Promise.all(
      names.map(async (name) => (await stat(`${folder}/${name}`)).size),
    )
    const bytes = sizes.reduce((sum, size) => sum + size, 0)
    assert.ok(bytes > 0 && bytes < SCRIPT_BYTES_MAX, `${bytes} bytes in ${names.join(', ')}`)
  })

  test('an inbox of 300,000 messages is shown and paged through', async (t) => {
    const world = await openConsoleWorld()
    t.after(() => world.close())
    const inbox = await world.client.inboxes.create({ mailboxName: 'full' })
    await world.deliver(inbox.address, plainMail({ subject: 'Number 0', text: 'The first.' }))
    await fill(world.service)
    await world.signIn('/console/missing')
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
    last_position: 'n + 1',
  })
  await copyRow(service, 'messages', message, {
    id: "'msg_full' || n",
    thread_id: "'thd_full' || n",
    subject: "'Number ' || n",
    position: 'n + 1',
    direction_position: 'n + 1',
    thread_position: '1',
    receipt_key: 'null',
    message_key: 'null',
    rfc_message_id: "'<' || n || '@full.example>'",
  })
  await runSql(
    service,
    `update inbox_counters set inbound_count = inbound_count + ${MESSAGES},
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
