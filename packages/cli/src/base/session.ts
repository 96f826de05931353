// The connection of a command: which service, key and inbox it uses (profiles, environment), its
// client, and the lookup of inboxes and domains by address or name.

import { type Inbox, Mailroom } from '@mailroom/sdk'
import { Transport } from '@mailroom/sdk/transport.ts'
import { fetchWithClaims } from './claims.ts'
import { Failure } from './failure.ts'
import { PROFILE_DEFAULT, readProfiles } from './profiles.ts'

export type Session = {
  readonly profile: string
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
  const leaseToken = readLeaseToken(options)
  const profile = options.profile ?? PROFILE_DEFAULT
  return { profile, keySource, ...openWith(baseUrl, apiKey, leaseToken) }
}

export function readLeaseToken({ leaseToken }: ServiceOptions): string | undefined {
  return leaseToken ?? (process.env.MAILROOM_LEASE_TOKEN || undefined)
}

/** A client for operations that need no key. It sends the key if there is one. */
export async function openAnySession(options: ServiceOptions): Promise<Session> {
  const { baseUrl, apiKey, keySource } = await findService(options)
  const profile = options.profile ?? PROFILE_DEFAULT
  return { profile, keySource: keySource ?? 'none', ...openWith(baseUrl, apiKey ?? 'none') }
}

/** Without a token, requests use the tokens of stored claims. */
export function openWith(baseUrl: string, apiKey: string, leaseToken?: string) {
  const claims = leaseToken === undefined ? { fetch: fetchWithClaims(baseUrl) } : { leaseToken }
  const options = { baseUrl, apiKey, ...claims }
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

/** The URL of the service on this machine, with the port in MAILROOM_HTTP_PORT if it is set. */
export function localBaseUrl(): string {
  const port = Number(process.env.MAILROOM_HTTP_PORT) || 8080
  return `http://127.0.0.1:${port}`
}

export type ServiceOptions = {
  readonly profile?: string
  readonly url?: string
  /** The token of a claim, by default from the environment or from an earlier claim. */
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
    const baseUrl = readBaseUrl(url ?? (MAILROOM_BASE_URL || localBaseUrl()))
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
      baseUrl: stored?.baseUrl ?? localBaseUrl(),
      apiKey: stored?.apiKey ?? null,
      keySource: stored?.apiKey === undefined ? null : `the profile "${name}"`,
    }
  }
  const baseUrl = readBaseUrl(wantedUrl)
  const apiKey = (stored?.baseUrl === baseUrl && stored.apiKey) || null
  return { baseUrl, apiKey, keySource: apiKey === null ? null : `the profile "${name}"` }
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
      `Write it like ${localBaseUrl()} or https://mail.example.com.`,
    )
  }
  return url.href.replace(/\/+$/, '')
}

export function isLocal(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl)
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname) || hostname.endsWith('.localhost')
}

/** Resources that the API knows by id and people by another name. */
export type Named = 'inbox' | 'domain'

/** Finds the id of a resource by its name. Text in the form of an id is returned unchanged. */
export async function findId(session: Session, kind: Named, text: string): Promise<string> {
  if (kind === 'domain') return findDomainId(session, text)
  return INBOX_ID.test(text) ? text : (await findNamedInbox(session, text)).id
}

/** Cannot match the address of an inbox, which contains no underscore. */
const INBOX_ID = /^inb_/

/** Finds an inbox by its address or, without a domain, by the part before the @. */
export async function findNamedInbox(session: Session, text: string): Promise<Inbox> {
  const name = text.toLowerCase()
  const found = name.includes('@')
    ? await findByAddress(session, name)
    : await findByLocalPart(session, name)
  if (found !== undefined) return found
  throw new Failure(
    'notFound',
    `There is no inbox ${text} in this account.`,
    '"mailroom inbox list" lists the inboxes; "mailroom inbox create" creates one.',
  )
}

async function findByAddress({ client }: Session, address: string): Promise<Inbox | undefined> {
  const { data } = await client.inboxes.list({ address }).page()
  // The list may also contain a catch-all inbox, which receives mail for other addresses.
  return data.find((inbox) => inbox.address.toLowerCase() === address)
}

/** If several inboxes match, prefers the one on the domain of the service. */
async function findByLocalPart({ client }: Session, name: string): Promise<Inbox | undefined> {
  const found: Inbox[] = []
  for await (const inbox of client.inboxes.list({ limit: PAGE_MAX })) {
    if (inbox.address.toLowerCase().startsWith(`${name}@`)) found.push(inbox)
  }
  if (found.length < 2) return found[0]
  const own = new Set<string>()
  for await (const { domain } of client.domains.list({ limit: PAGE_MAX })) own.add(domain)
  const ofService = found.find(({ address }) => !own.has(address.split('@')[1] ?? ''))
  if (ofService !== undefined) return ofService
  throw new Failure(
    'usage',
    `Several inboxes are named ${name}.`,
    `Give the address: ${found.map(({ address }) => address).join(', ')}.`,
  )
}

const PAGE_MAX = 100

/** Finds the given inbox, or the default one, or the account's only inbox. */
export async function findInbox(session: Session, text: string | undefined): Promise<string> {
  if (text !== undefined) return findId(session, 'inbox', text)
  const chosen = await readDefaultInbox(session)
  if (chosen === null) return findOnlyInbox(session)
  return findId(session, 'inbox', chosen.inbox).catch((error) => {
    if (!(error instanceof Failure)) throw error
    throw new Failure(
      error.exit,
      `${error.message} The inbox was set by ${chosen.source}.`,
      error.fix,
    )
  })
}

type DefaultInbox = { readonly inbox: string; readonly source: string }

/** The inbox of MAILROOM_INBOX or of the profile, if the profile is for the same service. */
export async function readDefaultInbox(session: Session): Promise<DefaultInbox | null> {
  const { MAILROOM_INBOX } = process.env
  if (MAILROOM_INBOX) return { inbox: MAILROOM_INBOX, source: 'MAILROOM_INBOX' }
  const { profile, baseUrl } = session
  const profiles = await readProfiles()
  const stored = Object.hasOwn(profiles, profile) ? profiles[profile] : undefined
  if (stored?.inbox === undefined || stored.baseUrl !== baseUrl) return null
  return { inbox: stored.inbox, source: `the profile "${profile}" ("mailroom use" changes it)` }
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
    `Give --inbox, set MAILROOM_INBOX, or choose one with "mailroom use <inbox>": ${addresses}${total > data.length ? ', …' : ''}.`,
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
