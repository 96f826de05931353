// Parses mailboxes in the syntax of RFC 5321 §4.1.2 (RFC 6531 §3.3 for UTF-8), whether or not they
// exist.

import { domainToASCII } from 'node:url'

/**
 * Maximum octets of a local part. RFC 5321 §4.5.3.1.1 requires support for 64, but forwarders that
 * rewrite the sender and services that embed a token use more.
 */
const LOCAL_PART_OCTETS_MAX = 255
/** Maximum octets of a domain (RFC 5321 §4.5.3.1.2). */
const DOMAIN_OCTETS_MAX = 255
const LABEL_OCTETS_MAX = 63

type Mailbox = {
  readonly kind: 'mailbox'
  /** The local part without the quotes and backslashes of a quoted string. */
  readonly localPart: string
  /** As written: a domain name without a trailing dot, or an address literal in brackets. */
  readonly domain: string
  readonly isAddressLiteral: boolean
  /** Whether any character is outside ASCII, so that SMTPUTF8 is needed. */
  readonly isInternational: boolean
}

export type MailboxDefect =
  | 'syntax'
  | 'source-route'
  | 'no-domain'
  | 'local-part-too-long'
  | 'domain-too-long'

type ParsedMailbox =
  | Mailbox
  | { readonly kind: 'defect'; readonly defect: MailboxDefect; readonly isInternational: boolean }

const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
const DOT_STRING = new RegExp(`^${ATOM}+(?:\\.${ATOM}+)*$`)
const UTF8_ATOM = ATOM.replace('A-Z', '\\u0080-\\u{10ffff}A-Z')
const UTF8_DOT_STRING = new RegExp(`^${UTF8_ATOM}+(?:\\.${UTF8_ATOM}+)*$`, 'u')
const QUOTED_STRING = /^"(?:[\x20\x21\x23-\x5b\x5d-\x7e\u0080-\u{10ffff}]|\\[\x20-\x7e])*"/u
// The grammar does not allow underscores, but real mail domains use them.
const LABEL = /^[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?$/
// Matches letters, combining characters and digits of any script, the middle dot and the joiners
// (roughly RFC 5892). Excludes the full-width dots that IDNA treats as label separators.
const UTF8_LABEL = /^(?!-)[\p{L}\p{M}\p{N}\p{Join_C}\u00b7-]+(?<!-)$/u
// Characters that must never reach a header, a log line or a page, although UTF-8 can encode them.
const UNSAFE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\u200b\u2060\ufeff\ufffd]|(?! )\p{Zs}/u
const NON_ASCII = /[^\x00-\x7f]/

/**
 * Parses `local-part@domain` without angle brackets. Lengths are in octets of UTF-8. The 256 octets
 * of RFC 5321 §4.5.3.1.3 are treated as a minimum that servers must support, not as a limit: a path
 * with a domain of 255 octets already exceeds them.
 */
export function parseMailbox(text: string): ParsedMailbox {
  const isInternational = NON_ASCII.test(text)
  const refuse = (defect: MailboxDefect): ParsedMailbox => ({
    kind: 'defect',
    defect,
    isInternational,
  })
  if (isInternational && UNSAFE.test(text)) return refuse('syntax')
  if (text.startsWith('@')) return refuse('source-route')

  const quoted = text.startsWith('"') ? QUOTED_STRING.exec(text)?.[0] : undefined
  const at = quoted === undefined ? text.indexOf('@') : quoted.length
  if (at === -1 || at === text.length) return refuse('no-domain')
  if (text[at] !== '@') return refuse('syntax')
  const localPart = text.slice(0, at)
  const domain = text.slice(at + 1)
  if (quoted === undefined && !(isInternational ? UTF8_DOT_STRING : DOT_STRING).test(localPart)) {
    return refuse('syntax')
  }
  if (octets(localPart, isInternational) > LOCAL_PART_OCTETS_MAX) {
    return refuse('local-part-too-long')
  }
  if (octets(domain, isInternational) > DOMAIN_OCTETS_MAX) return refuse('domain-too-long')
  const isAddressLiteral = domain.startsWith('[')
  if (!(isAddressLiteral ? isLiteral(domain) : isDomainName(domain))) return refuse('syntax')
  return {
    kind: 'mailbox',
    localPart: quoted === undefined ? localPart : unquote(quoted),
    domain,
    isAddressLiteral,
    isInternational,
  }
}

/** Whether `text` is a domain name (RFC 5321 §4.1.2): labels of 1 to 63 octets, no trailing dot. */
export function isDomainName(text: string): boolean {
  return text.split('.').every((label) => {
    if (!NON_ASCII.test(label)) return label.length <= LABEL_OCTETS_MAX && LABEL.test(label)
    return octets(label, true) <= LABEL_OCTETS_MAX * 4 && UTF8_LABEL.test(label)
  })
}

function octets(text: string, isInternational: boolean): number {
  return isInternational ? Buffer.byteLength(text, 'utf8') : text.length
}

function unquote(quoted: string): string {
  return quoted.slice(1, -1).replace(/\\(.)/g, '$1')
}

const DECIMAL_OCTET = '(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)'
const IPV4 = new RegExp(`^${DECIMAL_OCTET}(?:\\.${DECIMAL_OCTET}){3}$`)
const IPV6_GROUP = /^[0-9a-f]{1,4}$/i

function isLiteral(domain: string): boolean {
  if (!domain.endsWith(']')) return false
  const address = domain.slice(1, -1)
  if (!/^IPv6:/i.test(address)) return IPV4.test(address)
  return isIpv6(address.slice('IPv6:'.length))
}

function isIpv6(text: string): boolean {
  const halves = text.split('::')
  if (halves.length > 2) return false
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')))
  const last = groups.at(-1) ?? ''
  const hasIpv4 = last.includes('.')
  if (hasIpv4 && (!IPV4.test(last) || text.endsWith('::'))) return false
  const plain = hasIpv4 ? groups.slice(0, -1) : groups
  const count = plain.length + (hasIpv4 ? 2 : 0)
  return (
    plain.every((group) => IPV6_GROUP.test(group)) &&
    (halves.length === 2 ? count < 8 : count === 8)
  )
}

/**
 * The domain of an address in the form used for comparison: lower case, U-labels as A-labels (RFC
 * 5890 §2.3.2.1).
 */
export function asciiDomain(written: string): string {
  // ASCII input bypasses `domainToASCII`, which decodes percent signs and drops tabs.
  if (/^[\x00-\x7f]*$/.test(written)) return written.toLowerCase()
  return domainToASCII(written) || written.toLowerCase()
}

/**
 * Normalises a domain name like `asciiDomain`, without a trailing dot. Null for an address literal
 * or anything else that is not a name, and for a name over the length limit (RFC 1035 §2.3.4).
 */
export function readDomainName(written: string): string | null {
  // The conversion is slow, so its input is bounded. U-labels may be longer than A-labels, but
  // never four times as long.
  if (written.length > 4 * NAME_LENGTH_MAX) return null
  const name = asciiDomain(written).replace(/\.$/, '')
  if (name.length > NAME_LENGTH_MAX || TOO_LONG_LABEL.test(name)) return null
  if (/[^\x00-\x7f]/.test(name)) return null
  return name === '' || /[\s@:[\]<>()"\\,;]/.test(name) || /^[\d.]+$/.test(name) ? null : name
}

const NAME_LENGTH_MAX = 253
const TOO_LONG_LABEL = /[^.]{64}/

type WireAddress = {
  readonly address: string
  /** Whether the local part is outside ASCII, so that the transaction needs SMTPUTF8. */
  readonly isInternational: boolean
}

/**
 * The mailbox as written between `<` and `>`, with its domain in A-labels, or null if it is
 * invalid. Angle brackets are refused even in quotes, where RFC 5321 allows them, because a server
 * that ends the path at the wrong bracket would deliver to another mailbox.
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

function writeDomain(domain: string): string | null {
  if (isAscii(domain)) return domain
  const ascii = domainToASCII(domain.toLowerCase())
  // The conversion would turn digits of other scripts into an IPv4 address, as URL parsers do.
  return isDomainName(ascii) && !/^[\d.]+$/.test(ascii) ? ascii : null
}

function isAscii(text: string): boolean {
  return !/[^\x00-\x7f]/.test(text)
}
