// Domains whose keys are rotated, on a real database and with a DNS server that holds what an operator publishes: the
// records that the service shows, with the operator's delays.

import { Resolver as PlatformResolver } from 'node:dns/promises'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import {
  type DkimKey,
  type DkimOwner,
  dkimKeyName,
  dkimKeyRecord,
  makeDomainKeys,
} from '#domains/dkim/dkim-key.ts'
import { type KeyRotation, rotateDueKeys, rotateKey } from '#domains/dkim/rotate-keys.ts'
import { ensureDkimKeys, listDkimKeys } from '#domains/dkim/store/dkim-keys.ts'
import { openSigners } from '#domains/signing/signing.ts'
import { type Chance, systemChance } from '#platform/chance.ts'
import { openResolver } from '#platform/dns/resolver.ts'
import type { Log, LogFields } from '#platform/log.ts'
import { sealer as sealerOf } from '#platform/seal.ts'
import { DAY_MS } from '#platform/units.ts'
import type { Db, NewRow } from '#store/tables.ts'
import { keySupply, MAIL } from '#test/conformance/keys-place.ts'
import { makeId, storeOn, type TestDatabase } from '#test/conformance/open-database.ts'
import { type Dns, openDns } from '#test/peers/dns.ts'
import { runSql } from '#test/peers/sql.ts'
import { type TestClock, testClock } from '#test/world.ts'

export const SERVICE: DkimOwner = { ownerId: 'service', domain: 'in.example' }
const SEALER = sealerOf(Buffer.alloc(32, 7))
export const ROTATION_DAYS = 30

export type DkimProcess = {
  readonly db: Db
  sign(owner?: DkimOwner): Promise<Signed>
  rotate(owner?: DkimOwner): Promise<KeyRotation>
  /** Rotates even if DNS has had the key only for a short time. */
  rotateNow(owner?: DkimOwner): Promise<KeyRotation>
  /** One hourly check in the background. */
  look(options?: { rotationDays?: number; usesServiceKeys?: boolean }): Promise<void>
  readonly deps: Parameters<typeof rotateDueKeys>[0] & { readonly chance: Chance }
}

export type Signed = { readonly raw: Uint8Array; readonly atMs: number; readonly selector: string }

export type DkimPlace = {
  readonly clock: TestClock
  readonly dns: Dns
  readonly process: DkimProcess
  /** The text of each log line. */
  readonly told: string[]
  /** The fields of each log line. */
  readonly fields: LogFields[]
  readonly made: () => number
  openProcess(): Promise<DkimProcess>
  keys(owner?: DkimOwner): Promise<DkimKey[]>
  /** Selectors with their states, in order, without the part that differs between custom domains. */
  states(owner?: DkimOwner): Promise<string>
  /** A custom domain with two keys of its own, in this state. */
  addDomain(
    domain: string,
    state: { status: string; isHolder: boolean },
    keys?: NewRow<'dkim_keys'>[],
  ): Promise<void>
  /** Publishes the records shown, and removes those no longer shown, as an operator does. */
  publish(owner?: DkimOwner): Promise<void>
  /** The verdict of an independent verifier that asks the DNS server. */
  verdict(signed: Signed): Promise<string | undefined>
  close(): Promise<void>
}

/** On a database without another open place; closing it leaves nothing there. */
export async function openDkimPlace(database: TestDatabase): Promise<DkimPlace> {
  const dns = await openDns()
  const clock = testClock()
  const told: string[] = []
  const fields: LogFields[] = []
  const tell = (given: LogFields, text: string) => {
    fields.push(given)
    told.push(text)
  }
  const log: Log = { debug: tell, info: tell, warn: tell, error: tell }
  const resolver = openResolver({ servers: [dns.server], timeoutMs: 500 })
  const platform = new PlatformResolver({ timeout: 10_000, tries: 1 })
  platform.setServers([dns.server])
  const supply = keySupply()
  let made = 0
  const makeKey = () => {
    made += 1
    return supply()
  }
  const processOn = (db: Db): DkimProcess => {
    const inboxDomain = SERVICE.domain
    const store = { ...storeOn(db), clock, log }
    const keeping = { ...store, sealer: SEALER, inboxDomain, makeDkimKey: makeKey }
    const deps = { ...keeping, chance: systemChance, resolver }
    const signers = openSigners(keeping)
    return {
      db,
      deps,
      async sign(owner = SERVICE) {
        const atMs = clock.now()
        const raw = await signers.sign(owner, MAIL, atMs)
        const selector = /\bs=([\w-]+);/.exec(Buffer.from(raw).toString('latin1'))?.[1] ?? ''
        return { raw, atMs, selector }
      },
      rotate: (owner = SERVICE) => rotateKey(deps, owner),
      rotateNow: (owner = SERVICE) => rotateKey(deps, owner, { isUrgent: true }),
      look: ({ rotationDays = ROTATION_DAYS, usesServiceKeys = true } = {}) =>
        rotateDueKeys(deps, { rotationDays, usesServiceKeys }, new AbortController().signal),
    }
  }
  const process = processOn(database.db)
  const keys = (owner: DkimOwner = SERVICE) => listDkimKeys(database.db, owner)
  return {
    clock,
    dns,
    process,
    told,
    fields,
    made: () => made,
    openProcess: async () => processOn(await database.openAgain()),
    keys,
    async states(owner) {
      const told = (await keys(owner)).map(({ selector, state }) => `${selector} ${state}`)
      return told.join(', ').replaceAll(/-\w+/g, '')
    },
    async addDomain(domain, { status, isHolder }, given) {
      const { db, deps } = process
      const owner = { ownerId: makeId('dom'), domain }
      const account = `insert into accounts (id, name, plan, created_at) values ('acc_1', '', 'free', 1)
        on conflict do nothing`
      await runSql(database, account)
      await runSql(
        database,
        `insert into domains (id, account_id, domain, status, is_holder, created_at)
         values ('${owner.ownerId}', 'acc_1', '${domain}', '${status}', ${isHolder ? 1 : 0}, 1)`,
      )
      const rows = (given ?? (await makeDomainKeys(deps, owner))).map((row) => ({
        ...{ ...row, id: makeId('dkm') },
        ...{ owner_id: owner.ownerId, domain },
      }))
      await db.write(ensureDkimKeys, { rows })
    },
    async publish(owner) {
      const shown = (await keys(owner)).map((key) => {
        return [dkimKeyName(key), { TXT: [inStrings(dkimKeyRecord(key))] }]
      })
      dns.zone = { ...dns.zone, ...Object.fromEntries(shown) }
    },
    async verdict({ raw }) {
      const { results } = await dkimVerify(Buffer.from(raw), {
        resolver: (name, type) => platform.resolve(name, type) as Promise<string[][]>,
        curTime: clock.now(),
      })
      return results[0]?.status.result
    },
    async close() {
      platform.cancel()
      resolver.close()
      await dns.close()
      const tables = ['dkim_keys', 'domains', 'accounts']
      for (const table of tables) await runSql(database, `delete from ${table}`)
    },
  }
}

/** In strings of at most 255 octets, as in a record. */
export function inStrings(text: string): string[] {
  return text.match(/.{1,255}/g) ?? []
}

/** Advances by days, with a check of the background on each. */
export async function passDays(
  { clock, process }: DkimPlace,
  days: number,
  eachDay: (day: number) => Promise<void> = async () => {},
): Promise<void> {
  for (let day = 1; day <= days; day += 1) {
    clock.advance(DAY_MS)
    await process.look()
    await eachDay(day)
  }
}
