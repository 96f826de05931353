// How mail leaves, as the queue sees it: one message for recipients that share a next hop, carried
// once, with an outcome for each. What becomes of an outcome is the queue's affair.

import type { RecipientOutcome } from '@mailroom/smtp/client/outgoing-mail.ts'
import type { ClientReply } from '@mailroom/smtp/client/smtp-client.ts'

export type Consignment = {
  /** Domain of the recipients, lower-case A-labels, or an address literal. */
  readonly destination: string
  readonly reversePath: string
  readonly recipients: readonly string[]
  readonly raw: Uint8Array
  readonly needsSmtpUtf8: boolean
  /** Called when a host has greeted, whatever becomes of the message afterwards. */
  readonly onAnswer?: (() => void) | undefined
}

export type CarryOutcome =
  | RecipientOutcome
  /** There is nowhere to send it, for good. */
  | { readonly kind: 'unroutable'; readonly reply: ClientReply }
  /** Nobody knows where to send it now. */
  | { readonly kind: 'no-route'; readonly text: string }
  /** Its hosts have as many connections of ours as they may: nothing was tried, and nothing is wrong. */
  | { readonly kind: 'crowded'; readonly text: string }

export type Carried = {
  /** The host that was tried last; null when none was. */
  readonly host: string | null
  /** The TLS version in use at the end, or null. */
  readonly tls: string | null
  /** In the order of the recipients. */
  readonly outcomes: readonly CarryOutcome[]
}

export type Carrier = {
  /** Never rejects for what happens on the way; `signal` ends it at once. */
  carry(consignment: Consignment, signal: AbortSignal): Promise<Carried>
  /** Lets go of idle connections. Idempotent. */
  close(): Promise<void>
}

/** The same outcome for all recipients, before any host was tried. */
export function carriedNowhere(
  recipients: readonly string[],
  outcome: CarryOutcome,
  host: string | null = null,
): Carried {
  return { host, tls: null, outcomes: recipients.map(() => outcome) }
}

export const GIVEN_UP: CarryOutcome = {
  kind: 'no-route',
  text: 'Attempt cancelled by this service',
}
