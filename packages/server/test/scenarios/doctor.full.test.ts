import assert from 'node:assert/strict'
import { chmod, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, beforeEach, suite, test } from 'node:test'
import { mtaTls, openMta } from '@mailroom/smtp/test/peers/mta.ts'
import type { Engine } from '#platform/db/db.ts'
import type { Zone } from '#test/peers/dns.ts'
import {
  ADDRESS,
  DOMAIN,
  type DoctorWorld,
  entryOf,
  HOST,
  openDoctorWorld,
  PTR_NAME,
} from '#test/scenarios/doctor-world.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onEachEngine } from '#test/world.ts'

const worlds = new Map<Engine, DoctorWorld>()
after(() => Promise.all([...worlds.values()].map((world) => world.close())))

/** The database of this engine. */
async function worldOn(engine: Engine): Promise<DoctorWorld> {
  const world = worlds.get(engine) ?? (await openDoctorWorld(engine))
  worlds.set(engine, world)
  return world
}

onEachEngine('mailroom admin doctor', (engine) => {
  let world: DoctorWorld
  before(async () => {
    world = await worldOn(engine)
  })

  test('finds nothing wrong in a correct setup', async () => {
    const { code, findings, of } = await world.run()
    assert.deepEqual(
      findings
        .filter(({ verdict }) => verdict === 'wrong' || verdict === 'not needed')
        .map((one) => one.check),
      engine === 'sqlite' ? ['relay', 'assistants'] : ['key file', 'relay', 'assistants'],
      JSON.stringify(findings, null, 2),
    )
    assert.equal(code, 0)
    // The service reports it a moment after it is ready.
    const records = /mr1\._domainkey\.agents.*mr2\._domainkey\.agents/
    await until(async () => records.test(world.service.output()))
    assert.deepEqual(of('certificate'), ['advice'])
    assert.deepEqual(of('DKIM'), ['ok', 'ok'])
    assert.deepEqual(of('secret key'), ['ok'])
    assert.deepEqual(of('database'), ['ok'])
    assert.deepEqual(of('clock'), [engine === 'sqlite' ? 'unknown' : 'ok'])
  })

  test('prints for people the expectation, the finding and the remedy', async () => {
    world.dns.zone = { ...world.rightZone }
    delete world.dns.zone[PTR_NAME]
    const { code, output } = await world.place.commandWith(world.env, 'admin', 'doctor')
    world.dns.zone = { ...world.rightZone }
    assert.equal(code, 1)
    assert.match(output, /^ok +settings: /m)
    assert.match(
      output,
      /^wrong +reverse name\n +expected: .*127\.0\.0\.1.*\n +found: +it has none\n +to do: +Have the provider/m,
    )
    assert.match(output, /^1 wrong; /m)
  })
})

suite('the doctor and the checks from outside', () => {
  let world: DoctorWorld
  before(async () => {
    world = await worldOn('sqlite')
  })
  beforeEach(() => {
    world.dns.zone = { ...world.rightZone }
  })

  const cases: [what: string, spoil: (zone: Zone) => Zone, check: string, verdict: string][] = [
    ['no PTR record', ({ [PTR_NAME]: _, ...zone }) => zone, 'reverse name', 'wrong'],
    [
      'a PTR record that leads elsewhere',
      (zone) => ({ ...zone, [PTR_NAME]: { PTR: ['host-1.provider.example'] } }),
      'reverse name',
      'wrong',
    ],
    [
      'a PTR record with another name that leads back',
      (zone) => ({
        ...zone,
        [PTR_NAME]: { PTR: ['host-1.provider.example'] },
        'host-1.provider.example': { A: [ADDRESS] },
      }),
      'reverse name',
      'advice',
    ],
    ['a name without an address', (zone) => ({ ...zone, [HOST]: {} }), 'name', 'wrong'],
    [
      'an address of another machine',
      (zone) => ({ ...zone, [HOST]: { A: ['127.0.0.9'] } }),
      'name',
      'unknown',
    ],
    [
      'MX records that name somebody else',
      (zone) => ({
        ...zone,
        [DOMAIN]: { ...entryOf(zone, DOMAIN), MX: [{ exchange: 'mx.other.dev', preference: 1 }] },
      }),
      `MX of ${DOMAIN}`,
      'wrong',
    ],
    [
      'no SPF record',
      (zone) => ({ ...zone, [DOMAIN]: { ...entryOf(zone, DOMAIN), TXT: [] } }),
      `SPF of ${DOMAIN}`,
      'wrong',
    ],
    [
      'an SPF record without this host',
      (zone) => ({ ...zone, [DOMAIN]: { ...entryOf(zone, DOMAIN), TXT: ['v=spf1 -all'] } }),
      `SPF of ${DOMAIN}`,
      'wrong',
    ],
    [
      'a DKIM record with another key',
      (zone) => ({ ...zone, [`mr1._domainkey.${DOMAIN}`]: { TXT: ['v=DKIM1; k=rsa; p=AAAA'] } }),
      `DKIM of mr1._domainkey.${DOMAIN}`,
      'wrong',
    ],
    [
      'no record of the key that signs next',
      ({ [`mr2._domainkey.${DOMAIN}`]: _, ...zone }) => zone,
      `DKIM of mr2._domainkey.${DOMAIN}`,
      'advice',
    ],
    ['no policy', ({ [`_dmarc.${DOMAIN}`]: _, ...zone }) => zone, 'DMARC', 'advice'],
    [
      'nobody who takes connections on port 25',
      (zone) => ({ ...zone, 'mx.receiver.example': { A: ['127.0.0.7'] } }),
      'port ',
      'wrong',
    ],
    ['no receiver that DNS knows', ({ 'gmail.com': _, ...zone }) => zone, 'port ', 'unknown'],
    [
      'a mail host that does not answer on an own address',
      (zone) => ({ ...zone, [HOST]: { A: [ADDRESS], AAAA: ['::1'] } }),
      'mail host',
      'ok wrong',
    ],
    [
      'a mail host that does not answer elsewhere',
      (zone) => ({ ...zone, [HOST]: { A: ['127.0.0.9'] } }),
      'mail host',
      'unknown',
    ],
    [
      'a fault of DNS',
      (zone) => ({ ...zone, [`_dmarc.${DOMAIN}`]: 'servfail' }),
      'DMARC',
      'unknown',
    ],
  ]
  for (const [what, spoil, check, verdict] of cases) {
    test(`with ${what}: ${verdict}`, async () => {
      world.dns.zone = spoil({ ...world.rightZone })
      const { of, findings } = await world.ask()
      assert.equal(of(check).join(' '), verdict, JSON.stringify(findings, null, 2))
    })
  }

  test('with addresses that the internet cannot reach: wrong', async () => {
    const { of } = await world.ask({ MAILROOM_ALLOW_PRIVATE_EGRESS: 'false' })
    assert.deepEqual(of('name'), ['wrong'])
    assert.deepEqual(of('mail host'), ['wrong'])
  })

  test('without DNS reports that once, in bounded time, and nothing that depends on it', async () => {
    for (const name of Object.keys(world.rightZone)) world.dns.zone[name] = 'silent'
    const { of, tookMs, findings } = await world.ask()
    assert.deepEqual(of('DNS'), ['wrong'])
    for (const check of ['mail host', 'name', 'records of', 'port']) {
      assert.deepEqual(of(check), ['unknown'], check)
    }
    assert.deepEqual(of('mail door'), ['ok'], JSON.stringify(findings, null, 2))
    assert.ok(tookMs < 60_000, `${tookMs}`)
  })

  test('in the sandbox requires nothing that only outgoing mail needs', async () => {
    const sandbox = { MAILROOM_DELIVERY: 'sandbox' }
    for (const name of Object.keys(world.rightZone)) world.dns.zone[name] = 'servfail'
    const { of, findings } = await world.ask(sandbox)
    assert.ok(!findings.some(({ verdict }) => verdict === 'wrong'), JSON.stringify(findings))
    for (const check of [
      'mail host',
      'port ',
      'name',
      'reverse name',
      'relay',
      'records of',
      'certificate',
    ]) {
      assert.deepEqual(of(check), ['not needed'], check)
    }
    assert.deepEqual(of('DNS'), ['advice'])
  })

  test('in the sandbox prints what concerns a sandbox, and how to see the rest', async () => {
    const env = { ...world.env, MAILROOM_DELIVERY: 'sandbox' }
    const { code, output } = await world.place.commandWith(env, 'admin', 'doctor')
    assert.equal(code, 0, output)
    assert.doesNotMatch(output, /^(?:not needed|unknown|advice) /m)
    assert.match(
      output,
      /^Nothing is wrong; .*\nMAILROOM_DELIVERY is sandbox\. "MAILROOM_DELIVERY=direct mailroom admin doctor"/m,
    )
    assert.ok(output.trimEnd().split('\n').length <= 12, output)
  })

  test('a reserved domain without DNS records is wrong if mail is sent from it', async () => {
    const { of, findings } = await world.ask({ MAILROOM_INBOX_DOMAIN: 'mailroom.localhost' })
    assert.deepEqual(of('records of mailroom.localhost'), ['wrong'])
    assert.ok(findings.some(({ found }) => found.includes('is a reserved name')))
    assert.deepEqual(of('mail host'), ['not needed'])
  })

  test('a reserved domain is checked at the DNS servers of the settings', async () => {
    const name = 'agents.robots.example'
    world.dns.zone[name] = {
      MX: [{ exchange: HOST, preference: 10 }],
      TXT: [`v=spf1 a:${HOST} ~all`],
    }
    const { of } = await world.ask({ MAILROOM_INBOX_DOMAIN: name })
    assert.deepEqual(of(`MX of ${name}`), ['ok'])
    assert.deepEqual(of(`SPF of ${name}`), ['ok'])
    assert.deepEqual(of(`DMARC of _dmarc.${name}`), ['advice'])
    assert.deepEqual(of('mail host'), ['ok'])
  })

  test('creates no keys, and says which command does', async () => {
    const other = { MAILROOM_INBOX_DOMAIN: 'other.mail-service.dev' }
    const { of, fixOf } = await world.ask(other)
    assert.deepEqual(of('records of other'), ['wrong'])
    assert.match(fixOf('records of other'), /mailroom admin dns/)
    assert.deepEqual((await world.ask(other)).of('records of other'), ['wrong'])
  })

  test('with a relay checks the relay and skips reverse names', async () => {
    await using relay = await openMta({ tls: await mtaTls() })
    const env = { MAILROOM_DELIVERY: 'relay' }
    const url = `smtp://user:pass@127.0.0.1:${relay.port}`
    const diagnosis = await world.ask({ ...env, MAILROOM_RELAY_URL: url })
    assert.deepEqual(diagnosis.of('relay'), ['ok'])
    assert.deepEqual(diagnosis.of('reverse name'), ['not needed'])
    assert.deepEqual(diagnosis.of('port '), ['not needed'])
    relay.script = {}
    assert.deepEqual((await world.ask({ ...env, MAILROOM_RELAY_URL: url })).of('relay'), ['wrong'])
    const open = `smtp://127.0.0.1:${relay.port}`
    assert.deepEqual((await world.ask({ ...env, MAILROOM_RELAY_URL: open })).of('relay'), [
      'advice',
    ])
    const gone = { ...env, MAILROOM_RELAY_URL: 'smtp://127.0.0.1:9' }
    assert.deepEqual((await world.ask(gone)).of('relay'), ['wrong'])
    world.dns.zone[DOMAIN] = {
      ...entryOf(world.rightZone, DOMAIN),
      TXT: ['v=spf1 include:r.dev ~all'],
    }
    const { of } = await world.ask({ ...env, MAILROOM_RELAY_URL: url })
    assert.deepEqual(of(`SPF of ${DOMAIN}`), ['unknown'])
  })

  test('files that other users can read are wrong', async () => {
    const { dataDir } = world.place
    await chmod(dataDir, 0o755)
    await chmod(join(dataDir, 'secret.key'), 0o644)
    const { of, fixOf } = await world.ask()
    assert.deepEqual(of('data directory'), ['wrong'])
    assert.match(fixOf('data directory'), /chmod 0700/)
    assert.deepEqual(of('key file'), ['wrong'])
    assert.equal((await stat(join(dataDir, 'secret.key'))).mode & 0o777, 0o644)
    assert.equal((await stat(dataDir)).mode & 0o777, 0o755)
    await chmod(dataDir, 0o700)
    await chmod(join(dataDir, 'secret.key'), 0o600)
  })
})

test('the doctor: secrets in PostgreSQL need the key of the settings', async () => {
  const world = await worldOn('postgres')
  const { of, fixOf } = await world.ask({ MAILROOM_SECRET_KEY: '' })
  assert.deepEqual(of('secret key'), ['wrong'], 'they are sealed, and the key is not here')
  assert.match(fixOf('secret key'), /MAILROOM_SECRET_KEY/)
})
