// Opening what finds out who sent arriving mail, with a resolver of its own that remembers.

import type { Settings } from '#config/settings.ts'
import { type Authenticator, openAuthenticator } from '#inbound/authenticate/authenticator.ts'
import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import { openCachingResolver } from '#platform/dns/caching-resolver.ts'
import { openResolver } from '#platform/dns/resolver.ts'
import type { Log } from '#platform/log.ts'
import { SECOND_MS } from '#platform/units.ts'

/** Half of what a question takes at most. */
const AUTHENTICATE_DNS_TRY_MS_MAX = 2 * SECOND_MS

/** Null where arriving mail is taken as it is; nothing is loaded or asked yet. */
export function openInboundAuthenticator(
  settings: Pick<Settings, 'authenticateInbound' | 'dnsServers' | 'smtpHostname'>,
  { clock, chance, log }: { clock: Clock; chance: Chance; log: Log },
): Authenticator | null {
  if (!settings.authenticateInbound) return null
  const asking = openResolver({
    servers: settings.dnsServers,
    timeoutMs: AUTHENTICATE_DNS_TRY_MS_MAX,
    chance,
  })
  const resolver = openCachingResolver(asking, clock)
  return openAuthenticator({ resolver, hostname: settings.smtpHostname, log, clock })
}
