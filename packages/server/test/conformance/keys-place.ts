// A database and a data directory on which a test can open keys repeatedly, with any settings.

import type { KeyObject } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeDkimKey } from '@mailroom/mail/dkim.ts'
import { ENVELOPE_FIELDS, message } from '@mailroom/mail/test/samples.ts'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { SERVICE_OWNER } from '#domains/dkim/dkim-key.ts'
import type { DnsRecord } from '#domains/records/dns-records.ts'
import { listServiceRecords, openSigners, type Signers } from '#domains/signing/signing.ts'
import { systemChance } from '#platform/chance.ts'
import type { Engine } from '#platform/db/db.ts'
import { type Keys, type OpenKeysOptions, openKeys } from '#secrets/secrets.ts'
import type { Db } from '#store/tables.ts'
import { openDatabase, storeOn, type TestDatabase } from '#test/conformance/open-database.ts'

export const KEY_A = Buffer.alloc(32, 1).toString('hex')
export const KEY_B = Buffer.alloc(32, 2).toString('base64')
export const MAIL = message(...ENVELOPE_FIELDS, '', 'hello', '')

export type OpenedKeys = Keys & { signers: Signers } & {
  /** The DNS record of the inbox domain. */
  records(): Promise<DnsRecord[]>
}

export type PlaceSettings = OpenKeysOptions['settings'] & { inboxDomain: string }
export type PlaceOthers = Partial<OpenKeysOptions> & { makeKey?: () => Promise<KeyObject> }

export type KeysPlace = {
  readonly database: TestDatabase
  readonly dataDir: string
  readonly keyFile: string
  /** As at a start, without MAILROOM_SECRET_KEY unless the settings have it. */
  open(settings?: Partial<PlaceSettings>, others?: PlaceOthers): Promise<OpenedKeys>
  close(): Promise<void>
}

/** An empty database and data directory. */
export async function openKeysPlace(engine: Engine): Promise<KeysPlace> {
  const database = await openDatabase(engine)
  const dataDir = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  const databaseUrl = engine === 'postgres' ? database.place : null
  const defaults = { dataDir, databaseUrl, secretKey: null, inboxDomain: 'in.example' }
  const makeKey = keySupply()
  return {
    database,
    dataDir,
    keyFile: join(dataDir, 'secret.key'),
    open: (settings = {}, others = {}) =>
      openWithSigners({ db: database.db, makeKey, ...others }, { ...defaults, ...settings }),
    async close() {
      await database.close()
      await rm(dataDir, { recursive: true })
    },
  }
}

/** With the signer of the inbox domain. */
export async function openWithSigners(
  { db, makeKey = makeDkimKey, chance = systemChance }: PlaceOthers & { db: Db },
  settings: PlaceSettings,
): Promise<OpenedKeys> {
  const { inboxDomain } = settings
  const keys = await openKeys({ settings, db, chance })
  const { sealer } = keys
  const deps = { ...storeOn(db), sealer, inboxDomain, makeDkimKey: makeKey }
  return {
    ...keys,
    signers: openSigners(deps),
    records: () => listServiceRecords(deps, { smtpHostname: 'mx.example' }),
  }
}

/** Signs a mail for an inbox domain. */
export function signFor(keys: OpenedKeys, domain: string, nowMs: number): Promise<Uint8Array> {
  return keys.signers.sign({ ownerId: SERVICE_OWNER, domain }, MAIL, nowMs)
}

/** The record of the first key. */
export async function dkimOf(keys: OpenedKeys): Promise<DnsRecord | undefined> {
  return (await keys.records()).find(({ purpose }) => purpose === 'dkim')
}

/** The verdict of an independent verifier on a signature, with this text as every TXT record. */
export async function verdictOn(signed: Uint8Array, published: string): Promise<string[]> {
  const { results } = await dkimVerify(Buffer.from(signed), { resolver: async () => [[published]] })
  return results.map(({ status }) => status.result)
}

const made: ReturnType<typeof makeDkimKey>[] = []

/**
 * Gives another key at each call, in the same order for each supply: generating one takes a tenth of a second and
 * more.
 */
export function keySupply(): typeof makeDkimKey {
  let given = 0
  return () => {
    const key = made[given] ?? makeDkimKey()
    made[given] = key
    given += 1
    return key
  }
}
