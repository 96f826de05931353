// Domain names as mail writes them, in the form in which they are asked for and compared.

import { domainToASCII } from 'node:url'

/** The domain part of an address as it is compared: lower case, A-labels for U-labels (RFC 5890 §2.3.2.1). */
export function asciiDomain(written: string): string {
  // Only for what is not ASCII yet: the function would read percent signs and drop tabs in the rest.
  if (/^[\x00-\x7f]*$/.test(written)) return written.toLowerCase()
  return domainToASCII(written) || written.toLowerCase()
}

/**
 * The same without the dot at the end; null where it is no name, such as an address literal, or longer
 * than a name can be (RFC 1035 §2.3.4).
 */
export function readDomainName(written: string): string | null {
  // U-labels may be longer than A-labels, but not by that much: their conversion takes time.
  if (written.length > 4 * NAME_LENGTH_MAX) return null
  const name = asciiDomain(written).replace(/\.$/, '')
  if (name.length > NAME_LENGTH_MAX || TOO_LONG_LABEL.test(name)) return null
  if (/[^\x00-\x7f]/.test(name)) return null
  return name === '' || /[\s@:[\]<>()"\\,;]/.test(name) || /^[\d.]+$/.test(name) ? null : name
}

const NAME_LENGTH_MAX = 253
const TOO_LONG_LABEL = /[^.]{64}/
