// Where mail for a destination goes, or why it goes nowhere. Values only.

import type { ClientTls } from '@mailroom/smtp/client/outgoing-mail.ts'

/** What a host must show before mail is given to it (RFC 8461 §4.2, RFC 7672 §2.2). */
export type RouteTls = Exclude<ClientTls, { readonly kind: 'none' }>

export type RouteHost = {
  /** Lower case, without a trailing dot; the literal itself for an address literal. */
  readonly host: string
  /** In the order to try. */
  readonly addresses: readonly string[]
  readonly tls: RouteTls
}

export type Refusal = {
  readonly kind: 'refused'
  readonly code: 550 | 556
  /** RFC 3463. */
  readonly enhanced: string
  readonly text: string
}

export type Deferral = { readonly kind: 'deferred'; readonly text: string }

export type Route =
  | {
      readonly kind: 'hosts'
      /** In the order to try; one at least. */
      readonly hosts: readonly RouteHost[]
      /** How long this holds from now. */
      readonly validMs: number
    }
  | Refusal
  | Deferral

/** A refusal for good. */
export function refuse(code: 550 | 556, enhanced: string, text: string): Refusal {
  return { kind: 'refused', code, enhanced, text }
}
