import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import type { Domain } from '@mailroom/sdk'
import { Mailroom } from '@mailroom/sdk'
import { openSender, type Sender } from '#test/peers/sender.ts'
import {
  checkDue,
  eventsOf,
  leaveChecksToTests,
  openDomainWorld,
  publish,
  verifiedDomain,
  withdraw,
} from '#test/scenarios/domain-world.ts'
import { countOutcomes, refusal, refusalOf, repeat } from '#test/scenarios/outcomes.ts'
import {
  type Account,
  onEachEngine,
  opened,
  openSecond,
  plainMail,
  prepared,
  type World,
} from '#test/world.ts'

const HOUR = 3_600_000

onEachEngine('the holder of a custom domain', (engine) => {
  const world = opened(() => openDomainWorld(engine))
  const ann = prepared(() => world.newAccount())
  const bob = prepared(() => world.newAccount())

  const verify = ({ client }: Account, domain: Domain) => client.domains.verify(domain.id)

  /** Ann's domain, with an inbox and a message in it, after 72 hours of wrong records. */
  async function lostDomain(name: string) {
    const domain = await verifiedDomain(world, name, ann)
    const inbox = await ann.client.inboxes.create({ domain: name, mailboxName: 'info' })
    const raw = plainMail({ to: inbox.address })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    withdraw(world.dns, domain)
    await verify(ann, domain)
    world.clock.advance(72 * HOUR)
    await checkDue(world)
    assert.equal((await ann.client.domains.get(domain.id)).status, 'failed')
    return { domain, inbox }
  }

  test('the first of two accounts to verify holds the domain, and the other gets an error', async () => {
    const anns = await ann.client.domains.create({ domain: 'first.example' })
    const bobs = await bob.client.domains.create({ domain: 'first.example' })
    publish(world.dns, anns)
    publish(world.dns, bobs)
    assert.equal((await verify(ann, anns)).status, 'verified')
    const error = await refusalOf(verify(bob, bobs))
    assert.equal(`${error.status} ${error.code}`, '409 domain_taken')
    const kept = await bob.client.domains.get(bobs.id)
    assert.equal(kept.status, 'pending')
    assert.ok(kept.records.every(({ status }) => status === 'valid'))
    assert.deepEqual(await eventsOf(world, bobs, bob), [])
    const created = await refusalOf(world.client.domains.create({ domain: 'first.example' }))
    assert.match(created.message, /another account/)
    assert.equal(
      await refusal(bob.client.inboxes.create({ domain: 'first.example' })),
      '400 invalid_domain',
    )
    const again = await refusalOf(ann.client.domains.create({ domain: 'first.example' }))
    assert.match(again.message, /has first\.example already/)

    // Degraded, it is still Ann's; deleted, it is Bob's.
    withdraw(world.dns, anns, 'ownership')
    publish(world.dns, bobs, ({ purpose }) => purpose === 'ownership')
    assert.equal((await verify(ann, anns)).status, 'degraded')
    assert.equal(await refusal(verify(bob, bobs)), '409 domain_taken')
    await ann.client.domains.delete(anns.id)
    assert.equal((await verify(bob, bobs)).status, 'verified')
  })

  test('a failed domain still receives and no longer sends', async () => {
    const { domain, inbox } = await lostDomain('failed.example')
    const raw = plainMail({ to: inbox.address, subject: 'still' })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    assert.equal((await ann.client.messages.list(inbox.id).page()).total, 2)
    const send = (threadId?: string) => {
      const mail = { to: 'bob@friend.example', subject: 'Hello', body: 'Hello.' }
      return ann.client.inboxes.send(
        inbox.id,
        threadId === undefined ? mail : { ...mail, threadId },
      )
    }
    const error = await refusalOf(send())
    assert.equal(`${error.status} ${error.code}`, '400 invalid_domain')
    assert.match(error.message, /failed/)
    assert.equal(await refusal(send('thr_none')), '404 not_found')
    assert.equal(
      await refusal(ann.client.inboxes.create({ domain: 'failed.example' })),
      '400 invalid_domain',
    )
    publish(world.dns, domain)
    await verify(ann, domain)
    await send()
  })

  test('the account that verifies a failed domain gets its mail; received mail stays where it is', async () => {
    const { domain, inbox } = await lostDomain('passed.example')
    const bobs = await verifiedDomain(world, 'passed.example', bob)
    const bobsInbox = await bob.client.inboxes.create({
      domain: 'passed.example',
      mailboxName: 'info',
    })
    assert.equal(bobsInbox.address, inbox.address)
    const raw = plainMail({ to: inbox.address })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    assert.equal((await bob.client.messages.list(bobsInbox.id).page()).total, 1)
    const { data, total } = await ann.client.messages.list(inbox.id).page()
    assert.equal(total, 1)
    assert.equal((await ann.client.threads.list(inbox.id).page()).total, 1)
    assert.equal((await ann.client.inboxes.get(inbox.id)).address, inbox.address)
    const mail = { to: 'bob@friend.example', subject: 'Hello', body: 'Hello.' }
    const sent = await refusalOf(ann.client.inboxes.send(inbox.id, mail))
    assert.equal(sent.code, 'invalid_domain')
    assert.match(sent.message, /another account/)
    const reply = { to: 'ann@sender.example', body: 'Hi', threadId: data[0]?.threadId ?? '' }
    assert.equal(await refusal(ann.client.inboxes.send(inbox.id, reply)), '400 invalid_domain')
    const made = await refusalOf(ann.client.inboxes.create({ domain: 'passed.example' }))
    assert.match(made.message, /verified by another account/)

    publish(world.dns, domain)
    assert.equal(await refusal(verify(ann, domain)), '409 domain_taken')
    assert.equal(await refusal(ann.client.domains.delete(domain.id)), '409 domain_not_empty')
    await ann.client.inboxes.delete(inbox.id)
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    await ann.client.domains.delete(domain.id)
    await bob.client.inboxes.delete(bobsInbox.id)
    await bob.client.inboxes.create({ domain: 'passed.example', mailboxName: 'info' })
    assert.equal((await bob.client.domains.get(bobs.id)).status, 'verified')
  })

  test('mail of an open SMTP transaction does not go to the former account after a take-over', async () => {
    const { inbox } = await lostDomain('meanwhile.example')
    const guarded = await ann.client.inboxes.create({ mailboxName: `guard-${engine}` })
    const sender = await openSender(world.smtpPort)
    await sender.command('MAIL FROM:<someone@sender.example>')
    await sender.command(`RCPT TO:<${inbox.address}>`)
    const withOther = await openSender(world.smtpPort)
    await withOther.command('MAIL FROM:<someone@sender.example>')
    await withOther.command(`RCPT TO:<${inbox.address}>`)
    await withOther.command(`RCPT TO:<${guarded.address}>`)
    await verifiedDomain(world, 'meanwhile.example', bob)
    const raw = plainMail({ to: inbox.address })
    assert.equal(await finish(sender, raw), 550)
    assert.equal(await finish(withOther, raw), 250)
    assert.equal((await ann.client.messages.list(inbox.id).page()).total, 1)
    assert.equal((await ann.client.messages.list(guarded.id).page()).total, 1)
    await ann.client.inboxes.delete(guarded.id)
  })

  test('such mail is not kept in the quarantine of the former account either', async () => {
    const carl = await world.newAccount()
    const name = 'sifted.example'
    const domain = await verifiedDomain(world, name, carl)
    const inbox = await carl.client.inboxes.create({ domain: name, mailboxName: 'info' })
    await carl.client.account.update({ filterMode: 'allowlist' })
    const raw = plainMail({ to: inbox.address })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    assert.equal((await carl.client.quarantine.list().page()).total, 1)
    withdraw(world.dns, domain)
    await verify(carl, domain)
    world.clock.advance(72 * HOUR)
    await checkDue(world)
    const sender = await openSender(world.smtpPort)
    await sender.command('MAIL FROM:<someone@sender.example>')
    await sender.command(`RCPT TO:<${inbox.address}>`)
    await verifiedDomain(world, name, bob)
    assert.equal(await finish(sender, plainMail({ to: inbox.address, subject: 'late' })), 550)
    assert.equal((await carl.client.quarantine.list().page()).total, 1)
  })

  test('addresses that the former account released on a domain go with the domain', async () => {
    const { inbox } = await lostDomain('freed.example')
    await ann.client.inboxes.delete(inbox.id)
    const address = { domain: 'freed.example', mailboxName: 'info' }
    await verifiedDomain(world, 'freed.example', bob)
    assert.equal((await bob.client.inboxes.create(address)).address, inbox.address)
  })

  test('a domain can return to the account that lost it, with its inboxes', async () => {
    const { domain, inbox } = await lostDomain('returned.example')
    const bobs = await verifiedDomain(world, 'returned.example', bob)
    const other = await bob.client.inboxes.create({
      domain: 'returned.example',
      mailboxName: 'info',
    })
    withdraw(world.dns, bobs)
    await verify(bob, bobs)
    world.clock.advance(72 * HOUR)
    await checkDue(world)
    publish(world.dns, domain)
    assert.equal((await verify(ann, domain)).status, 'verified')
    const raw = plainMail({ to: inbox.address })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    assert.equal((await ann.client.messages.list(inbox.id).page()).total, 2)
    assert.equal((await bob.client.messages.list(other.id).page()).total, 0)
    assert.equal((await bob.client.domains.get(bobs.id)).status, 'failed')
  })

  test('of twenty verifications at once those of one account win', async () => {
    for (let round = 0; round < 3; round++) {
      const name = `race-${round}.example`
      const anns = await ann.client.domains.create({ domain: name })
      const bobs = await bob.client.domains.create({ domain: name })
      publish(world.dns, anns)
      publish(world.dns, bobs)
      await assertOneWins(world, [
        [ann, anns],
        [bob, bobs],
      ])
    }
  })
})

/** The reply code to the message of an SMTP transaction that already has its recipients. */
async function finish(sender: Sender, raw: string | Uint8Array): Promise<number> {
  assert.equal((await sender.command('DATA')).code, 354)
  sender.write(raw)
  sender.write('\r\n.\r\n')
  const { code } = await sender.reply()
  await sender.quit()
  return code
}

/**
 * Ten verifications of each account at once, over all its clients; afterwards one holds the domain and the other got
 * an error.
 */
async function assertOneWins(
  world: World,
  contenders: [Pick<Account, 'client'>, Domain, ...Mailroom[]][],
): Promise<void> {
  const outcomes = await Promise.all(
    contenders.map(([{ client }, domain, ...others]) => {
      const clients = [client, ...others]
      return countOutcomes(
        Array.from({ length: 10 }, (_, n) =>
          (clients[n % clients.length] ?? client).domains.verify(domain.id),
        ),
      )
    }),
  )
  const statuses = await Promise.all(
    contenders.map(async ([{ client }, { id }]) => (await client.domains.get(id)).status),
  )
  assert.deepEqual(statuses.toSorted(), ['pending', 'verified'], JSON.stringify(outcomes))
  for (const [index, [account, domain]] of contenders.entries()) {
    const hasWon = statuses[index] === 'verified'
    assert.deepEqual(outcomes[index], hasWon ? { done: 10 } : { '409 domain_taken': 10 })
    assert.deepEqual(
      await eventsOf(world, domain, account),
      hasWon ? ['domain.verified verified null'] : [],
    )
  }
}

suite('custom domains at two services on one database', () => {
  const world = opened(() => openDomainWorld('postgres'))
  const second = opened(() => openSecond(world))
  before(() => leaveChecksToTests(second))

  const atSecond = ({ key }: Account) =>
    new Mailroom({ baseUrl: second.http?.address ?? '', apiKey: key, maxRetries: 0 })

  test('one account wins, whichever service its verifications reach', async () => {
    const [ann, bob] = [await world.newAccount(), await world.newAccount()]
    for (let round = 0; round < 5; round++) {
      const name = `contended-${round}.example`
      const anns = await ann.client.domains.create({ domain: name })
      const bobs = await bob.client.domains.create({ domain: name })
      publish(world.dns, anns)
      publish(world.dns, bobs)
      await assertOneWins(world, [
        [ann, anns, atSecond(ann)],
        [bob, bobs, atSecond(bob)],
      ])
    }
  })

  test('a due check is made by one of them', async () => {
    const domains = await repeat(10, (n) => verifiedDomain(world, `due-${n}.example`))
    world.clock.advance(6 * HOUR)
    const asked = () => domains.map(({ domain }) => world.dns.countAsked(`_mailroom.${domain}`))
    const before = asked()
    await Promise.all([checkDue(world), checkDue({ ...world, app: second })])
    const grown = asked().map((count, index) => count - (before[index] ?? 0))
    assert.ok(Math.min(...grown) >= 1, `${grown}`)
    // A question with a late answer is sent again; twenty would mean that all checks were made twice.
    const total = grown.reduce((sum, count) => sum + count, 0)
    assert.ok(total < 15, `${grown}`)
  })

  test('concurrent take-overs, deletions and new inboxes finish and agree', async () => {
    const [ann, bob] = [await world.newAccount(), await world.newAccount()]
    const name = 'turmoil.example'
    const anns = await verifiedDomain(world, name, ann)
    const inboxes = await repeat(8, () => ann.client.inboxes.create({ domain: name }))
    withdraw(world.dns, anns)
    await ann.client.domains.verify(anns.id)
    world.clock.advance(72 * HOUR)
    await checkDue(world)
    const bobs = await bob.client.domains.create({ domain: name })
    publish(world.dns, bobs)
    const outcomes = await countOutcomes([
      ...inboxes.map(({ id }, n) => (n % 2 ? ann.client : atSecond(ann)).inboxes.delete(id)),
      ...[bob.client, atSecond(bob), bob.client].map(({ domains }) => domains.verify(bobs.id)),
      ...[ann.client, atSecond(ann)].map(({ domains }) => domains.verify(anns.id)),
      ...inboxes.map(() => atSecond(ann).inboxes.create({ domain: name })),
    ])
    assert.equal(outcomes['500 internal_error'], undefined, JSON.stringify(outcomes))
    assert.equal((await bob.client.domains.get(bobs.id)).status, 'verified')
    assert.equal((await ann.client.inboxes.list().page()).total, 0)
    await ann.client.domains.delete(anns.id)
  })
})
