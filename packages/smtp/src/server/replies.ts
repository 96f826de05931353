// The replies of the engine itself (RFC 5321 §4.2.3, with enhanced codes of RFC 3463).

import type { LineDefect } from '@mailroom/mail/smtp/command.ts'
import { type Reply, reply } from '@mailroom/mail/smtp/reply.ts'
import type { CutReason } from './session.ts'

export const OK = reply(250, '2.0.0', 'OK')
export const SENDER_OK = reply(250, '2.1.0', 'Sender OK')
export const START_DATA = reply(354, '', 'End data with <CRLF>.<CRLF>')
export const GOODBYE = reply(221, '2.0.0', 'Bye')
export const START_TLS = reply(220, '2.0.0', 'Ready to start TLS')
export const HELP = reply(214, '2.0.0', 'See RFC 5321')
export const CANNOT_VERIFY = reply(252, '2.5.1', 'Cannot verify the address; send a message to try')

export const GREET_FIRST = reply(503, '5.5.1', 'Send EHLO or HELO first')
export const MAIL_FIRST = reply(503, '5.5.1', 'Send MAIL first')
export const RCPT_FIRST = reply(503, '5.5.1', 'Send RCPT first')
export const MAIL_TWICE = reply(503, '5.5.1', 'A transaction is open already')
export const TLS_TWICE = reply(503, '5.5.1', 'TLS is active already')
export const NO_TLS = reply(502, '5.5.1', 'TLS is not available')
export const NO_RECIPIENTS = reply(554, '5.5.1', 'No valid recipients')
export const UTF8_NEEDED = reply(553, '5.6.7', 'An address outside ASCII needs SMTPUTF8')
export const TOO_MANY_RECIPIENTS = reply(452, '4.5.3', 'Too many recipients, send the rest later')
export const TOO_BIG = reply(552, '5.3.4', 'Message larger than the size limit')
export const NO_MEMORY = reply(452, '4.3.1', 'Too busy to take mail, try again later')
export const BARE_CR = reply(550, '5.6.11', 'Message contains a CR without LF')
export const LOCAL_ERROR = reply(451, '4.3.0', 'Local error, try again later')

export const LINE_REPLIES: Record<Exclude<LineDefect, 'flood'>, Reply> = {
  'bare-line-feed': reply(500, '5.5.2', 'End command lines with CRLF'),
  'bare-carriage-return': reply(501, '5.5.2', 'CR without LF in a command line'),
  'control-character': reply(501, '5.5.2', 'Control character in a command line'),
  'invalid-utf8': reply(501, '5.5.2', 'Command line is neither ASCII nor UTF-8'),
  'too-long': reply(500, '5.5.2', 'Command line too long'),
}

const CUT_TEXTS: Record<CutReason, readonly [enhanced: string, text: string]> = {
  'early-talker': ['4.7.0', 'Client sent data before the greeting'],
  http: ['4.7.0', 'This is not an HTTP server'],
  flood: ['4.7.0', 'Command line far too long'],
  'idle-commands': ['4.7.0', 'Too many commands without a message'],
  'refused-recipients': ['4.7.0', 'Too many refused recipients'],
  'connection-deadline': ['4.4.2', 'Connection open too long'],
  'command-deadline': ['4.4.2', 'Timed out waiting for a command'],
  'slow-data': ['4.4.2', 'Data sent too slowly'],
  'crowded-out': ['4.3.2', 'Too busy, try again later'],
  shutdown: ['4.3.2', 'Service going down, try again later'],
}

/** The 421 that closes a connection; it names the host (RFC 5321 §4.2.2). */
export function cutReply(hostname: string, reason: CutReason): Reply {
  const [enhanced, text] = CUT_TEXTS[reason]
  return reply(421, enhanced, `${hostname} ${text}`)
}
