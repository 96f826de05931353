import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Domain } from '@mailroom/sdk'
import {
  askRecords,
  DOMAIN_CHECKS_PER_ACCOUNT_MAX,
  DOMAIN_CHECKS_WAITING_MAX,
} from '#domains/check-domain.ts'
import { DOMAIN_CREATIONS_AT_ONCE, DOMAIN_CREATIONS_WAITING_MAX } from '#domains/create-domain.ts'
import { DNS_QUERIES_AT_ONCE } from '#platform/dns/resolver.ts'
import {
  checkDue,
  checkOnce,
  claimDue,
  leaveChecksToTests,
  publish,
  recordFor,
  verifiedDomain,
  withdraw,
} from '#test/scenarios/domain-world.ts'
import { countReads } from '#test/scenarios/event-listeners.ts'
import { countOutcomes, repeat, until } from '#test/scenarios/outcomes.ts'
import { openSendingWorld, send, settled } from '#test/scenarios/sending-world.ts'
import { type Account, changePart, onEachEngine, opened, testKey } from '#test/world.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

onEachEngine('checks of custom domains', (engine) => {
  const world = opened(() => openSendingWorld(engine, { makeKey: () => makeKey() }))
  /** Creates the private keys that sign mail. */
  let makeKey = testKey
  let ann: Account
  let bob: Account
  before(async () => {
    leaveChecksToTests(world.app)
    ann = await world.newAccount()
    bob = await world.newAccount()
    changePart(world.app.deps.resolver, (own) => ({
      txt(name, options) {
        looked.push(name)
        return own.txt(name, options)
      },
    }))
  })

  const statusOf = async ({ client }: Account, domain: Domain) =>
    (await client.domains.get(domain.id)).status
  const ownershipOf = (domain: Domain) => recordFor(domain, 'ownership').name
  const countAsked = (domain: Domain) => world.dns.countAsked(ownershipOf(domain))
  /** Distinct names that were queried. */
  const looked: string[] = []
  const countLooks = (domain: Domain) =>
    looked.filter((name) => name === ownershipOf(domain)).length
  /** Its DNS is slow enough that other events happen before the answer. */
  const slowDown = (domain: Domain) => {
    const name = ownershipOf(domain)
    const entry = world.dns.zone[name]
    assert.ok(typeof entry === 'object')
    world.dns.zone[name] = { ...entry, delayMs: 800 }
  }

  test('of an account whose DNS is silent delay neither mail nor the checks of others', async () => {
    const silent = await repeat(60, (n) =>
      ann.client.domains.create({ domain: `s${n}.silent.example` }),
    )
    for (const { name } of silent.flatMap(({ records }) => records)) world.dns.zone[name] = 'silent'
    const inbox = await bob.client.inboxes.create()
    const bobs = await bob.client.domains.create({ domain: 'heard.example' })
    publish(world.dns, bobs)

    const verifies = countOutcomes(silent.map(({ id }) => ann.client.domains.verify(id)))
    const asked = () => silent.filter((domain) => countAsked(domain) > 0).length
    await until(async () => asked() === DOMAIN_CHECKS_PER_ACCOUNT_MAX)
    assert.equal((await bob.client.domains.verify(bobs.id)).status, 'verified')
    assert.equal((await settled(bob, await send(bob, inbox))).status, 'sent')
    assert.equal(asked(), DOMAIN_CHECKS_PER_ACCOUNT_MAX, 'nobody waited until silence was over')

    for (const { name } of silent.flatMap(({ records }) => records)) delete world.dns.zone[name]
    const accepted = DOMAIN_CHECKS_PER_ACCOUNT_MAX + DOMAIN_CHECKS_WAITING_MAX
    const outcomes = { done: accepted, '429 rate_limit_exceeded': 60 - accepted }
    assert.deepEqual(await verifies, outcomes)
  })

  test('use a DNS resolver apart from mail, which flows while all check slots wait', async () => {
    const names = Array.from({ length: 2 * DNS_QUERIES_AT_ONCE }, (_, n) => `never${n}.example`)
    for (const name of names) world.dns.zone[name] = 'silent'
    const giving = new AbortController()
    const { resolver } = world.app.deps
    const questions = names.map((name) => resolver.txt(name, { signal: giving.signal }))
    const asked = () => names.filter((name) => world.dns.countAsked(name) > 0).length
    await until(async () => asked() === DNS_QUERIES_AT_ONCE)
    const inbox = await bob.client.inboxes.create()
    world.dns.zone['unasked.example'] = { MX: [{ exchange: 'mx.friend.example', preference: 10 }] }
    const sent = await send(bob, inbox, { to: 'bob@unasked.example' })
    assert.equal((await settled(bob, sent)).status, 'sent')
    assert.equal(asked(), DNS_QUERIES_AT_ONCE)
    giving.abort()
    await Promise.all(questions)
  })

  test('that are abandoned stop their queries', async () => {
    const domain = await ann.client.domains.create({ domain: 'given-up.example' })
    for (const { name } of domain.records) world.dns.zone[name] = 'silent'
    const { resolver } = world.app.deps
    const answers: Promise<{ kind: string; text?: string }>[] = []
    const noting = <Value extends { kind: string }>(answer: Promise<Value>) => {
      answers.push(answer)
      return answer
    }
    const given: typeof resolver = {
      ...resolver,
      mx: (name, options) => noting(resolver.mx(name, options)),
      txt: (name, options) => noting(resolver.txt(name, options)),
    }
    const records = domain.records.map(({ priority = null, ...record }) => ({
      ...record,
      priority,
    }))
    const giving = new AbortController()
    const asking = askRecords({ resolver: given }, records, giving.signal)
    await until(async () => countAsked(domain) > 0)
    giving.abort()
    assert.ok((await asking).every(({ kind }) => kind === 'fault'))
    assert.equal(answers.length, records.length)
    for (const { text } of await Promise.all(answers)) assert.match(text ?? '', /given up/)
    // Every round of due checks would wait for it.
    for (const { name } of domain.records) delete world.dns.zone[name]
  })

  test('of one domain requested at once are made once', async () => {
    const domain = await verifiedDomain(world, 'shared-check.example', ann)
    slowDown(domain)
    const before = countLooks(domain)
    const verifies = Array.from({ length: 20 }, () => ann.client.domains.verify(domain.id))
    assert.deepEqual(await countOutcomes(verifies), { done: 20 })
    // Late requests may cause a second check; twenty checks would ask twenty times.
    assert.ok(countLooks(domain) <= before + 3, `${countLooks(domain) - before}`)
  })

  test('with conflicting answers at the end of a state end it, and are not repeated at once', async () => {
    const wavering = await ann.client.domains.create({ domain: 'wavering.example' })
    publish(world.dns, wavering)
    const name = ownershipOf(wavering)
    const good = world.dns.zone[name]
    const startAt = countLooks(wavering)
    Object.defineProperty(world.dns.zone, name, {
      configurable: true,
      enumerable: true,
      get: () => ((countLooks(wavering) - startAt) % 2 === 1 ? {} : good),
    })
    world.clock.advance(14 * DAY + HOUR)
    for (let n = 0; n < 5; n++) await checkOnce(world)
    assert.equal(countLooks(wavering), startAt + 2)
    assert.equal(await statusOf(ann, wavering), 'failed')
    Object.defineProperty(world.dns.zone, name, {
      configurable: true,
      enumerable: true,
      writable: true,
      value: good,
    })
    world.clock.advance(10 * MINUTE)
    await checkDue(world)
    assert.equal(await statusOf(ann, wavering), 'verified')
  })

  test('without an answer at the end of a state are repeated ten minutes later', async () => {
    const domain = await ann.client.domains.create({ domain: 'faulty.example' })
    world.dns.zone[ownershipOf(domain)] = 'servfail'
    world.clock.advance(14 * DAY + HOUR)
    for (let n = 0; n < 3; n++) await checkDue(world)
    assert.equal(countLooks(domain), 1)
    assert.equal(await statusOf(ann, domain), 'pending')
    world.clock.advance(10 * MINUTE)
    await checkDue(world)
    assert.equal(countLooks(domain), 2)
    assert.equal(await statusOf(ann, domain), 'pending')
    delete world.dns.zone[ownershipOf(domain)]
    world.clock.advance(10 * MINUTE)
    await checkDue(world)
    assert.equal(await statusOf(ann, domain), 'failed')
  })

  test('that are due are made for all accounts in rotation', async () => {
    await checkDue(world)
    const [carl, dora] = [await world.newAccount(), await world.newAccount()]
    await repeat(30, (n) => carl.client.domains.create({ domain: `many${n}.example` }))
    world.clock.advance(MINUTE)
    const doras = await dora.client.domains.create({ domain: 'one.example' })
    world.clock.advance(10 * MINUTE)
    const claimed = await claimDue(world, 20)
    assert.equal(claimed.length, 20)
    assert.ok(claimed.some(({ domainId }) => domainId === doras.id))
    const rest = await claimDue(world, 1_000)
    const ids = [...claimed, ...rest].map(({ domainId }) => domainId)
    assert.equal(new Set(ids).size, ids.length)
    assert.ok(ids.length >= 31)
    assert.deepEqual(await claimDue(world, 1_000), [])
  })

  test('in the background skip a domain that is being verified', async () => {
    const domain = await verifiedDomain(world, 'busy.example', ann)
    withdraw(world.dns, domain, 'spf')
    slowDown(domain)
    const before = countLooks(domain)
    const verifying = ann.client.domains.verify(domain.id)
    await until(async () => countLooks(domain) > before)
    world.clock.advance(6 * HOUR)
    await checkDue(world)
    assert.equal((await verifying).status, 'degraded')
    assert.equal(countLooks(domain), before + 2, 'a look and the one before a change')
  })

  test('of new domains are bounded: only so many keys are created at once', async () => {
    const eve = await world.newAccount()
    const gate = Promise.withResolvers<void>()
    makeKey = () => gate.promise.then(testKey)
    let refused = 0
    const create = async (n: number) => {
      try {
        await eve.client.domains.create({ domain: `burst${n}.example` })
      } catch (error) {
        refused += 1
        throw error
      }
    }
    const creations = Array.from({ length: DOMAIN_CREATIONS_WAITING_MAX + 50 }, (_, n) => create(n))
    const outcomes = countOutcomes(creations)
    try {
      await until(async () => refused === 50 - DOMAIN_CREATIONS_AT_ONCE)
    } finally {
      gate.resolve()
      makeKey = testKey
    }
    assert.deepEqual(await outcomes, {
      done: DOMAIN_CREATIONS_WAITING_MAX + DOMAIN_CREATIONS_AT_ONCE,
      '429 rate_limit_exceeded': 50 - DOMAIN_CREATIONS_AT_ONCE,
    })
    const reads = countReads(world)
    const [few, many] = [await queriesOf(eve, 2, reads), await queriesOf(eve, 100, reads)]
    assert.ok(few > 0)
    assert.equal(many, few, 'a page costs the same however many domains it has')
  })
})

/** The fewest queries of several requests for a page of domains, because other work queries too. */
async function queriesOf(
  { client }: Account,
  limit: number,
  reads: ReturnType<typeof countReads>,
): Promise<number> {
  const counts: number[] = []
  for (let round = 0; round < 5; round++) {
    const before = reads.count()
    assert.equal((await client.domains.list({ limit }).page()).data.length, limit)
    counts.push(reads.count() - before)
  }
  return Math.min(...counts)
}
