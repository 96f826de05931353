import assert from 'node:assert/strict'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { openSqliteConnection, type SqliteConnection } from '#platform/db/sqlite-connection.ts'
import { openUnusedBytesPass } from '#platform/db/unused-bytes.ts'

const CANARY = 'zyxcanarywvu'

test('after a pass no page and no log has what was removed, whatever moves meanwhile', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  let leftBefore = 0
  let again = 0
  const runs = sizeOf('TEST_MAILROOM_UNUSED_BYTES', { usual: 12, long: 300 })
  for (let run = 0; run < runs; run++) {
    const random = randomFrom(run + 1)
    const path = join(folder, `${run}.db`)
    // Small pages, so that a small file takes several steps.
    const made = new DatabaseSync(path)
    made.exec('PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; create table any (x)')
    made.close()
    const file = openSync(path, 'r+')
    const connection = openSqliteConnection({ path, mode: 'write' })
    const other = openSqliteConnection({ path, mode: 'write' })
    for (const one of [connection, other]) one.exec('PRAGMA synchronous = OFF')
    fill(connection, random)
    if (run % 3 === 0) connection.exec('PRAGMA secure_delete = FAST')
    connection.exec('delete from rows where isCanary = 1; drop table dropped')
    connection.exec('PRAGMA secure_delete = ON')
    const emptyLog = () =>
      connection.rows('PRAGMA wal_checkpoint(TRUNCATE)')[0]?.busy === 0 && random() < 0.9
    emptyLog()
    if (readFileSync(path).includes(CANARY)) leftBefore += 1
    connection.exec('PRAGMA wal_autocheckpoint = 0')
    const pass = openUnusedBytesPass({ connection, path, file, emptyLog })
    for (let steps = 0; pass.step() !== 'done'; steps++) {
      assert.ok(steps < 1_000, 'it ends')
      for (let count = 20 * random(); count > 0; count--) change(connection, random)
      // As another process that writes and empties the log between two steps.
      if (random() < 0.1) {
        change(other, random)
        other.exec('PRAGMA wal_checkpoint(TRUNCATE)')
        again += 1
      }
    }
    for (const suffix of ['', '-wal']) {
      assert.ok(!readFileSync(path + suffix).includes(CANARY), `run ${run}: ${path}${suffix}`)
    }
    assert.equal(connection.rows('PRAGMA integrity_check')[0]?.integrity_check, 'ok')
    const [count] = connection.rows('select count(*) as n from rows where length(text) > 0')
    assert.ok(Number(count?.n) > 500)
    other.close()
    connection.close()
    closeSync(file)
  }
  assert.ok(leftBefore > 0, 'bytes are left without a pass')
  assert.ok(again > 0)
})

/** Rows that are found by their text, half of them the canary's, that grow and shrink in any order. */
function fill(connection: SqliteConnection, random: () => number): void {
  connection.exec(`create table rows (id integer primary key, isCanary int, text text, key text);
    create index rows_by_key on rows (key);
    create table dropped (text text)`)
  connection.exec('BEGIN')
  for (let id = 0; id < 2_000; id++) {
    const isCanary = id % 2
    const word = isCanary === 1 ? CANARY : 'other'
    const text = `${word} ${'x'.repeat(300 * random())}`
    connection.rows(
      'insert into rows values (?, ?, ?, ?)',
      id,
      isCanary,
      text,
      `${word}${random()}`,
    )
    if (id % 20 === 1) connection.rows('insert into dropped values (?)', text.repeat(20))
  }
  connection.exec('COMMIT')
  for (let count = 0; count < 300; count++) change(connection, random)
}

function change(connection: SqliteConnection, random: () => number): void {
  const id = Math.floor(random() * 2_000)
  if (random() < 0.2) {
    connection.rows(
      'update rows set text = substr(text, 1, 20) where id between ? and ?',
      id,
      id + 9,
    )
    return
  }
  const added = 'y'.repeat(400 * random())
  connection.rows('update rows set text = text || ? where id = ?', added, id)
}

/** mulberry32 */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
