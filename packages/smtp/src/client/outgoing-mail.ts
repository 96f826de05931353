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
  /** The server name for SNI if `tls` has no name. */
  readonly servername?: string
  /** PEM certificates for 'verified', trusted instead of the system's certificate authorities. */
  readonly trustedCertificates?: readonly string[]
  /** The credentials are sent only under TLS or to a loopback address. */
  readonly credentials?: Credentials | null
  /** Aborting destroys the connection, even during a later transaction. */
  readonly signal?: AbortSignal
  readonly timeouts?: Partial<ClientTimeouts>
  /** Called when the greeting has arrived. */
  readonly onGreeting?: (() => void) | undefined
}

export type OutgoingMail = {
  /** The sender's mailbox, or '' for the null reverse-path. */
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
  /** Three digits, usually 200 to 599; some servers send 999. */
  readonly code: number
  /** `class.subject.detail`, or null if the server sent no code that matches its reply. */
  readonly enhanced: string | null
  /** Lines joined by LF, without the codes; at most 1,000 characters. */
  readonly text: string
}

export type Failure =
  | { readonly kind: 'reply'; readonly reply: ClientReply }
  /** `code` is a system error code such as `ECONNRESET`, or `closed` or `aborted`. */
  | { readonly kind: 'network'; readonly code: string; readonly text: string }
  | { readonly kind: 'timeout'; readonly text: string }
  | { readonly kind: 'tls'; readonly text: string }
  | { readonly kind: 'protocol'; readonly text: string }

export type RecipientOutcome =
  | { readonly kind: 'accepted'; readonly reply: ClientReply }
  /** The server replied with another code than 2xx, or the client saw that it could only refuse. */
  | { readonly kind: 'refused'; readonly stage: Stage; readonly reply: ClientReply }
  /** The final dot was never sent, so nothing can have been accepted. */
  | { readonly kind: 'unsent'; readonly stage: Stage; readonly failure: Failure }
  /** The final dot was sent, but the reply was missing or invalid. */
  | { readonly kind: 'ambiguous'; readonly failure: Failure }

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

/** Time limits for each step of the dialogue. */
export const defaultClientTimeouts = {
  connectMs: 30 * SECOND_MS,
  handshakeMs: MINUTE_MS,
  /** Time limit for the greeting (RFC 5321 §4.5.3.2.1). */
  greetingMs: 5 * MINUTE_MS,
  /** Time limit for the reply to any other command (RFC 5321 §4.5.3.2.2 and 3). */
  replyMs: 5 * MINUTE_MS,
  /** Time limit for the reply to DATA (RFC 5321 §4.5.3.2.4). */
  dataMs: 2 * MINUTE_MS,
  /** Time limit for sending each 64 KiB of content (RFC 5321 §4.5.3.2.5). */
  blockMs: 3 * MINUTE_MS,
  /**
   * Time limit for sending all content, so that a slow reader cannot hold a connection for days.
   */
  contentMs: 60 * MINUTE_MS,
  /** A shorter wait after the final dot causes duplicates (RFC 5321 §4.5.3.2.6). */
  finalDotMs: 10 * MINUTE_MS,
  quitMs: 2 * SECOND_MS,
}

export type ClientTimeouts = Readonly<typeof defaultClientTimeouts>
