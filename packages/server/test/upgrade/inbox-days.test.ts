import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Migration, readMigrations } from '#platform/db/migrate.ts'
import { migratePostgres } from '#platform/db/postgres.ts'
import { migrateSqlite } from '#platform/db/sqlite.ts'
import { openDayCounter } from '#stats/count-mail.ts'
import { stillClock } from '#test/conformance/delivering.ts'
import { openAt, untilReadable } from '#test/conformance/open-database.ts'
import { onBothEngines } from '#test/world.ts'
import { livedInPlace, type Place } from './old-database.ts'

const DAY_READER = 28
const DAYS = 'select * from inbox_days order by account_id, day_at, inbox_id'

onBothEngines('the daily figures of inboxes', (engine) => {
  const own = readMigrations(engine)
  const migrate = ({ place }: Place, migrations: readonly Migration[]) =>
    engine === 'sqlite' ? migrateSqlite(place, migrations) : migratePostgres(place, migrations)
  const numbersOf = (rows: Record<string, unknown>[]) =>
    rows.map((row) => [
      row.inbox_id,
      ...[row.day_at, row.received, row.sent, row.failed].map(Number),
    ])

  test('get back what a program that counts only hours passed over', async (t) => {
    const place = await livedInPlace(engine, t, '0007')
    await migrate(
      place,
      own.filter(({ version }) => version < DAY_READER),
    )
    const counted = numbersOf(await place.run(DAYS))
    assert.ok(counted.some(([, , received]) => Number(received) > 1))
    await place.run('update inbox_days set received = received - 1 where received > 0')
    // Events of this day have left the log.
    await place.run(
      `insert into inbox_days (account_id, day_at, inbox_id, received, sent, failed)
       select account_id, 0, inbox_id, 7, 6, 5 from inbox_days order by day_at, inbox_id limit 1`,
    )
    const [first] = numbersOf(await place.run('select * from inbox_days where day_at = 0'))
    await migrate(place, own)
    const expected = [first, ...counted].sort()
    assert.deepEqual(numbersOf(await place.run(DAYS)).sort(), expected)

    const db = await openAt(engine, place.place)
    t.after(() => db.close())
    await untilReadable(db)
    const days = openDayCounter({ db, clock: stillClock(Date.now()) })
    while (await days.step());
    const logged = await place.run(
      `select inbox_id, sum(case when kind = 'message.received' then 1 else 0 end) as received,
         sum(case when kind = 'message.sent' then 1 else 0 end) as sent
       from events where inbox_id is not null group by inbox_id order by inbox_id`,
    )
    const summed = await place.run(
      `select inbox_id, sum(received) as received, sum(sent) as sent
       from inbox_days where day_at > 0 group by inbox_id order by inbox_id`,
    )
    const sumsOf = (rows: Record<string, unknown>[]) =>
      rows.map((row) => [row.inbox_id, Number(row.received), Number(row.sent)])
    assert.deepEqual(sumsOf(summed), sumsOf(logged))
  })
})
