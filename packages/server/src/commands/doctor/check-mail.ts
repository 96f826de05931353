// Checks the SMTP listener, its certificate, the MX hosts, and connections to other mail servers.

import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { connect, isIPv6, type Socket } from 'node:net'
import { join } from 'node:path'
import { parseExtensions } from '@mailroom/mail/smtp/reply.ts'
import { Channel } from '@mailroom/smtp/client/channel.ts'
import { secure } from '@mailroom/smtp/client/handshake.ts'
import type { Failure } from '@mailroom/smtp/client/outgoing-mail.ts'
import type { Settings } from '#config/settings.ts'
import { readRelayUrl } from '#delivery/delivery.ts'
import { isSpecialAddress } from '#platform/egress/address-guard.ts'
import {
  type Aim,
  advice,
  bad,
  type CheckContext,
  type Finding,
  good,
  notNeeded,
  unknown,
} from './finding.ts'

const HOSTS_MAX = 3
const ADDRESSES_MAX = 4

export async function checkListener(settings: Settings, signal: AbortSignal): Promise<Finding> {
  const { smtpHost, smtpPort: port, smtpHostname: hostname } = settings
  const aim: Aim = {
    check: 'mail door',
    expected: `${smtpHost}:${port} answers as ${hostname} and offers STARTTLS`,
  }
  if (!settings.roles.has('smtp')) return notNeeded(aim, 'MAILROOM_ROLES does not include smtp')
  if (port === 0) return unknown(aim, 'MAILROOM_SMTP_PORT is 0, so the port is not known')
  const seen = await probeSmtp({ host: reachable(smtpHost), port, hostname, signal })
  if (seen.kind !== 'up') {
    const fix = `Start the service, and make sure nothing else uses port ${port}.`
    return bad(aim, seen.text, fix)
  }
  return judgeServer(aim, seen, { hostname, settings })
}

/** Some systems cannot connect to a wildcard address. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '::1' : host
}

function judgeServer(
  aim: Aim,
  seen: SmtpServerSeen & { kind: 'up' },
  { hostname, settings }: { hostname: string; settings: Settings },
): Finding {
  if (seen.name !== hostname) {
    const fix =
      'Restart the service if MAILROOM_SMTP_HOSTNAME has changed, or stop the other program on this port.'
    return bad(aim, `it answers as ${seen.name}`, fix)
  }
  if (seen.startTls !== 'works') {
    const found = `it answers as ${seen.name}; STARTTLS is ${seen.startTls}`
    return bad(
      aim,
      found,
      'Correct the certificate and its key; the service loads them within a minute.',
    )
  }
  const own = readCertificate(settings)
  if (own !== null && seen.certificate?.fingerprint256 !== own.fingerprint256) {
    const found = `it answers as ${seen.name} and shows a different certificate than the settings name`
    return advice(
      aim,
      found,
      'The service loads changed files within a minute; if it does not, its log says why.',
    )
  }
  return good(aim, `it answers as ${seen.name} and STARTTLS works`)
}

/** Checks the hosts to which other servers send mail for the inbox domain. */
export async function checkMailHosts(
  context: CheckContext,
  signal: AbortSignal,
): Promise<Finding[]> {
  const { settings, resolver } = context
  const { inboxDomain, mxPort: port } = settings
  const aim: Aim = {
    check: 'mail host',
    expected: `the hosts that MX of ${inboxDomain} names answer on port ${port}`,
  }
  const answer = await resolver.mx(inboxDomain)
  if (answer.kind === 'fault') return [unknown(aim, `DNS: ${answer.text}`)]
  if (answer.kind === 'none') {
    return [
      bad(aim, 'there is no MX record', '"mailroom admin dns" prints the records to publish.'),
    ]
  }
  const hosts = [...answer.records]
    .sort((a, b) => a.preference - b.preference)
    .slice(0, HOSTS_MAX)
    .map(({ exchange }) => exchange.toLowerCase().replace(/\.$/, ''))
  return (await Promise.all(hosts.map((host) => checkMailHost(context, host, signal)))).flat()
}

async function checkMailHost(
  context: CheckContext,
  host: string,
  signal: AbortSignal,
): Promise<Finding[]> {
  const { mxPort: port, smtpHostname: hostname, allowPrivateEgress } = context.settings
  const aim: Aim = {
    check: 'mail host',
    expected: `${host} answers on port ${port} as ${hostname}`,
  }
  const { addresses, fault } = await context.addressesOf(host)
  if (addresses.length === 0) {
    if (fault !== null) return [unknown(aim, `DNS: ${fault}`)]
    return [bad(aim, `${host} has no address`, `Publish A or AAAA records for ${host}.`)]
  }
  const checks = addresses.slice(0, ADDRESSES_MAX).map(async (address): Promise<Finding> => {
    if (isSpecialAddress(address) && !allowPrivateEgress) {
      const fix = `Publish the public address of ${host}.`
      return bad(aim, `${address} cannot be reached from the Internet`, fix)
    }
    const seen = await probeSmtp({ host: address, port, hostname, signal })
    return judgeHost(aim, {
      address,
      seen,
      isOwn: context.isOwnAddress(address),
      ...{ host, hostname },
    })
  })
  return Promise.all(checks)
}

type HostSeen = {
  address: string
  host: string
  hostname: string
  seen: SmtpServerSeen
  /** Whether the address belongs to this machine, without NAT or a proxy. */
  isOwn: boolean
}

function judgeHost(aim: Aim, { address, host, hostname, seen, isOwn }: HostSeen): Finding {
  const at = isIPv6(address) ? `[${address}]` : address
  if (seen.kind === 'up' && seen.name === hostname) {
    return good(aim, `${at} answers as ${seen.name}, asked from this machine`)
  }
  if (seen.kind === 'up' && host !== hostname) {
    const found = `${at} answers as ${seen.name}: mail passes through it first`
    return unknown(aim, found, `Make sure it forwards the mail to ${hostname}.`)
  }
  if (seen.kind === 'up') {
    const fix = 'Forward the port to the SMTP listener of this service.'
    return bad(aim, `${at} answers as ${seen.name}`, fix)
  }
  if (isOwn) {
    const fix =
      'Listen on it or forward it: set MAILROOM_SMTP_HOST and MAILROOM_SMTP_PORT, or redirect the port to them.'
    return bad(aim, `${at}: ${seen.text}`, fix)
  }
  const found = `${at}: ${seen.text}; it is not an address of this machine, and many networks do not allow connections back in`
  return unknown(
    aim,
    found,
    'Try it from another network, and make sure the port is open and forwarded to this machine.',
  )
}

/** If none of these large receivers can be reached, the port is closed. */
const RECEIVERS = ['gmail.com', 'outlook.com', 'yahoo.com']

/** Opens and closes a connection to each receiver, without sending a command. */
export async function checkPortOut(context: CheckContext, signal: AbortSignal): Promise<Finding> {
  const { delivery, mxPort } = context.settings
  const aim: Aim = {
    check: `port ${mxPort} out`,
    expected: `connections to other mail servers on port ${mxPort}`,
  }
  if (delivery !== 'direct') return notNeeded(aim, `MAILROOM_DELIVERY is ${delivery}`)
  const tried = await Promise.all(RECEIVERS.map((domain) => tryReceiver(context, domain, signal)))
  const reached = tried.find(({ kind }) => kind === 'reached')
  if (reached !== undefined) return good(aim, reached.text)
  const text = tried.map((one) => one.text).join('; ')
  if (tried.every(({ kind }) => kind === 'unasked')) return unknown(aim, text)
  const fix = `Ask the provider of this machine to open port ${mxPort}, which many providers block, or send through a relay with MAILROOM_DELIVERY=relay.`
  return bad(aim, text, fix)
}

type Tried = { kind: 'reached' | 'refused' | 'unasked'; text: string }

async function tryReceiver(
  context: CheckContext,
  domain: string,
  signal: AbortSignal,
): Promise<Tried> {
  const answer = await context.resolver.mx(domain)
  if (answer.kind !== 'found') {
    const why = answer.kind === 'fault' ? answer.text : 'no MX record'
    return { kind: 'unasked', text: `${domain}: DNS: ${why}` }
  }
  const [host] = [...answer.records].sort((a, b) => a.preference - b.preference)
  const exchange = host?.exchange ?? domain
  const { addresses, fault } = await context.addressesOf(exchange)
  const [address] = addresses
  if (address === undefined) {
    return { kind: 'unasked', text: `${exchange}: ${fault ?? 'no address'}` }
  }
  const { mxPort: port } = context.settings
  try {
    const socket = await connectTo({ host: address, port, signal })
    socket.destroy()
    return { kind: 'reached', text: `${exchange} (${address}) takes connections` }
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    return { kind: 'refused', text: `${exchange}: ${text}` }
  }
}

/** Checks the greeting of the relay. The password is not checked, because that needs a login. */
export async function checkRelay(
  { settings, resolver, addressesOf }: CheckContext,
  signal: AbortSignal,
): Promise<Finding> {
  const { delivery, relayUrl, smtpHostname: hostname } = settings
  if (delivery !== 'relay' || relayUrl === null) {
    return notNeeded(
      { check: 'relay', expected: 'the relay answers' },
      `MAILROOM_DELIVERY is ${delivery}`,
    )
  }
  const { host, port, isTlsImplicit, credentials } = readRelayUrl(relayUrl)
  const aim: Aim = { check: 'relay', expected: `${host}:${port} answers, with TLS` }
  const address = await findRelay({ settings, resolver, addressesOf }, host)
  const seen = await probeSmtp({ host: address, port, hostname, isTlsImplicit, signal })
  const fix = 'Correct MAILROOM_RELAY_URL, or allow this machine to connect to it.'
  if (seen.kind !== 'up') return bad(aim, seen.text, fix)
  if (seen.startTls === 'works') return good(aim, `it answers as ${seen.name}, with TLS`)
  const found = `it answers as ${seen.name}; STARTTLS is ${seen.startTls}`
  if (credentials === null) return advice(aim, found, fix)
  return bad(aim, found, `${fix} The service does not send the password in clear text.`)
}

/** Uses the configured resolvers, if any, as the service does. */
async function findRelay(
  {
    settings,
    addressesOf,
  }: Pick<CheckContext, 'resolver' | 'addressesOf'> & { settings: Settings },
  host: string,
): Promise<string> {
  if (settings.dnsServers.length === 0 || /^[\d.]+$|:/.test(host)) return host
  const { addresses } = await addressesOf(host)
  return addresses[0] ?? host
}

type SmtpServerSeen =
  | {
      readonly kind: 'up'
      readonly name: string
      readonly startTls: 'works' | 'not offered' | 'broken'
      readonly certificate: X509Certificate | null
    }
  | { readonly kind: 'no smtp'; readonly text: string }
  | { readonly kind: 'down'; readonly text: string }

type ProbeOptions = {
  readonly host: string
  readonly port: number
  readonly hostname: string
  readonly isTlsImplicit?: boolean
  readonly signal: AbortSignal
}

/** Time limit of each step; `signal` bounds the complete probe. */
const STEP_MS_MAX = 4_000

/** Server errors never reject. */
async function probeSmtp(options: ProbeOptions): Promise<SmtpServerSeen> {
  let socket: Socket
  try {
    socket = await connectTo(options)
  } catch (error) {
    return { kind: 'down', text: error instanceof Error ? error.message : String(error) }
  }
  try {
    if (options.isTlsImplicit !== true) return await talk(socket, options)
    const secured = await handshake(socket, options)
    if (secured.kind === 'failed') return { kind: 'no smtp', text: textOf(secured.failure) }
    socket = secured.socket
    const certificate = secured.socket.getPeerX509Certificate() ?? null
    const channel = new Channel(socket, 1, options.signal)
    const name = await readName(channel)
    channel.close()
    if (name.kind === 'no smtp') return name
    return { kind: 'up', name: name.name, startTls: 'works', certificate }
  } finally {
    socket.destroy()
  }
}

function connectTo(options: { host: string; port: number; signal: AbortSignal }): Promise<Socket> {
  const { host, port, signal } = options
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true })
    const end = (error: Error) => {
      socket.destroy()
      reject(error)
    }
    const late = new Error(`no connection within ${STEP_MS_MAX / 1_000} seconds`)
    const timer = setTimeout(() => end(late), STEP_MS_MAX)
    // The listener is never removed: an error without a listener would end the process.
    socket.on('error', end)
    socket.once('close', () => clearTimeout(timer))
    socket.once('connect', () => {
      clearTimeout(timer)
      resolve(socket)
    })
    signal.addEventListener('abort', () => end(new Error('given up')), { once: true })
  })
}

async function talk(plain: Socket, options: ProbeOptions): Promise<SmtpServerSeen> {
  const channel = new Channel(plain, 1, options.signal)
  const greeted = await readName(channel)
  if (greeted.kind === 'no smtp') return greeted
  const { name } = greeted
  const ehlo = await channel.ask(`EHLO ${options.hostname}\r\n`, STEP_MS_MAX)
  const isOffered = ehlo.kind === 'answer' && parseExtensions(ehlo.reply.lines).starttls
  if (!isOffered) {
    channel.write('QUIT\r\n', 1)
    channel.close()
    return { kind: 'up', name, startTls: 'not offered', certificate: null }
  }
  const answer = await channel.ask('STARTTLS\r\n', STEP_MS_MAX)
  if (answer.kind === 'failed' || answer.reply.code !== 220) {
    return { kind: 'up', name, startTls: 'broken', certificate: null }
  }
  const secured = await handshake(channel.release(), options)
  if (secured.kind === 'failed') return { kind: 'up', name, startTls: 'broken', certificate: null }
  const certificate = secured.socket.getPeerX509Certificate() ?? null
  secured.socket.destroy()
  return { kind: 'up', name, startTls: 'works', certificate }
}

async function readName(
  channel: Channel,
): Promise<{ kind: 'named'; name: string } | { kind: 'no smtp'; text: string }> {
  const greeting = await channel.read(STEP_MS_MAX)
  if (greeting.kind === 'failed') {
    return { kind: 'no smtp', text: `no greeting: ${textOf(greeting.failure)}` }
  }
  const { code, lines } = greeting.reply
  const [line = ''] = lines
  if (code !== 220) return { kind: 'no smtp', text: `${code} ${line}` }
  return { kind: 'named', name: (line.split(' ')[0] ?? '').toLowerCase() }
}

function textOf(failure: Failure): string {
  return failure.kind === 'reply' ? failure.reply.text : failure.text
}

function handshake(plain: Socket, { host, signal }: ProbeOptions) {
  return secure(plain, {
    tls: { kind: 'opportunistic' },
    servername: host,
    trustedCertificates: undefined,
    timeoutMs: STEP_MS_MAX,
    signal,
  })
}

const DAY_MS = 24 * 60 * 60 * 1_000
/** Automatic renewal happens earlier. */
const DAYS_LEFT_ADVISED = 14

/** The operator's certificate, or the self-signed one; null before the first start. */
function readCertificate(settings: Pick<Settings, 'tlsFiles' | 'dataDir'>): X509Certificate | null {
  const file = settings.tlsFiles?.cert ?? join(settings.dataDir, 'tls', 'self-signed.pem')
  return existsSync(file) ? new X509Certificate(readFileSync(file)) : null
}

/** Most senders accept any certificate, so only an expired one or one for another host is wrong. */
export function checkCertificate(settings: Settings, nowMs: number): Finding {
  const { smtpHostname, tlsFiles, delivery } = settings
  const aim: Aim = {
    check: 'certificate',
    expected: `one for ${smtpHostname} that is valid and that senders can verify`,
  }
  const certificate = readCertificate(settings)
  if (certificate === null) {
    return notNeeded(aim, 'there is none yet: the first start makes one that is self-signed')
  }
  const { validFromDate, validToDate } = certificate
  const until = `valid until ${validToDate.toISOString()}`
  if (validToDate.getTime() <= nowMs) {
    return bad(
      aim,
      `it expired at ${validToDate.toISOString()}`,
      'Renew it; the service loads the new one within a minute.',
    )
  }
  if (validFromDate.getTime() > nowMs) {
    const found = `it is not valid before ${validFromDate.toISOString()}`
    return bad(aim, found, 'Correct the clock, or wait until then.')
  }
  if (certificate.checkHost(smtpHostname) === undefined) {
    const found = `it is for ${certificate.subjectAltName ?? certificate.subject}`
    return bad(
      aim,
      found,
      `Get one for ${smtpHostname}, or set MAILROOM_SMTP_HOSTNAME to a name in it.`,
    )
  }
  if (isSelfSigned(certificate)) {
    const found = `a self-signed one for ${smtpHostname}, ${until}`
    if (delivery === 'sandbox') return notNeeded(aim, found)
    const setTo = tlsFiles === null ? 'Set MAILROOM_TLS_CERT and MAILROOM_TLS_KEY to' : 'Use'
    const fix = `${setTo} a certificate of a public authority: mail arrives encrypted without it, but senders that verify certificates (MTA-STS) do not deliver.`
    return advice(aim, found, fix)
  }
  const daysLeft = (validToDate.getTime() - nowMs) / DAY_MS
  if (daysLeft < DAYS_LEFT_ADVISED) {
    const fix = 'Renew it; automatic renewal should have happened by now.'
    return advice(
      aim,
      `it expires in ${Math.floor(daysLeft)} days, at ${validToDate.toISOString()}`,
      fix,
    )
  }
  return good(aim, `one for ${smtpHostname}, ${until}`)
}

function isSelfSigned(certificate: X509Certificate): boolean {
  return certificate.issuer === certificate.subject && certificate.verify(certificate.publicKey)
}
