// Opening what finds out who sent arriving mail, with a resolver of its own that remembers.

import type { Chance } from '#base/chance.ts'
import type { Clock } from '#base/clock.ts'
import { AUTHENTICATE_DNS_TRY_MS_MAX } from '#base/limits.ts'
import type { Log } from '#base/log.ts'
import type { Settings } from '#config/settings.ts'
import { type Authenticator, openAuthenticator } from '#net/authenticate/authenticator.ts'
import { openCachingResolver } from '#net/dns/caching-resolver.ts'
import { openResolver } from '#net/dns/resolver.ts'

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
