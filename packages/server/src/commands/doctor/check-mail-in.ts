// The way in: whether the mail door answers on this machine as it should, and whether the hosts that
// MX names do, as far as that can be told from inside.

import { isIPv6 } from 'node:net'
import type { Settings } from '#config/settings.ts'
import { isSpecialAddress } from '#platform/egress/address-guard.ts'
import { readCertificate } from './check-certificate.ts'
import { type Aim, advice, bad, type Finding, good, notNeeded, unknown } from './finding.ts'
import type { Looks } from './looks.ts'
import { probeSmtp, type SmtpServerSeen } from './probe-smtp.ts'

/** Hosts of one domain that are tried, and addresses of one host. */
const HOSTS_MAX = 3
const ADDRESSES_MAX = 4

/** The listener of this process's settings, asked as a client on this machine. */
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

/** An address that stands for all of them cannot be connected to everywhere. */
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

/** The hosts that the world gives mail for the inbox domain to. */
export async function checkMailHosts(looks: Looks, signal: AbortSignal): Promise<Finding[]> {
  const { settings, resolver } = looks
  const { inboxDomain, mxPort: port } = settings
  const aim: Aim = {
    check: 'mail host',
    expected: `the hosts that MX of ${inboxDomain} names answer on port ${port}`,
  }
  const answer = await resolver.mx(inboxDomain)
  if (answer.kind === 'fault') return [unknown(aim, `DNS: ${answer.text}`)]
  if (answer.kind === 'none') {
    return [bad(aim, 'there is no MX record', '"mailroom dns" prints the records to publish.')]
  }
  const hosts = [...answer.records]
    .sort((a, b) => a.preference - b.preference)
    .slice(0, HOSTS_MAX)
    .map(({ exchange }) => exchange.toLowerCase().replace(/\.$/, ''))
  return (await Promise.all(hosts.map((host) => checkMailHost(looks, host, signal)))).flat()
}

async function checkMailHost(looks: Looks, host: string, signal: AbortSignal): Promise<Finding[]> {
  const { mxPort: port, smtpHostname: hostname, allowPrivateEgress } = looks.settings
  const aim: Aim = {
    check: 'mail host',
    expected: `${host} answers on port ${port} as ${hostname}`,
  }
  const { addresses, fault } = await looks.addressesOf(host)
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
      isOwn: looks.isOwnAddress(address),
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
  /** Whether the address is one of this machine's own: then nothing lies between. */
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
