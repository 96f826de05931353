import type { Credentials } from './authenticate.ts'
import type { ClientTimeouts } from './client-timeouts.ts'
import type { TlsaRecord } from './dane.ts'
import type { ClientReply, Failure } from './failure.ts'

export type ClientTls =
  /** Never STARTTLS. */
  | { readonly kind: 'none' }
  /** STARTTLS when offered, the certificate unchecked. */
  | { readonly kind: 'opportunistic' }
  /** TLS or nothing, the certificate valid for `servername` (MTA-STS, relays). */
  | { readonly kind: 'verified'; readonly servername: string }
  /** TLS or nothing, checked against TLSA records of usage 2 and 3 (RFC 7672). */
  | { readonly kind: 'dane'; readonly servername: string; readonly records: readonly TlsaRecord[] }
  /** TLS or nothing, the certificate unchecked. */
  | { readonly kind: 'required' }

export type Stage =
  | 'connect'
  | 'tls'
  | 'greeting'
  | 'ehlo'
  | 'starttls'
  | 'auth'
  | 'mail'
  | 'rcpt'
  | 'data'
  | 'content'
  | 'final-dot'

export type RecipientOutcome =
  | { readonly kind: 'accepted'; readonly reply: ClientReply }
  /** Any code but 2xx, from the server or, where it could only refuse, from us. */
  | { readonly kind: 'refused'; readonly stage: Stage; readonly reply: ClientReply }
  /** The final dot was never sent: nothing can have been accepted. */
  | { readonly kind: 'unsent'; readonly stage: Stage; readonly failure: Failure }
  /** The final dot went out and no valid answer came. */
  | { readonly kind: 'ambiguous'; readonly failure: Failure }

export type OutgoingMail = {
  /** A mailbox, or '' for the null reverse-path. */
  readonly reversePath: string
  readonly recipients: readonly string[]
  /** The message with CRLF line ends, without stuffed dots. */
  readonly raw: Uint8Array
  /** Its header needs SMTPUTF8; addresses are looked at here. */
  readonly needsSmtpUtf8: boolean
}

export type OpenOptions = {
  /** An IP address: names were resolved, and judged, by the caller. */
  readonly address: string
  readonly port: number
  /** Our name in EHLO: a domain name or an address literal. */
  readonly hostname: string
  readonly tls: ClientTls
  /** TLS from the first octet, as on port 465; also where `tls` is 'none'. */
  readonly implicitTls?: boolean
  /** The server's name for SNI, where `tls` names none. */
  readonly servername?: string
  /** PEM; trusted for 'verified' instead of the system's authorities. */
  readonly trustedCertificates?: readonly string[]
  /** Sent under TLS, or to a loopback address. */
  readonly credentials?: Credentials | null
  readonly localAddress?: string
  /** Aborting destroys the connection, also later, within a transaction. */
  readonly signal?: AbortSignal
  readonly timeouts?: Partial<ClientTimeouts>
  /** Called when the server has greeted. */
  readonly onGreeting?: (() => void) | undefined
}
