// The way out: whether this machine may connect to the mail servers of others, or to its relay.

import type { Settings } from '#config/settings.ts'
import { readRelayUrl } from '#delivery/carrier.ts'
import { type Aim, advice, bad, type Finding, good, notNeeded, unknown } from './finding.ts'
import type { Looks } from './looks.ts'
import { connectTo, probeSmtp } from './probe-smtp.ts'

/** Of the largest receivers: where none of them can be reached, the port is closed. */
const RECEIVERS = ['gmail.com', 'outlook.com', 'yahoo.com']

/** Nothing is said to them: a connection is opened and closed. */
export async function checkPortOut(looks: Looks, signal: AbortSignal): Promise<Finding> {
  const { delivery, mxPort } = looks.settings
  const aim: Aim = {
    check: `port ${mxPort} out`,
    expected: `connections to other mail servers on port ${mxPort}`,
  }
  if (delivery !== 'direct') return notNeeded(aim, `MAILROOM_DELIVERY is ${delivery}`)
  const tried = await Promise.all(RECEIVERS.map((domain) => tryReceiver(looks, domain, signal)))
  const reached = tried.find(({ kind }) => kind === 'reached')
  if (reached !== undefined) return good(aim, reached.text)
  const text = tried.map((one) => one.text).join('; ')
  if (tried.every(({ kind }) => kind === 'unasked')) return unknown(aim, text)
  const fix = `Ask the provider of this machine to open port ${mxPort}, which many providers block, or send through a relay with MAILROOM_DELIVERY=relay.`
  return bad(aim, text, fix)
}

type Tried = { kind: 'reached' | 'refused' | 'unasked'; text: string }

async function tryReceiver(looks: Looks, domain: string, signal: AbortSignal): Promise<Tried> {
  const answer = await looks.resolver.mx(domain)
  if (answer.kind !== 'found') {
    const why = answer.kind === 'fault' ? answer.text : 'no MX record'
    return { kind: 'unasked', text: `${domain}: DNS: ${why}` }
  }
  const [host] = [...answer.records].sort((a, b) => a.preference - b.preference)
  const exchange = host?.exchange ?? domain
  const { addresses, fault } = await looks.addressesOf(exchange)
  const [address] = addresses
  if (address === undefined) {
    return { kind: 'unasked', text: `${exchange}: ${fault ?? 'no address'}` }
  }
  const { mxPort: port } = looks.settings
  try {
    const socket = await connectTo({ host: address, port, signal })
    socket.destroy()
    return { kind: 'reached', text: `${exchange} (${address}) takes connections` }
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    return { kind: 'refused', text: `${exchange}: ${text}` }
  }
}

/** The greeting of the relay; whether it takes the password shows with the first mail. */
export async function checkRelay(
  { settings, resolver, addressesOf }: Looks,
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

/** By the resolvers of the settings where there are any, as the service does. */
async function findRelay(
  { settings, addressesOf }: Pick<Looks, 'resolver' | 'addressesOf'> & { settings: Settings },
  host: string,
): Promise<string> {
  if (settings.dnsServers.length === 0 || /^[\d.]+$|:/.test(host)) return host
  const { addresses } = await addressesOf(host)
  return addresses[0] ?? host
}
