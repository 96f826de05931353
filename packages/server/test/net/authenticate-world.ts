// An authenticator with a real DNS peer, without a service around it.

import type { TestContext } from 'node:test'
import type { Authentication } from '@mailroom/mail/authentication.ts'
import { parseMessage } from '@mailroom/mail-reading/parse-message.ts'
import { type Authenticator, openAuthenticator } from '#inbound/authenticate/authenticate.ts'
import { type Clock, systemClock } from '#platform/clock.ts'
import { openCachingResolver } from '#platform/dns/caching-resolver.ts'
import { openResolver } from '#platform/dns/resolver.ts'
import { MINUTE_MS } from '#platform/units.ts'
import { type Dns, openDns, type Zone } from '#test/peers/dns.ts'
import { plainMail } from '#test/world.ts'

export type Arrival = {
  readonly raw?: string | Uint8Array
  readonly clientAddress?: string | null
  readonly helo?: string | null
  readonly reversePath?: string
}

export type AuthenticateWorld = {
  readonly dns: Dns
  readonly authenticator: Authenticator
  /** By default a plain message of ann@sender.example from 192.0.2.1. */
  judge(arrival?: Arrival): Promise<Authentication>
}

export async function openAuthenticateWorld(
  t: TestContext,
  zone: Zone,
  clock: Clock = systemClock,
): Promise<AuthenticateWorld> {
  const dns = await openDns(zone)
  // No question is sent twice because the machine was slow to answer.
  const tries = { timeoutMs: 2_000, firstTryMs: MINUTE_MS }
  const asking = openResolver({ servers: [dns.server], ...tries })
  const resolver = openCachingResolver(asking, clock)
  const authenticator = openAuthenticator({ resolver, hostname: 'mx.mailroom.example', clock })
  t.after(async () => {
    await authenticator.close()
    await dns.close()
  })
  return {
    dns,
    authenticator,
    judge({
      raw = plainMail({}),
      clientAddress = '192.0.2.1',
      helo = 'mail.sender.example',
      reversePath = 'ann@sender.example',
    } = {}) {
      const bytes = Buffer.from(raw)
      const author = Promise.resolve(parseMessage(bytes).headers)
      return authenticator.authenticate({ raw: bytes, clientAddress, helo, reversePath, author })
    },
  }
}
