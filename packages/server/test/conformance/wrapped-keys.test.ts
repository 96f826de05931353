import assert from 'node:assert/strict'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, suite, test } from 'node:test'
import { openSqliteConnection } from '#platform/db/sqlite-connection.ts'
import { ensureSecret, findSecret, replaceSecret } from '#secrets/store/secrets.ts'
import type { Db } from '#store/tables.ts'
import {
  dkimOf,
  KEY_A,
  KEY_B,
  type KeysPlace,
  openKeysPlace,
} from '#test/conformance/keys-place.ts'
import { until } from '#test/scenarios/outcomes.ts'

const NOT_HERE = /not here: set MAILROOM_SECRET_KEY/

/** The same database, with a hook before the first write of this name. */
function beforeWrite(db: Db, { name }: { name: string }, happen: () => Promise<unknown>): Db {
  let isAwaited = true
  const write: Db['write'] = (transaction, input) => {
    const written = () => db.write(transaction, input)
    if (!isAwaited || transaction.name !== name) return written()
    isAwaited = false
    return happen().then(written)
  }
  return { ...db, write }
}

/** The same database, which refuses every write. */
function fullDisk(db: Db): Db {
  return { ...db, write: () => Promise.reject(new Error('The disk is full.')) }
}

async function dataKeyOf({ database }: KeysPlace): Promise<Buffer> {
  return Buffer.from((await findSecret(database.db, 'data-key')) ?? '')
}

suite('the data key in PostgreSQL', () => {
  let place: KeysPlace
  beforeEach(async () => {
    place = await openKeysPlace('postgres')
  })
  afterEach(() => place.close())

  test('is unsealed while there is no key to seal it with, and the start says so', async () => {
    const { warning } = await place.open()
    assert.match(warning ?? '', /read the database.*MAILROOM_SECRET_KEY/)
    assert.equal((await place.open()).warning, warning)
    const kept = await dataKeyOf(place)
    assert.equal(kept[0], 0)
    assert.equal(kept.length, 33)
    assert.deepEqual(await readdir(place.dataDir), [])
  })

  test('is sealed from the first start on with a given key', async () => {
    assert.equal((await place.open({ secretKey: KEY_A })).warning, null)
    assert.equal((await dataKeyOf(place))[0], 1)
  })

  test('is not sealed with a file that other processes would not have', async () => {
    await writeFile(place.keyFile, `${KEY_B}\n`)
    assert.notEqual((await place.open()).warning, null)
    assert.equal((await dataKeyOf(place))[0], 0)
  })

  test('is sealed at the next start with a key that is given later', async () => {
    const before = await place.open()
    const record = await dkimOf(before)
    const plain = (await dataKeyOf(place)).subarray(1)
    const keys = await place.open({ secretKey: KEY_A })
    assert.equal(keys.warning, null)
    assert.deepEqual(await dkimOf(keys), record)
    const secrets = await place.database.db.read
      .selectFrom('service_secrets')
      .select('value')
      .execute()
    assert.ok(secrets.every(({ value }) => !Buffer.from(value).includes(plain)))
    await assert.rejects(place.open(), NOT_HERE)
    await assert.rejects(place.open({ secretKey: KEY_B }), NOT_HERE)
    const db = fullDisk(place.database.db)
    assert.deepEqual(await dkimOf(await place.open({ secretKey: KEY_A }, { db })), record)
    // A running process continues.
    const sealed = before.sealer.seal(plain, 'place')
    assert.deepEqual(keys.sealer.open(sealed, 'place'), plain)
  })

  test('is sealed once by processes that get the key at the same moment', async () => {
    const record = await dkimOf(await place.open())
    const db = await place.database.openAgain()
    const secretKey = KEY_A
    const opened = await Promise.all(
      [{}, { db }, {}, { db }].map((others) => place.open({ secretKey }, others)),
    )
    for (const keys of opened) assert.deepEqual(await dkimOf(keys), record)
    assert.deepEqual(await dkimOf(await place.open({ secretKey })), record)
  })

  for (const late of [KEY_A, KEY_B]) {
    const how = late === KEY_A ? 'and serves another with the same key' : 'and stops another key'
    test(`stays as the first of two sealed it, ${how}`, async () => {
      const record = await dkimOf(await place.open())
      let sealed: Buffer | null = null
      const db = beforeWrite(place.database.db, replaceSecret, async () => {
        await place.open({ secretKey: KEY_A })
        sealed = await dataKeyOf(place)
      })
      const opening = place.open({ secretKey: late }, { db })
      if (late === KEY_A) assert.deepEqual(await dkimOf(await opening), record)
      else await assert.rejects(opening, NOT_HERE)
      assert.deepEqual(await dataKeyOf(place), sealed)
      assert.deepEqual(await dkimOf(await place.open({ secretKey: KEY_A })), record)
    })
  }

  test('is sealed even if a process without the key created it at the same moment', async () => {
    const db = beforeWrite(place.database.db, ensureSecret, () => place.open())
    const keys = await place.open({ secretKey: KEY_A }, { db })
    assert.equal(keys.warning, null)
    assert.equal((await dataKeyOf(place))[0], 1)
  })

  test('stops a process without the key when one that has it created it at the same moment', async () => {
    const db = beforeWrite(place.database.db, ensureSecret, () => place.open({ secretKey: KEY_A }))
    await assert.rejects(place.open({}, { db }), NOT_HERE)
  })
})

suite('the data key in a SQLite database', () => {
  let place: KeysPlace
  beforeEach(async () => {
    place = await openKeysPlace('sqlite')
  })
  afterEach(() => place.close())

  test('is never unsealed', async () => {
    assert.equal((await place.open()).warning, null)
    assert.equal((await dataKeyOf(place))[0], 1)
  })

  test('moves from the key file to the given key', async () => {
    const record = await dkimOf(await place.open())
    const older = await dataKeyOf(place)
    assert.deepEqual(await dkimOf(await place.open({ secretKey: KEY_A })), record)
    assert.notDeepEqual(await dataKeyOf(place), older)
    await assert.rejects(place.open(), NOT_HERE)
    await rm(place.keyFile)
    const db = fullDisk(place.database.db)
    assert.deepEqual(await dkimOf(await place.open({ secretKey: KEY_A }, { db })), record)
    await assert.rejects(place.open(), /MAILROOM_SECRET_KEY.*secret\.key/)
    assert.deepEqual(await readdir(place.dataDir), [])
  })

  test('leaves nothing in the files that the previous key opens', async () => {
    const { database } = place
    const content = async () =>
      Buffer.concat([await readFile(database.place), await readFile(`${database.place}-wal`)])
    await dkimOf(await place.open())
    const older = await dataKeyOf(place)
    assert.ok((await content()).includes(older))
    await place.open({ secretKey: KEY_A })
    await until(async () => !(await content()).includes(older))
  })

  test('leaves nothing there either once a reader ends that began before the key changed', async () => {
    const { database } = place
    const log = () => readFile(`${database.place}-wal`)
    await dkimOf(await place.open())
    const older = await dataKeyOf(place)
    const reader = openSqliteConnection({ path: database.place, mode: 'read' })
    reader.exec('BEGIN')
    reader.rows('select name from service_secrets')
    await place.open({ secretKey: KEY_A })
    assert.ok((await log()).includes(older))
    reader.close()
    await until(async () => !(await log()).includes(older))
  })

  test('moves once when several processes get the key at the same moment', async () => {
    const record = await dkimOf(await place.open())
    const db = await place.database.openAgain()
    const opened = await Promise.all(
      [{}, { db }, {}].map((others) => place.open({ secretKey: KEY_A }, others)),
    )
    for (const keys of opened) assert.deepEqual(await dkimOf(keys), record)
  })

  test('stays when neither the given key nor the file opens it', async () => {
    await place.open({ secretKey: KEY_A })
    const kept = await dataKeyOf(place)
    await writeFile(place.keyFile, `${Buffer.alloc(32, 3).toString('base64')}\n`)
    await assert.rejects(place.open({ secretKey: KEY_B }), NOT_HERE)
    await assert.rejects(place.open(), NOT_HERE)
    assert.deepEqual(await dataKeyOf(place), kept)
  })

  test('uses the file again when the setting with the same key is removed', async () => {
    await writeFile(place.keyFile, `${KEY_A}\n`)
    const record = await dkimOf(await place.open({ secretKey: KEY_A }))
    assert.deepEqual(await dkimOf(await place.open()), record)
  })

  test('needs no good file while the given key opens it', async () => {
    const record = await dkimOf(await place.open({ secretKey: KEY_A }))
    await writeFile(place.keyFile, 'spoilt')
    assert.deepEqual(await dkimOf(await place.open({ secretKey: KEY_A })), record)
  })
})
