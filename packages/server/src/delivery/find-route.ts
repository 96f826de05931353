import { request } from 'node:https'
import { isIP, isIPv4, isIPv6 } from 'node:net'
import { isDomainName } from '@mailroom/mail/address.ts'
import {
  isHostInPolicy,
  parseStsPolicy,
  readStsId,
  type StsPolicy,
} from '@mailroom/mail/mta-sts.ts'
import { isUsableTlsa } from '@mailroom/smtp/client/handshake.ts'
import type { ClientTls } from '@mailroom/smtp/client/outgoing-mail.ts'
import { raceAbort } from '#platform/abort.ts'
import { Cache } from '#platform/cache.ts'
import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { MxRecord, Resolver } from '#platform/dns/resolver.ts'
import {
  type AddressGuard,
  listOwnAddresses,
  makeAddressGuard,
} from '#platform/egress/address-guard.ts'
import { makeGuardedLookup } from '#platform/egress/guarded-connect.ts'
import { MINUTE_MS, SECOND_MS } from '#platform/units.ts'

/** RFC 5321 §5.1 recommends trying at least two addresses. */
export const ROUTE_ADDRESSES_MAX = 5
/** This limit applies if there are several hosts, so that the others are tried, too. */
const ROUTE_HOST_ADDRESSES_MAX = 3
/** Lookups stop earlier, once ROUTE_ADDRESSES_MAX addresses are found. */
const ROUTE_HOSTS_LOOKED_UP_MAX = 10
const ROUTE_LOOKUP_MS_MAX = 30 * SECOND_MS
/** Bounds on the TTL of a route or a definite refusal. */
export const ROUTE_VALID_MS_MIN = 10 * SECOND_MS
const ROUTE_VALID_MS_MAX = 5 * MINUTE_MS
/** This is long enough that a burst of mail to one destination queries DNS once. */
export const ROUTE_FAULT_MS = 5 * SECOND_MS
const ROUTES_KEPT_MAX = 10_000

/** The TLS that a host must offer before it receives mail (RFC 8461 §4.2, RFC 7672 §2.2). */
type RouteTls = Exclude<ClientTls, { readonly kind: 'none' }>

export type RouteHost = {
  /** Lower case, without a trailing dot; an address literal is used unchanged. */
  readonly host: string
  readonly addresses: readonly string[]
  readonly tls: RouteTls
}

export type Route =
  /** Hosts are in the order to try them; there is at least one. */
  | { readonly kind: 'hosts'; readonly hosts: readonly RouteHost[] }
  | {
      readonly kind: 'refused'
      readonly code: 550 | 556
      readonly enhanced: string
      readonly text: string
    }
  | { readonly kind: 'deferred'; readonly text: string }

export type RouterOptions = {
  /** The caller must close the resolver. */
  readonly resolver: Resolver
  /** Allows routes to loopback, private and own addresses. */
  readonly allowPrivate: boolean
  /** Addresses of this service. The default is those of the machine's interfaces. */
  readonly ownAddresses?: () => readonly string[]
  readonly chance: Chance
  readonly clock: Clock
  /** The port is part of the names of TLSA records. The default is 25. */
  readonly port?: number
  /** The default is HTTPS from the host `mta-sts.` before the destination. */
  readonly fetchPolicy?: FetchPolicy
  /** The default is STS_RECORD_WAIT_MS_MAX. */
  readonly recordWaitMs?: number
}

export type Router = {
  /**
   * Takes a domain in lower-case A-labels or an address literal in brackets. Concurrent lookups of
   * a destination are shared. Results are cached for their TTL within 10 s and 5 min, a deferral
   * for 5 s. Never rejects; takes at most about a minute. Refusals: 550 5.1.2 (no domain), 556
   * 5.1.10 (null MX), 550 5.4.4 (no address), 550 5.4.6 (only forbidden addresses).
   */
  findRoute(destination: string): Promise<Route>
  /** Ends fetches of policies. The resolver must be closed separately. */
  close(): void
}

const SMTP_PORT = 25

export function openRouter(options: RouterOptions): Router {
  const closing = new AbortController()
  const { resolver, allowPrivate, clock, port = SMTP_PORT } = options
  const fetchPolicy =
    options.fetchPolicy ?? makeFetchPolicy({ resolver, allowPrivate, signal: closing.signal })
  const policies = makeStsPolicies({
    resolver,
    fetchPolicy,
    clock,
    recordWaitMs: options.recordWaitMs,
  })
  const routes = new Cache<Route>({ entriesMax: ROUTES_KEPT_MAX, now: () => clock.monotonic() })
  const underWay = new Map<string, Promise<Route>>()

  async function findRoute(destination: string): Promise<Route> {
    const key = destination.toLowerCase().replace(/\.$/, '')
    const known = routes.get(key) ?? underWay.get(key)
    if (known !== undefined) return known
    const started = findAndKeep(key).finally(() => underWay.delete(key))
    underWay.set(key, started)
    return started
  }

  async function findAndKeep(destination: string): Promise<Route> {
    const isAllowed = makeAddressGuard({
      allowPrivate,
      own: allowPrivate ? [] : (options.ownAddresses ?? listOwnAddresses)(),
    })
    const { route, keptMs } = destination.startsWith('[')
      ? routeToLiteral(destination, isAllowed)
      : await routeToDomain(destination, { ...options, policies, isAllowed, port })
    routes.set(destination, route, { ttlMs: keptMs })
    return route
  }

  return { findRoute, close: () => closing.abort() }
}

function routeToLiteral(literal: string, isAllowed: AddressGuard): FoundRoute {
  const text = literal.endsWith(']') ? literal.slice(1, -1) : ''
  const v6 = text.startsWith('ipv6:') ? text.slice('ipv6:'.length) : ''
  const address = isIPv6(v6) && !v6.includes('%') ? v6 : isIPv4(text) ? text : null
  if (address === null) {
    return refuse(550, '5.1.2', 'the domain of the recipient is not an address literal')
  }
  if (!isAllowed(address)) {
    return refuse(550, '5.4.6', 'mail may not be sent to the address of the recipient')
  }
  const hosts: RouteHost[] = [
    { host: literal, addresses: [address], tls: { kind: 'opportunistic' } },
  ]
  return { route: { kind: 'hosts', hosts }, keptMs: ROUTE_VALID_MS_MAX }
}

type FoundRoute = { readonly route: Route; readonly keptMs: number }

/** `ttlMs` is the TTL of the deciding answers; the default is the shortest time. */
function refuse(
  code: 550 | 556,
  enhanced: string,
  text: string,
  ttlMs: number = ROUTE_VALID_MS_MIN,
): FoundRoute {
  return { route: { kind: 'refused', code, enhanced, text }, keptMs: clampMs(ttlMs) }
}

function defer(text: string): FoundRoute {
  return { route: { kind: 'deferred', text }, keptMs: ROUTE_FAULT_MS }
}

function clampMs(ttlMs: number): number {
  return Math.min(Math.max(ttlMs, ROUTE_VALID_MS_MIN), ROUTE_VALID_MS_MAX)
}

type DomainRouteOptions = Required<
  Pick<RouterOptions, 'resolver' | 'chance' | 'clock' | 'port'>
> & {
  readonly policies: StsPolicies
  readonly isAllowed: AddressGuard
}

/**
 * Finds MX records, addresses, and the TLS that MTA-STS and DANE require of each host.
 * `destination` is lower case without a final dot, and may be no valid domain name. Never rejects.
 */
async function routeToDomain(
  destination: string,
  options: DomainRouteOptions,
): Promise<FoundRoute> {
  if (!isHostName(destination)) {
    return refuse(550, '5.1.2', 'the domain of the recipient is not a domain name')
  }
  const findingPolicy = options.policies.find(destination)
  const list = await listHosts(destination, options)
  if ('route' in list) return list
  const policy = await findingPolicy
  const enforced = policy?.mode === 'enforce' ? policy : null
  const hosts = list.hosts.filter((host) => enforced === null || isHostInPolicy(enforced, host))
  if (hosts.length === 0) {
    return defer(`the MTA-STS policy of ${destination} allows none of its mail hosts`)
  }
  return routeToHosts(destination, { ...list, hosts }, { ...options, enforced })
}

async function routeToHosts(
  destination: string,
  list: HostList,
  options: DomainRouteOptions & { enforced: StsPolicy | null },
): Promise<FoundRoute> {
  const { clock, enforced } = options
  const findings = new Set<HostFinding['kind'] | 'not-asked'>()
  const usable: RouteHost[] = []
  const untilMs = clock.monotonic() + ROUTE_LOOKUP_MS_MAX
  let room = ROUTE_ADDRESSES_MAX
  let ttlMs = list.ttlMs
  let fault = 'too many of its mail hosts have no address'
  for (const [index, host] of list.hosts.entries()) {
    if (room === 0) break
    if (index >= ROUTE_HOSTS_LOOKED_UP_MAX || clock.monotonic() >= untilMs) {
      findings.add('not-asked')
      break
    }
    const finding = await findHost(host, { ...options, isAuthenticated: list.isAuthenticated })
    findings.add(finding.kind)
    if (finding.kind === 'fault') fault = finding.text
    if (finding.kind !== 'usable') continue
    const share = list.hosts.length === 1 ? room : Math.min(room, ROUTE_HOST_ADDRESSES_MAX)
    const addresses = shareFamilies(finding.addresses, share)
    usable.push({ host, addresses, tls: chooseTls(host, finding.dane, enforced) })
    room -= addresses.length
    ttlMs = Math.min(ttlMs, finding.ttlMs)
  }
  if (usable.length > 0) {
    return { route: { kind: 'hosts', hosts: usable }, keptMs: clampMs(ttlMs) }
  }
  if (findings.has('fault') || findings.has('not-asked')) {
    return defer(`the mail hosts of ${destination} cannot be looked up now: ${fault}`)
  }
  if (findings.has('forbidden')) {
    const text = `${destination} resolves only to addresses that mail may not be sent to`
    return refuse(550, '5.4.6', text)
  }
  return refuse(550, '5.4.4', `no mail host of ${destination} has an address`)
}

/** DANE takes precedence over MTA-STS (RFC 8461 §2), unless it requires less. */
function chooseTls(host: string, dane: RouteTls | null, enforced: StsPolicy | null): RouteTls {
  if (dane?.kind === 'dane') return dane
  if (enforced !== null) return { kind: 'verified', servername: host }
  return dane ?? { kind: 'opportunistic' }
}

/** Keeps at least one IPv6 address, if there is any. */
function shareFamilies(addresses: readonly string[], count: number): string[] {
  const v6 = addresses.filter((address) => isIPv6(address))
  const v4 = addresses.filter((address) => !isIPv6(address))
  if (count <= 1 || v6.length === 0) return [...v4, ...v6].slice(0, count)
  return [...v4.slice(0, count - 1), ...v6].slice(0, count)
}

type HostList = {
  readonly hosts: readonly string[]
  /** DANE applies only to hosts that an authenticated answer names (RFC 7672 §2.2.1). */
  readonly isAuthenticated: boolean
  readonly ttlMs: number
}

/** Lists hosts in the order to try them (RFC 5321 §5.1, RFC 7505). */
async function listHosts(
  destination: string,
  { resolver, chance }: Pick<DomainRouteOptions, 'resolver' | 'chance'>,
): Promise<HostList | FoundRoute> {
  const answer = await resolver.mx(destination)
  if (answer.kind === 'fault') return defer(answer.text)
  const { ttlMs } = answer
  if (answer.kind === 'none') {
    if (answer.isNameMissing) {
      return refuse(550, '5.1.2', `the domain ${destination} does not exist`, ttlMs)
    }
    // Here the address answer decides whether the host is authenticated.
    return { hosts: [destination], isAuthenticated: true, ttlMs }
  }
  const { records, isAuthenticated } = answer
  if (records.every(({ exchange }) => exchange === '.')) {
    return refuse(556, '5.1.10', `the domain ${destination} accepts no mail`, ttlMs)
  }
  const names = new Set(sortByPreference(records, chance).map(({ exchange }) => exchange))
  const hosts = [...names].filter(isHostName)
  if (hosts.length > 0) return { hosts, isAuthenticated, ttlMs }
  return refuse(550, '5.4.4', `the mail hosts of ${destination} have no valid names`, ttlMs)
}

function isHostName(text: string): boolean {
  return text.length <= 253 && /^[\x21-\x7e]+$/.test(text) && isIP(text) === 0 && isDomainName(text)
}

/** Shuffles equal preferences to spread the load (RFC 5321 §5.1). */
function sortByPreference(records: readonly MxRecord[], chance: Chance): MxRecord[] {
  const bytes = Buffer.from(chance.bytes(records.length * 4))
  return records
    .map((record, index) => ({ record, rank: bytes.readUInt32BE(index * 4) }))
    .sort((a, b) => a.record.preference - b.record.preference || a.rank - b.rank)
    .map(({ record }) => record)
}

type HostFinding =
  | {
      readonly kind: 'usable'
      /** IPv4 comes first: more machines have an IPv4 route and a PTR record for it. */
      readonly addresses: readonly string[]
      readonly dane: RouteTls | null
      readonly ttlMs: number
    }
  | { readonly kind: 'none' }
  /** The host has addresses, but mail to them is forbidden. */
  | { readonly kind: 'forbidden' }
  | { readonly kind: 'fault'; readonly text: string }

/** Queries IPv4 and IPv6 in parallel; a fault of one matters only if the other has no addresses. */
async function findHost(
  host: string,
  options: Pick<DomainRouteOptions, 'resolver' | 'isAllowed' | 'port'> & {
    /** Whether the answer that named the host was authenticated, as DANE requires. */
    readonly isAuthenticated: boolean
  },
): Promise<HostFinding> {
  const { resolver } = options
  const answers = await Promise.all([resolver.a(host), resolver.aaaa(host)])
  const found = answers.filter((answer) => answer.kind === 'found')
  const [first] = found
  if (first === undefined) {
    return answers.find((answer) => answer.kind === 'fault') ?? { kind: 'none' }
  }
  const addresses = [...new Set(found.flatMap(({ records }) => records))].filter(options.isAllowed)
  if (addresses.length === 0) {
    return answers.find((answer) => answer.kind === 'fault') ?? { kind: 'forbidden' }
  }
  const ttlMs = Math.min(...found.map((answer) => answer.ttlMs))
  const isAuthenticated = options.isAuthenticated && found.every((one) => one.isAuthenticated)
  const dane = isAuthenticated ? await findDane([first.canonicalName, host], options) : null
  if (dane === null) return { kind: 'usable', addresses, dane, ttlMs }
  if (dane.kind === 'fault') return dane
  return { kind: 'usable', addresses, dane: dane.tls, ttlMs: Math.min(ttlMs, dane.ttlMs) }
}

type DaneFinding =
  | { readonly kind: 'tls'; readonly tls: RouteTls; readonly ttlMs: number }
  | { readonly kind: 'fault'; readonly text: string }

/**
 * Finds the TLS that DANE requires of a host (RFC 7672), using the TLSA records of the first of
 * `names` that has any: the end of the host's aliases, then the host (§2.2.2). After a fault the
 * host must not be used, because an attacker could have caused it (§2.1.2).
 */
async function findDane(
  names: readonly string[],
  { resolver, port }: Pick<DomainRouteOptions, 'resolver' | 'port'>,
): Promise<DaneFinding | null> {
  for (const name of new Set(names)) {
    const answer = await resolver.tlsa(`_${port}._tcp.${name}`)
    if (answer.kind === 'fault') return answer
    if (answer.kind === 'none' || !answer.isAuthenticated) continue
    const records = answer.records.filter(isUsableTlsa)
    const tls: RouteTls =
      records.length > 0 ? { kind: 'dane', servername: name, records } : { kind: 'required' }
    return { kind: 'tls', tls, ttlMs: answer.ttlMs }
  }
  return null
}

/** RFC 8461 §3.3 suggests 64 KiB and one minute; mail waits, so the time is shorter. */
const STS_POLICY_BYTES_MAX = 64 * 1024
const STS_FETCH_MS_MAX = 10 * SECOND_MS
/** Mail waits no longer than this for the TXT lookup, which runs in parallel with the MX lookup. */
const STS_RECORD_WAIT_MS_MAX = 3 * SECOND_MS
/** A failed fetch is not repeated within this time (RFC 8461 §3.3). */
const STS_FAILURE_MS = 5 * MINUTE_MS
const STS_POLICIES_KEPT_MAX = 2_000

/** A failed fetch never replaces a policy that is valid for its `max_age` (RFC 8461 §5.1). */
type StsPolicies = {
  /** Null without a policy. Takes at most STS_RECORD_WAIT_MS_MAX and a fetch; never rejects. */
  find(destination: string): Promise<StsPolicy | null>
}

function makeStsPolicies(options: {
  resolver: Resolver
  fetchPolicy: FetchPolicy
  clock: Clock
  recordWaitMs?: number | undefined
}): StsPolicies {
  const { resolver, fetchPolicy, clock } = options
  const bounds = { entriesMax: STS_POLICIES_KEPT_MAX, now: () => clock.monotonic() }
  const policies = new Cache<{ id: string; policy: StsPolicy }>(bounds)
  const failures = new Cache<string>(bounds)

  async function find(destination: string): Promise<StsPolicy | null> {
    const id = await findId(destination)
    const kept = policies.get(destination)
    if (id === null || kept?.id === id || failures.get(destination) === id) {
      return kept?.policy ?? null
    }
    const policy = await fetchAndParse(destination)
    if (policy === null) {
      failures.set(destination, id, { ttlMs: STS_FAILURE_MS })
      return kept?.policy ?? null
    }
    policies.set(destination, { id, policy }, { ttlMs: policy.maxAgeSeconds * 1000 })
    return policy
  }

  async function findId(destination: string): Promise<string | null> {
    const asking = resolver.txt(`_mta-sts.${destination}`)
    const timeoutMs = options.recordWaitMs ?? STS_RECORD_WAIT_MS_MAX
    const answer = await raceAbort(asking, { timeoutMs })
    return answer?.kind === 'found' ? readStsId(answer.records) : null
  }

  async function fetchAndParse(destination: string): Promise<StsPolicy | null> {
    try {
      const fetched = await fetchPolicy(destination)
      return fetched.kind === 'text' ? parseStsPolicy(fetched.text) : null
    } catch {
      return null
    }
  }

  return { find }
}

type FetchedPolicy =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'fault'; readonly text: string }

/** `destination` is a domain name. A rejection is treated as a fault. */
export type FetchPolicy = (destination: string) => Promise<FetchedPolicy>

export type FetchPolicyOptions = {
  readonly resolver: Resolver
  readonly allowPrivate: boolean
  readonly signal: AbortSignal
  /** The default is 443. */
  readonly port?: number
  /** PEM certificates to trust instead of the platform's. */
  readonly ca?: string
  readonly timeoutMs?: number
}

const PATH = '/.well-known/mta-sts.txt'

/**
 * Fetches a policy (RFC 8461 §3.3) by HTTPS with a verified certificate, without redirects, and
 * only from allowed addresses. Never rejects.
 */
export function makeFetchPolicy(options: FetchPolicyOptions): FetchPolicy {
  const { resolver, allowPrivate } = options
  const isAllowed = makeAddressGuard({ allowPrivate, own: [] })
  const lookup = makeGuardedLookup({ resolver, isAllowed })
  return (destination) =>
    new Promise((resolve) => {
      const host = `mta-sts.${destination}`
      const timeout = AbortSignal.timeout(options.timeoutMs ?? STS_FETCH_MS_MAX)
      const outgoing = request({
        host,
        servername: host,
        port: options.port ?? 443,
        path: PATH,
        headers: { accept: 'text/plain' },
        agent: false,
        lookup,
        signal: AbortSignal.any([options.signal, timeout]),
        ...(options.ca === undefined ? {} : { ca: options.ca }),
      })
      const finish = (fetched: FetchedPolicy) => {
        resolve(fetched)
        outgoing.destroy()
      }
      const fail = (text: string) => finish({ kind: 'fault', text: `MTA-STS policy: ${text}` })
      outgoing.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message))
      outgoing.on('response', (response) => {
        // The socket's address must be one that the lookup allowed.
        const address = response.socket.remoteAddress ?? ''
        if (!isAllowed(address)) return fail('a forbidden address')
        if (response.statusCode !== 200) return fail(`status ${response.statusCode}`)
        const type = response.headers['content-type'] ?? ''
        if (!/^text\/plain\s*(;|$)/i.test(type)) return fail('not text/plain')
        const chunks: Buffer[] = []
        let bytes = 0
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes > STS_POLICY_BYTES_MAX) fail('too large')
          else chunks.push(chunk)
        })
        response.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message))
        response.on('end', () => {
          finish({ kind: 'text', text: Buffer.concat(chunks).toString('utf8') })
        })
      })
      outgoing.end()
    })
}
