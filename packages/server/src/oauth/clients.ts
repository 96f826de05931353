// OAuth clients: with a metadata document, registered by themselves, or created by a person.

import { CLIENT_NAME_LENGTH_MAX, REDIRECT_URIS_MAX } from '@mailroom/contract/connections.ts'
import { ownNamesOf } from '#config/read-settings.ts'
import type { Settings } from '#config/settings.ts'
import { Cache } from '#platform/cache.ts'
import type { Clock } from '#platform/clock.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import { type HttpGetter, openHttpGetter } from '#platform/egress/http-get.ts'
import { readStrictJson } from '#platform/strict-json.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '#platform/units.ts'
import type { ReadDb } from '#store/tables.ts'
import { OauthError, redirectUriFault } from './model.ts'
import { findClient } from './store/oauth-clients.ts'

export type Client = {
  readonly id: string
  readonly name: string
  readonly redirectUris: readonly string[]
  /** The only account that may connect it; null for any account. */
  readonly accountId: string | null
}

const DOCUMENT_BYTES_MAX = 5 * 1024
const DOCUMENT_MS_MAX = 5 * SECOND_MS
const DOCUMENT_URL_LENGTH_MAX = 500
const DOCUMENTS_CACHED_MAX = 500
/** For a document without Cache-Control. */
const DOCUMENT_FRESH_MS = 5 * MINUTE_MS
const DOCUMENT_FRESH_MS_MAX = DAY_MS

export function openDocumentGetter(
  settings: Settings,
  { resolver, ca }: { resolver: Resolver; ca?: string | undefined },
): HttpGetter {
  return openHttpGetter({
    resolver,
    allowPrivate: settings.allowPrivateEgress,
    ownNames: ownNamesOf(settings),
    ca,
    headers: { 'user-agent': 'Mailroom-Clients/1', accept: 'application/json' },
    bytesMax: DOCUMENT_BYTES_MAX,
    redirectsMax: 0,
    totalMs: DOCUMENT_MS_MAX,
  })
}

export type FindClient = (clientId: string) => Promise<Client>

/** The result throws `invalid_client`. */
export function openClients({
  db,
  clock,
  documents,
}: {
  db: ReadDb
  clock: Clock
  documents: Pick<HttpGetter, 'get'>
}): FindClient {
  const known = new Cache<Client>({
    entriesMax: DOCUMENTS_CACHED_MAX,
    now: () => clock.monotonic(),
  })
  return async (clientId) => {
    if (!isDocumentUrl(clientId)) {
      const stored = await findClient(db, { id: clientId, nowMs: clock.now() })
      if (stored === null) throw unknownClient()
      return stored
    }
    const cached = known.get(clientId)
    if (cached !== null) return cached
    const outcome = await documents.get(clientId)
    if (outcome.kind === 'failed') throw wrongDocument(FAULTS[outcome.error])
    const client = readDocument(clientId, outcome.content)
    known.set(clientId, client, { ttlMs: freshMsOf(outcome.cacheControl) })
    return client
  }
}

function unknownClient(): OauthError {
  const text = 'The client is not registered here, or was removed because it had no connection.'
  return new OauthError('invalid_client', text, 401)
}

function wrongDocument(fault: string): OauthError {
  return new OauthError('invalid_client', `The metadata document of the client ${fault}.`, 401)
}

const FAULTS = {
  timeout: 'was not received in time',
  forbidden_address: 'is at an address that this service does not connect to',
  dns_failed: 'is at a host name that DNS does not resolve',
  connection_failed: 'is at a host that cannot be reached',
  tls_failed: 'is at a host whose TLS connection failed',
  status: 'was not sent with the status 200',
  redirect: 'redirects, which is not permitted',
  too_large: `is larger than ${DOCUMENT_BYTES_MAX / 1024} KB`,
  protocol_error: 'was not sent as valid HTTP',
  cut: 'could not be read, because the service is shutting down',
} as const

/** An https URL with a path, in its canonical form. */
export function isDocumentUrl(clientId: string): boolean {
  if (!clientId.startsWith('https://') || clientId.length > DOCUMENT_URL_LENGTH_MAX) return false
  if (!URL.canParse(clientId)) return false
  const { href, pathname, username, password, hash } = new URL(clientId)
  return href === clientId && pathname !== '/' && username + password + hash === ''
}

function readDocument(clientId: string, content: Uint8Array): Client {
  const read = readStrictJson(content)
  if (read.kind === 'fault') throw wrongDocument('is not valid JSON')
  const fields = Object(read.value) as Record<string, unknown>
  if (fields.client_id !== clientId) throw wrongDocument('has another client_id than its URL')
  if (!['none', undefined].includes(fields.token_endpoint_auth_method as string)) {
    throw wrongDocument('requires a token_endpoint_auth_method other than none')
  }
  const { redirectUris, fault } = readRedirectUris(fields.redirect_uris)
  if (fault !== null) throw wrongDocument(`has invalid redirect_uris: ${fault}`)
  const name = readClientName(fields.client_name) ?? new URL(clientId).hostname
  return { id: clientId, name, redirectUris, accountId: null }
}

/** A fault names the position, not the URI. */
export function readRedirectUris(
  given: unknown,
): { redirectUris: string[]; fault: null } | { redirectUris: null; fault: string } {
  const wrong = (fault: string) => ({ redirectUris: null, fault })
  if (!Array.isArray(given) || given.length === 0) return wrong('there must be at least one')
  if (given.length > REDIRECT_URIS_MAX) return wrong(`there must be at most ${REDIRECT_URIS_MAX}`)
  for (const [index, uri] of given.entries()) {
    const fault = typeof uri === 'string' ? redirectUriFault(uri) : 'is not a string'
    if (fault !== null) return wrong(`number ${index + 1} ${fault}`)
  }
  return { redirectUris: given, fault: null }
}

/** Line ends and characters that reverse the writing direction become spaces. */
export function readClientName(given: unknown): string | null {
  if (typeof given !== 'string') return null
  const plain = given.replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim()
  return plain === '' ? null : [...plain].slice(0, CLIENT_NAME_LENGTH_MAX).join('')
}

/** RFC 9111 §5.2.2, for a cache that does not revalidate. */
function freshMsOf(cacheControl: string): number {
  const field = cacheControl.toLowerCase()
  if (/(?:^|[\s,])no-(?:store|cache)(?:$|[\s,=])/.test(field)) return 0
  const seconds = /(?:^|[\s,])max-age="?(\d{1,10})/.exec(field)?.[1]
  if (seconds === undefined) return DOCUMENT_FRESH_MS
  return Math.min(Number(seconds) * SECOND_MS, DOCUMENT_FRESH_MS_MAX)
}
