// The bounds of one listener, gathered so that a test can make them small. The figures and their
// reasons are those of base/limits.

import {
  COMMAND_LINE_BYTES_MAX,
  COMMAND_MS_MAX,
  CONNECTION_MS_MAX,
  CONNECTIONS_MAX,
  CONNECTIONS_PER_ADDRESS_MAX,
  DATA_BYTES_PER_SECOND_MIN,
  DATA_RATE_WINDOW_MS,
  GREETING_DELAY_MS,
  IDLE_COMMANDS_MAX,
  INTAKE_BYTES_MAX,
  INTAKE_BYTES_PER_ADDRESS_MAX,
  LINGER_MS_MAX,
  MESSAGE_BYTES_MAX,
  RECIPIENTS_MAX,
  REFUSED_RECIPIENTS_MAX,
  STRAINED_CONNECTIONS_MAX,
  UNREAD_REPLY_BYTES_MAX,
} from '#base/limits.ts'

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
