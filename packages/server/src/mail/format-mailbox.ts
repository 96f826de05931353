// A mailbox as text for a reader: `Name <address>` or the bare address (RFC 5322 §3.4).

import type { Mailbox } from './parsed-message.ts'

/** A name with characters that RFC 5322 reserves is quoted; the address stands as it is. */
export function formatMailbox(mailbox: Mailbox): string {
  if (mailbox.name === '') return mailbox.address
  const name = /[()<>[\]:;@\\,."]/.test(mailbox.name)
    ? `"${mailbox.name.replace(/["\\]/g, '\\$&')}"`
    : mailbox.name
  return `${name} <${mailbox.address}>`
}
