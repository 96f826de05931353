import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { CompiledQuery } from 'kysely'
import pg from 'pg'
import { changeAccount } from '#accounts/store/accounts.ts'
import { insertPod } from '#accounts/store/pods.ts'
import { asStorageError, StorageError } from '#platform/db/storage-error.ts'
import { WRITE_QUEUE_MAX } from '#platform/db/write-slots.ts'
import { addJobs, leaseJobs, releaseJobs, renewJobs, settleJob } from '#queue/jobs.ts'
import { purgeInboxStep } from '#removal/store/purge.ts'
import { addAccount, makeId, openAt, openDatabase } from '#test/conformance/open-database.ts'
import { createTestDatabase, startPostgres } from '#test/peers/postgres.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onBothEngines } from '#test/world.ts'

function isTrouble(kind: string) {
  return (error: unknown) => error instanceof StorageError && error.kind === kind
}

onBothEngines('a store in trouble', (engine) => {
  test('one account fills half of the queue, and its further writes are refused at once', async () => {
    await using database = await openDatabase(engine)
    const owner = await addAccount(database.db)
    const writes = Array.from({ length: WRITE_QUEUE_MAX + 5 }, () =>
      database.db.write(changeAccount, { id: owner.accountId }),
    )
    const settled = await Promise.allSettled(writes)
    assert.ok(
      settled.slice(-5).every((one) => one.status === 'rejected' && isTrouble('busy')(one.reason)),
    )
    const refused = settled.filter((one) => one.status === 'rejected')
    assert.ok(refused.every(({ reason }) => reason instanceof StorageError))
    if (engine === 'sqlite') assert.ok(refused.length <= WRITE_QUEUE_MAX / 2)
    await database.db.write(changeAccount, { id: owner.accountId })
  })

  test('a closed port refuses writes without side effects', async () => {
    const database = await openDatabase(engine)
    await database.close()
    await assert.rejects(
      database.db.write(releaseJobs, { instance: null }),
      isTrouble('unavailable'),
    )
  })

  test('a path where no database can be is refused with its reason', async () => {
    const place =
      engine === 'sqlite' ? '/proc/none/test.db' : 'postgres://nobody@127.0.0.1:1/nothing'
    await assert.rejects(openAt(engine, place), /open database|ECONNREFUSED/)
  })
})

test('a SQLite database locked by another process is busy, stays readable, and recovers', async () => {
  await using database = await openDatabase('sqlite')
  const owner = await addAccount(database.db)
  const other = new DatabaseSync(database.place)
  other.exec('BEGIN IMMEDIATE')
  const startMs = performance.now()
  const pod = { ...owner, podId: makeId('pod'), clientId: null, name: null, nowMs: 1 }
  await assert.rejects(database.db.write(insertPod, pod), isTrouble('busy'))
  assert.ok(performance.now() - startMs < 30_000)
  assert.equal((await database.db.read.selectFrom('pods').select('id').execute()).length, 1)
  await database.db.check()
  other.exec('ROLLBACK')
  other.close()
  await database.db.write(insertPod, pod)
})

test('the log of a SQLite database is emptied after erasures, and not for jobs', async () => {
  await using database = await openDatabase('sqlite')
  const owner = await addAccount(database.db)
  const logBytes = () => statSync(`${database.place}-wal`).size
  const job = { kind: 'none', key: 'job_1' }
  await database.db.write(addJobs, { jobs: [{ ...job, account_id: '', due_at: 1 }] })
  const lease = { worker: 'worker', nowMs: 2 }
  const claim = { kind: 'none', ...lease, leaseMs: 1_000, limit: 10, afterAccount: '' }
  await database.db.write(leaseJobs, claim)
  await database.db.write(renewJobs, { kind: 'none', workers: ['worker'], untilMs: 3_000 })
  for (const outcome of ['again', 'done'] as const) {
    await database.db.write(settleJob, { ...job, ...lease, outcome, faultsMax: 1 })
    await database.db.write(leaseJobs, claim)
  }
  // After the answers: the writer empties the log when it is idle.
  await database.db.write(changeAccount, { id: owner.accountId })
  assert.ok(logBytes() > 0)
  await database.db.write(purgeInboxStep, { nowMs: 0, inboxId: 'inb_unknown' })
  await until(async () => logBytes() === 0)
})

test('PostgreSQL ends the transaction of a machine that died during it, and releases its locks', async () => {
  await using database = await openDatabase('postgres')
  const query = CompiledQuery.raw('show idle_in_transaction_session_timeout')
  const { rows } = await database.db.read.executeQuery(query)
  assert.deepEqual(rows, [{ idle_in_transaction_session_timeout: '20s' }])
})

test('a PostgreSQL server that ends is unavailable, and works again when it is back', async () => {
  const cluster = await startPostgres()
  try {
    const place = await createTestDatabase(cluster.url)
    const db = await openAt('postgres', place)
    const owner = await addAccount(db)
    const admin = new pg.Client({ connectionString: cluster.url })
    await admin.connect()
    await admin.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and application_name = $1',
      ['mailroom'],
    )
    await admin.end()
    // A dead connection may be noticed only when it is used.
    await until(async () => {
      const outcome = await db.write(changeAccount, { id: owner.accountId }).catch((error) => error)
      assert.ok(!(outcome instanceof Error) || isTrouble('unavailable')(outcome), String(outcome))
      return !(outcome instanceof Error)
    })
    await cluster.stop()
    await assert.rejects(db.write(changeAccount, { id: owner.accountId }), isTrouble('unavailable'))
    await assert.rejects(db.check(), isTrouble('unavailable'))
    await db.close()
  } finally {
    await cluster.stop()
  }
})

const KNOWN: [description: string, error: object, kind: string | null][] = [
  ['SQLITE_FULL', { errcode: 13 }, 'full'],
  ['SQLITE_BUSY_SNAPSHOT', { errcode: 517 }, 'busy'],
  ['SQLITE_IOERR_FSYNC', { errcode: 1034 }, 'unavailable'],
  ['SQLITE_CORRUPT', { errcode: 11 }, 'unavailable'],
  ['SQLITE_CONSTRAINT_UNIQUE', { errcode: 2067 }, null],
  ['disk_full of PostgreSQL', { code: '53100' }, 'full'],
  ['too_many_connections', { code: '53300' }, 'busy'],
  ['deadlock_detected', { code: '40P01' }, 'busy'],
  ['admin_shutdown', { code: '57P01' }, 'unavailable'],
  ['connection_failure', { code: '08006' }, 'unavailable'],
  ['unique_violation', { code: '23505' }, null],
  ['a full disk under a file', { code: 'ENOSPC' }, 'full'],
  ['no more descriptors', { code: 'EMFILE' }, 'busy'],
  ['a connection that was refused', { code: 'ECONNREFUSED' }, 'unavailable'],
  ['a name that DNS has no answer for now', { code: 'EAI_AGAIN' }, 'unavailable'],
  ['a network that is not there', { code: 'ENETUNREACH' }, 'unavailable'],
  ['the_database_system_is_starting_up', { code: '57P03' }, 'unavailable'],
  [
    'a client that was closed',
    { message: 'Client was closed and is not queryable' },
    'unavailable',
  ],
  [
    'a client whose connection broke',
    { message: 'Client has encountered a connection error and is not queryable' },
    'unavailable',
  ],
  ['a connection that ended', { message: 'Connection terminated unexpectedly' }, 'unavailable'],
  ['a fault of the program', {}, null],
]

for (const [description, fields, kind] of KNOWN) {
  test(`${description} is ${kind === null ? 'no trouble of the store' : kind}`, () => {
    const error = Object.assign(new Error('it failed'), fields)
    assert.equal(asStorageError(error)?.kind ?? null, kind)
  })
}
