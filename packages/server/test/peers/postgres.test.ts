import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import pg from 'pg'
import { createTestDatabase, startPostgres, testPostgresUrl } from './postgres.ts'

test('a test database is new each time, with default durability', async () => {
  const base = await testPostgresUrl()
  const urls = await Promise.all([createTestDatabase(base), createTestDatabase(base)])
  assert.notEqual(urls[0], urls[1])
  const client = new pg.Client({ connectionString: urls[0] })
  await client.connect()
  const { rows } = await client.query(
    "SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS sync",
  )
  await client.end()
  assert.deepEqual(rows, [{ fsync: 'on', sync: 'on' }])
})

test('a stopped cluster leaves no files and does not answer', async () => {
  const cluster = await startPostgres()
  const client = new pg.Client({ connectionString: cluster.url })
  await client.connect()
  const { rows } = await client.query('SHOW data_directory')
  await client.end()
  const folder: string = rows[0].data_directory
  assert.equal(existsSync(folder), true)
  await Promise.all([cluster.stop(), cluster.stop()])
  assert.equal(existsSync(folder), false)
  const late = new pg.Client({ connectionString: cluster.url })
  await assert.rejects(late.connect(), { code: 'ECONNREFUSED' })
})

test('a cluster ends with its process, even if that is killed', async () => {
  const program = `
    import { startPostgres } from ${JSON.stringify(import.meta.resolve('./postgres.ts'))}
    const { url } = await startPostgres()
    console.log(url)
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [url] = await once(child.stdout.setEncoding('utf8'), 'data')
  const client = new pg.Client({ connectionString: String(url).trim() })
  const cut = new Promise<void>((resolve) => {
    client.on('error', () => {})
    client.on('end', () => resolve())
  })
  await client.connect()
  child.kill('SIGKILL')
  await cut
})
