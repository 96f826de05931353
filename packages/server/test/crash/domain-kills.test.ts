// Domains are verified while their DNS flips, reports come to return paths, and quarantined mail is
// released and deleted, while the service is killed again and again. What was answered has been done
// once, what was not has been done or not, and every state and total agrees with the rows.

import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Mailroom } from '@mailroom/sdk'
import { openDns } from '#test/peers/dns.ts'
import { createTestDatabase } from '#test/peers/postgres.ts'
import { publish } from '#test/scenarios/domain-world.ts'
import { LONG_LIMIT, sizeOf } from '#test/size-of.ts'
import { OPERATOR_TOKEN, WIDE_LIMITS } from '#test/world.ts'
import { checkDomainStore } from './domain-stored.ts'
import {
  bringReports,
  bringSpam,
  churnDomains,
  flipDomain,
  sendToReport,
  tendQuarantine,
  type Work,
} from './domain-work.ts'
import { seededRandom } from './intake.ts'
import { Service } from './service.ts'

const KILLS = sizeOf('TEST_MAILROOM_DOMAIN_KILLS', { usual: 2, long: 12 })
const POSTGRES_KILLS = Math.ceil(KILLS / 2)
/** A kill strikes after up to so many reports of a life, or milliseconds, and a moment more. */
const REPORTS_MAX = 25
const LIFE_MS_MAX = 3_000
const MOMENT_MS_MAX = 15
const REPORTS = 40 * (KILLS + 1)
/** For the last life to be of some use, on a busy machine too. */
const LAST_MS_MAX = 60_000
const FLIPPED = 2

suite('domains, reports and quarantine survive kill -9', { concurrency: true }, () => {
  test(`on SQLite, ${KILLS} times`, LONG_LIMIT, (t) => killAgainAndAgain(t, { kills: KILLS }))
  test(`on PostgreSQL, ${POSTGRES_KILLS} times`, LONG_LIMIT, async (t) =>
    killAgainAndAgain(t, { kills: POSTGRES_KILLS, databaseUrl: await createTestDatabase() }),
  )
})

type Plan = { kills: number; databaseUrl?: string }

async function killAgainAndAgain(t: TestContext, { kills, ...database }: Plan): Promise<void> {
  const seed = Number(process.env.TEST_MAILROOM_SEED ?? Date.now() % 2 ** 31)
  const dns = await openDns()
  t.after(() => dns.close())
  const service = await Service.start({
    env: {
      ...WIDE_LIMITS,
      MAILROOM_DNS_SERVERS: dns.server,
      MAILROOM_SMTP_HOSTNAME: 'mx.mail-service.dev',
      MAILROOM_ADMIN_TOKEN: OPERATOR_TOKEN,
    },
    ...database,
  })
  t.after(() => service.close())
  const work: Work = {
    ...{ service, dns, random: seededRandom(seed), rival: await openRival(service) },
    ...{ answered: [], fates: new Map(), cut: 0, isStopped: false },
  }
  t.after(() => {
    work.isStopped = true
  })
  const { client } = service
  const [inbox, pod] = await Promise.all([client.inboxes.create(), client.pods.create()])
  await client.senderRules.create({ type: 'block', value: 'spam.example' })
  const flipped = await Promise.all(
    Array.from({ length: FLIPPED }, (_, number) =>
      client.domains.create({ domain: `flip${number}.mail-service.dev` }),
    ),
  )
  for (const domain of flipped) publish(dns, domain)
  const reports = await sendToReport(service, inbox, REPORTS)

  const clients = [
    ...flipped.map((domain) => flipDomain(work, domain)),
    churnDomains(work, { podId: pod.id }),
    ...[reports, reports, reports, reports].map((shared) => bringReports(work, shared)),
    bringSpam(work, inbox),
    tendQuarantine(work),
  ]
  for (let kill = 0; kill < kills; kill++) {
    const wanted = work.answered.length + work.random() * REPORTS_MAX
    await untilTrue(() => work.answered.length >= wanted, LIFE_MS_MAX)
    await sleep(work.random() * MOMENT_MS_MAX)
    await service.kill()
    await service.start()
  }
  const isUseful = () =>
    work.answered.length > kills && [...work.fates.values()].includes('released')
  await untilTrue(isUseful, LAST_MS_MAX)
  work.isStopped = true
  await Promise.all(clients)

  for (const domain of flipped) {
    publish(dns, domain)
    assert.equal((await client.domains.verify(domain.id)).status, 'verified')
  }
  assert.doesNotMatch(service.log, /"level":50/)
  assert.equal((await service.stop()).code, 0)
  const fates = [...work.fates.values()]
  const figures = Object.fromEntries(
    Object.entries(Object.groupBy(fates, (fate) => fate)).map(([fate, of]) => [fate, of.length]),
  )
  t.diagnostic(
    `seed ${seed}: ${kills} kills, ${work.cut} questions without an answer, ${work.answered.length} reports, ${JSON.stringify(figures)}`,
  )
  await checkDomainStore(service, { reports: work.answered, fates: work.fates })
  assert.ok(work.cut > kills, 'kills struck while all this was on its way')
  assert.ok(isUseful())
}

/** Or for the time to pass. */
async function untilTrue(holds: () => boolean, withinMs: number): Promise<void> {
  const endMs = performance.now() + withinMs
  while (!holds() && performance.now() < endMs) await sleep(5)
}

async function openRival(service: Service): Promise<Mailroom> {
  const clientWith = (apiKey: string) =>
    new Mailroom({ baseUrl: service.baseUrl, apiKey, maxRetries: 0 })
  const operator = clientWith(OPERATOR_TOKEN)
  const { apiKey } = await operator.admin.accounts.create({ name: 'Rival', plan: 'launch' })
  return clientWith(apiKey.token)
}
