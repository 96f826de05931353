// The data key, which seals all other secrets in the database, and the keys that sign URLs and
// links. The data key is stored in the clear (octet 0, then 32 octets) or sealed with
// MAILROOM_SECRET_KEY or with the file `secret.key` of an embedded database. A sealed value never
// begins with 0.

import { hkdfSync } from 'node:crypto'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeSecretKey } from '#config/forms.ts'
import { SETTINGS, type Settings } from '#config/settings.ts'
import { makePrivateFolder, syncFolder } from '#platform/blobs/durable-folder.ts'
import { type Chance, LOWER_ALPHANUMERIC, randomText, systemChance } from '#platform/chance.ts'
import { SEALING_KEY_BYTES, type Sealer, sealer as sealerOf } from '#platform/seal.ts'
import { ensureSecret, findSecret, replaceSecret } from '#secrets/store/secrets.ts'
import type { Db, ReadDb } from '#store/tables.ts'

export type Keys = {
  sealer: Sealer
  urlKey: Uint8Array
  /** Returns 32 octets, always the same for a purpose such as `return-path`. */
  deriveKey(purpose: string): Uint8Array
  /** A warning for the start log; null if the keys are stored safely. */
  warning: string | null
}

export type OpenKeysOptions = {
  settings: Pick<Settings, 'dataDir' | 'databaseUrl' | 'secretKey'>
  db: Db
  chance: Chance
}

const DATA_KEY = 'data-key'
const SERVICE_KEY = 'service-key'
const URL_KEY = 'attachment-urls'
const SECRET_BYTES = 32
/** First octet of a data key that is stored in the clear. */
const PLAIN = 0

/**
 * Creates missing secrets. Writes nothing if all exist and are sealed as configured, so that a
 * service starts on a full disk. Throws if no configured key opens the data key.
 */
export async function openKeys(options: OpenKeysOptions): Promise<Keys> {
  const dataKey = await openDataKey(options)
  const sealer = sealerOf(dataKey.key, options.chance)
  const serviceKey = await openSecret(options, sealer, SERVICE_KEY)
  return {
    sealer,
    urlKey: await openSecret(options, sealer, URL_KEY),
    deriveKey: (purpose) => new Uint8Array(hkdfSync('sha256', serviceKey, '', purpose, 32)),
    warning: dataKey.isPlain ? PLAIN_WARNING : null,
  }
}

async function openSecret(
  { db, chance }: OpenKeysOptions,
  sealer: Sealer,
  name: string,
): Promise<Uint8Array> {
  const kept =
    (await findSecret(db, name)) ??
    (await db.write(ensureSecret, { name, value: sealer.seal(chance.bytes(SECRET_BYTES), name) }))
  return unseal(sealer, name, kept)
}

function unseal(sealer: Sealer, name: string, kept: Uint8Array): Uint8Array {
  const plain = sealer.open(kept, name)
  if (plain === null) throw new Error(`the secret ${name} is not the one that was kept.`)
  return plain
}

export type DataKeyState = 'absent' | 'plain' | 'sealed' | 'not here'

export async function inspectDataKey(
  options: Pick<OpenKeysOptions, 'settings'> & { db: ReadDb },
): Promise<DataKeyState> {
  const given = { settings: options.settings, chance: systemChance }
  const kept = await findSecret(options.db, DATA_KEY)
  if (kept === null) return 'absent'
  const opened =
    unwrap(kept, givenSealer(given)) ?? unwrap(kept, await fileSealer(given, { mayMake: false }))
  if (opened === null) return 'not here'
  return opened.isPlain ? 'plain' : 'sealed'
}

const PLAIN_WARNING = `anyone who can read the database can read the keys that sign mail; set ${SETTINGS.secretKey.name} to seal them`

/** The file's key seals the data key of an embedded database if MAILROOM_SECRET_KEY is not set. */
export function secretKeyPath({ dataDir }: Pick<Settings, 'dataDir'>): string {
  return join(dataDir, 'secret.key')
}

type SealerOptions = Pick<OpenKeysOptions, 'settings' | 'chance'>

type DataKey = { key: Uint8Array; isPlain: boolean }

/**
 * Creates the data key, or seals it again if the settings contain another key. Processes that write
 * at the same time all continue with the stored value.
 */
async function openDataKey(options: OpenKeysOptions): Promise<DataKey> {
  const { settings, db, chance } = options
  const found = await findSecret(db, DATA_KEY)
  // A new file could not open an existing data key and would hide that the original is missing.
  const mayMake = found === null
  const wrapper = givenSealer(options) ?? (await fileSealer(options, { mayMake }))
  const wrap = (key: Uint8Array): Uint8Array =>
    wrapper === null ? Uint8Array.of(PLAIN, ...key) : wrapper.seal(key, DATA_KEY)
  const ensure = (): Promise<Uint8Array> =>
    db.write(ensureSecret, { name: DATA_KEY, value: wrap(chance.bytes(SEALING_KEY_BYTES)) })

  const kept = found ?? (await ensure())
  const opened = unwrap(kept, wrapper)
  if (opened !== null && (wrapper === null || !opened.isPlain)) return opened
  const older = opened ?? unwrap(kept, await fileSealer(options, { mayMake: false }))
  if (older === null || wrapper === null) throw wrongKey(settings)
  const value = wrap(older.key)
  const now = await db.write(replaceSecret, { name: DATA_KEY, kept, value })
  const replaced = now === null ? null : unwrap(now, wrapper)
  if (replaced === null) throw wrongKey(settings)
  return replaced
}

function unwrap(kept: Uint8Array, wrapper: Sealer | null): DataKey | null {
  if (kept[0] === PLAIN) return { key: kept.subarray(1), isPlain: true }
  const key = wrapper?.open(kept, DATA_KEY) ?? null
  return key === null ? null : { key, isPlain: false }
}

function givenSealer({ settings, chance }: SealerOptions): Sealer | null {
  if (settings.secretKey === null) return null
  const key = decodeSecretKey(settings.secretKey)
  if (key === null) throw new RangeError(`${SETTINGS.secretKey.name} is not a key.`)
  return sealerOf(key, chance)
}

/** Null without a file, and with PostgreSQL, whose other processes would not have the file. */
async function fileSealer(
  { settings, chance }: SealerOptions,
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
 * Writes the file atomically and never replaces one, so that concurrent starts use the same key.
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
    // The file system has no hard links, but two first starts at the same time are unlikely.
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
