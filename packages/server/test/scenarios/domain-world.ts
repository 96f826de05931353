// A service with a DNS server of its own, in which tests publish, change and remove the records of custom domains.

import assert from 'node:assert/strict'
import type { Domain, DomainRecord } from '@mailroom/sdk'
import type { App } from '#app/app.ts'
import { checkDueDomains } from '#domains/check-domain.ts'
import { claimDomainChecks } from '#domains/store/settle-checks.ts'
import type { Engine } from '#platform/db/db.ts'
import type { Db } from '#store/tables.ts'
import { untilReadable } from '#test/conformance/open-database.ts'
import { type Dns, openDns } from '#test/peers/dns.ts'
import type { ZoneName } from '#test/peers/dns-zone.ts'
import { type Account, changePart, openWorld, type World, type WorldOptions } from '#test/world.ts'

export type DomainWorld = World & { readonly dns: Dns }

/** In the sandbox unless the settings say otherwise; close it in `after`. */
export async function openDomainWorld(
  engine: Engine,
  options: WorldOptions = {},
): Promise<DomainWorld> {
  const dns = await openDns()
  const env = { MAILROOM_DNS_SERVERS: dns.server, ...options.env }
  const world = await openWorld(engine, { ...options, env })
  leaveChecksToTests(world.app)
  return {
    ...world,
    dns,
    async close() {
      await world.close()
      await dns.close()
    },
  }
}

/** Adds the records to the existing ones, except those that the test leaves out. */
export function publish(dns: Dns, { records }: Domain, isWanted = (_: DomainRecord) => true): void {
  for (const record of records.filter(isWanted)) {
    const entry = entryOf(dns, record.name)
    const added: ZoneName =
      record.type === 'MX'
        ? {
            MX: [
              ...listOf(entry.MX),
              { exchange: record.value, preference: record.priority ?? 0 },
            ].filter(isFirst),
          }
        : { TXT: [...listOf(entry.TXT), inStrings(record.value)].filter(isFirst) }
    dns.zone[record.name] = { ...entry, ...added }
  }
}

/** Removes the records of one purpose, with all of their type at their names. */
export function withdraw(dns: Dns, { records }: Domain, purpose?: DomainRecord['purpose']): void {
  for (const record of records) {
    if (purpose === undefined || record.purpose === purpose) {
      const { [record.type]: _, ...rest } = entryOf(dns, record.name)
      dns.zone[record.name] = rest
    }
  }
}

/** A domain of the account with its records published, and verified. */
export async function verifiedDomain(
  { dns, ...world }: DomainWorld,
  name: string,
  account: Pick<Account, 'client'> = world,
): Promise<Domain> {
  const domain = await account.client.domains.create({ domain: name })
  publish(dns, domain)
  const verified = await account.client.domains.verify(domain.id)
  assert.equal(verified.status, 'verified', JSON.stringify(verified.records))
  return verified
}

const storesOf = new WeakMap<App, Db>()

/** Only `checkOnce` makes due checks: the background could take some of them and finish later. */
export function leaveChecksToTests(app: App): void {
  type Write = Parameters<Db['write']>
  changePart(app.deps.db, (own) => {
    storesOf.set(app, own)
    const write = (...given: Write) =>
      given[0].name === claimDomainChecks.name ? Promise.resolve([]) : own.write(...given)
    return { write: write as Db['write'] }
  })
}

/** One round of due checks, as the background does every few seconds; true if there may be more. */
export function checkOnce({ app }: Pick<World, 'app'>): Promise<boolean> {
  const db = storesOf.get(app) ?? app.deps.db
  return checkDueDomains({ ...app.deps, db }, new AbortController().signal)
}

/** Claims due checks, as a process does that makes them. */
export async function claimDue({ app, clock }: World, limit: number) {
  const db = storesOf.get(app) ?? app.deps.db
  return db.write(claimDomainChecks, { limit, nowMs: clock.now() })
}

/** Makes all due checks. */
export async function checkDue(world: Pick<World, 'app'>): Promise<void> {
  while (await checkOnce(world));
}

/** The first record of a purpose. */
export function recordFor(domain: Domain, purpose: DomainRecord['purpose']): DomainRecord {
  const record = domain.records.find((one) => one.purpose === purpose)
  assert.ok(record !== undefined)
  return record
}

/** The kinds and details of the events about this domain of the account, oldest first. */
export async function eventsOf(
  world: World,
  domain: Domain,
  account: Pick<Account, 'client'> = world,
) {
  await untilReadable(world.app.deps.db)
  const { data } = await account.client.events
    .list({ event_types: 'domain.verified,domain.failed' })
    .page()
  return data
    .filter((event) => event.domain?.id === domain.id)
    .map((event) => `${event.event} ${event.domain?.status} ${event.pod_id}`)
}

function entryOf(dns: Dns, name: string): ZoneName {
  const entry = dns.zone[name]
  return typeof entry === 'object' ? entry : {}
}

function listOf<Value>(values: readonly Value[] | string | undefined): readonly Value[] {
  return Array.isArray(values) ? values : []
}

function isFirst(value: unknown, index: number, all: readonly unknown[]): boolean {
  return all.findIndex((other) => JSON.stringify(other) === JSON.stringify(value)) === index
}

/** In strings of at most 255 octets, as zone files hold long texts. */
function inStrings(text: string): string | string[] {
  return text.length <= 255 ? text : (text.match(/.{1,255}/g) ?? [])
}
