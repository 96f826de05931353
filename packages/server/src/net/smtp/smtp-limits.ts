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
}

export type SmtpLimits = Readonly<typeof defaultSmtpLimits>
