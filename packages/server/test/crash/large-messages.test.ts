// A process that dies between the bytes of a large message and the commit leaves bytes without a reference. The sweep
// removes these, but not the bytes of a commit under way.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LONG_LIMIT } from '@mailroom/mail/test/size-of.ts'
import pg from 'pg'
import { openStore, silentObserver } from '#app/open-store.ts'
import { sweepBlobs } from '#removal/removal.ts'
import { createPreparedDatabase } from '#test/peers/postgres.ts'
import { startS3 } from '#test/peers/s3.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { plainMail } from '#test/world.ts'
import { Service } from './service.ts'
import { readStored } from './stored.ts'

const LARGE = plainMail({ body: `${'x'.repeat(70)}\r\n`.repeat(3_000) })
const NEVER = AbortSignal.any([])

test(
  'kill -9 between bytes and commit leaves an orphan, which the sweep removes',
  LONG_LIMIT,
  async (t) => {
    const s3 = await startS3()
    t.after(() => s3.close())
    const databaseUrl = await createPreparedDatabase()
    const service = await Service.start({ databaseUrl, env: s3.envAt('crash') })
    t.after(() => service.close())
    const store = await openStore({
      settings: service.settings,
      as: 'command',
      observer: silentObserver,
      onError: () => {},
    })
    t.after(() => store.close())
    const sweep = (orphanMs?: number) =>
      sweepBlobs(store, NEVER, orphanMs === undefined ? {} : { orphanMs })
    const inbox = await service.client.inboxes.create({ mailboxName: 'large' })
    const sender = await service.sender()
    assert.equal((await sender.send({ to: inbox.address, raw: LARGE })).code, 250)
    await sender.quit()
    const kept = await s3.namesUnder('crash')
    assert.equal(kept.length, 1)

    const locking = new pg.Client(databaseUrl)
    await locking.connect()
    t.after(() => locking.end())
    await locking.query('begin; lock table messages in exclusive mode')
    const cut = await service.sender()
    cut.socket.on('error', () => {})
    cut.send({ to: inbox.address, raw: LARGE }).catch(() => {})
    await until(async () => (await s3.namesUnder('crash')).length === 2)
    // The commit waits in the other process, of which this one knows nothing.
    assert.equal(await sweep(), 0)
    assert.equal((await s3.namesUnder('crash')).length, 2)

    await service.kill()
    await locking.query('rollback')
    assert.equal(await sweep(0), 1)
    assert.deepEqual(await s3.namesUnder('crash'), kept)
    assert.equal((await readStored(service)).received.length, 1)
  },
)
