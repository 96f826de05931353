import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { makeDomainKeys } from '#domains/dkim-key.ts'
import { ensureDkimKeys } from '#domains/dkim-key-rows.ts'
import { rotateDueKeys } from '#domains/rotate-keys.ts'
import { DAY_MS } from '#platform/units.ts'
import {
  type DkimPlace,
  openDkimPlace,
  passDays,
  ROTATION_DAYS,
  SERVICE,
} from '#test/conformance/dkim-place.ts'
import { openDatabase } from '#test/conformance/open-database.ts'
import { onBothEngines, opened } from '#test/world.ts'

const CUSTOM = { ownerId: 'dom_01', domain: 'customer.example' }
const FIRST = 'mr1 active, mr2 standby'

onBothEngines('the look for DKIM keys that are due', (engine) => {
  const database = opened(() => openDatabase(engine))
  let place: DkimPlace
  beforeEach(async () => {
    place = await openDkimPlace(database)
    await place.process.sign()
    await place.process.look()
  })
  afterEach(() => place.close())

  test('looks only at custom domains that are in use, and past silent ones at the others', async () => {
    await place.publish()
    const used = { isHolder: true }
    await place.addDomain('verified.example', { status: 'verified', ...used })
    await place.addDomain('degraded.example', { status: 'degraded', ...used })
    await place.addDomain('failed.example', { status: 'failed', ...used })
    await place.addDomain('pending.example', { status: 'pending', isHolder: false })
    await place.addDomain('displaced.example', { status: 'verified', isHolder: false })
    // More than there are places.
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

  test('goes on past servers that never answer', async () => {
    await place.publish()
    await place.addDomain('custom.example', { status: 'verified', isHolder: true })
    place.clock.advance((ROTATION_DAYS + 1) * DAY_MS)
    const schedule = { rotationDays: ROTATION_DAYS, usesServiceKeys: true }
    const { resolver, ...deps } = place.process.deps
    const txt = (name: string) =>
      name.endsWith('.custom.example') ? new Promise<never>(() => {}) : resolver.txt(name)
    const looking = rotateDueKeys(
      { ...deps, resolver: { txt } },
      schedule,
      new AbortController().signal,
    )
    await looking
    assert.notEqual((await place.keys())[1]?.publishedAtMs, null)
  })

  test('ends what DNS keeps waiting for when the service shuts down', async () => {
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

  test('never touches keys of an inbox domain that the settings named before', async () => {
    const before = { ...SERVICE, domain: 'before.example' }
    const rows = await makeDomainKeys(place.process.deps, before)
    await place.process.db.write(ensureDkimKeys, { rows })
    await place.publish(before)
    await passDays(place, ROTATION_DAYS + 2)
    assert.equal(await place.states(before), FIRST)
    assert.ok(!place.dns.asked.some(({ name }) => name.endsWith('before.example')))
  })
})
