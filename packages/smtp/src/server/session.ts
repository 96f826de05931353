// The interfaces of the SMTP server: the receiver, the limits and the outcomes. The engine knows
// RFC 5321 but no inboxes; the receiver knows inboxes but no sockets.

import type { Reply } from '@mailroom/mail/smtp/reply.ts'

export type Client = {
  /** The client's IP address, with IPv4-mapped IPv6 reduced to IPv4. */
  readonly address: string
  readonly port: number
  /** The argument of the last HELO or EHLO; '' before the first one. */
  readonly helo: string
  readonly isExtended: boolean
  /** The TLS version, such as `TLSv1.3`, once STARTTLS has succeeded. */
  readonly tls: string | null
}

/** The envelope accepted so far (RFC 5321 §2.3.1). */
export type Envelope = {
  /** `local-part@domain` as the client wrote it, or '' for the null reverse-path. */
  readonly reversePath: string
  /**
   * Accepted recipients in the order of their RCPT commands, as the client wrote them:
   * `local-part@domain`, or a bare `postmaster` (RFC 5321 §4.1.1.3). A recipient may occur twice.
   */
  readonly recipients: readonly string[]
  readonly isSmtpUtf8: boolean
  readonly body: '7BIT' | '8BITMIME'
}

export type ReceivedContent = {
  /** The message after dot-unstuffing, with CRLF line ends, in chunks to avoid a copy. */
  readonly chunks: readonly Uint8Array[]
  readonly sizeBytes: number
  /** Number of line feeds without a carriage return, which were stored as CRLF. */
  readonly bareLineFeeds: number
}

/**
 * Whether the client received the reply to its message. Another command proves that it did (RFC
 * 5321 §4.1.1.10).
 */
export type Answered = {
  /** Whether the client disconnected before the reply was ready. */
  isGone(): boolean
  /** Calls `report` once if the connection ends after the reply without another command. */
  onLost(report: () => void): void
}

/** One receiver per listener. `checkRecipient` and `receiveMessage` may answer synchronously. */
export type MailReceiver = {
  /** While the receiver is overloaded, the listener accepts fewer connections. */
  isStrained?(): boolean
  /**
   * Called at MAIL, and at DATA once there are recipients. Null if a message can be accepted now,
   * or else a 4xx reply. `underWay` is the number of messages that are being received or stored.
   */
  findObstacle?(stage: 'sender' | 'content', underWay: number): Reply | null
  /**
   * Called at RCPT, in order, with a syntactically valid recipient. A 2xx reply accepts the
   * recipient; 4xx and 5xx refuse it. A rejected promise is answered with 451 4.3.0.
   */
  checkRecipient(recipient: string, envelope: Envelope, client: Client): Reply | Promise<Reply>
  /**
   * Called when DATA is complete and within the size limit. The reply is sent to the client, so 2xx
   * requires the message to be on disk. A rejected promise is answered with 451 4.3.0. The envelope
   * no longer changes. The client may have disconnected when the reply is ready.
   */
  receiveMessage(
    content: ReceivedContent,
    envelope: Envelope,
    client: Client,
    answered: Answered,
  ): Reply | Promise<Reply>
}

export type SmtpOutcome =
  | { readonly kind: 'connection-opened' }
  | { readonly kind: 'connection-closed' }
  /** A connection over the limit, answered with 421. */
  | { readonly kind: 'connection-refused' }
  /** A connection that the server closed with 421, for a deadline, a limit or a shutdown. */
  | { readonly kind: 'connection-cut'; readonly reason: CutReason }
  | { readonly kind: 'recipient-accepted' }
  | { readonly kind: 'recipient-refused'; readonly code: number }
  | {
      readonly kind: 'message-accepted'
      readonly sizeBytes: number
      readonly recipients: number
      readonly bareLineFeeds: number
    }
  | { readonly kind: 'message-refused'; readonly code: number }
  /** The connection ended during DATA, and the receiver was not called. */
  | { readonly kind: 'message-aborted' }

export type CutReason =
  | 'early-talker'
  | 'http'
  | 'flood'
  | 'idle-commands'
  | 'refused-recipients'
  | 'connection-deadline'
  | 'command-deadline'
  | 'slow-data'
  /** Other clients needed the memory or the connection. */
  | 'crowded-out'
  | 'shutdown'

export type CountOutcome = (outcome: SmtpOutcome) => void

/** Logs unexpected errors; the fields never contain message content. */
export type SmtpLog = {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export type Clock = {
  /** Monotonic time in milliseconds from an arbitrary origin. */
  monotonic(): number
}

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const MEBIBYTE = 1024 * 1024

/** RFC 5321 §4.5.3.1.7 requires at least 64 KiB, but attachments need more. */
export const MESSAGE_BYTES_MAX = 30 * MEBIBYTE

export const defaultSmtpLimits = {
  messageBytesMax: MESSAGE_BYTES_MAX,
  /** RFC 5321 §4.5.3.1.4 requires 512; extensions (SMTPUTF8, AUTH, long paths) need more. */
  commandLineBytesMax: 4 * 1024,
  /** RFC 5321 §4.5.3.1.8 requires at least 100. */
  recipientsMax: 1_000,
  connectionsMax: 1_000,
  connectionsPerAddressMax: 50,
  /** Connections while the receiver is overloaded; further ones are refused at the greeting. */
  strainedConnectionsMax: 200,
  connectionMsMax: 20 * MINUTE_MS,
  /** A server waits at least five minutes for the next command (RFC 5321 §4.5.3.2.7). */
  commandMsMax: 5 * MINUTE_MS,
  /** A slower client is treated as an attacker, because real links are hundreds of times faster. */
  dataBytesPerSecondMin: 500,
  dataRateWindowMs: MINUTE_MS,
  /** Commands per connection that do not advance a transaction (NOOP, RSET, HELP, VRFY, errors). */
  idleCommandsMax: 100,
  refusedRecipientsMax: 20,
  /** Delay of the greeting, to detect early talkers. A longer one lowers the connection rate. */
  greetingDelayMs: 2,
  /** A client that does not read replies is disconnected once this many octets are unsent. */
  unreadReplyBytesMax: 64 * 1024,
  /** Octets of messages in memory over all connections; beyond it, DATA is answered with 452. */
  intakeBytesMax: 256 * MEBIBYTE,
  /** The share of `intakeBytesMax` per address, so that a flood cannot stop other clients. */
  intakeBytesPerAddressMax: 128 * MEBIBYTE,
  /** How long a closed connection may still read the last reply and send octets in transit. */
  lingerMsMax: 5 * SECOND_MS,
  /**
   * A message that arrives more slowly may be evicted to make room for others. Real links are ten
   * times faster, and the client retries.
   */
  slowBytesPerSecond: 16 * 1024,
  /** Window for measuring a message's rate, so that short interruptions are ignored. */
  paceWindowMs: 5 * SECOND_MS,
  /**
   * How long a connection may be idle before a new connection takes its slot when all are in use:
   * active clients answer within a second or two.
   */
  crowdedIdleMs: 10 * SECOND_MS,
}

export type SmtpLimits = Readonly<typeof defaultSmtpLimits>
