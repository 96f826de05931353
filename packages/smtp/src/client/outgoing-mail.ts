// Options and results of the SMTP client.

export type ClientTls =
  /** Never uses STARTTLS. */
  | { readonly kind: 'none' }
  /** Uses STARTTLS if offered, without checking the certificate. */
  | { readonly kind: 'opportunistic' }
  /** Requires TLS with a certificate that is valid for `servername` (MTA-STS, relays). */
  | { readonly kind: 'verified'; readonly servername: string }
  /** Requires TLS with a certificate that matches TLSA records of usage 2 or 3 (RFC 7672). */
  | { readonly kind: 'dane'; readonly servername: string; readonly records: readonly TlsaRecord[] }
  /** Requires TLS, without checking the certificate. */
  | { readonly kind: 'required' }

export type TlsaRecord = {
  readonly usage: number
  readonly selector: number
  readonly matchingType: number
  readonly data: Uint8Array
}

export type Credentials = { readonly user: string; readonly password: string }

export type OpenOptions = {
  /** An IP address that the caller has resolved and allowed. */
  readonly address: string
  readonly port: number
  /** Our name in EHLO: a domain name or an address literal. */
  readonly hostname: string
  readonly tls: ClientTls
  /** TLS from the first octet, as on port 465, even if `tls` is 'none'. */
  readonly implicitTls?: boolean
  /** The server name for SNI, if `tls` has none. */
  readonly servername?: string
  /** PEM; trusted for 'verified' instead of the system's certificate authorities. */
  readonly trustedCertificates?: readonly string[]
  /** Sent only under TLS or to a loopback address. */
  readonly credentials?: Credentials | null
  /** Aborting destroys the connection, even within a later transaction. */
  readonly signal?: AbortSignal
  readonly timeouts?: Partial<ClientTimeouts>
  /** Called when the greeting has arrived. */
  readonly onGreeting?: (() => void) | undefined
}

export type OutgoingMail = {
  /** A mailbox, or '' for the null reverse-path. */
  readonly reversePath: string
  readonly recipients: readonly string[]
  /** The message with CRLF line ends, without stuffed dots. */
  readonly raw: Uint8Array
  /** Whether the header needs SMTPUTF8. The client checks the addresses itself. */
  readonly needsSmtpUtf8: boolean
}

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

export type ClientReply = {
  /** Three digits; usually 200 to 599, but some servers send 999. */
  readonly code: number
  /** `class.subject.detail`, if the server sent one that matches its code. */
  readonly enhanced: string | null
  /** Lines joined by LF, without the codes; at most 1,000 characters. */
  readonly text: string
}

export type Failure =
  | { readonly kind: 'reply'; readonly reply: ClientReply }
  /** `code` is a system code such as `ECONNRESET`, or `closed` or `aborted`. */
  | { readonly kind: 'network'; readonly code: string; readonly text: string }
  | { readonly kind: 'timeout'; readonly text: string }
  | { readonly kind: 'tls'; readonly text: string }
  | { readonly kind: 'protocol'; readonly text: string }

export type RecipientOutcome =
  | { readonly kind: 'accepted'; readonly reply: ClientReply }
  /** Any code but 2xx. Issued by the client itself if the server could only refuse. */
  | { readonly kind: 'refused'; readonly stage: Stage; readonly reply: ClientReply }
  /** The final dot was never sent, so nothing can have been accepted. */
  | { readonly kind: 'unsent'; readonly stage: Stage; readonly failure: Failure }
  /** The final dot was sent, but there was no valid reply. */
  | { readonly kind: 'ambiguous'; readonly failure: Failure }

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

/** Time limits for each step of the server. */
export const defaultClientTimeouts = {
  connectMs: 30 * SECOND_MS,
  handshakeMs: MINUTE_MS,
  /** The greeting (RFC 5321 §4.5.3.2.1). */
  greetingMs: 5 * MINUTE_MS,
  /** Each complete reply to another command (RFC 5321 §4.5.3.2.2 and 3). */
  replyMs: 5 * MINUTE_MS,
  /** The reply to DATA (RFC 5321 §4.5.3.2.4). */
  dataMs: 2 * MINUTE_MS,
  /** Sending each 64 KiB of content (RFC 5321 §4.5.3.2.5). */
  blockMs: 3 * MINUTE_MS,
  /**
   * Sending all of the content, so that a server that reads octet by octet cannot hold a connection
   * for days.
   */
  contentMs: 60 * MINUTE_MS,
  /** A shorter wait after the final dot causes duplicates (RFC 5321 §4.5.3.2.6). */
  finalDotMs: 10 * MINUTE_MS,
  quitMs: 2 * SECOND_MS,
}

export type ClientTimeouts = Readonly<typeof defaultClientTimeouts>
