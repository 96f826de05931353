// Who sent an arriving message, as far as SPF, DKIM, DMARC and ARC can tell within AUTHENTICATE_MS_MAX.
// The library behind it is loaded with the first message: a service that waits for mail is spared it.

import type { Authentication } from '@mailroom/mail/authentication.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import { type Log, silentLog } from '#platform/log.ts'
import type { ArrivedMail } from './arrived-mail.ts'
import type { MailChecks } from './mail-checks.ts'

export type Authenticator = {
  /** Never rejects: what could not be found out in time is `temperror`. */
  authenticate(mail: ArrivedMail): Promise<Authentication>
  close(): Promise<void>
}

export type AuthenticatorOptions = {
  /** One that remembers; closed with the authenticator. */
  readonly resolver: Resolver
  /** Ours, in lower case. */
  readonly hostname: string
  readonly log?: Log
  readonly clock?: Clock
}

/** Loads and asks nothing before the first message. */
export function openAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { resolver, hostname, log = silentLog, clock = systemClock } = options
  let loading: Promise<MailChecks> | null = null
  const load = async () => {
    const { MailChecks } = await import('./mail-checks.ts')
    return new MailChecks({ resolver, hostname, log, clock })
  }
  return {
    async authenticate(mail) {
      loading ??= load()
      return (await loading).authenticate(mail)
    },
    async close() {
      resolver.close()
      await (await loading)?.close()
    },
  }
}
