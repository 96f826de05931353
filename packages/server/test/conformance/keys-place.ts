// A database and a data directory on which keys are opened, as often and with what settings a test likes.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { systemChance } from '#base/chance.ts'
import type { Engine } from '#db/db.ts'
import type { DnsRecord } from '#model/dns-records.ts'
import { type Keys, type OpenKeysOptions, openKeys } from '#open-keys.ts'
import { openDatabase, type TestDatabase } from '#test/conformance/open-database.ts'
import { ENVELOPE_FIELDS, message } from '#test/mail/samples.ts'

export const KEY_A = Buffer.alloc(32, 1).toString('hex')
export const KEY_B = Buffer.alloc(32, 2).toString('base64')
export const MAIL = message(...ENVELOPE_FIELDS, '', 'hello', '')

export type KeysPlace = {
  readonly database: TestDatabase
  readonly dataDir: string
  readonly keyFile: string
  /** As a start does, without MAILROOM_SECRET_KEY unless the settings say otherwise. */
  open(
    settings?: Partial<OpenKeysOptions['settings']>,
    others?: Partial<OpenKeysOptions>,
  ): Promise<Keys>
  close(): Promise<void>
}

/** An empty one. */
export async function openKeysPlace(engine: Engine): Promise<KeysPlace> {
  const database = await openDatabase(engine)
  const dataDir = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
  return {
    database,
    dataDir,
    keyFile: join(dataDir, 'secret.key'),
    open: (settings = {}, others = {}) =>
      openKeys({
        settings: {
          dataDir,
          databaseUrl: engine === 'postgres' ? database.place : null,
          secretKey: null,
          inboxDomain: 'in.example',
          smtpHostname: 'mx.example',
          ...settings,
        },
        db: database.db,
        chance: systemChance,
        ...others,
      }),
    async close() {
      await database.close()
      await rm(dataDir, { recursive: true })
    },
  }
}

/** The record of the key that signs. */
export async function dkimOf(keys: Keys): Promise<DnsRecord | undefined> {
  return (await keys.records()).find(({ purpose }) => purpose === 'dkim')
}

/** What a verifier that is not ours says of a signature, with this text published wherever it looks. */
export async function verdictOn(signed: Uint8Array, published: string): Promise<string[]> {
  const { results } = await dkimVerify(Buffer.from(signed), { resolver: async () => [[published]] })
  return results.map(({ status }) => status.result)
}
