import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { type MtaScript, mtaTls, openMta } from '@mailroom/smtp/test/peers/mta.ts'
import { reverseName } from '#commands/doctor/check-dns.ts'
import { judgeDisk } from '#commands/doctor/check-machine.ts'
import { within } from '#commands/doctor/finding.ts'
import { makeSelfSignedCertificate } from '#platform/tls/server-tls.ts'
import {
  DOMAIN,
  type DoctorWorld,
  entryOf,
  HOST,
  openDoctorWorld,
  PTR_NAME,
} from '#test/scenarios/doctor-world.ts'
import { onEachEngine, opened } from '#test/world.ts'

suite('the doctor and the parts of a machine', () => {
  let world: DoctorWorld
  let folder: string
  before(async () => {
    world = await openDoctorWorld('sqlite')
    folder = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  })
  after(async () => {
    await world.close()
    await rm(folder, { recursive: true })
  })

  const doors: [what: string, script: () => Promise<MtaScript>, verdict: string][] = [
    [
      'answers as somebody else',
      async () => ({ hostname: 'other.dev', tls: await mtaTls() }),
      'wrong',
    ],
    ['offers no STARTTLS', async () => ({ hostname: HOST }), 'wrong'],
    ['breaks off the handshake', async () => ({ hostname: HOST, tls: 'close' }), 'wrong'],
    ['refuses everybody', async () => ({ greeting: '554 no' }), 'wrong'],
    ['says nothing', async () => ({ greeting: 'hang' }), 'wrong'],
    ['shows another certificate', async () => ({ hostname: HOST, tls: await mtaTls() }), 'advice'],
  ]
  for (const [what, script, verdict] of doors) {
    test(`an SMTP listener that ${what}: ${verdict}`, async () => {
      await using mta = await openMta(await script())
      const { of, tookMs } = await world.ask({ MAILROOM_SMTP_PORT: String(mta.port) })
      assert.deepEqual(of('mail door'), [verdict])
      assert.ok(tookMs < 45_000)
    })
  }

  test('an SMTP listener that is closed is wrong, and none is needed without the role', async () => {
    const closed = { MAILROOM_SMTP_PORT: '9' }
    assert.deepEqual((await world.ask(closed)).of('mail door'), ['wrong'])
    const { of } = await world.ask({ ...closed, MAILROOM_ROLES: 'http' })
    assert.deepEqual(of('mail door'), ['not needed'])
  })

  const YEAR_MS = 365 * 24 * 3600 * 1000
  const certificates: [what: string, name: string, fromMs: number, verdict: string][] = [
    ['is for another host', 'other.dev', Date.now(), 'wrong'],
    ['has ended', HOST, Date.now() - 11 * YEAR_MS, 'wrong'],
    ['has not begun', HOST, Date.now() + YEAR_MS, 'wrong'],
    ['is self-signed', HOST, Date.now(), 'advice'],
  ]
  for (const [what, name, fromMs, verdict] of certificates) {
    test(`a certificate that ${what}: ${verdict}`, async () => {
      const { certificatePem, privateKeyPem } = await makeSelfSignedCertificate(name, fromMs)
      const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
      await Promise.all([writeFile(cert, certificatePem), writeFile(key, privateKeyPem)])
      const { of } = await world.ask({ MAILROOM_TLS_CERT: cert, MAILROOM_TLS_KEY: key })
      assert.deepEqual(of('certificate'), [verdict])
      assert.deepEqual(
        of('mail door'),
        ['advice'],
        'the service still shows the one it was started with',
      )
    })
  }

  test('unreadable settings are the only finding', async () => {
    const { findings, code } = await world.run({ MAILROOM_SMTP_PORT: 'x', MAILROOM_DELIVERY: 'y' })
    assert.equal(code, 1)
    assert.equal(findings.length, 1)
    assert.match(findings[0]?.found ?? '', /MAILROOM_SMTP_PORT[\s\S]*MAILROOM_DELIVERY/)
    assert.deepEqual((await world.run({ MAILROOM_SMTP_PROT: '1' })).of('settings'), ['advice'])
  })

  test('a missing database is wrong, and is not created', async () => {
    const dataDir = join(folder, 'nothing')
    const { of } = await world.ask({ MAILROOM_DATA_DIR: dataDir })
    assert.deepEqual(of('database'), ['wrong'])
    assert.deepEqual(of('data directory'), ['wrong'])
    assert.ok(!(await readdir(folder)).includes('nothing'))
  })

  test('a file that is no database, or has no schema, is wrong and stays unchanged', async () => {
    const dataDir = await mkdtemp(join(folder, 'data-'))
    const file = join(dataDir, 'mailroom.db')
    await writeFile(file, '')
    const { of, fixOf } = await world.ask({ MAILROOM_DATA_DIR: dataDir })
    assert.deepEqual(of('database'), ['wrong'])
    assert.match(fixOf('database'), /mailroom admin migrate/)
    await writeFile(file, 'not a database '.repeat(1_000))
    assert.deepEqual((await world.ask({ MAILROOM_DATA_DIR: dataDir })).of('database'), ['wrong'])
    assert.deepEqual(await readdir(dataDir), ['mailroom.db'])
  })

  test('a PostgreSQL that cannot be reached is wrong', async () => {
    const url = 'postgres://user:secret-word@127.0.0.1:9/none'
    const { of, findings } = await world.ask({ MAILROOM_DATABASE_URL: url })
    assert.deepEqual(of('database'), ['wrong'])
    assert.ok(!JSON.stringify(findings).includes('secret-word'))
  })

  test('the secrets need the key that sealed them', async () => {
    const { of } = await world.ask({ MAILROOM_SECRET_KEY: 'cd'.repeat(32) })
    // The file is still readable with it.
    assert.deepEqual(of('secret key'), ['ok'])
    const file = join(world.place.dataDir, 'secret.key')
    await rename(file, join(folder, 'secret.key'))
    assert.deepEqual((await world.ask()).of('secret key'), ['wrong'])
    await rename(join(folder, 'secret.key'), file)
    assert.deepEqual((await world.ask()).of('secret key'), ['ok'])
  })

  for (const [aheadMs, verdict] of [
    [0, 'ok'],
    [20_000, 'advice'],
    [-3_600_000, 'wrong'],
  ] as const) {
    test(`a time server whose clock is ${aheadMs} ms ahead: ${verdict}`, async () => {
      const server = await openTimeServer(aheadMs)
      const { of } = await world.ask({}, server.address)
      server.close()
      assert.deepEqual(of('clock'), [verdict])
    })
  }

  test('a time server that is silent or unsynchronised gives no verdict, in bounded time', async () => {
    const silent = await openTimeServer(null)
    const { of, tookMs } = await world.ask({}, silent.address)
    silent.close()
    assert.deepEqual(of('clock'), ['unknown'])
    assert.ok(tookMs < 45_000)
    const lost = await openTimeServer(0, 0)
    assert.deepEqual((await world.ask({}, lost.address)).of('clock'), ['unknown'])
    lost.close()
  })
})

/** Answers with a time that is ahead of this machine's; with null not at all. */
async function openTimeServer(aheadMs: number | null, stratum = 2) {
  const socket = createSocket('udp4')
  socket.on('message', (_question, from) => {
    if (aheadMs === null) return
    const answer = Buffer.alloc(48)
    answer[0] = 0x24
    answer[1] = stratum
    const seconds = (Date.now() + aheadMs) / 1_000 + 2_208_988_800
    answer.writeUInt32BE(Math.floor(seconds), 40)
    answer.writeUInt32BE(Math.floor((seconds % 1) * 2 ** 32), 44)
    socket.send(answer, from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { address: `127.0.0.1:${socket.address().port}`, close: () => socket.close() }
}

test('a disk is judged by its free space', () => {
  const GIB = 2 ** 30
  const verdict = (freeBytes: number, totalBytes: number) =>
    judgeDisk({ folder: '/', freeBytes, totalBytes }).verdict
  assert.equal(verdict(10 * GIB, 100 * GIB), 'ok')
  assert.equal(verdict(GIB, 100 * GIB), 'advice')
  assert.equal(verdict(GIB / 8, 100 * GIB), 'wrong')
  assert.equal(verdict(GIB / 4, GIB), 'ok')
  assert.equal(verdict(GIB / 64, GIB), 'wrong')
})

test('reverse DNS reverses the octets of an address', () => {
  assert.equal(reverseName('192.0.2.1'), '1.2.0.192.in-addr.arpa')
  const zeros = '0.'.repeat(23)
  assert.equal(reverseName('2001:db8::1'), `1.${zeros}8.b.d.0.1.0.0.2.ip6.arpa`)
  assert.equal(reverseName('::1'), `1.${'0.'.repeat(31)}ip6.arpa`)
})

test('a check that throws is wrong, with its error', async () => {
  const findings = await within({ check: 'a', expected: 'b' }, () => Promise.reject(new Error('c')))
  assert.deepEqual(
    findings.map(({ verdict, found }) => [verdict, found]),
    [['wrong', 'c']],
  )
})

onEachEngine('a doctor without side effects', (engine) => {
  const world = opened(() => openDoctorWorld(engine))

  test('prints nothing from strangers that controls a terminal', async () => {
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
      const { code, output } = await world.place.commandWith(env, 'admin', 'doctor', ...options)
      assert.equal(code, 1)
      assert.match(output, /owned/)
      assert.doesNotMatch(output, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]|\\u001b/)
      assert.doesNotMatch(output, /^ok +settings: all is well/m)
    }
    world.dns.zone = { ...world.rightZone }
  })

  test('leaves a stopped service unchanged', async () => {
    const { env, place, service } = world
    assert.equal(await service.stop(), 0)
    await rm(join(place.dataDir, 'blobs'), { recursive: true, force: true })
    await chmod(place.dataDir, 0o755)
    for (const log of ['as it was left', 'and then away']) {
      const before = await describeFolder(place.dataDir)
      const { output } = await place.commandWith(env, 'admin', 'doctor')
      assert.match(output, /^ok +database/m, log)
      // The keys were in the log, which was deleted with them.
      assert.match(output, /DKIM (?:keys|of)/, 'it was read')
      assert.deepEqual(await describeFolder(place.dataDir), before, log)
      for (const end of ['wal', 'shm']) {
        await rm(join(place.dataDir, `mailroom.db-${end}`), { force: true })
      }
    }
  })
})

/** Names below a folder with modes and modification times. */
async function describeFolder(folder: string): Promise<string[]> {
  const names = ['.', ...(await readdir(folder, { recursive: true }))]
  const lines = names.map(async (name) => {
    const { mode, mtimeMs, size } = await stat(join(folder, name))
    // Reading takes part in the locks, which are in this file.
    const isLocks = name.endsWith('-shm')
    return `${name} ${mode.toString(8)} ${isLocks ? '' : mtimeMs} ${size}`
  })
  return (await Promise.all(lines)).sort()
}
