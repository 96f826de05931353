// The command lines that open a transaction, written as RFC 5321 §4.1.1 and its extensions want them.
// No address gets into one that could end its path or its line.

import { domainToASCII } from 'node:url'
import { isDomainName, parseMailbox } from './path.ts'

export type WireAddress = {
  readonly address: string
  /** The local part is outside ASCII: the transaction needs SMTPUTF8. */
  readonly isInternational: boolean
}

/**
 * A mailbox as it is written between `<` and `>`, its domain in A-labels; null when it is none.
 * Angle brackets are refused also within quotes, where RFC 5321 allows them: servers that cut the line
 * at the wrong one would deliver to somebody else.
 */
export function writeAddress(text: string): WireAddress | null {
  if (/[<>]/.test(text)) return null
  const mailbox = parseMailbox(text)
  if (mailbox.kind === 'defect') return null
  if (!mailbox.isInternational) return { address: text, isInternational: false }
  const localPart = text.slice(0, text.length - mailbox.domain.length)
  const domain = writeDomain(mailbox.domain)
  if (domain === null) return null
  const address = localPart + domain
  if (parseMailbox(address).kind === 'defect') return null
  return { address, isInternational: !isAscii(localPart) }
}

export type MailParameters = {
  readonly reversePath: string
  /** SIZE (RFC 1870), or null to leave it out. */
  readonly sizeBytes: number | null
  readonly isEightBit: boolean
  readonly isSmtpUtf8: boolean
}

/** The line of MAIL with its CRLF. `reversePath` is a written address or ''. */
export function formatMail(parameters: MailParameters): string {
  const { reversePath, sizeBytes, isEightBit, isSmtpUtf8 } = parameters
  const size = sizeBytes === null ? '' : ` SIZE=${sizeBytes}`
  const body = isEightBit ? ' BODY=8BITMIME' : ''
  const utf8 = isSmtpUtf8 ? ' SMTPUTF8' : ''
  return `MAIL FROM:<${reversePath}>${size}${body}${utf8}\r\n`
}

/** The line of RCPT with its CRLF. `recipient` is a written address. */
export function formatRcpt(recipient: string): string {
  return `RCPT TO:<${recipient}>\r\n`
}

function writeDomain(domain: string): string | null {
  if (isAscii(domain)) return domain
  const ascii = domainToASCII(domain.toLowerCase())
  // Digits of other scripts would become an IPv4 address, as in a URL.
  return isDomainName(ascii) && !/^[\d.]+$/.test(ascii) ? ascii : null
}

function isAscii(text: string): boolean {
  return !/[^\x00-\x7f]/.test(text)
}
