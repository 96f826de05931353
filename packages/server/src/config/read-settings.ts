// Reads the settings, or lists all errors in them. Messages never contain a secret.

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { CREDENTIALS_EXPECTED, lacksCredentials, withCredentials } from './forms.ts'
import { findNearest } from './nearest.ts'
import {
  LIMIT_SETTINGS,
  type LimitSettings,
  SETTINGS,
  type Setting,
  type Settings,
  withStandardNames,
} from './settings.ts'

/** A shorter operator token works but is reported, because it could be guessed. */
const OPERATOR_TOKEN_LENGTH_MIN = 16

export type SettingMistake = {
  name: string
  /** Null for a secret, and for a missing value. */
  given: string | null
  expected: string
}

export type SettingsReading =
  | { kind: 'settings'; settings: Settings; warnings: string[] }
  | { kind: 'mistakes'; mistakes: SettingMistake[]; warnings: string[] }

type Environment = Readonly<Record<string, string | undefined>>

const SHOWN_LENGTH_MAX = 100

/**
 * The environment takes precedence over `dotEnv`, the text of an `.env` file. A setting with the
 * suffix _FILE names a file with the secret. An empty value means that the setting is missing, and
 * in the environment it hides the value of the file. Relative paths start at the working directory.
 */
export function readSettings(env: Environment, dotEnv = ''): SettingsReading {
  const named = withStandardNames({ ...parseEnv(dotEnv), ...withoutUndefined(env) })
  const warnings = warnOfUnknownNames(named)
  const mistakes: SettingMistake[] = []
  const secrets = readSecretFiles(named, [SETTINGS, LIMIT_SETTINGS])
  const { given } = secrets
  mistakes.push(...secrets.mistakes)
  const table = readTable(SETTINGS, given, mistakes)
  const limits: LimitSettings = Object.freeze(readTable(LIMIT_SETTINGS, given, mistakes))
  const { tlsCert, tlsKey, ...fields } = table
  const settings: Settings = Object.freeze({
    ...fields,
    intakeThreads: intakeThreadsOn(
      { cores: availableParallelism(), platform: process.platform },
      table.intakeThreads,
      table.databaseUrl === null ? 'sqlite' : 'postgres',
    ),
    blobStore: withCredentials(table, given),
    smtpHostname: table.smtpHostname ?? table.inboxDomain,
    dnsServers: Object.freeze(table.dnsServers ?? []),
    tlsFiles: tlsCert && tlsKey ? Object.freeze({ cert: tlsCert, key: tlsKey }) : null,
    limits,
    programFolders: env.PATH ?? '',
  })
  // An invalid setting has its default value, which is not what the operator configured.
  const isRead = (...names: string[]) => !mistakes.some((mistake) => names.includes(mistake.name))
  mistakes.push(...judgeTogether(table, isRead))
  const { blobStore } = SETTINGS
  if (lacksCredentials(settings.blobStore)) {
    mistakes.push({ name: blobStore.name, given: null, expected: CREDENTIALS_EXPECTED })
  }
  warnings.push(...warnOfWeakToken(table.adminToken))
  return mistakes.length === 0
    ? { kind: 'settings', settings, warnings }
    : { kind: 'mistakes', mistakes, warnings }
}

export function readDotEnv(folder: string): string {
  const file = join(folder, '.env')
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

export function describeMistake(mistake: SettingMistake): string {
  const given = mistake.given === null ? '' : ` (given: ${quote(mistake.given)})`
  return `${mistake.name}: expected ${mistake.expected}${given}`
}

/** Names of this service, in lower case: those of the API and of the SMTP server. */
export function ownNamesOf({ publicUrl, smtpHostname }: Settings): string[] {
  const apiName = publicUrl === null ? [] : [new URL(publicUrl).hostname]
  return [...apiName, smtpHostname]
}

/** This many saturate SQLite's writer; on PostgreSQL each one opens connections. */
const INTAKE_THREADS_MAX = { sqlite: 8, postgres: 4 }

/** `asked` is null by default. Threads can share a port only on Linux. */
export function intakeThreadsOn(
  { cores, platform }: { cores: number; platform: NodeJS.Platform },
  asked: number | null,
  engine: keyof typeof INTAKE_THREADS_MAX,
): number {
  const threads = asked ?? Math.max(1, Math.min(cores - 1, INTAKE_THREADS_MAX[engine]))
  return platform === 'linux' ? threads : Math.min(1, threads)
}

/** Base of absolute URLs, without a trailing slash. `httpPort` is the actual port. */
export function publicUrlOf(settings: Settings, httpPort: number): string {
  return settings.publicUrl ?? `http://127.0.0.1:${httpPort}`
}

type Values<Table extends Record<string, Setting<unknown>>> = {
  -readonly [Key in keyof Table]: Table[Key] extends Setting<infer T>
    ? Table[Key]['default'] extends string
      ? T
      : T | null
    : never
}

function readTable<Table extends Record<string, Setting<unknown>>>(
  table: Table,
  given: Environment,
  mistakes: SettingMistake[],
): Values<Table> {
  const values = Object.entries(table).map(([key, setting]) => {
    const text = given[setting.name]?.trim() ?? ''
    if (text !== '') {
      const reading = setting.form.read(text)
      if ('value' in reading) return [key, reading.value]
      mistakes.push(mistakeOf(setting, text, reading.expected))
    }
    return [key, readDefault(setting)]
  })
  return Object.fromEntries(values)
}

function readDefault(setting: Setting<unknown>): unknown {
  if (setting.default === null) return null
  const reading = setting.form.read(setting.default)
  if ('value' in reading) return reading.value
  throw new Error(`the default of ${setting.name} does not have its own form`)
}

type Table = Values<typeof SETTINGS>

function warnOfWeakToken(token: string | null): string[] {
  if (token === null || token.length >= OPERATOR_TOKEN_LENGTH_MIN) return []
  const { name } = SETTINGS.adminToken
  return [
    `${name} can be guessed: it has fewer than ${OPERATOR_TOKEN_LENGTH_MIN} characters, and opens every account`,
  ]
}

function judgeTogether(table: Table, isRead: (...names: string[]) => boolean): SettingMistake[] {
  const mistakes: SettingMistake[] = []
  const { delivery, relayUrl, dataDir, httpPort, smtpPort } = SETTINGS
  if (isRead(delivery.name, relayUrl.name) && table.delivery === 'relay' && !table.relayUrl) {
    const expected = `${relayUrl.form.expected}, because ${delivery.name} is relay`
    mistakes.push({ name: relayUrl.name, given: null, expected })
  }
  const isSamePort = table.httpPort === table.smtpPort && table.httpPort !== 0
  if (isRead(httpPort.name, smtpPort.name) && isSamePort && table.httpHost === table.smtpHost) {
    const expected = `a port other than that of ${httpPort.name}`
    mistakes.push({ name: smtpPort.name, given: String(table.smtpPort), expected })
  }
  if (existsSync(table.dataDir) && !statSync(table.dataDir).isDirectory()) {
    mistakes.push({ name: dataDir.name, given: table.dataDir, expected: 'a folder, not a file' })
  }
  mistakes.push(...judgeTls(table.tlsCert, table.tlsKey))
  return mistakes
}

function judgeTls(cert: string | null, key: string | null): SettingMistake[] {
  const { tlsCert, tlsKey } = SETTINGS
  if (cert === null && key === null) return []
  if (cert === null || key === null) {
    const [missing, present] = cert === null ? [tlsCert, tlsKey] : [tlsKey, tlsCert]
    const expected = `a PEM file, because ${present.name} is given and one is no use alone`
    return [{ name: missing.name, given: null, expected }]
  }
  const certificate = attempt(() => new X509Certificate(readFileSync(cert)))
  const privateKey = attempt(() => createPrivateKey(readFileSync(key)))
  const mistakes: SettingMistake[] = []
  if (certificate === undefined) {
    const expected = 'a readable PEM file that begins with a certificate'
    mistakes.push({ name: tlsCert.name, given: cert, expected })
  }
  if (privateKey === undefined) {
    const expected = 'a readable PEM file with a private key that needs no passphrase'
    mistakes.push({ name: tlsKey.name, given: key, expected })
  }
  if (certificate !== undefined && privateKey !== undefined) {
    if (!certificate.checkPrivateKey(privateKey)) {
      const expected = `the private key of the certificate in ${tlsCert.name}`
      mistakes.push({ name: tlsKey.name, given: key, expected })
    }
  }
  return mistakes
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** Variables of the command line, of MCP and of examples in the docs. The service ignores them. */
const NAMES_OF_CLIENTS: ReadonlySet<string> = new Set([
  'MAILROOM_API_KEY',
  'MAILROOM_APPROVER_TOKEN',
  'MAILROOM_BASE_URL',
  'MAILROOM_INBOX',
  'MAILROOM_LEASE_TOKEN',
  'MAILROOM_MCP_INBOX',
  'MAILROOM_MCP_READ_ONLY',
])

function warnOfUnknownNames(given: Environment): string[] {
  const known = [...Object.values(SETTINGS), ...Object.values(LIMIT_SETTINGS)].map(
    ({ name }) => name,
  )
  const files = new Set(secretFileNames([SETTINGS, LIMIT_SETTINGS]).keys())
  return Object.keys(given)
    .filter((name) => name.startsWith('MAILROOM_') && !known.includes(name) && !files.has(name))
    .filter((name) => !NAMES_OF_CLIENTS.has(name))
    .sort()
    .map((name) => {
      return `${quote(name).slice(1, -1)} is not a setting; the nearest is ${findNearest(name, known)}`
    })
}

function mistakeOf(setting: Setting<unknown>, text: string, expected: string): SettingMistake {
  const given = setting.isSecret ? null : text
  const secret = setting.isSecret ? '; what was given is not shown' : ''
  return { name: setting.name, given, expected: expected + secret }
}

function quote(text: string): string {
  const isLong = text.length > SHOWN_LENGTH_MAX
  return JSON.stringify(isLong ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text)
}

function withoutUndefined(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([, text]) => text !== undefined))
}

const ENDING = '_FILE'
/** A larger file cannot be a secret, which is a URL or a key. */
const BYTES_MAX = 64 * 1024

type Mistake = { name: string; given: string; expected: string }
type Tables = readonly Readonly<Record<string, Setting<unknown>>>[]

function secretFileNames(tables: Tables): ReadonlyMap<string, Setting<unknown>> {
  const secrets = tables.flatMap((table) => Object.values(table)).filter((one) => one.isSecret)
  return new Map(secrets.map((setting) => [setting.name + ENDING, setting]))
}

/** A file that is unreadable, empty or too large is an error, as is a file for a given secret. */
function readSecretFiles(
  given: Environment,
  tables: Tables,
): { given: Environment; mistakes: Mistake[] } {
  const mistakes: Mistake[] = []
  const found: Record<string, string> = {}
  for (const [name, setting] of secretFileNames(tables)) {
    const file = given[name]?.trim() ?? ''
    if (file === '') continue
    const isGivenTwice = (given[setting.name]?.trim() ?? '') !== ''
    const text = readSecret(file)
    if (isGivenTwice) {
      mistakes.push({ name, given: file, expected: `nothing, because ${setting.name} is given` })
    } else if (text === null) {
      mistakes.push({ name, given: file, expected: 'a readable file that holds the secret' })
    } else found[setting.name] = text
  }
  return { given: { ...given, ...found }, mistakes }
}

function readSecret(file: string): string | null {
  try {
    const text = readFileSync(file, 'utf8').trim()
    return text === '' || text.length > BYTES_MAX ? null : text
  } catch {
    return null
  }
}
