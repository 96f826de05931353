// What a stopped service holds of domains, reports and quarantine, read beside it, and everything that
// has to be true of it whatever happened before.

import assert from 'node:assert/strict'
import type { ReadDb, Row } from '#schema/tables.ts'
import { databasePath, openToRead } from '#wiring/store.ts'
import type { Fate, Reported } from './domain-work.ts'
import type { Service } from './service.ts'
import { checkIntegrity } from './stored.ts'

/** Throws when the store contradicts itself, or what was answered. */
export async function checkDomainStore(
  service: Service,
  answers: { reports: readonly Reported[]; fates: ReadonlyMap<string, Fate> },
): Promise<void> {
  const { settings } = service
  if (settings.databaseUrl === null) checkIntegrity(databasePath(settings))
  const db = await openToRead(settings)
  try {
    await checkReports(db, answers.reports)
    await checkQuarantine(db, answers.fates)
    await checkDomains(db)
    await checkCounters(db)
  } finally {
    await db.close()
  }
}

async function checkReports({ read }: ReadDb, reports: readonly Reported[]): Promise<void> {
  const deliveries = await read.selectFrom('deliveries').selectAll().execute()
  const suppressions = await read.selectFrom('suppressions').selectAll().execute()
  const events = await read
    .selectFrom('events')
    .select(['message_id', 'details'])
    .where('kind', '=', 'message.bounced')
    .execute()
  for (const { recipient, path } of reports) {
    const [delivery] = deliveries.filter(({ return_path }) => return_path === path)
    const state = [delivery?.recipient, delivery?.status, delivery?.bounce_class]
    assert.deepEqual(state, [recipient, 'bounced', 'hard'])
    const told = events.filter(({ message_id: id }) => id === delivery?.message_id)
    assert.equal(told.length, 1, `${recipient} is told of once`)
    const held = suppressions.filter(({ address }) => address === recipient)
    assert.deepEqual(
      held.map(({ type }) => type),
      ['bounce'],
      `${recipient} is suppressed once`,
    )
  }
  const bounced = deliveries.filter(({ status }) => status === 'bounced')
  assert.equal(events.length, bounced.length, 'each bounce is told of, and nothing else')
  assert.equal(suppressions.length, bounced.length)
}

/** How often a message may be in the inbox and in quarantine, by what was answered of it. */
const PLACES: Record<Fate, readonly string[]> = {
  held: ['0 1'],
  releasing: ['0 1', '1 0'],
  released: ['1 0'],
  deleting: ['0 1', '0 0'],
  deleted: ['0 0'],
}

async function checkQuarantine({ read }: ReadDb, fates: ReadonlyMap<string, Fate>): Promise<void> {
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
  const events = await read
    .selectFrom('events')
    .select('message_id')
    .where('kind', '=', 'message.received')
    .execute()
  const told = events.map(({ message_id: id }) => id).sort()
  assert.deepEqual(told, messages.map(({ id }) => id).sort(), 'what was released is told of once')
}

async function checkDomains({ read }: ReadDb): Promise<void> {
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
    assert.equal(row.is_holder === 1, isUsed, `${domain} ${status}: whose mail it is`)
    assert.equal(row.verified_at !== null, isUsed, `${domain} ${status}: since when`)
    assert.equal(told.has(id), isUsed, `${domain} ${status}: whether it was told`)
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

/** By the last check, which its row keeps. */
function leadsHere({ checks }: Row<'domains'>): boolean {
  const found = JSON.parse(checks) as { purpose: string; status: string }[]
  return ['mx', 'spf'].every((purpose) =>
    found.some((check) => check.purpose === purpose && check.status === 'valid'),
  )
}

async function checkCounters({ read }: ReadDb): Promise<void> {
  const inboxes = await read.selectFrom('inboxes').selectAll().execute()
  const domains = await read.selectFrom('domains').selectAll().execute()
  const quarantined = await read.selectFrom('quarantined_messages').selectAll().execute()
  const messages = await read.selectFrom('messages').selectAll().execute()
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
  for (const counter of await read.selectFrom('inbox_counters').selectAll().execute()) {
    const { inbox_id, quarantined_count, inbound_count, outbound_count } = counter
    const isHere = (row: { inbox_id: string }) => row.inbox_id === inbox_id
    const here = messages.filter(isHere)
    assert.deepEqual(
      [quarantined_count, inbound_count, outbound_count],
      [
        count(quarantined.filter(isHere)),
        count(here.filter(({ direction }) => direction === 'inbound')),
        count(here.filter(({ direction }) => direction === 'outbound')),
      ],
      `messages of ${inbox_id}`,
    )
  }
  const suppressions = await read.selectFrom('suppressions').select('account_id').execute()
  for (const counter of await read.selectFrom('account_counters').selectAll().execute()) {
    const isOwn = (row: { account_id: string }) => row.account_id === counter.account_id
    assert.equal(counter.suppression_count, count(suppressions.filter(isOwn)))
  }
  for (const raw of await read
    .selectFrom('raw_messages')
    .select(['id', 'reference_count'])
    .execute()) {
    const isOf = (row: { raw_id: string }) => row.raw_id === raw.id
    const references = count(messages.filter(isOf)) + count(quarantined.filter(isOf))
    assert.equal(raw.reference_count, references, `raw message ${raw.id} counts its references`)
  }
}
