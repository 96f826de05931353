import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Domain, DomainRecord } from '@mailroom/sdk'
import type { Behaviour, ZoneName } from '#test/peers/dns.ts'
import {
  checkDue,
  claimDue,
  eventsOf,
  openDomainWorld,
  publish,
  recordFor,
  verifiedDomain,
  withdraw,
} from '#test/scenarios/domain-world.ts'
import { changePart, onEachEngine, opened } from '#test/world.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

onEachEngine('states of custom domains', (engine) => {
  const world = opened(() => openDomainWorld(engine))

  const { create, get, verify } = {
    create: (domain: string) => world.client.domains.create({ domain }),
    get: (domain: Domain) => world.client.domains.get(domain.id),
    verify: (domain: Domain) => world.client.domains.verify(domain.id),
  }
  const statusOf = async (domain: Domain) => (await get(domain)).status
  const later = async (ms: number) => {
    world.clock.advance(ms)
    await checkDue(world)
  }

  async function degradedDomain(name: string): Promise<Domain> {
    const domain = await verifiedDomain(world, name)
    withdraw(world.dns, domain, 'spf')
    const degraded = await verify(domain)
    assert.equal(degraded.status, 'degraded')
    return degraded
  }

  async function failedDomain(name: string): Promise<Domain> {
    const domain = await degradedDomain(name)
    await later(72 * HOUR)
    assert.equal(await statusOf(domain), 'failed')
    return domain
  }

  test('verify says of each record what DNS holds and what to change', async () => {
    const domain = await create('steps.example')
    const seen = async () =>
      (await verify(domain)).records.map(({ purpose, status }) => `${purpose} ${status}`)
    assert.deepEqual(await seen(), [
      'ownership missing',
      'mx missing',
      'spf missing',
      'dkim missing',
      'dkim missing',
      'dmarc missing',
    ])
    const apex: ZoneName = {
      MX: [{ exchange: 'old.example', preference: 5 }],
      TXT: ['v=spf1 include:old.example -all', 'unrelated'],
    }
    world.dns.zone['steps.example'] = apex
    world.dns.zone['_mailroom.steps.example'] = { TXT: ['something else'] }
    const wrong = await verify(domain)
    assert.equal(wrong.status, 'pending')
    assert.notEqual(wrong.lastCheckedAt, null)
    const [ownership, mx, spf] = wrong.records
    assert.deepEqual([ownership?.status, mx?.status, spf?.status], Array(3).fill('invalid'))
    assert.deepEqual(ownership?.found, ['something else'])
    assert.deepEqual(mx?.found, ['5 old.example'])
    assert.deepEqual(spf?.found, ['v=spf1 include:old.example -all'])
    assert.match(spf?.hint ?? '', /Add a:mailroom\.localhost to the SPF record/)
    assert.deepEqual(await get(domain), wrong)

    // Other values of the record do not matter, and a policy is not required.
    delete world.dns.zone['steps.example']
    publish(world.dns, domain, ({ purpose }) => purpose !== 'dmarc' && purpose !== 'spf')
    const spfText = 'v=spf1 include:old.example a:mailroom.localhost -all'
    const entry = world.dns.zone['steps.example']
    world.dns.zone['steps.example'] = { ...(entry as ZoneName), TXT: ['unrelated', spfText] }
    const right = await verify(domain)
    assert.equal(right.status, 'verified')
    assert.equal(right.verifiedAt, right.lastCheckedAt)
    assert.deepEqual(await eventsOf(world, domain), ['domain.verified verified null'])
  })

  test('each required record alone prevents verification', async () => {
    const purposes: DomainRecord['purpose'][] = ['ownership', 'mx', 'spf', 'dkim']
    for (const purpose of purposes) {
      const domain = await create(`without-${purpose}.example`)
      publish(world.dns, domain, (record) => record.purpose !== purpose)
      assert.equal((await verify(domain)).status, 'pending', purpose)
    }
    const half = await create('half-a-key.example')
    publish(world.dns, half, ({ name }) => !name.startsWith('mr2-'))
    assert.equal((await verify(half)).status, 'pending')
  })

  test('a pending domain is checked automatically, and fails after 14 days', async () => {
    const slow = await create('slow.example')
    const never = await create('never.example')
    await later(10 * MINUTE)
    assert.equal(await statusOf(slow), 'pending')
    publish(world.dns, slow)
    await later(10 * MINUTE)
    assert.equal(await statusOf(slow), 'verified')

    world.clock.advance(14 * DAY - 21 * MINUTE)
    assert.equal((await verify(never)).status, 'pending')
    await later(1 * MINUTE)
    assert.equal(await statusOf(never), 'failed')
    assert.deepEqual(await eventsOf(world, never), ['domain.failed failed null'])
    publish(world.dns, never)
    await later(6 * HOUR)
    assert.equal(await statusOf(never), 'verified')
    assert.deepEqual(await eventsOf(world, never), [
      'domain.failed failed null',
      'domain.verified verified null',
    ])
  })

  test('a verified domain degrades at the check of its 6 hours, and recovers at the next', async () => {
    const domain = await verifiedDomain(world, 'recovering.example')
    withdraw(world.dns, domain, 'mx')
    await later(6 * HOUR - MINUTE)
    assert.equal(await statusOf(domain), 'verified')
    await later(MINUTE)
    const degraded = await get(domain)
    assert.equal(degraded.status, 'degraded')
    assert.equal(recordFor(degraded, 'mx').status, 'missing')
    const made = await world.client.inboxes.create({ domain: 'recovering.example' })
    assert.match(made.address, /@recovering\.example$/)
    publish(world.dns, domain)
    await later(6 * HOUR)
    assert.equal(await statusOf(domain), 'verified')
  })

  test('a degraded domain fails after 72 hours in that state, not counting earlier days', async () => {
    const domain = await degradedDomain('failing.example')
    publish(world.dns, domain)
    await later(70 * HOUR)
    assert.equal(await statusOf(domain), 'verified')
    withdraw(world.dns, domain, 'dkim')
    await later(6 * HOUR)
    assert.equal(await statusOf(domain), 'degraded')
    world.clock.advance(72 * HOUR - MINUTE)
    assert.equal((await verify(domain)).status, 'degraded')
    await later(MINUTE)
    assert.equal(await statusOf(domain), 'failed')
    assert.equal((await eventsOf(world, domain)).at(-1), 'domain.failed failed null')
    publish(world.dns, domain)
    assert.equal((await verify(domain)).status, 'verified')
  })

  test('a state changes only when a second check agrees', async (t) => {
    const domain = await verifiedDomain(world, 'wavering.example')
    const name = 'wavering.example'
    const good = world.dns.zone[name]
    // Not the questions that reach the DNS server: one that is answered late is sent again.
    let looks = 0
    const restore = changePart(world.app.deps.resolver, (own) => ({
      mx(asked, options) {
        if (asked === name) looks += 1
        return own.mx(asked, options)
      },
    }))
    t.after(restore)
    // Wrong for the next look, right for later ones.
    Object.defineProperty(world.dns.zone, name, {
      configurable: true,
      enumerable: true,
      get: () => (looks <= 1 ? {} : good),
    })
    assert.equal((await verify(domain)).status, 'verified')
    assert.equal(looks, 2)
    const one = { configurable: true, enumerable: true, writable: true }
    Object.defineProperty(world.dns.zone, name, { ...one, value: {} })
    assert.equal((await verify(domain)).status, 'degraded')
    const before = looks
    assert.equal((await verify(domain)).status, 'degraded')
    assert.equal(looks, before + 1, 'one look where nothing changes')
  })

  test('without an answer of DNS no check changes any state', async () => {
    const domains = {
      pending: await create('fault-pending.example'),
      verified: await verifiedDomain(world, 'fault-verified.example'),
      degraded: await degradedDomain('fault-degraded.example'),
      failed: await failedDomain('fault-failed.example'),
    }
    // One domain is in each state now; the clock moved for the others meanwhile.
    for (const domain of Object.values(domains)) withdraw(world.dns, domain)
    publish(world.dns, domains.verified)
    await verify(domains.verified)
    publish(world.dns, domains.degraded)
    await verify(domains.degraded)
    withdraw(world.dns, domains.degraded, 'mx')
    await verify(domains.degraded)
    const kept = new Map<string, Domain>()
    for (const [status, domain] of Object.entries(domains)) {
      kept.set(status, await get(domain))
      assert.equal(kept.get(status)?.status, status)
    }
    const faults: Behaviour[] = ['servfail', 'refused', 'garbage', 'referral']
    for (const fault of faults) {
      for (const [status, domain] of Object.entries(domains)) {
        const { name } = recordFor(domain, 'ownership')
        // The other answers contradict the state.
        if (status === 'verified' || status === 'degraded') withdraw(world.dns, domain)
        else publish(world.dns, domain)
        world.dns.zone[name] = fault
        const answer = await verify(domain)
        assert.equal(answer.status, status, `${fault} of a ${status} domain`)
        assert.equal(answer.lastCheckedAt, kept.get(status)?.lastCheckedAt)
        assert.match(recordFor(answer, 'ownership').hint ?? '', /^DNS did not answer/)
        assert.deepEqual(await get(domain), kept.get(status))
      }
    }
    await later(15 * DAY)
    for (const [status, domain] of Object.entries(domains)) {
      assert.deepEqual(await get(domain), kept.get(status))
    }
  })

  test('a fault of a recommended record is no fault of the check', async () => {
    const domain = await create('no-policy.example')
    publish(world.dns, domain)
    world.dns.zone[recordFor(domain, 'dmarc').name] = 'servfail'
    const answer = await verify(domain)
    assert.equal(answer.status, 'verified')
    assert.equal(recordFor(answer, 'dmarc').status, 'missing')
  })

  test('a silent server is awaited for a bounded time', async () => {
    const domain = await verifiedDomain(world, 'silent.example')
    for (const { name } of domain.records) world.dns.zone[name] = 'silent'
    const startMs = performance.now()
    const answer = await verify(domain)
    assert.ok(performance.now() - startMs < 30_000)
    assert.equal(answer.status, 'verified')
    assert.equal(answer.lastCheckedAt, domain.lastCheckedAt)
    for (const { hint } of answer.records) assert.match(hint ?? '', /^DNS did not answer/)
    await world.client.domains.delete(domain.id)
  })

  test('a check whose process died is repeated after ten minutes', async () => {
    const domain = await verifiedDomain(world, 'dying.example')
    withdraw(world.dns, domain, 'spf')
    world.clock.advance(6 * HOUR)
    const claimed = await claimDue(world, 1_000)
    assert.ok(claimed.some(({ domainId }) => domainId === domain.id))
    await later(9 * MINUTE)
    assert.equal(await statusOf(domain), 'verified')
    await later(MINUTE)
    assert.equal(await statusOf(domain), 'degraded')
  })

  test('a clock that is set back does not delay checks by the difference', async () => {
    const domain = await verifiedDomain(world, 'setback.example')
    withdraw(world.dns, domain, 'spf')
    world.clock.step(-365 * DAY)
    await checkDue(world)
    assert.equal(await statusOf(domain), 'degraded')
    world.clock.step(-365 * DAY)
    await checkDue(world)
    await later(72 * HOUR)
    assert.equal(await statusOf(domain), 'failed')
    world.clock.step(2 * 365 * DAY)
  })
})
