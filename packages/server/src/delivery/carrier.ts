import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import type {
  ClientReply,
  ClientTls,
  Credentials,
  RecipientOutcome,
  Stage,
} from '@mailroom/smtp/client/outgoing-mail.ts'
import { isLoopback } from '@mailroom/smtp/client-address.ts'
import type { Settings } from '#config/settings.ts'
import { raceAbort } from '#platform/abort.ts'
import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import type { Tracing } from '#platform/telemetry/tracing.ts'
import type { Router } from './find-route.ts'
import {
  openRouter,
  ROUTE_ADDRESSES_MAX,
  ROUTE_FAULT_MS,
  ROUTE_VALID_MS_MIN,
} from './find-route.ts'
import {
  type Crowded,
  type Endpoint,
  HostCaller,
  type HostCallerOptions,
  type WatchedMail,
} from './host-caller.ts'

/** One message for recipients that share a next hop. */
export type Consignment = WatchedMail & {
  /** The recipients' domain in lower-case A-labels, or an address literal. */
  readonly destination: string
}

export type CarryOutcome =
  | RecipientOutcome
  | Crowded
  /** The destination has no route, which is permanent. */
  | { readonly kind: 'unroutable'; readonly reply: ClientReply }
  /** No route was found, which is temporary. */
  | { readonly kind: 'no-route'; readonly text: string }

export type Carried = {
  /** Null if no host was tried. */
  readonly host: string | null
  /** The TLS version at the end, or null without TLS. */
  readonly tls: string | null
  /** Outcomes are in the order of the recipients. */
  readonly outcomes: readonly CarryOutcome[]
}

export type Carrier = {
  /** Never rejects because of network or server. `signal` ends the attempt immediately. */
  carry(consignment: Consignment, signal: AbortSignal): Promise<Carried>
  /** Closes idle connections. Idempotent. */
  close(): Promise<void>
}

type DirectOptions = HostCallerOptions & {
  readonly router: Router
  readonly port: number
}

/** The carrier does not close the router. */
export function openDirectCarrier(options: DirectOptions): Carrier {
  const { router, port, ...callerOptions } = options
  const caller = new HostCaller(callerOptions)
  return {
    async carry({ destination, ...mail }, signal) {
      const { recipients } = mail
      const route = await raceAbort(router.findRoute(destination), { signal })
      if (route === null) return carriedNowhere(recipients, GIVEN_UP)
      switch (route.kind) {
        case 'refused': {
          const { code, enhanced, text } = route
          return carriedNowhere(recipients, { kind: 'unroutable', reply: { code, enhanced, text } })
        }
        case 'deferred':
          return carriedNowhere(recipients, { kind: 'no-route', text: route.text })
        case 'hosts': {
          const endpoints = route.hosts.flatMap(({ host, addresses, tls }) =>
            addresses.map((address): Endpoint => ({ host, address, port, tls })),
          )
          return caller.carry(endpoints.slice(0, ROUTE_ADDRESSES_MAX), mail, signal)
        }
      }
    },
    close: () => caller.close(),
  }
}

type RelayOptions = HostCallerOptions & {
  readonly url: string
  /** Queried before the system's resolver, or null if no DNS servers are configured. */
  readonly resolver: Resolver | null
}

/**
 * Sends all mail through one relay (RFC 6409). Credentials are sent only under a verified
 * certificate or on this machine. If a relay rejects us, mail is deferred and does not fail. Throws
 * if the URL is invalid.
 */
export function openRelayCarrier(options: RelayOptions): Carrier {
  const { url, resolver, ...callerOptions } = options
  const relay = readRelayUrl(url)
  const { host } = relay
  const findAddresses = makeRelayAddresses({ host, resolver, clock: callerOptions.clock })
  const caller = new HostCaller(callerOptions)
  return {
    async carry({ destination: _, ...mail }, signal) {
      const { recipients } = mail
      const found = await raceAbort(findAddresses(), { signal })
      if (found === null) return carriedNowhere(recipients, GIVEN_UP, host)
      if (found.kind === 'fault') {
        return carriedNowhere(recipients, { kind: 'no-route', text: found.text }, host)
      }
      const endpoints = found.addresses.map((address) => endpointOf(relay, address))
      const called = await caller.carry(endpoints, mail, signal)
      return { ...called, outcomes: called.outcomes.map(notForGood) }
    },
    close: () => caller.close(),
  }
}

/** A refusal before MAIL cannot be about the message. */
const STAGES_BEFORE_MAIL: ReadonlySet<Stage> = new Set(['greeting', 'ehlo', 'starttls', 'auth'])
/** RFC 4954 §6: authentication is required, too weak, failed, or requires TLS. */
const CODES_OF_AUTH: ReadonlySet<number> = new Set([530, 534, 535, 538])

function notForGood(outcome: CarryOutcome): CarryOutcome {
  if (outcome.kind !== 'refused') return outcome
  const { stage, reply } = outcome
  const isAboutUs = STAGES_BEFORE_MAIL.has(stage) || CODES_OF_AUTH.has(reply.code)
  return isAboutUs ? { kind: 'unsent', stage, failure: { kind: 'reply', reply } } : outcome
}

function endpointOf(relay: Relay, address: string): Endpoint {
  const { host, port, isTlsImplicit: implicitTls, credentials } = relay
  return { host, address, port, implicitTls, credentials, tls: tlsOf(relay, address) }
}

/** On this machine, eavesdropping is impossible and certificates are self-signed. */
function tlsOf({ host, isTlsImplicit, credentials }: Relay, address: string): ClientTls {
  if (isLoopback(address)) return { kind: isTlsImplicit ? 'required' : 'opportunistic' }
  const isDemanded = isTlsImplicit || credentials !== null
  return isDemanded ? { kind: 'verified', servername: host } : { kind: 'opportunistic' }
}

type Addresses =
  | { readonly kind: 'found'; readonly addresses: readonly string[] }
  | { readonly kind: 'fault'; readonly text: string }

/**
 * Queries `resolver`, if any, then the system's resolver. Callers share an answer, and earlier
 * addresses remain in use while lookups fail. The returned function never rejects.
 */
function makeRelayAddresses(options: {
  host: string
  resolver: Resolver | null
  clock: Clock
}): () => Promise<Addresses> {
  const { host, resolver, clock } = options
  let kept: Addresses | null = null
  let untilMs = 0
  let underWay: Promise<Addresses> | null = null

  async function findAndKeep(): Promise<Addresses> {
    const found = await findAddresses(host, resolver)
    const isLess = found.kind === 'fault' && kept?.kind === 'found'
    const addresses = isLess && kept !== null ? kept : found
    kept = addresses
    untilMs = clock.monotonic() + (found.kind === 'found' ? ROUTE_VALID_MS_MIN : ROUTE_FAULT_MS)
    underWay = null
    return addresses
  }

  return async () => {
    if (kept !== null && clock.monotonic() < untilMs) return kept
    underWay ??= findAndKeep()
    return underWay
  }
}

async function findAddresses(host: string, resolver: Resolver | null): Promise<Addresses> {
  if (isIP(host) !== 0) return { kind: 'found', addresses: [host] }
  if (resolver !== null) {
    const answers = await Promise.all([resolver.a(host), resolver.aaaa(host)])
    const found = answers.flatMap((answer) => (answer.kind === 'found' ? answer.records : []))
    if (found.length > 0) return first(found)
  }
  try {
    return first((await lookup(host, { all: true })).map(({ address }) => address))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { kind: 'fault', text: `The relay ${host} was not found: ${reason}` }
  }
}

function first(addresses: readonly string[]): Addresses {
  return { kind: 'found', addresses: [...new Set(addresses)].slice(0, ROUTE_ADDRESSES_MAX) }
}

export type Relay = {
  /** A name in lower-case A-labels, or an IP address without brackets. */
  readonly host: string
  /** The port defaults to 465 for `smtps` and 587 for `smtp` (RFC 6409, RFC 8314). */
  readonly port: number
  readonly isTlsImplicit: boolean
  readonly credentials: Credentials | null
}

/** Throws for an invalid URL. The error omits the URL, which contains a password. */
export function readRelayUrl(text: string): Relay {
  const url = URL.parse(text)
  const isTlsImplicit = url?.protocol === 'smtps:'
  const host = hostOf(url?.hostname ?? '')
  if (url === null || host === '' || (!isTlsImplicit && url.protocol !== 'smtp:')) {
    throw new Error('The relay URL must have the form smtp[s]://user:password@host:port.')
  }
  const user = decode(url.username)
  return {
    host,
    port: url.port === '' ? (isTlsImplicit ? 465 : 587) : Number(url.port),
    isTlsImplicit,
    credentials: user === '' ? null : { user, password: decode(url.password) },
  }
}

function hostOf(hostname: string): string {
  if (hostname.startsWith('[')) return hostname.slice(1, -1)
  return domainToASCII(decode(hostname)).replace(/\.$/, '')
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function carriedNowhere(
  recipients: readonly string[],
  outcome: CarryOutcome,
  host: string | null = null,
): Carried {
  return { host, tls: null, outcomes: recipients.map(() => outcome) }
}

const GIVEN_UP: CarryOutcome = {
  kind: 'no-route',
  text: 'Attempt cancelled by this service',
}

export type Delivery = {
  carrier: Carrier | null
  laneOf: (domain: string) => string
  /** Whether an MX record of the domain names this service; false if DNS does not answer. */
  isMailHostOf: (domain: string) => Promise<boolean>
  close(): Promise<void>
}

type DeliverySettings = Pick<
  Settings,
  | 'delivery'
  | 'relayUrl'
  | 'dnsServers'
  | 'mxPort'
  | 'allowPrivateEgress'
  | 'inboxDomain'
  | 'smtpHostname'
>

type DeliverySeams = { clock: Clock; chance: Chance; resolver: Resolver; tracing: Tracing }

/** The carrier is null in the sandbox. No connection is opened yet. */
export function openDelivery(settings: DeliverySettings, seams: DeliverySeams): Delivery {
  const { carrier, close } = openCarrier(settings, seams)
  return {
    carrier: traceCarrier(carrier, seams.tracing),
    laneOf: (domain) =>
      domain === settings.inboxDomain || settings.delivery === 'direct'
        ? domain
        : settings.delivery,
    async isMailHostOf(domain) {
      if (carrier === null) return true
      const answer = await seams.resolver.mx(domain)
      const names = answer.kind === 'found' ? answer.records : []
      return names.some(
        ({ exchange }) => exchange.toLowerCase().replace(/\.$/, '') === settings.smtpHostname,
      )
    },
    async close() {
      await carrier?.close()
      close()
    },
  }
}

function traceCarrier(carrier: Carrier | null, tracing: Tracing): Carrier | null {
  if (carrier === null || !tracing.isOn) return carrier
  return {
    carry: (consignment, signal) =>
      tracing.step('carry', { kind: 'client' }, async (span) => {
        const carried = await carrier.carry(consignment, signal)
        const [first] = carried.outcomes
        if (first !== undefined) span.set({ 'mailroom.outcome': first.kind })
        if (carried.tls !== null) span.set({ 'tls.protocol.version': carried.tls })
        return carried
      }),
    close: () => carrier.close(),
  }
}

function openCarrier(
  settings: DeliverySettings,
  { clock, chance, resolver }: DeliverySeams,
): { carrier: Carrier | null; close(): void } {
  const { delivery, relayUrl: url, smtpHostname: hostname, mxPort: port } = settings
  if (delivery === 'direct') {
    const allowPrivate = settings.allowPrivateEgress
    const router = openRouter({ resolver, allowPrivate, chance, clock, port })
    return {
      carrier: openDirectCarrier({ router, port, hostname, clock }),
      close: () => router.close(),
    }
  }
  if (delivery === 'relay' && url !== null) {
    // Only the system's resolver reads the machine's hosts file, which may name the relay.
    const own = settings.dnsServers.length === 0 ? null : resolver
    return { carrier: openRelayCarrier({ url, resolver: own, hostname, clock }), close: () => {} }
  }
  return { carrier: null, close: () => {} }
}
