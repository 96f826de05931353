import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { dkimKeyName, makeDomainKeys } from '#domains/dkim/dkim-key.ts'
import { rotateDueKeys } from '#domains/dkim/rotate-keys.ts'
import { ensureDkimKeys, switchDkimKeys } from '#domains/dkim/store/dkim-keys.ts'
import { DKIM_KEY_REREAD_MS } from '#domains/signing/signing.ts'
import { DAY_MS } from '#platform/units.ts'
import {
  type DkimPlace,
  inStrings,
  openDkimPlace,
  passDays,
  ROTATION_DAYS,
  SERVICE,
  type Signed,
} from '#test/conformance/dkim-place.ts'
import { openDatabase } from '#test/conformance/open-database.ts'
import { onBothEngines, opened } from '#test/world.ts'

const CUSTOM = { ownerId: 'dom_01', domain: 'customer.example' }
const FIRST = 'mr1 active, mr2 standby'
const SECOND = 'mr1 retiring, mr2 active'

onBothEngines('the rotation of DKIM keys', (engine) => {
  const database = opened(() => openDatabase(engine))
  let place: DkimPlace
  beforeEach(async () => {
    place = await openDkimPlace(database)
    // Both keys of the inbox domain exist, as after a request for the records.
    await place.process.sign()
    await place.process.look()
  })
  afterEach(() => place.close())

  /** Checks DNS with the standby key in it, and advances by a day. */
  async function settle() {
    await place.publish()
    await place.process.look()
    place.clock.advance(DAY_MS)
  }

  test('leaves all mail verifiable, over several rotations', async () => {
    const mails: Signed[] = []
    const other = await place.openProcess()
    await place.publish()
    await passDays(place, 3 * ROTATION_DAYS + 10, async (day) => {
      // The operator is always slow to publish.
      if (day % 5 === 0) await place.publish()
      const signed = [await place.process.sign(), await other.sign()]
      const old = mails.filter(({ atMs }) => place.clock.now() - atMs <= 6 * DAY_MS)
      for (const mail of [...signed, ...old.filter((_, at) => at % 3 === 0)]) {
        assert.equal(await place.verdict(mail), 'pass', `${mail.selector} on day ${day}`)
      }
      mails.push(...signed)
    })
    const turns = mails.filter(({ selector }, at) => selector !== mails[at - 1]?.selector)
    assert.deepEqual(
      turns.map(({ selector }) => selector),
      ['mr1', 'mr2', 'mr1', 'mr2'],
    )
    assert.equal(place.made(), 5, 'two at first, and one after each key that ended')
  })

  test('waits while DNS does not have the next key, and tells the operator', async () => {
    await place.publish()
    delete place.dns.zone['mr2._domainkey.in.example']
    await passDays(place, ROTATION_DAYS + 20)
    assert.equal(await place.states(), FIRST)
    assert.equal(await place.verdict(await place.process.sign()), 'pass')
    assert.ok(place.told.some((text) => text.includes('mailroom admin dkim rotate')))
  })

  test('skips a key that DNS had once and no longer has', async () => {
    await settle()
    assert.ok((await place.keys()).every(({ publishedAtMs }) => publishedAtMs !== null))
    place.dns.zone = {}
    await passDays(place, ROTATION_DAYS)
    assert.equal(await place.states(), FIRST)
    assert.equal((await place.keys())[1]?.publishedAtMs, null)
    assert.deepEqual(await kindOf(place.process.rotate()), 'unpublished')
  })

  for (const behaviour of ['servfail', 'silent', 'refused'] as const) {
    test(`does not read a failed DNS query as a missing key: ${behaviour}`, async () => {
      await settle()
      const before = await place.keys()
      place.clock.advance(ROTATION_DAYS * DAY_MS)
      for (const key of before) place.dns.zone[dkimKeyName(key)] = behaviour
      await place.process.look()
      assert.equal(await kindOf(place.process.rotate()), 'fault')
      assert.deepEqual(await place.keys(), before)
      assert.deepEqual(place.told, [])
      await place.publish()
      await place.process.look()
      assert.equal(await place.states(), SECOND)
    })
  }

  for (const [what, spoil] of [
    ['another key', (text: string) => text.replace(/p=.{9}/, 'p=AAAAAAAAA')],
    ['a key that was revoked', () => 'v=DKIM1; k=rsa; p='],
    ['a key in test mode', (text: string) => text.replace('k=rsa;', 'k=rsa; t=y:s;')],
    ['a key for other hashes', (text: string) => text.replace('k=rsa;', 'h=sha1;')],
    ['a key that is not for mail', (text: string) => text.replace('k=rsa;', 's=tlsrpt;')],
  ] as const) {
    test(`does not switch to a standby key whose record holds ${what}`, async () => {
      await place.publish()
      const name = 'mr2._domainkey.in.example'
      const text = textOf(name)
      assert.notEqual(spoil(text), text)
      place.dns.zone[name] = { TXT: [inStrings(spoil(text))] }
      assert.equal(await kindOf(place.process.rotate()), 'unpublished')
      place.dns.zone[name] = { TXT: [inStrings(text), inStrings(spoil(text))] }
      assert.equal(await kindOf(place.process.rotate()), 'unpublished')
      const spaced = text.replace('p=', 'p= ').replaceAll('; ', ' ; ')
      place.dns.zone[name] = { TXT: [inStrings(spaced)] }
      assert.equal(await kindOf(place.process.rotateNow()), 'switched')
    })
  }

  function textOf(name: string): string {
    const entry = place.dns.zone[name]
    const texts = typeof entry === 'object' && typeof entry.TXT === 'object' ? entry.TXT : []
    return [texts[0]].flat().join('')
  }

  test('on schedule waits until the record has been in DNS for a day', async () => {
    await passDays(place, ROTATION_DAYS + 1)
    await place.publish()
    await place.process.look()
    assert.equal(await place.states(), FIRST)
    place.clock.advance(DAY_MS - 60_000)
    await place.process.look()
    assert.equal(await place.states(), FIRST)
    place.clock.advance(60_000)
    await place.process.look()
    assert.equal(await place.states(), SECOND)
  })

  test('by hand waits until the record has been in DNS for a day, except in an emergency', async () => {
    await place.publish()
    const first = await place.process.rotate()
    assert.equal(first.kind, 'settling')
    const publishedAtMs = (await place.keys())[1]?.publishedAtMs ?? 0
    place.clock.advance(DAY_MS - 60_000)
    const second = await place.process.rotate()
    assert.equal(second.kind === 'settling' && second.settledAtMs, publishedAtMs + DAY_MS)
    assert.equal(await place.states(), FIRST)
    place.clock.advance(60_000)
    assert.equal(await kindOf(place.process.rotate()), 'switched')
    // The selector that ended gets another key, and caches still have the old one.
    place.clock.advance(7 * DAY_MS)
    await place.process.look()
    await place.publish()
    assert.equal(await kindOf(place.process.rotate()), 'settling')
    assert.equal(await kindOf(place.process.rotateNow()), 'switched')
    assert.equal(await place.states(), 'mr1 active, mr2 retiring')
  })

  test('starts its wait again after DNS had another record meanwhile', async () => {
    await settle()
    const { zone } = place.dns
    place.dns.zone = {}
    assert.equal(await kindOf(place.process.rotate()), 'unpublished')
    place.dns.zone = zone
    assert.equal(await kindOf(place.process.rotate()), 'settling')
  })

  test('waits at most a day after a clock was a year ahead', async () => {
    place.clock.step(365 * DAY_MS)
    await settle()
    place.clock.step(-365 * DAY_MS)
    assert.equal(await kindOf(place.process.rotate()), 'settling')
    place.clock.advance(DAY_MS)
    assert.equal(await kindOf(place.process.rotate()), 'switched')
  })

  test('happens after the days of the setting, and never with 0', async () => {
    await settle()
    place.clock.advance((ROTATION_DAYS - 1) * DAY_MS - 60_000)
    await place.process.look()
    assert.equal(await place.states(), FIRST)
    place.clock.advance(60_000)
    await place.process.look({ rotationDays: 0 })
    await place.process.look({ usesServiceKeys: false })
    assert.equal(await place.states(), FIRST)
    await place.process.look()
    assert.equal(await place.states(), SECOND)
  })

  test('keeps the previous key for seven days, then creates the next', async () => {
    await place.publish()
    const before = await place.keys()
    assert.equal(await kindOf(place.process.rotateNow()), 'switched')
    assert.deepEqual(
      (await place.keys()).map(({ publicKey }) => publicKey),
      before.map(({ publicKey }) => publicKey),
    )
    assert.deepEqual(
      (await place.keys()).map(({ isRequired }) => isRequired),
      [false, true],
    )
    assert.equal(await kindOf(place.process.rotate()), 'retiring')
    place.clock.advance(7 * DAY_MS - 60_000)
    await place.process.look()
    assert.equal(await place.states(), SECOND)
    place.clock.advance(60_000)
    await place.process.look({ rotationDays: 0 })
    assert.equal(await place.states(), 'mr1 standby, mr2 active')
    const [next] = await place.keys()
    assert.notEqual(next?.publicKey, before[0]?.publicKey)
    assert.equal(next?.publishedAtMs, null)
    assert.equal(await kindOf(place.process.rotate()), 'unpublished')
  })

  test('reaches every process within ten seconds', async () => {
    const other = await place.openProcess()
    await place.publish()
    assert.equal((await other.sign()).selector, 'mr1')
    await place.process.rotateNow()
    const late = await other.sign()
    assert.equal(late.selector, 'mr1')
    assert.equal(await place.verdict(late), 'pass')
    place.clock.advance(DKIM_KEY_REREAD_MS)
    const signed = await Promise.all([other.sign(), place.process.sign()])
    assert.deepEqual(
      signed.map(({ selector }) => selector),
      ['mr2', 'mr2'],
    )
    for (const mail of signed) assert.equal(await place.verdict(mail), 'pass')
  })

  test('happens once when processes check at the same moment', async () => {
    const processes = [place.process, await place.openProcess(), await place.openProcess()]
    await settle()
    place.clock.advance(ROTATION_DAYS * DAY_MS)
    await Promise.all(processes.map((one) => one.look()))
    assert.equal(await place.states(), SECOND)
    const switches = place.told.filter((text) => text.includes('DKIM key rotated'))
    assert.equal(switches.length, 1)
    place.clock.advance(7 * DAY_MS)
    await Promise.all(processes.map((one) => one.look()))
    assert.equal(await place.states(), 'mr1 standby, mr2 active')
    assert.equal(place.told.filter((text) => text.includes('was retired')).length, 1)
  })

  test('requested twice at once for the same domain happens once', async () => {
    const other = await place.openProcess()
    await place.publish()
    const kinds = await Promise.all([kindOf(place.process.rotateNow()), kindOf(other.rotateNow())])
    assert.equal(kinds.filter((kind) => kind === 'switched').length, 1, kinds.join())
    assert.equal(await place.states(), SECOND)
  })

  test('of a custom domain uses its own keys and records', async () => {
    const rows = await makeDomainKeys(place.process.deps, CUSTOM)
    await place.process.db.write(ensureDkimKeys, { rows })
    await place.publish(CUSTOM)
    const before = await place.process.sign(CUSTOM)
    assert.match(Buffer.from(before.raw).toString('latin1'), /d=customer\.example/)
    assert.equal(await kindOf(place.process.rotateNow(CUSTOM)), 'switched')
    assert.equal(await place.states(), FIRST)
    place.clock.advance(DKIM_KEY_REREAD_MS)
    const after = await place.process.sign(CUSTOM)
    assert.match(after.selector, /^mr2/)
    for (const mail of [before, after]) assert.equal(await place.verdict(mail), 'pass')
  })

  test('keeps the key of a domain whose standby key no longer exists', async () => {
    const [active] = await place.keys()
    const ids = { activeId: active?.id ?? '', standbyId: 'dkm_gone' }
    const { db } = place.process
    await assert.rejects(db.write(switchDkimKeys, { ...ids, nowMs: 1 }), /no standby/)
    assert.equal(await place.states(), FIRST)
  })

  test('checks only custom domains in use, and silent ones delay no others', async () => {
    await place.publish()
    const used = { isHolder: true }
    await place.addDomain('verified.example', { status: 'verified', ...used })
    await place.addDomain('degraded.example', { status: 'degraded', ...used })
    await place.addDomain('failed.example', { status: 'failed', ...used })
    await place.addDomain('pending.example', { status: 'pending', isHolder: false })
    await place.addDomain('displaced.example', { status: 'verified', isHolder: false })
    // More than there are slots.
    const rows = await makeDomainKeys(place.process.deps, CUSTOM)
    const next = rows.find(({ state }) => state === 'standby')
    for (let n = 0; n < 40; n += 1) {
      const domain = `silent${n}.example`
      await place.addDomain(domain, { status: 'verified', ...used }, rows)
      place.dns.zone[`${next?.selector}._domainkey.${domain}`] = 'silent'
    }
    place.clock.advance((ROTATION_DAYS + 1) * DAY_MS)
    await place.process.look()
    const asked = (domain: string) =>
      place.dns.asked.some(({ name }) => name.endsWith(`._domainkey.${domain}.example`))
    const names = ['verified', 'degraded', 'failed', 'pending', 'displaced', 'silent39']
    assert.deepEqual(names.filter(asked), ['verified', 'degraded', 'silent39'])
    const overdue = place.fields.find(({ count }) => count !== undefined)?.domains
    assert.deepEqual([overdue].flat().sort(), ['degraded.example', 'verified.example'])
  })

  test('continues after servers that never answer', async () => {
    await place.publish()
    await place.addDomain('custom.example', { status: 'verified', isHolder: true })
    place.clock.advance((ROTATION_DAYS + 1) * DAY_MS)
    const schedule = { rotationDays: ROTATION_DAYS, usesServiceKeys: true }
    const { resolver, ...deps } = place.process.deps
    const txt = (name: string) =>
      name.endsWith('.custom.example') ? new Promise<never>(() => {}) : resolver.txt(name)
    await rotateDueKeys({ ...deps, resolver: { txt } }, schedule, new AbortController().signal)
    assert.notEqual((await place.keys())[1]?.publishedAtMs, null)
  })

  test('is aborted during DNS queries when the service shuts down', async () => {
    await place.publish()
    place.clock.advance(ROTATION_DAYS * DAY_MS)
    const closing = new AbortController()
    const schedule = { rotationDays: ROTATION_DAYS, usesServiceKeys: true }
    const hanging = { txt: () => new Promise<never>(() => {}) }
    const deps = { ...place.process.deps, resolver: hanging }
    const looking = rotateDueKeys(deps, schedule, closing.signal)
    closing.abort()
    await looking
    assert.equal(await place.states(), FIRST)
  })

  test('never touches keys of an earlier inbox domain', async () => {
    const before = { ...SERVICE, domain: 'before.example' }
    const rows = await makeDomainKeys(place.process.deps, before)
    await place.process.db.write(ensureDkimKeys, { rows })
    await place.publish(before)
    await passDays(place, ROTATION_DAYS + 2)
    assert.equal(await place.states(before), FIRST)
    assert.ok(!place.dns.asked.some(({ name }) => name.endsWith('before.example')))
  })

  async function kindOf(rotation: Promise<{ kind: string }>): Promise<string> {
    return (await rotation).kind
  }
})
