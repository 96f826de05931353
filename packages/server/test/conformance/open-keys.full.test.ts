import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, suite, test } from 'node:test'
import { splitSigned, tag } from '@mailroom/mail/test/dkim-samples.ts'
import { ensureDkimKeys } from '#domains/dkim/store/dkim-keys.ts'
import { findSecret } from '#secrets/store/secrets.ts'
import {
  dkimOf,
  KEY_A,
  KEY_B,
  type KeysPlace,
  MAIL,
  openKeysPlace,
  signFor,
  verdictOn,
} from '#test/conformance/keys-place.ts'
import { makeId } from '#test/conformance/open-database.ts'
import { onBothEngines } from '#test/world.ts'

onBothEngines('the keys of a service', (engine) => {
  let place: KeysPlace
  beforeEach(async () => {
    place = await openKeysPlace(engine)
  })
  afterEach(() => place.close())
  const open: KeysPlace['open'] = (...options) => place.open(...options)

  test('the signing key is created when it is needed, and kept', async () => {
    let made = 0
    const makeKey = async () => {
      made += 1
      return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    }
    const keys = await open({}, { makeKey })
    assert.equal(made, 0)
    const signed = await signFor(keys, 'in.example', 1)
    assert.equal(made, 1)
    const record = await dkimOf(keys)
    assert.equal(made, 2)
    const { field } = splitSigned(signed)
    assert.equal(record?.name, `${tag(field, 's')}._domainkey.${tag(field, 'd')}`)
    assert.equal(record?.name, 'mr1._domainkey.in.example')
    assert.deepEqual(await dkimOf(await open({}, { makeKey })), record)
    assert.equal(made, 2)
  })

  test('signing keys are sealed in the database', async () => {
    const keys = await open()
    await keys.records()
    const { read } = place.database.db
    const rows = await read.selectFrom('dkim_keys').selectAll().orderBy('selector').execute()
    assert.deepEqual(
      rows.map(({ selector, state }) => [selector, state]),
      [
        ['mr1', 'active'],
        ['mr2', 'standby'],
      ],
    )
    for (const { sealed_key: sealed, selector } of rows) {
      const plain = keys.sealer.open(sealed, `dkim:service:in.example:${selector}`)
      assert.equal(plain?.[0], 0x30)
      assert.equal(sealed[0], 1)
      assert.ok(!Buffer.from(sealed).includes(Buffer.from(plain ?? '').subarray(0, 16)))
    }
  })

  test('each inbox domain has a key of its own', async () => {
    const one = await dkimOf(await open())
    const other = await dkimOf(await open({ inboxDomain: 'other.example' }))
    assert.notEqual(one?.value, other?.value)
  })

  test('processes that start at once get the same keys', async () => {
    const db = await place.database.openAgain()
    const opened = await Promise.all([open(), open({}, { db }), open(), open({}, { db })])
    const records = await Promise.all(opened.map(dkimOf))
    assert.equal(new Set(records.map((record) => record?.value)).size, 1)
    assert.deepEqual(await readdir(place.dataDir), engine === 'sqlite' ? ['secret.key'] : [])
  })

  for (const secretKey of [null, KEY_A]) {
    const how = secretKey === null ? 'without a key in the settings' : 'with a given key'
    test(`a start that finds its keys writes nothing, ${how}`, async () => {
      const record = await dkimOf(await open({ secretKey }))
      const write = () => Promise.reject(new Error('The disk is full.'))
      const keys = await open({ secretKey }, { db: { ...place.database.db, write } })
      assert.deepEqual(await dkimOf(keys), record)
    })
  }

  test('a signing key that could not be stored is tried again with the next message', async () => {
    await open()
    let isFull = true
    const write: typeof place.database.db.write = (...write) =>
      isFull ? Promise.reject(new Error('The disk is full.')) : place.database.db.write(...write)
    const keys = await open({}, { db: { ...place.database.db, write } })
    await assert.rejects(signFor(keys, 'in.example', 1), /full/)
    isFull = false
    assert.match((await dkimOf(keys))?.value ?? '', /^v=DKIM1/)
  })

  test('a given key is used, in either form, and no file is created', async () => {
    const record = await dkimOf(await open({ secretKey: KEY_A }))
    const base64 = Buffer.from(KEY_A, 'hex').toString('base64')
    assert.deepEqual(await dkimOf(await open({ secretKey: base64 })), record)
    assert.deepEqual(await readdir(place.dataDir), [])
  })

  test('another key than the one that sealed stops the start and names the setting', async () => {
    const record = await dkimOf(await open({ secretKey: KEY_A }))
    await assert.rejects(open({ secretKey: KEY_B }), /not here: set MAILROOM_SECRET_KEY/)
    await assert.rejects(open(), /not here: set MAILROOM_SECRET_KEY/)
    assert.deepEqual(
      await readdir(place.dataDir),
      [],
      'a new key would only hide that one is missing',
    )
    assert.deepEqual(await dkimOf(await open({ secretKey: KEY_A })), record)
  })

  test('a given key opens the secrets from any data directory', async () => {
    const record = await dkimOf(await open({ secretKey: KEY_A }))
    const dataDir = await mkdtemp(join(place.dataDir, 'other-'))
    assert.deepEqual(await dkimOf(await open({ secretKey: KEY_A, dataDir })), record)
  })

  test('the key of signed URLs is sealed, and kept', async () => {
    const { db } = place.database
    const { urlKey } = await open()
    const sealed = await findSecret(db, 'attachment-urls')
    assert.equal(sealed?.[0], 1)
    assert.ok(!Buffer.from(sealed ?? '').includes(Buffer.from(urlKey).subarray(0, 8)))
    for (const again of [await open(), await open({}, { db: await place.database.openAgain() })]) {
      assert.deepEqual(again.urlKey, urlKey)
    }
  })

  test('a key swapped with that of another domain is not used', async () => {
    const other = await open({ inboxDomain: 'other.example' })
    await signFor(other, 'other.example', 1)
    const { db } = place.database
    const [row] = await db.read.selectFrom('dkim_keys').selectAll().execute()
    assert.ok(row !== undefined)
    const exchanged = { ...row, id: makeId('dkm'), domain: 'in.example' }
    await db.write(ensureDkimKeys, { rows: [exchanged] })
    await assert.rejects(signFor(await open(), 'in.example', 1), /dkim:service:in\.example:mr1/)
  })
})

suite('the key file of a SQLite database', () => {
  let place: KeysPlace
  beforeEach(async () => {
    place = await openKeysPlace('sqlite')
  })
  afterEach(() => place.close())

  test('is created once, readable only by its owner', async () => {
    const first = await place.open()
    const text = await readFile(place.keyFile, 'utf8')
    assert.match(text, /^[A-Za-z0-9+/]{43}=\n$/)
    assert.equal((await stat(place.keyFile)).mode & 0o777, 0o600)
    assert.deepEqual(await readdir(place.dataDir), ['secret.key'])
    const again = await place.open()
    assert.equal(await readFile(place.keyFile, 'utf8'), text)
    const sealed = first.sealer.seal(MAIL, 'place')
    assert.deepEqual(again.sealer.open(sealed, 'place'), Buffer.from(MAIL))
  })

  test('stops the start when it is lost or damaged, and works when it is restored', async () => {
    const record = await dkimOf(await place.open())
    const text = await readFile(place.keyFile, 'utf8')
    await rm(place.keyFile)
    await assert.rejects(place.open(), /MAILROOM_SECRET_KEY to it, or restore .*secret\.key/)
    for (const spoilt of ['', 'too short', `${text.trim()}x`]) {
      await writeFile(place.keyFile, spoilt)
      await assert.rejects(place.open(), /does not hold a key.*MAILROOM_SECRET_KEY/)
    }
    await writeFile(place.keyFile, text)
    assert.deepEqual(await dkimOf(await place.open()), record)
  })

  test('can be replaced by the setting', async () => {
    const record = await dkimOf(await place.open())
    const secretKey = (await readFile(place.keyFile, 'utf8')).trim()
    await rm(place.keyFile)
    assert.deepEqual(await dkimOf(await place.open({ secretKey })), record)
  })
})

test('processes with data directories of their own on one PostgreSQL sign with one key', async () => {
  const place = await openKeysPlace('postgres')
  try {
    const dataDir = await mkdtemp(join(place.dataDir, 'other-'))
    const db = await place.database.openAgain()
    const [one, two] = await Promise.all([place.open(), place.open({ dataDir }, { db })])
    const published = (await dkimOf(one))?.value ?? ''
    for (const keys of [one, two, await place.open({ dataDir })]) {
      const signed = await signFor(keys, 'in.example', Date.now())
      assert.deepEqual(await verdictOn(signed, published), ['pass'])
    }
  } finally {
    await place.close()
  }
})
