// The interfaces of the SMTP server: the receiver of mail, the limits, and the outcomes. The engine knows RFC 5321 and
// no inboxes; the receiver knows inboxes and no sockets.

import type { Reply } from '@mailroom/mail/smtp/reply.ts'

/** The client of one connection. */
export type Client = {
  /** IP address as text, IPv4-mapped IPv6 reduced to IPv4. */
  readonly address: string
  readonly port: number
  /** Argument of the last HELO or EHLO, '' before it. */
  readonly helo: string
  readonly isExtended: boolean
  /** Protocol name ('TLSv1.3') once STARTTLS has succeeded. */
  readonly tls: string | null
}

/** RFC 5321 §2.3.1: the envelope, as accepted so far. */
export type Envelope = {
  /** '' is the null reverse-path. Otherwise `local-part@domain`, as the client wrote it. */
  readonly reversePath: string
  /**
   * Accepted recipients in the order of their RCPT commands, as the client wrote them: each
   * `local-part@domain`, or `postmaster` alone (RFC 5321 §4.1.1.3). A recipient may occur twice.
   */
  readonly recipients: readonly string[]
  readonly isSmtpUtf8: boolean
  readonly body: '7BIT' | '8BITMIME'
}

export type ReceivedContent = {
  /** The message after dot-unstuffing, every line ended by CRLF. Chunks, to spare a copy. */
  readonly chunks: readonly Uint8Array[]
  readonly sizeBytes: number
  /** The number of line feeds without a carriage return, which were stored as CRLF. */
  readonly bareLineFeeds: number
}

/** Whether the client got the reply to its message. It did when it sends another command, as it must (RFC 5321 §4.1.1.10). */
export type Answered = {
  /** Whether the client ended the connection before there is a reply. */
  isGone(): boolean
  /** Calls `report` once if the connection ends after the reply without another command. */
  onLost(report: () => void): void
}

/** One for the whole listener. `checkRecipient` and `receiveMessage` may answer at once or later. */
export type MailReceiver = {
  /** While the receiver is overloaded, the listener accepts fewer connections. */
  isStrained?(): boolean
  /**
   * Called at MAIL, and at DATA once there are recipients: null if a message is accepted now, or a 4xx reply.
   * `underWay` counts messages that are being read or stored.
   */
  findObstacle?(stage: 'sender' | 'content', underWay: number): Reply | null
  /**
   * RCPT. A 2xx reply accepts the recipient; 4xx and 5xx refuse it. Called in order, and always
   * with a syntactically valid recipient. A rejection (exception) is answered 451 4.3.0.
   */
  checkRecipient(recipient: string, envelope: Envelope, client: Client): Reply | Promise<Reply>
  /**
   * The end of DATA, complete and within the size limit. The client gets the reply, so 2xx only when the
   * message is on disk. A rejection (exception) is answered 451 4.3.0. The envelope no longer changes; the client may
   * have disconnected when the reply is ready.
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
  /** More connections than allowed; answered 421. */
  | { readonly kind: 'connection-refused' }
  /** Closed by us with a 421, for a deadline, a limit or a shutdown. */
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
  /** The connection ended within DATA; the receiver got nothing. */
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
  /** Other clients needed its memory or its connection. */
  | 'crowded-out'
  | 'shutdown'

export type CountOutcome = (outcome: SmtpOutcome) => void

/** For unexpected errors; the fields never hold message content. */
export type SmtpLog = {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

export type Clock = {
  /** Monotonic time in milliseconds from an arbitrary origin; for durations and deadlines. */
  monotonic(): number
}

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const MEBIBYTE = 1024 * 1024

/** RFC 5321 §4.5.3.1.7 requires at least 64 KiB; attachments of today need more. */
export const MESSAGE_BYTES_MAX = 30 * MEBIBYTE

export const defaultSmtpLimits = {
  messageBytesMax: MESSAGE_BYTES_MAX,
  /** RFC 5321 §4.5.3.1.4 requires 512; extensions (SMTPUTF8, AUTH, long paths) need more. */
  commandLineBytesMax: 4 * 1024,
  /** RFC 5321 §4.5.3.1.8 requires at least 100. */
  recipientsMax: 1_000,
  connectionsMax: 1_000,
  connectionsPerAddressMax: 50,
  /** The limit while the receiver is overloaded; further connections are refused at the greeting. */
  strainedConnectionsMax: 200,
  connectionMsMax: 20 * MINUTE_MS,
  /** RFC 5321 §4.5.3.2.7: a server waits at least five minutes for the next command. */
  commandMsMax: 5 * MINUTE_MS,
  /** A client that sends DATA more slowly counts as an attack: real links are hundreds of times faster. */
  dataBytesPerSecondMin: 500,
  dataRateWindowMs: MINUTE_MS,
  /** Commands of one connection that do not advance a transaction (NOOP, RSET, HELP, VRFY, errors). */
  idleCommandsMax: 100,
  refusedRecipientsMax: 20,
  /** How long the greeting waits, to detect a client that sends first. A longer wait lowers the connection rate. */
  greetingDelayMs: 2,
  /** A client that does not read our replies is disconnected when this many octets wait. */
  unreadReplyBytesMax: 64 * 1024,
  /** Message bytes in memory over all connections; past this number, new DATA is answered 452. */
  intakeBytesMax: 256 * MEBIBYTE,
  /** Share of `intakeBytesMax` that one address may hold, so that a flood from it does not stop others. */
  intakeBytesPerAddressMax: 128 * MEBIBYTE,
  /** How long a closed connection may still read our last reply and send octets that were under way. */
  lingerMsMax: 5 * SECOND_MS,
  /**
   * A message that arrives more slowly may be evicted when there is no room for others: real links are ten times faster,
   * and the client sends the message again.
   */
  slowBytesPerSecond: 16 * 1024,
  /** Window over which the rate of a message is measured, so that a short interruption does not count as slow. */
  paceWindowMs: 5 * SECOND_MS,
  /**
   * How long a connection may wait for its client before a new connection takes its slot when all are in use: active
   * clients answer within a second or two.
   */
  crowdedIdleMs: 10 * SECOND_MS,
}

export type SmtpLimits = Readonly<typeof defaultSmtpLimits>
