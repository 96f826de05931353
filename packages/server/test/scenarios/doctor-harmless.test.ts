import assert from 'node:assert/strict'
import { chmod, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { mtaTls, openMta } from '#test/peers/mta.ts'
import { DOMAIN, entryOf, openDoctorWorld, PTR_NAME } from '#test/scenarios/doctor-world.ts'
import { onEachEngine, opened } from '#test/world.ts'

onEachEngine('a doctor that does no harm', (engine) => {
  const world = opened(() => openDoctorWorld(engine))

  test('lets nothing that strangers say steer a terminal', async () => {
    const evil = '\x1b]0;owned\x07\x9b31m\u202e'
    await using mta = await openMta({ hostname: `mx${evil}.dev`, tls: await mtaTls() })
    world.dns.zone = {
      ...world.rightZone,
      [PTR_NAME]: { PTR: ['host\x1b[2J.provider.dev'] },
      [`_dmarc.${DOMAIN}`]: { TXT: [`v=DMARC1; p=none${evil}`] },
      [DOMAIN]: {
        ...entryOf(world.rightZone, DOMAIN),
        TXT: [`v=spf1 ${evil} -all`, 'v=spf1 ?all\nok  settings: all is well'],
      },
    }
    const env = { ...world.env, MAILROOM_SMTP_PORT: String(mta.port) }
    for (const options of [[], ['--json']]) {
      const { code, output } = await world.place.commandWith(env, 'doctor', ...options)
      assert.equal(code, 1)
      assert.match(output, /owned/)
      assert.doesNotMatch(output, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]|\\u001b/)
      assert.doesNotMatch(output, /^ok +settings: all is well/m)
    }
    world.dns.zone = { ...world.rightZone }
  })

  test('leaves a service that is stopped as it is', async () => {
    const { env, place, service } = world
    assert.equal(await service.stop(), 0)
    await rm(join(place.dataDir, 'blobs'), { recursive: true, force: true })
    await chmod(place.dataDir, 0o755)
    for (const log of ['as it was left', 'and then away']) {
      const before = await describeFolder(place.dataDir)
      const { output } = await place.commandWith(env, 'doctor')
      assert.match(output, /^ok +database/m, log)
      // The keys were in the log, and went away with it.
      assert.match(output, /DKIM (?:keys|of)/, 'it was read')
      assert.deepEqual(await describeFolder(place.dataDir), before, log)
      for (const end of ['wal', 'shm']) {
        await rm(join(place.dataDir, `mailroom.db-${end}`), { force: true })
      }
    }
  })
})

/** Names below a folder with modes and the times of their last changes. */
async function describeFolder(folder: string): Promise<string[]> {
  const names = ['.', ...(await readdir(folder, { recursive: true }))]
  const lines = names.map(async (name) => {
    const { mode, mtimeMs, size } = await stat(join(folder, name))
    // Whoever reads takes part in the locks, which are in this file.
    const isLocks = name.endsWith('-shm')
    return `${name} ${mode.toString(8)} ${isLocks ? '' : mtimeMs} ${size}`
  })
  return (await Promise.all(lines)).sort()
}
