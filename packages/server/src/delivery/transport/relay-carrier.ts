// Mail through one relay of the operator's choice (RFC 6409), whatever its destination.

import type { ClientTls, Stage } from '@mailroom/smtp/client/outgoing-mail.ts'
import { raceAbort } from '#platform/abort.ts'
import type { Resolver } from '#platform/dns/resolver.ts'
import { isLoopback } from '#platform/egress/loopback.ts'
import { type Carrier, type CarryOutcome, carriedNowhere, GIVEN_UP } from './carrier.ts'
import { HostCaller, type HostCallerOptions, type Place } from './host-caller.ts'
import { makeRelayAddresses } from './relay-addresses.ts'
import { type Relay, readRelayUrl } from './relay-url.ts'

export type RelayOptions = HostCallerOptions & {
  /** `smtp[s]://user:password@host:port`. */
  readonly url: string
  /** Asked before the system; null where the operator named no servers. */
  readonly resolver: Resolver | null
}

/**
 * Credentials go under a verified certificate, or to this machine itself. That the relay does not let
 * us in defers mail and never fails it: the mail is not to blame. Throws when the URL cannot be read.
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
      const places = found.addresses.map((address) => placeOf(relay, address))
      const called = await caller.carry(places, mail, signal)
      return { ...called, outcomes: called.outcomes.map(notForGood) }
    },
    close: () => caller.close(),
  }
}

/** Before MAIL nothing has been said of the message. */
const STAGES_BEFORE_MAIL: ReadonlySet<Stage> = new Set(['greeting', 'ehlo', 'starttls', 'auth'])
/** RFC 4954 §6: authentication is required, too weak, failed, or wants TLS. */
const CODES_OF_AUTH: ReadonlySet<number> = new Set([530, 534, 535, 538])

function notForGood(outcome: CarryOutcome): CarryOutcome {
  if (outcome.kind !== 'refused') return outcome
  const { stage, reply } = outcome
  const isAboutUs = STAGES_BEFORE_MAIL.has(stage) || CODES_OF_AUTH.has(reply.code)
  return isAboutUs ? { kind: 'unsent', stage, failure: { kind: 'reply', reply } } : outcome
}

function placeOf(relay: Relay, address: string): Place {
  const { host, port, isTlsImplicit: implicitTls, credentials } = relay
  return { host, address, port, implicitTls, credentials, tls: tlsOf(relay, address) }
}

/** On the way to this machine itself nobody can listen, and certificates there are self-made. */
function tlsOf({ host, isTlsImplicit, credentials }: Relay, address: string): ClientTls {
  if (isLoopback(address)) return { kind: isTlsImplicit ? 'required' : 'opportunistic' }
  const isDemanded = isTlsImplicit || credentials !== null
  return isDemanded ? { kind: 'verified', servername: host } : { kind: 'opportunistic' }
}
