import assert from 'node:assert/strict'
import { Resolver as PlatformResolver } from 'node:dns/promises'
import { before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { makeDkimKey } from '@mailroom/mail/dkim.ts'
import type { Domain, Inbox } from '@mailroom/sdk'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { examine } from '#commands/doctor.ts'
import { keyRow } from '#domains/dkim/dkim-key.ts'
import { rotateDueKeys } from '#domains/dkim/rotate-keys.ts'
import { listDkimKeys, replaceRetiredKey, switchDkimKeys } from '#domains/dkim/store/dkim-keys.ts'
import { DAY_MS } from '#platform/units.ts'
import { openDomainWorld, publish, verifiedDomain, withdraw } from '#test/scenarios/domain-world.ts'
import { send } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, testKey } from '#test/world.ts'

const NAME = 'acme.mail-service.dev'

onEachEngine('the keys of a custom domain', (engine) => {
  const world = opened(() => openDomainWorld(engine, { makeKey: makeDkimKey }))
  let domain: Domain
  let inbox: Inbox
  const platform = new PlatformResolver({ timeout: 1_000, tries: 1 })
  before(async () => {
    platform.setServers([world.dns.server])
    domain = await verifiedDomain(world, NAME)
    inbox = await world.client.inboxes.create({ mailboxName: 'agent', domain: NAME })
  })

  /** Sends a mail and returns its raw bytes. */
  async function sendOne(): Promise<Buffer> {
    const { messageId } = await send(world, inbox)
    const response = await world.fetch(`/v1/messages/${messageId}/raw`)
    return Buffer.from(await response.arrayBuffer())
  }

  /** The verdict of a recipient now: selector without its suffix, domain, result. */
  async function verdict(raw: Buffer): Promise<string> {
    const { results } = await dkimVerify(raw, {
      resolver: (name, type) => platform.resolve(name, type) as Promise<string[][]>,
      curTime: world.clock.now(),
    })
    const [one] = results
    const [selector] = one?.selector?.split('-') ?? []
    return `${selector} ${one?.signingDomain} ${one?.status.result} ${one?.status.aligned}`
  }

  const look = () =>
    rotateDueKeys(
      world.app.deps,
      { rotationDays: 180, usesServiceKeys: false },
      new AbortController().signal,
    )
  const keys = () => listDkimKeys(world.app.deps.db, { ownerId: domain.id, domain: NAME })
  const dkimRecords = async () =>
    (await world.client.domains.verify(domain.id)).records.filter((one) => one.purpose === 'dkim')

  test('sign with the inbox’s domain, rotate on schedule, and fail no mail', async () => {
    const before = await sendOne()
    assert.equal(await verdict(before), `mr1 ${NAME} pass ${NAME}`)
    assert.ok((await keys()).every(({ publishedAtMs }) => publishedAtMs !== null))
    await look()
    assert.equal(await verdict(await sendOne()), `mr1 ${NAME} pass ${NAME}`)

    world.clock.advance(180 * DAY_MS)
    await look()
    const later = await sendOne()
    assert.equal(await verdict(later), `mr2 ${NAME} pass ${NAME}`)
    assert.equal(await verdict(before), `mr1 ${NAME} pass ${NAME}`)
    assert.deepEqual(
      (await dkimRecords()).map(({ status, required }) => [status, required]),
      [
        ['valid', false],
        ['valid', true],
      ],
    )
  })

  test('request the next record a week later, and work without it until then', async () => {
    const [old] = await dkimRecords()
    world.clock.advance(7 * DAY_MS)
    await look()
    const [next, used] = await dkimRecords()
    assert.equal(next?.name, old?.name)
    assert.notEqual(next?.value, old?.value)
    assert.deepEqual([next?.status, next?.required], ['invalid', false])
    assert.deepEqual([used?.status, used?.required], ['valid', true])
    const shown = await world.client.domains.verify(domain.id)
    assert.equal(shown.status, 'verified')
    assert.equal(await verdict(await sendOne()), `mr2 ${NAME} pass ${NAME}`)

    withdraw(world.dns, shown, 'dkim')
    publish(world.dns, shown)
    assert.deepEqual(
      (await dkimRecords()).map(({ status }) => status),
      ['valid', 'valid'],
    )
    assert.notEqual((await keys())[0]?.publishedAtMs, null)
    assert.equal(await verdict(await sendOne()), `mr2 ${NAME} pass ${NAME}`)
  })

  test('count as new in DNS after a check that missed them', async () => {
    const shown = await world.client.domains.get(domain.id)
    withdraw(world.dns, shown, 'dkim')
    await world.client.domains.verify(domain.id)
    assert.deepEqual(
      (await keys()).map(({ publishedAtMs }) => publishedAtMs),
      [null, null],
    )
    world.clock.advance(DAY_MS)
    publish(world.dns, shown)
    const sinceMs = world.clock.now()
    assert.equal((await world.client.domains.verify(domain.id)).status, 'verified')
    assert.ok((await keys()).every(({ publishedAtMs }) => (publishedAtMs ?? 0) >= sinceMs))
  })

  test('are deleted with the domain, even during a rotation', async () => {
    const { db } = world.app.deps
    const name = 'gone.mail-service.dev'
    const { id } = await world.client.domains.create({ domain: name })
    const owner = { ownerId: id, domain: name }
    const [active, standby] = await listDkimKeys(db, owner)
    assert.ok(active !== undefined && standby !== undefined)
    const nowMs = world.clock.now()
    await db.write(switchDkimKeys, { activeId: active.id, standbyId: standby.id, nowMs })
    const { selector } = active
    const place = { selector, state: 'standby', isRequired: false } as const
    const row = keyRow(world.app.deps, owner, { ...place, privateKey: await testKey() })
    const replacement = { keyId: active.id, row }
    if (engine === 'sqlite') {
      await world.client.domains.delete(id)
      assert.equal(await db.write(replaceRetiredKey, replacement), false)
    } else {
      // In a transaction that is still open when the deletion runs.
      const deletion = await db.read.transaction().execute(async (query) => {
        assert.equal(
          await replaceRetiredKey.run({ engine, query, runSql: null }, replacement),
          true,
        )
        const deleting = world.client.domains.delete(id)
        await pause(300)
        return { deleting }
      })
      await deletion.deleting
    }
    assert.deepEqual(await listDkimKeys(db, owner), [])
  })

  test('and its other records are checked one by one by the doctor', async () => {
    const diagnose = async () => {
      const findings = await examine(world.settings, null)
      const named = (name: string) =>
        findings.filter(({ check }) => check.startsWith(`domain ${name}: `))
      const verdictsOf = (name: string) =>
        named(name).map(({ check, verdict }) => {
          const [, purpose] = /: (\w+) of /.exec(check) ?? []
          return `${purpose} ${verdict}`
        })
      return { verdictsOf, named }
    }
    const right = ['OWNERSHIP ok', 'MX ok', 'SPF ok', 'DKIM ok', 'DKIM ok', 'DMARC ok']
    assert.deepEqual((await diagnose()).verdictsOf(NAME), right)

    const name = 'unfinished.mail-service.dev'
    await world.client.domains.create({ domain: name })
    const shown = await world.client.domains.get(domain.id)
    const before = { ...world.dns.zone }
    withdraw(world.dns, shown, 'mx')
    withdraw(world.dns, shown, 'dmarc')
    const { verdictsOf, named } = await diagnose()
    const wrong = ['OWNERSHIP ok', 'MX wrong', 'SPF ok', 'DKIM ok', 'DKIM ok', 'DMARC advice']
    assert.deepEqual(verdictsOf(NAME), wrong)
    const mx = named(NAME).find(({ check }) => check.includes('MX'))
    assert.match(mx?.expected ?? '', /^MX 10 \S+$/)
    assert.equal(mx?.found, 'no MX record')
    assert.match(mx?.fix ?? '', /account acc_\w+, where it is verified, .*Publish an MX record/)
    assert.deepEqual(
      verdictsOf(name).map((text) => text.split(' ')[1]),
      ['advice', 'advice', 'advice', 'advice', 'advice', 'advice'],
    )

    world.dns.zone[NAME] = 'servfail'
    const faults = ['OWNERSHIP ok', 'MX unknown', 'SPF unknown', 'DKIM ok', 'DKIM ok']
    assert.deepEqual((await diagnose()).verdictsOf(NAME).slice(0, 5), faults)
    world.dns.zone = before
  })

  test('are reported as unchecked by a doctor that ran out of time', async () => {
    for (let n = 0; n < 30; n += 1) {
      const silent = await world.client.domains.create({ domain: `silent${n}.mail-service.dev` })
      for (const record of silent.records) world.dns.zone[record.name] = 'silent'
    }
    const startMs = performance.now()
    const findings = await examine(world.settings, null, { domainsMs: 1_000 })
    assert.ok(performance.now() - startMs < 30_000, `${performance.now() - startMs}`)
    const told = findings.find(({ check }) => check === 'custom domains')
    assert.equal(told?.verdict, 'unknown')
    assert.match(
      told.found,
      /^\d+ of 32 were not checked, for lack of time: .*silent\d+\.mail-service\.dev( and \d+ more)?$/,
    )
    const held = findings.filter(({ check }) => check.startsWith(`domain ${NAME}: `))
    assert.equal(held.length, 6, 'those whose mail is here come first')
  })
})
