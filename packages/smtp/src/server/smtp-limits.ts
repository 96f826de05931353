// The bounds of one listener, gathered so that a test can make them small. The figures and their
// reasons are those of base/limits.

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
/** RFC 5321 §4.5.3.1.7 asks for at least 64 KiB; attachments of today ask for more. */
export const MESSAGE_BYTES_MAX = 30 * 1024 * 1024
/** RFC 5321 §4.5.3.1.4 asks for 512; extensions (SMTPUTF8, AUTH, long paths) add to it. */
const COMMAND_LINE_BYTES_MAX = 4 * 1024
/** RFC 5321 §4.5.3.1.8 asks for at least 100. */
const RECIPIENTS_MAX = 1_000
const CONNECTIONS_MAX = 1_000
const CONNECTIONS_PER_ADDRESS_MAX = 50
const CONNECTION_MS_MAX = 20 * MINUTE_MS
/** RFC 5321 §4.5.3.2.7: a server waits at least five minutes for the next command. */
const COMMAND_MS_MAX = 5 * MINUTE_MS
/** Below this a sender of DATA is a slow-loris; real links are hundreds of times faster. */
const DATA_BYTES_PER_SECOND_MIN = 500
const DATA_RATE_WINDOW_MS = MINUTE_MS
/** Commands that move no mail forward (NOOP, RSET, HELP, VRFY, errors) in one connection. */
const IDLE_COMMANDS_MAX = 100
const REFUSED_RECIPIENTS_MAX = 20
/** How long a greeting waits for a client that talks first. Longer costs connections a second. */
const GREETING_DELAY_MS = 2
/** A client that does not read our replies is cut when this much waits for it. */
const UNREAD_REPLY_BYTES_MAX = 64 * 1024
/** How long a closed connection may still take our last reply and send what it had on its way. */
const LINGER_MS_MAX = 5 * SECOND_MS
/** Message bytes held in memory over all connections; past it new DATA is answered 452. */
const INTAKE_BYTES_MAX = 256 * 1024 * 1024
/** Of these, from one address: others go on while it floods. */
const INTAKE_BYTES_PER_ADDRESS_MAX = 128 * 1024 * 1024
/** SMTP connections while the store does not keep up; further ones are turned away at the greeting. */
const STRAINED_CONNECTIONS_MAX = 200

/**
 * A message that comes more slowly than this, in octets a second, may be given up where there is no room
 * for others: real links are ten times faster, and one that is cut is sent again.
 */
const SLOW_BYTES_PER_SECOND = 16 * 1024
/** Over how long the pace of a message is looked at, in milliseconds: a hiccup is not slowness. */
const PACE_WINDOW_MS = 5_000
/**
 * How long a connection may wait for its client, in milliseconds, before any newcomer takes its place where
 * all are taken: clients that go on answer within a second or two.
 */
const CROWDED_IDLE_MS = 10_000

export const defaultSmtpLimits = {
  messageBytesMax: MESSAGE_BYTES_MAX,
  commandLineBytesMax: COMMAND_LINE_BYTES_MAX,
  recipientsMax: RECIPIENTS_MAX,
  connectionsMax: CONNECTIONS_MAX,
  connectionsPerAddressMax: CONNECTIONS_PER_ADDRESS_MAX,
  strainedConnectionsMax: STRAINED_CONNECTIONS_MAX,
  connectionMsMax: CONNECTION_MS_MAX,
  commandMsMax: COMMAND_MS_MAX,
  dataBytesPerSecondMin: DATA_BYTES_PER_SECOND_MIN,
  dataRateWindowMs: DATA_RATE_WINDOW_MS,
  idleCommandsMax: IDLE_COMMANDS_MAX,
  refusedRecipientsMax: REFUSED_RECIPIENTS_MAX,
  greetingDelayMs: GREETING_DELAY_MS,
  unreadReplyBytesMax: UNREAD_REPLY_BYTES_MAX,
  intakeBytesMax: INTAKE_BYTES_MAX,
  intakeBytesPerAddressMax: INTAKE_BYTES_PER_ADDRESS_MAX,
  lingerMsMax: LINGER_MS_MAX,
  slowBytesPerSecond: SLOW_BYTES_PER_SECOND,
  paceWindowMs: PACE_WINDOW_MS,
  crowdedIdleMs: CROWDED_IDLE_MS,
}

export type SmtpLimits = Readonly<typeof defaultSmtpLimits>
