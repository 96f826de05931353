// The keys that this service makes for itself: the data key, which seals every other secret in the
// database, and the key that signs mail of the inbox domain. Read or made, never shown.
//
// The data key lies in the database, as one octet 0 and its 32 octets in the clear, or sealed (see
// base/seal.ts, which never begins with 0) with a key that lies elsewhere: the one of the settings,
// or that of a file beside an embedded database.

import { createPrivateKey, type KeyObject } from 'node:crypto'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Chance, LOWER_ALPHANUMERIC, randomText } from '#base/chance.ts'
import { SEALING_KEY_BYTES, type Sealer, sealer as sealerOf } from '#base/seal.ts'
import { makePrivateFolder, syncFolder } from '#blobs/durable-folder.ts'
import { decodeSecretKey } from '#config/forms.ts'
import { SETTINGS, type Settings } from '#config/settings.ts'
import { dkimKeyRecord, makeDkimKey } from '#mail/dkim/key.ts'
import { openSigner, type Signer } from '#mail/dkim/signer.ts'
import { type DnsRecord, serviceDnsRecords } from '#model/dns-records.ts'
import { findSecret } from '#store/service-secret.ts'
import type { Db } from '#store/transactions.ts'

export type Keys = {
  sealer: Sealer
  /** Signs for the inbox domain. The first call makes the key when there is none yet. */
  signer: Signer
  /** What to publish for the inbox domain; makes the key as the signer does. */
  records(): Promise<DnsRecord[]>
  /** What the operator should know about how the keys are kept, for the start log. */
  warning: string | null
}

export type OpenKeysOptions = {
  settings: Pick<Settings, 'dataDir' | 'databaseUrl' | 'secretKey' | 'inboxDomain' | 'smtpHostname'>
  db: Db
  chance: Chance
  /** How a private key is made; tests that need many bring one. */
  makeKey?: () => Promise<KeyObject>
}

/** A key that replaces this one is published beside it, under another selector. */
const SELECTOR = 'mr1'
const DATA_KEY = 'data-key'
/** Before a data key in the clear; the sealed form begins with another octet. */
const PLAIN = 0

/**
 * Makes what is absent, except the signing key, which is made when it is first needed: at the first
 * start it would cost 15 to 500 ms. Writes nothing when all is there and sealed as the settings say,
 * so that a service starts on a full disk. Throws, naming MAILROOM_SECRET_KEY, when neither that nor
 * the file in the data directory opens the data key.
 */
export async function openKeys(options: OpenKeysOptions): Promise<Keys> {
  const { settings, db, chance } = options
  const dataKey = await openDataKey(options)
  const sealer = sealerOf(dataKey.key, chance)
  const name = `dkim:${settings.inboxDomain}`
  const unseal = (sealed: Uint8Array): SigningKey => {
    const plain = sealer.open(sealed, name)
    if (plain === null) throw new Error(`the secret ${name} is not the one that was kept.`)
    const privateKey = createPrivateKey({ key: Buffer.from(plain), format: 'der', type: 'pkcs8' })
    const { inboxDomain: domain } = settings
    return { privateKey, signer: openSigner({ domain, selector: SELECTOR, privateKey }) }
  }
  const findOrMake = async (): Promise<SigningKey> => {
    const made = await (options.makeKey ?? makeDkimKey)()
    const value = sealer.seal(made.export({ format: 'der', type: 'pkcs8' }), name)
    // Of two processes that start at once both get the one that is kept.
    return unseal(await db.write('ensureSecret', { name, value }))
  }
  const kept = await findSecret(db, name)
  let key: Promise<SigningKey> | null = kept === null ? null : Promise.resolve(unseal(kept))
  const need = (): Promise<SigningKey> => {
    key ??= findOrMake().catch((error) => {
      // A disk that was full may not be so the next time.
      key = null
      throw error
    })
    return key
  }
  return {
    sealer,
    signer: { sign: async (raw, nowMs) => (await need()).signer.sign(raw, nowMs) },
    async records() {
      const { privateKey } = await need()
      return serviceDnsRecords({
        inboxDomain: settings.inboxDomain,
        smtpHostname: settings.smtpHostname,
        selector: SELECTOR,
        dkimRecord: dkimKeyRecord(privateKey),
      })
    },
    warning: dataKey.isPlain ? PLAIN_WARNING : null,
  }
}

const PLAIN_WARNING = `whoever can read the database can read the keys that sign mail, until ${SETTINGS.secretKey.name} is set`

/** Where the key lies that an embedded database is sealed with when the settings give none. */
export function secretKeyPath({ dataDir }: Pick<Settings, 'dataDir'>): string {
  return join(dataDir, 'secret.key')
}

type SigningKey = { privateKey: KeyObject; signer: Signer }
type DataKey = { key: Uint8Array; isPlain: boolean }

/**
 * Makes the data key when there is none, and seals it anew when the settings have come to name
 * another key than it is sealed with. Of processes that write at once each goes on with what is kept.
 */
async function openDataKey(options: OpenKeysOptions): Promise<DataKey> {
  const { settings, db, chance } = options
  const found = await findSecret(db, DATA_KEY)
  // A file made now could not open what another key has sealed, and would hide that one is missing.
  const mayMake = found === null
  const wrapper = givenSealer(options) ?? (await fileSealer(options, { mayMake }))
  const wrap = (key: Uint8Array): Uint8Array =>
    wrapper === null ? Uint8Array.of(PLAIN, ...key) : wrapper.seal(key, DATA_KEY)
  const ensure = (): Promise<Uint8Array> =>
    db.write('ensureSecret', { name: DATA_KEY, value: wrap(chance.bytes(SEALING_KEY_BYTES)) })

  const kept = found ?? (await ensure())
  const opened = unwrap(kept, wrapper)
  if (opened !== null && (wrapper === null || !opened.isPlain)) return opened
  const older = opened ?? unwrap(kept, await fileSealer(options, { mayMake: false }))
  if (older === null || wrapper === null) throw wrongKey(settings)
  const value = wrap(older.key)
  const now = await db.write('replaceSecret', { name: DATA_KEY, kept, value })
  const replaced = now === null ? null : unwrap(now, wrapper)
  if (replaced === null) throw wrongKey(settings)
  return replaced
}

function unwrap(kept: Uint8Array, wrapper: Sealer | null): DataKey | null {
  if (kept[0] === PLAIN) return { key: kept.subarray(1), isPlain: true }
  const key = wrapper?.open(kept, DATA_KEY) ?? null
  return key === null ? null : { key, isPlain: false }
}

function givenSealer({ settings, chance }: OpenKeysOptions): Sealer | null {
  if (settings.secretKey === null) return null
  const key = decodeSecretKey(settings.secretKey)
  if (key === null) throw new RangeError(`${SETTINGS.secretKey.name} is not a key.`)
  return sealerOf(key, chance)
}

/** Null where there is no file, and beside a shared database: other processes would not have it. */
async function fileSealer(
  { settings, chance }: OpenKeysOptions,
  { mayMake }: { mayMake: boolean },
): Promise<Sealer | null> {
  if (settings.databaseUrl !== null) return null
  const file = secretKeyPath(settings)
  const kept = await readKeyFile(file)
  if (kept === null && mayMake) await makeKeyFile(settings, chance)
  const key = kept ?? (await readKeyFile(file))
  return key === null ? null : sealerOf(key, chance)
}

/**
 * Put in its place whole and only where there is none: a process that lost the race reads the
 * winner's.
 */
async function makeKeyFile(settings: Pick<Settings, 'dataDir'>, chance: Chance): Promise<void> {
  const file = secretKeyPath(settings)
  makePrivateFolder(settings.dataDir)
  const draft = `${file}.${randomText(chance, LOWER_ALPHANUMERIC, 8)}`
  const text = Buffer.from(chance.bytes(SEALING_KEY_BYTES)).toString('base64')
  try {
    await writeFile(draft, `${text}\n`, { mode: 0o600, flush: true })
    await placeOnce(draft, file)
  } finally {
    await rm(draft, { force: true })
  }
  await syncFolder(settings.dataDir)
}

async function placeOnce(draft: string, file: string): Promise<void> {
  try {
    await link(draft, file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return
    // File systems without hard links; two first starts at once are rarer still.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(String(code))) throw error
    await rename(draft, file)
  }
}

async function readKeyFile(file: string): Promise<Uint8Array | null> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  const key = decodeSecretKey(text.trim())
  if (key === null) {
    throw new Error(
      `${file} does not hold a key: restore it as it was, or set ${SETTINGS.secretKey.name} to the key it held.`,
    )
  }
  return key
}

function wrongKey(settings: Pick<Settings, 'dataDir' | 'databaseUrl'>): Error {
  const file = settings.databaseUrl === null ? secretKeyPath(settings) : null
  const orFile = file === null ? '' : `, or restore ${file} as it was`
  return new Error(
    `the secrets in the database were sealed with a key that is not here: set ${SETTINGS.secretKey.name} to it${orFile}.`,
  )
}
