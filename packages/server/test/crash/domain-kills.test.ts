// Domains are verified while their DNS flips, reports come to return paths and to an inbox in the same transaction, and
// quarantined mail is released and deleted, while the service is killed again and again. Each answered request had its
// effect once, each other one had it once or not, and every state and total agrees with the rows.

import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { type Domain, type Inbox, type Mailroom, MailroomError } from '@mailroom/sdk'
import type { OpenStore } from '#app/open-store.ts'
import type { Row } from '#store/tables.ts'
import { type Dns, openDns } from '#test/peers/dns.ts'
import type { Mail } from '#test/peers/sender.ts'
import { publish, withdraw } from '#test/scenarios/domain-world.ts'
import { bounceMail } from '#test/scenarios/report-mail.ts'
import { OPERATOR_TOKEN, WIDE_LIMITS } from '#test/world.ts'
import type { Random } from './intake.ts'
import { type KillTest, killAndRestart, killTest } from './kills.ts'
import { offerMail, type Reported, sendToReport } from './reports.ts'
import type { Service } from './service.ts'
import { readStored } from './stored.ts'

const KILLS = sizeOf('TEST_MAILROOM_DOMAIN_KILLS', { usual: 2, long: 12 })
const POSTGRES_KILLS = Math.ceil(KILLS / 2)
/** A kill strikes after up to so many reports of a life, or milliseconds, and a moment more. */
const REPORTS_MAX = 25
const LIFE_MS_MAX = 3_000
const MOMENT_MS_MAX = 15
const REPORTS = 40 * (KILLS + 1)
/** Long enough for the last life on a busy machine. */
const LAST_MS_MAX = 60_000
const FLIPPED = 2
const REPORTERS = 4
const RETRY_MS = 20
/** Each of the clients asks so often, not as often as it can. */
const GAP_MS = 10
const SPAMMER = 'eve@spam.example'

suite('domains, reports and quarantine survive kill -9', { concurrency: true }, () => {
  killTest('sqlite', { kills: KILLS }, killAgainAndAgain)
  killTest('postgres', { kills: POSTGRES_KILLS }, killAgainAndAgain)
})

async function killAgainAndAgain({ t, kills, random, start }: KillTest): Promise<void> {
  const dns = await openDns()
  t.after(() => dns.close())
  const service = await start({
    ...WIDE_LIMITS,
    MAILROOM_DNS_SERVERS: dns.server,
    MAILROOM_SMTP_HOSTNAME: 'mx.mail-service.dev',
    MAILROOM_ADMIN_TOKEN: OPERATOR_TOKEN,
  })
  const { client } = service
  const [inbox, pod] = await Promise.all([client.inboxes.create(), client.pods.create()])
  const work: Work = {
    ...{ service, dns, random, inbox, rival: await openRival(service) },
    ...{ answered: [], fates: new Map(), cut: 0, isStopped: false },
  }
  t.after(() => {
    work.isStopped = true
  })
  await client.senderRules.create({ type: 'block', value: 'spam.example' })
  const flipped = await Promise.all(
    Array.from({ length: FLIPPED }, (_, number) =>
      client.domains.create({ domain: `flip${number}.mail-service.dev` }),
    ),
  )
  for (const domain of flipped) publish(dns, domain)
  const waiting = (await sendToReport(service, inbox, REPORTS)).values()

  const clients = [
    ...flipped.map((domain) => flipDomain(work, domain)),
    churnDomains(work, { podId: pod.id }),
    ...Array.from({ length: REPORTERS }, () => bringReports(work, waiting)),
    bringSpam(work),
    tendQuarantine(work),
  ]
  for (let kill = 0; kill < kills; kill++) {
    const wanted = work.answered.length + random() * REPORTS_MAX
    await untilTrue(() => work.answered.length >= wanted, LIFE_MS_MAX)
    await killAndRestart({ service, random, momentMs: MOMENT_MS_MAX })
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
  await service.stopWell()
  const fates = [...work.fates.values()]
  const figures = Object.fromEntries(
    Object.entries(Object.groupBy(fates, (fate) => fate)).map(([fate, of]) => [fate, of.length]),
  )
  t.diagnostic(
    `${work.cut} without an answer, ${work.answered.length} reports, ${JSON.stringify(figures)}`,
  )
  await readStored(service, async (store) => {
    await checkReports(store, work.answered)
    await checkQuarantine(store, work.fates)
    await checkDomains(store)
    await checkCounters(store)
  })
  assert.ok(work.cut > kills, 'kills struck while all this was on its way')
  assert.ok(isUseful())
}

/** Or for the time to pass. */
async function untilTrue(holds: () => boolean, withinMs: number): Promise<void> {
  const endMs = performance.now() + withinMs
  while (!holds() && performance.now() < endMs) await sleep(5)
}

async function openRival(service: Service): Promise<Mailroom> {
  const operator = service.clientWith(OPERATOR_TOKEN)
  const { apiKey } = await operator.admin.accounts.create({ name: 'Rival', plan: 'launch' })
  return service.clientWith(apiKey.token)
}

/** The last answer about a quarantined message. */
type Fate = 'held' | 'releasing' | 'released' | 'deleting' | 'deleted'

/** A report that was answered with 250, by the id of the report itself. */
type Answered = Reported & { readonly messageId: string }

type Work = {
  readonly service: Service
  readonly dns: Dns
  readonly random: Random
  /** Receives the reports and the mail of a blocked sender. */
  readonly inbox: Inbox
  /** Another account than the service's first. */
  readonly rival: Mailroom
  readonly answered: Answered[]
  /** By the subject of the message. */
  readonly fates: Map<string, Fate>
  /** Requests and transactions without an answer. */
  cut: number
  isStopped: boolean
}

/** Undefined where the service refused, was away or ended before it answered. */
async function attempt<Value>(work: Work, ask: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await ask()
  } catch (error) {
    // A refusal is an answer: a request before it, which was cut off, may have had its effect.
    if (error instanceof MailroomError && error.status < 500) return undefined
    work.cut += 1
    await sleep(RETRY_MS)
    return undefined
  }
}

/** Takes a record of a domain away and puts it back, and asks the service to check the domain. */
async function flipDomain(work: Work, domain: Domain): Promise<void> {
  const { dns, random, service } = work
  while (!work.isStopped) {
    if (random() < 0.5) withdraw(dns, domain, random() < 0.5 ? 'mx' : 'spf')
    else publish(dns, domain)
    await attempt(work, () => service.client.domains.verify(domain.id))
    await sleep(GAP_MS)
  }
}

/** Two accounts create, verify and delete the same domains, with an inbox. */
async function churnDomains(work: Work, { podId }: { podId: string }): Promise<void> {
  const { dns, random, rival, service } = work
  const clients = [service.client, rival]
  for (let number = 0; !work.isStopped; number += 1) {
    const name = `churn${number}.mail-service.dev`
    await Promise.all(
      clients.map(async (client, index) => {
        const isScoped = index === 0 && random() < 0.5
        const input = { domain: name, ...(isScoped && { podId }) }
        const domain = await attempt(work, () => client.domains.create(input))
        if (domain === undefined) return
        publish(dns, domain)
        await attempt(work, () => client.domains.verify(domain.id))
        const place = { domain: name, ...(isScoped && { podId }) }
        const inbox = await attempt(work, () => client.inboxes.create(place))
        if (random() < 0.3) return
        if (inbox !== undefined) await attempt(work, () => client.inboxes.delete(inbox.id))
        await attempt(work, () => client.domains.delete(domain.id))
      }),
    )
    await sleep(GAP_MS)
  }
}

/** Each report is repeated until it is answered, and once more. */
async function bringReports(work: Work, waiting: Iterable<Reported>): Promise<void> {
  for (const report of waiting) {
    const { recipient, path } = report
    const raw = bounceMail({ to: path, recipient })
    const [, messageId = ''] = /^Message-ID: (.*)$/m.exec(raw) ?? []
    const mail = { from: '', to: [path, work.inbox.address], raw }
    if (!(await deliver(work, mail)) || !(await deliver(work, mail))) return
    work.answered.push({ ...report, messageId })
  }
}

/** Repeats the mail until it is answered with 250; false when the test stopped before. */
async function deliver(work: Work, mail: Mail): Promise<boolean> {
  while (!work.isStopped) {
    const outcome = await offerMail(work.service, mail)
    if (outcome === 'cut') work.cut += 1
    await sleep(GAP_MS)
    if (outcome === 'taken') return true
  }
  return false
}

/** Mail of a blocked sender comes in. */
async function bringSpam(work: Work): Promise<void> {
  const { inbox } = work
  for (let number = 0; !work.isStopped; number += 1) {
    const subject = `Spam ${number}`
    const head = [`From: ${SPAMMER}`, `To: ${inbox.address}`, `Subject: ${subject}`]
    const lines = [...head, `Message-ID: <${number}@spam.example>`, '', `Buy ${number}`, '']
    const mail = { from: SPAMMER, to: inbox.address, raw: lines.join('\r\n') }
    if (await deliver(work, mail)) work.fates.set(subject, 'held')
  }
}

/** Releases some of the quarantined mail and deletes some. */
async function tendQuarantine(work: Work): Promise<void> {
  const { fates, random, service } = work
  const { quarantine } = service.client
  while (!work.isStopped) {
    const page = await attempt(work, () => quarantine.list({ limit: 10 }).page())
    for (const { id, subject } of page?.data ?? []) {
      // A message whose sender has no answer yet may come again.
      if (fates.get(subject) !== 'held') continue
      const isReleased = random() < 0.6
      fates.set(subject, isReleased ? 'releasing' : 'deleting')
      const answer = await attempt(work, async () => {
        await (isReleased ? quarantine.release(id) : quarantine.delete(id))
        return true
      })
      if (answer) fates.set(subject, isReleased ? 'released' : 'deleted')
    }
    await sleep(GAP_MS)
  }
}

async function checkReports(
  { db: { read } }: OpenStore,
  reports: readonly Answered[],
): Promise<void> {
  const deliveries = await read.selectFrom('deliveries').selectAll().execute()
  const suppressions = await read.selectFrom('suppressions').selectAll().execute()
  const events = await read
    .selectFrom('events')
    .select(['message_id', 'details'])
    .where('kind', '=', 'message.bounced')
    .execute()
  const received = await read
    .selectFrom('messages')
    .select('rfc_message_id')
    .where('direction', '=', 'inbound')
    .execute()
  for (const { recipient, path, messageId } of reports) {
    const copies = received.filter(({ rfc_message_id: id }) => id === messageId)
    assert.equal(copies.length, 1, `the report about ${recipient} is in the inbox once`)
    const [delivery] = deliveries.filter(({ return_path }) => return_path === path)
    const state = [delivery?.recipient, delivery?.status, delivery?.bounce_class]
    assert.deepEqual(state, [recipient, 'bounced', 'hard'])
    const told = events.filter(({ message_id: id }) => id === delivery?.message_id)
    assert.equal(told.length, 1, `${recipient} has one event`)
    const held = suppressions.filter(({ address }) => address === recipient)
    assert.deepEqual(
      held.map(({ type }) => type),
      ['bounce'],
      `${recipient} is suppressed once`,
    )
  }
  const bounced = deliveries.filter(({ status }) => status === 'bounced')
  assert.equal(events.length, bounced.length, 'each bounce has one event, and nothing else has')
  assert.equal(suppressions.length, bounced.length)
}

/** How many copies of a message the inbox and the quarantine may have after each answer. */
const PLACES: Record<Fate, readonly string[]> = {
  held: ['0 1'],
  releasing: ['0 1', '1 0'],
  released: ['1 0'],
  deleting: ['0 1', '0 0'],
  deleted: ['0 0'],
}

async function checkQuarantine(
  { db: { read } }: OpenStore,
  fates: ReadonlyMap<string, Fate>,
): Promise<void> {
  const messages = await read
    .selectFrom('messages')
    .select(['id', 'subject'])
    .where('direction', '=', 'inbound')
    .execute()
  const quarantined = await read.selectFrom('quarantined_messages').select('subject').execute()
  for (const [subject, fate] of fates) {
    const isIt = (row: { subject: string }) => row.subject === subject
    const place = `${messages.filter(isIt).length} ${quarantined.filter(isIt).length}`
    assert.ok(PLACES[fate].includes(place), `${subject}, ${fate}: ${place}`)
  }
}

async function checkDomains({ db: { read } }: OpenStore): Promise<void> {
  const domains = await read.selectFrom('domains').selectAll().execute()
  const keys = await read.selectFrom('dkim_keys').select(['owner_id', 'state']).execute()
  const verified = await read
    .selectFrom('events')
    .select('details')
    .where('kind', '=', 'domain.verified')
    .execute()
  const told = new Set(verified.map(({ details }) => JSON.parse(details ?? '{}').domain?.id))
  for (const row of domains) {
    const { id, domain, status } = row
    const isUsed = status === 'verified' || status === 'degraded'
    assert.equal(row.is_holder === 1, isUsed, `${domain} ${status}: is the holder`)
    assert.equal(row.verified_at !== null, isUsed, `${domain} ${status}: since when it is verified`)
    assert.equal(told.has(id), isUsed, `${domain} ${status}: has an event of it`)
    assert.equal(row.degraded_at !== null, status === 'degraded')
    assert.notEqual(row.next_check_at, null)
    assert.equal(row.takes_bounces === 1, isUsed && leadsHere(row), `${domain}: bounces`)
    const own = keys.filter(({ owner_id }) => owner_id === id).map(({ state }) => state)
    assert.deepEqual(own.sort(), ['active', 'standby'], `${domain} has its keys`)
  }
  const held = domains.filter(({ is_holder }) => is_holder === 1).map(({ domain }) => domain)
  assert.equal(new Set(held).size, held.length, 'a domain has one holder')
  const owners = new Set(['service', ...domains.map(({ id }) => id)])
  assert.deepEqual(
    keys.filter(({ owner_id }) => !owners.has(owner_id)),
    [],
    'keys end with their domain',
  )
  for (const inbox of await read.selectFrom('inboxes').selectAll().execute()) {
    assert.equal(inbox.receiving_address, inbox.address)
    if (inbox.domain_id !== null) assert.ok(owners.has(inbox.domain_id), `${inbox.address}`)
  }
}

/** By the last check, which the row keeps. */
function leadsHere({ checks }: Row<'domains'>): boolean {
  const found = JSON.parse(checks) as { purpose: string; status: string }[]
  return ['mx', 'spf'].every((purpose) =>
    found.some((check) => check.purpose === purpose && check.status === 'valid'),
  )
}

/** Counters of inboxes and raw messages are checked in `readStored`. */
async function checkCounters({ db: { read } }: OpenStore): Promise<void> {
  const inboxes = await read.selectFrom('inboxes').selectAll().execute()
  const domains = await read.selectFrom('domains').selectAll().execute()
  const count = (rows: readonly unknown[]) => rows.length
  for (const { id, inbox_count, domain_count } of await read
    .selectFrom('accounts')
    .selectAll()
    .execute()) {
    const isOwn = (row: { account_id: string }) => row.account_id === id
    assert.equal(inbox_count, count(inboxes.filter(isOwn)), `inboxes of ${id}`)
    assert.equal(domain_count, count(domains.filter(isOwn)), `domains of ${id}`)
  }
  for (const { id, inbox_count, domain_count } of await read
    .selectFrom('pods')
    .selectAll()
    .execute()) {
    const isIn = (row: { pod_id: string | null }) => row.pod_id === id
    assert.equal(inbox_count, count(inboxes.filter(isIn)), `inboxes of ${id}`)
    assert.equal(domain_count, count(domains.filter(isIn)), `domains of ${id}`)
  }
  for (const { id, inbox_count } of domains) {
    const isOn = (row: { domain_id: string | null }) => row.domain_id === id
    assert.equal(inbox_count, count(inboxes.filter(isOn)), `inboxes of ${id}`)
  }
  const suppressions = await read.selectFrom('suppressions').select('account_id').execute()
  for (const counter of await read.selectFrom('account_counters').selectAll().execute()) {
    const isOwn = (row: { account_id: string }) => row.account_id === counter.account_id
    assert.equal(counter.suppression_count, count(suppressions.filter(isOwn)))
  }
}
