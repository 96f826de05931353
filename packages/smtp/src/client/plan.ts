// What a transaction will say, decided before its first octet is written: the commands, or the reply
// that we give ourselves because the server could only refuse or misunderstand it.

import { writeAddress } from '@mailroom/mail/address.ts'
import { formatMail, formatRcpt } from '@mailroom/mail/smtp/command.ts'
import { inspectContent } from '@mailroom/mail/smtp/data.ts'
import type { Extensions } from '@mailroom/mail/smtp/reply.ts'
import type { OutgoingMail, RecipientOutcome, Stage } from './outgoing-mail.ts'

export type Plan = {
  readonly mail: string
  /** The RCPT line of each recipient; null where it is settled already. */
  readonly recipients: readonly (string | null)[]
  /** Refusals of our own, in the places of their recipients. */
  readonly outcomes: (RecipientOutcome | null)[]
  readonly raw: Uint8Array
  readonly needsStuffing: boolean
}

const NO_SENDER = refused('mail', 501, '5.1.7', 'The sender address is not valid')
const NO_MAILBOX = refused('rcpt', 501, '5.1.3', 'The recipient address is not valid')
const NOT_CRLF = refused('content', 554, '5.6.0', 'The message has a CR or LF that is no CRLF')
const UTF8_NEEDED = refused('mail', 553, '5.6.7', 'The server does not offer SMTPUTF8')

/** `kind: 'refused'` refuses the whole transaction: nothing must be sent. */
export function planTransaction(
  mail: OutgoingMail,
  extensions: Extensions,
): { kind: 'plan'; plan: Plan } | { kind: 'refused'; outcome: RecipientOutcome } {
  const facts = inspectContent(mail.raw)
  if (!facts.isCrlfOnly) return { kind: 'refused', outcome: NOT_CRLF }
  const { size } = extensions
  if (size !== null && facts.sizeBytes > size) return { kind: 'refused', outcome: tooLarge(size) }
  const sender = writeReversePath(mail.reversePath)
  if (sender === null) return { kind: 'refused', outcome: NO_SENDER }
  const addresses = mail.recipients.map(writeAddress)
  const isSmtpUtf8 =
    mail.needsSmtpUtf8 ||
    sender.isInternational ||
    addresses.some((address) => address?.isInternational)
  if (isSmtpUtf8 && !extensions.smtpUtf8) return { kind: 'refused', outcome: UTF8_NEEDED }
  const plan: Plan = {
    mail: formatMail({
      reversePath: sender.address,
      sizeBytes: extensions.isSizeOffered ? facts.sizeBytes : null,
      // Where 8BITMIME is missing the octets go as they are: every server of today passes them on,
      // and rewriting the content here would break its signature.
      isEightBit: facts.isEightBit && extensions.eightBitMime,
      isSmtpUtf8,
    }),
    recipients: addresses.map((address) => address && formatRcpt(address.address)),
    outcomes: addresses.map((address) => (address === null ? NO_MAILBOX : null)),
    raw: mail.raw,
    needsStuffing: facts.needsStuffing,
  }
  return { kind: 'plan', plan }
}

function writeReversePath(reversePath: string) {
  return reversePath === '' ? { address: '', isInternational: false } : writeAddress(reversePath)
}

function tooLarge(size: number): RecipientOutcome {
  return refused('mail', 552, '5.3.4', `The server takes messages up to ${size} octets`)
}

function refused(stage: Stage, code: number, enhanced: string, text: string): RecipientOutcome {
  return { kind: 'refused', stage, reply: { code, enhanced, text } }
}
