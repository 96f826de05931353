// Makes some of each thing with the service of this version and writes its rows to files, for tests of later versions:
// node packages/server/test/upgrade/record-data.ts <version> [folder]

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Engine } from '#platform/db/db.ts'
import { POSTGRES_URL_VARIABLE, startPostgres } from '#test/peers/postgres.ts'
import { openWorld, plainMail, type World } from '#test/world.ts'
import { SECRET_KEY } from './old-database.ts'

const [version = '', folder = new URL('./data', import.meta.url).pathname] = process.argv.slice(2)

const postgres = await startPostgres()
process.env[POSTGRES_URL_VARIABLE] = postgres.url
for (const engine of ['sqlite', 'postgres'] as const) {
  const world = await openWorld(engine, { env: { MAILROOM_SECRET_KEY: SECRET_KEY } })
  await live(world)
  const rows = await readRows(world, engine)
  writeFileSync(join(folder, `${version}.${engine}.json`), `${JSON.stringify(rows, null, 1)}\n`)
  await world.close()
}
await postgres.stop()

async function live(world: World): Promise<void> {
  const inbox = await world.inbox('kept')
  const gone = await world.inbox('gone')
  const post = (path: string, body: object) =>
    world.fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': path },
      body: JSON.stringify(body),
    })
  const answers = [
    await post('/v1/pods', { clientId: 'customer', name: 'A customer' }),
    await post('/v1/api-keys', { name: 'another' }),
    await post('/v1/webhooks', { url: 'https://receiver.example/hook' }),
    await post('/v1/domains', { domain: 'customer.example' }),
    await post('/v1/suppressions', { address: 'dead@friend.example' }),
    await post('/v1/sender-rules', { type: 'block', value: 'spam.example' }),
  ]
  const messageId = '<first@sender.example>'
  const mails = [
    { messageId, subject: 'First', body: 'An aardvark.' },
    { subject: 'Re: First', headers: [`In-Reply-To: ${messageId}`], body: 'A second one.' },
    { subject: 'Kept out', from: 'Spam <x@spam.example>', body: 'Buy.' },
  ]
  for (const mail of mails) await world.send({ to: inbox.address, raw: plainMail(mail) })
  await world.send({ to: gone.address, raw: plainMail({ subject: 'Gone' }) })
  await world.send({ to: 'postmaster@mailroom.localhost', raw: plainMail({}) })
  const sent = await post(`/v1/inboxes/${inbox.id}/send`, {
    to: 'bob@friend.example',
    subject: 'Sent',
    body: 'Hello.',
  })
  if (sent.status >= 400) process.stdout.write(`${await sent.text()}\n`)
  answers.push(sent, await world.fetch(`/v1/inboxes/${gone.id}`, { method: 'DELETE' }))
  process.stdout.write(`${answers.map(({ status }) => status).join(' ')}\n`)
}

async function readRows(world: World, engine: Engine) {
  const { read } = world.app.deps.db
  const names =
    engine === 'postgres'
      ? sql<{ name: string }>`select tablename as name from pg_tables where schemaname = 'public'`
      : sql<{ name: string }>`select name from sqlite_master where type = 'table'`
  const { rows } = await names.execute(read)
  const tables: Record<string, unknown[]> = {}
  for (const { name } of rows.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    // The index of words is made again from the mail.
    if (/^(schema_migrations|sqlite_|search_)/.test(name)) continue
    const found = await sql<Record<string, unknown>>`select * from ${sql.table(name)}`.execute(read)
    if (found.rows.length > 0) tables[name] = found.rows.map(plain)
  }
  return tables
}

function plain(row: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Uint8Array ? { hex: Buffer.from(value).toString('hex') } : value,
  ])
  return Object.fromEntries(entries)
}
