// The connection of a command: which service and key it uses (profiles, environment), its client,
// and the lookup of inboxes and domains by address or name.

import { randomUUID } from 'node:crypto'
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { Mailroom } from '@mailroom/sdk'
import { Transport } from '@mailroom/sdk/transport.ts'
import { Failure } from './failure.ts'

export type Session = {
  readonly baseUrl: string
  readonly apiKey: string
  readonly keySource: string
  readonly transport: Transport
  readonly client: Mailroom
}

/** Rejects without a key. The key is not validated until the first request. */
export async function openSession(options: ServiceOptions): Promise<Session> {
  const { baseUrl, apiKey, keySource } = await findService(options)
  if (apiKey === null || keySource === null) throw noKey(baseUrl)
  const leaseToken = options.leaseToken ?? (process.env.MAILROOM_LEASE_TOKEN || undefined)
  return { keySource, ...openWith(baseUrl, apiKey, leaseToken) }
}

/** A client for operations that need no key. It sends the key if there is one. */
export async function openAnySession(options: ServiceOptions): Promise<Session> {
  const { baseUrl, apiKey, keySource } = await findService(options)
  return { keySource: keySource ?? 'none', ...openWith(baseUrl, apiKey ?? 'none') }
}

export function openWith(baseUrl: string, apiKey: string, leaseToken?: string) {
  const options = { baseUrl, apiKey, ...(leaseToken !== undefined && { leaseToken }) }
  return { ...options, transport: new Transport(options), client: new Mailroom(options) }
}

function noKey(baseUrl: string): Failure {
  return new Failure('unauthorized', `There is no key for ${baseUrl}.`, howToSignIn(baseUrl))
}

export function howToSignIn(baseUrl: string): string {
  const signIn =
    'Sign in with "mailroom login", or set MAILROOM_API_KEY (and MAILROOM_BASE_URL unless the service is local).'
  if (!isLocal(baseUrl)) return signIn
  return `${signIn}\nThe first start of a service prints its key once, in the terminal where "npm start" was run. If it is lost, create another there: "mailroom admin account list", then "mailroom admin key create --account <id>".`
}

export const BASE_URL_DEFAULT = 'http://127.0.0.1:8080'

export type ServiceOptions = {
  readonly profile?: string
  readonly url?: string
  /** The token of a claim, by default from the environment. */
  readonly leaseToken?: string
}

export type FoundService = {
  /** The URL of the service, without a trailing slash. */
  readonly baseUrl: string
  /** The key; null if unknown. */
  readonly apiKey: string | null
  /** A description of where the key comes from; null without a key. */
  readonly keySource: string | null
}

/**
 * A named profile takes precedence over the environment, and the environment over the profile
 * "default". If the URL comes from another source, the stored key is used only if it belongs to
 * that URL.
 */
export async function findService({ profile, url }: ServiceOptions): Promise<FoundService> {
  const { MAILROOM_API_KEY, MAILROOM_BASE_URL } = process.env
  if (MAILROOM_API_KEY && profile === undefined) {
    const baseUrl = readBaseUrl(url ?? (MAILROOM_BASE_URL || BASE_URL_DEFAULT))
    return { baseUrl, apiKey: MAILROOM_API_KEY, keySource: 'MAILROOM_API_KEY' }
  }
  const name = profile ?? PROFILE_DEFAULT
  const profiles = await readProfiles()
  const stored = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (stored === undefined && profile !== undefined) {
    const names = Object.keys(profiles).join(', ') || 'none'
    const fix = `Existing profiles: ${names}. Create it with "mailroom login --profile ${profile}".`
    throw new Failure('unauthorized', `There is no profile ${JSON.stringify(profile)}.`, fix)
  }
  const wantedUrl = url ?? (profile === undefined ? MAILROOM_BASE_URL || undefined : undefined)
  if (wantedUrl === undefined) {
    return {
      baseUrl: stored?.baseUrl ?? BASE_URL_DEFAULT,
      apiKey: stored?.apiKey ?? null,
      keySource: stored === undefined ? null : `the profile "${name}"`,
    }
  }
  const baseUrl = readBaseUrl(wantedUrl)
  const isForIt = stored !== undefined && stored.baseUrl === baseUrl
  return {
    baseUrl,
    apiKey: isForIt ? stored.apiKey : null,
    keySource: isForIt ? `the profile "${name}"` : null,
  }
}

/** Validates an absolute http or https URL. */
export function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  const isNamed = url !== null && /^https?:$/.test(url.protocol) && url.search + url.hash === ''
  if (isNamed && url.username + url.password !== '') {
    const fix = 'Store the key with "mailroom login" instead.'
    throw new Failure('usage', 'The URL of a service must not contain a user or password.', fix)
  }
  if (!isNamed) {
    throw new Failure(
      'usage',
      `${JSON.stringify(text)} is not the URL of a service.`,
      `Write it like ${BASE_URL_DEFAULT} or https://mail.example.com.`,
    )
  }
  return url.href.replace(/\/+$/, '')
}

export function isLocal(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl)
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname) || hostname.endsWith('.localhost')
}

type Profile = { readonly baseUrl: string; readonly apiKey: string }
export type Profiles = Readonly<Record<string, Profile>>

export const PROFILE_DEFAULT = 'default'

const OWNER_ONLY = 0o600
const OWNER_ONLY_FOLDER = 0o700

/** The path of the profiles, by the XDG Base Directory Specification. */
export function profilesPath(): string {
  const { XDG_CONFIG_HOME } = process.env
  const isGiven = XDG_CONFIG_HOME?.startsWith('/') === true
  return join(isGiven ? XDG_CONFIG_HOME : join(homedir(), '.config'), 'mailroom', 'config.json')
}

/** Reads the profiles; there are none if the file does not exist. */
export async function readProfiles(): Promise<Profiles> {
  const path = profilesPath()
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '{}'
    throw new Failure('failed', `${path} cannot be read: ${error.message}.`)
  })
  try {
    const { profiles = {} } = JSON.parse(text) as { profiles?: Record<string, unknown> }
    return Object.fromEntries(
      Object.entries(profiles).filter((entry): entry is [string, Profile] => isProfile(entry[1])),
    )
  } catch {
    throw new Failure(
      'failed',
      `${path} is not JSON.`,
      'Correct it, or remove it and sign in again with "mailroom login".',
    )
  }
}

/** Replaces the file atomically, so that other commands never read an incomplete one. */
export async function writeProfiles(profiles: Profiles): Promise<void> {
  const path = profilesPath()
  await mkdir(dirname(path), { recursive: true, mode: OWNER_ONLY_FOLDER })
  const temporary = `${path}.${randomUUID()}`
  const text = `${JSON.stringify({ profiles }, null, 2)}\n`
  await writeFile(temporary, text, { mode: OWNER_ONLY, flag: 'wx' })
  await chmod(temporary, OWNER_ONLY)
  await rename(temporary, path)
}

function isProfile(value: unknown): value is Profile {
  if (typeof value !== 'object' || value === null) return false
  return (
    'baseUrl' in value &&
    typeof value.baseUrl === 'string' &&
    'apiKey' in value &&
    typeof value.apiKey === 'string'
  )
}

/** Resources with an id in the API and another name for people. */
export type Named = 'inbox' | 'domain'

/** Returns the id; text that is neither an address nor a name is treated as an id. */
export async function findId(session: Session, kind: Named, text: string): Promise<string> {
  return kind === 'inbox' ? findInboxId(session, text) : findDomainId(session, text)
}

async function findInboxId({ client }: Session, text: string): Promise<string> {
  if (!text.includes('@')) return text
  const address = text.toLowerCase()
  for await (const inbox of client.inboxes.list()) {
    if (inbox.address.toLowerCase() === address) return inbox.id
  }
  throw new Failure(
    'notFound',
    `The account has no inbox ${text}.`,
    '"mailroom inbox list" lists them; "mailroom inbox create" creates one.',
  )
}

/** Finds the inbox by id or address, or the account's only inbox if none is given. */
export async function findInbox(session: Session, text: string | undefined): Promise<string> {
  return text === undefined ? findOnlyInbox(session) : findId(session, 'inbox', text)
}

async function findOnlyInbox({ client }: Session): Promise<string> {
  const { data, total } = await client.inboxes.list({ limit: 5 }).page()
  const [only] = data
  if (only === undefined) {
    const fix = 'Create one with "mailroom inbox create".'
    throw new Failure('notFound', 'The account has no inbox.', fix)
  }
  if (total === 1) return only.id
  const addresses = data.map(({ address }) => address).join(', ')
  throw new Failure(
    'usage',
    `The account has ${total} inboxes; choose one.`,
    `Name it with --inbox: ${addresses}${total > data.length ? ', …' : ''}.`,
  )
}

async function findDomainId({ client }: Session, text: string): Promise<string> {
  if (!text.includes('.')) return text
  const name = text.toLowerCase()
  for await (const domain of client.domains.list()) {
    if (domain.domain === name) return domain.id
  }
  throw new Failure(
    'notFound',
    `The account has no domain ${text}.`,
    '"mailroom domains list" lists them, international names as xn--….',
  )
}
