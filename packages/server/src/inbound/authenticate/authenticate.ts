// Checks SPF, DKIM, DMARC and ARC of received mail. The library is loaded with the first message.

import type { Authentication } from '@mailroom/mail/authentication.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import { type Log, silentLog } from '#platform/log.ts'
import type { ArrivedMail, MailChecks } from './mail-checks.ts'

export type Authenticator = {
  /** Never rejects. A check that exceeds AUTHENTICATE_MS_MAX results in `temperror`. */
  authenticate(mail: ArrivedMail): Promise<Authentication>
  close(): Promise<void>
}

type AuthenticatorOptions = {
  readonly resolver: Resolver
  /** The host name is in lower case. */
  readonly hostname: string
  readonly log?: Log
  readonly clock?: Clock
}

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
