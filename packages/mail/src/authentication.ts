// What SPF, DKIM and DMARC say about an arriving message, in the words of RFC 8601 §2.7.

/** How a check ended; `temperror` is a fault of DNS or a time limit, and never the sender's. */
export type AuthenticationResult =
  | 'none'
  | 'pass'
  | 'fail'
  | 'softfail'
  | 'neutral'
  | 'policy'
  | 'temperror'
  | 'permerror'

export type SpfResult = {
  readonly result: AuthenticationResult
  /** Of the reverse-path, or of EHLO where that is null (RFC 7208 §2.4). */
  readonly domain: string | null
}

export type DkimResult = {
  readonly result: AuthenticationResult
  readonly domain: string | null
  readonly selector: string | null
}

export type DmarcResult = {
  readonly result: AuthenticationResult
  /** What the domain asks for; null without a record. */
  readonly policy: 'none' | 'quarantine' | 'reject' | null
  /** Of the From address. */
  readonly domain: string | null
}

export type Authentication = {
  readonly spf: SpfResult
  /** One for each signature, in the order in which they stand. */
  readonly dkim: readonly DkimResult[]
  readonly dmarc: DmarcResult
  /** The chain of RFC 8617, where there is one. */
  readonly arc: { readonly result: AuthenticationResult }
  /** Whether SPF or DKIM passed for a domain aligned with that of the one From address. */
  readonly verifiedFrom: boolean
}
