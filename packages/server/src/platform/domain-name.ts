// Domain names in API requests: normalized, or refused with a reason.

import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'

/** Longest domain whose return paths fit in 254 octets (RFC 5321 §4.5.3.1.3). */
export const CUSTOM_DOMAIN_LENGTH_MAX = 213

type NamedDomain =
  | { readonly kind: 'domain'; readonly domain: string }
  /** The reason is a sentence without a full stop. */
  | { readonly kind: 'invalid'; readonly reason: string }

/** A name that ends in a number could be read as an IP address (RFC 3696 §2). */
const NUMBER_AT_END = /[.。．｡](?:\d+|0x[\da-f]*)[.。．｡]?$/i
const LABEL = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/

/**
 * Returns lower-case A-labels. Refuses names that cannot have mailboxes: addresses, single labels,
 * public suffixes, `serviceDomain` and its subdomains.
 */
export async function readCustomDomain(text: string, serviceDomain: string): Promise<NamedDomain> {
  const named = readNamedDomain(text)
  if (named.kind === 'invalid') return named
  const { domain } = named
  if (domain === serviceDomain)
    return invalid(`${quote(domain)} is the domain of the service itself`)
  if (domain.endsWith(`.${serviceDomain}`)) {
    return invalid(`${quote(domain)} is a subdomain of the domain of the service`)
  }
  if (await isPublicSuffix(domain)) {
    return invalid(`${quote(domain)} is a public suffix, under which others register domains`)
  }
  return named
}

/** Allows public suffixes and the service's domain. */
export function readNamedDomain(text: string): NamedDomain {
  const shown = text.length > 100 ? `${text.slice(0, 100)}…` : text
  if (text === '') return invalid('an empty text is not a domain name')
  if (isIP(text.replace(/^\[(?:ipv6:)?(.*)\]$/i, '$1')) !== 0) {
    return invalid(`${quote(shown)} is an IP address, not a domain name`)
  }
  // `domainToASCII` would read percent signs and ports as in a URL.
  if (/[^a-zA-Z0-9.\-\u0080-\u{10ffff}]/u.test(text))
    return invalid(`${quote(shown)} is not a domain name`)
  const domain = domainToASCII(text.toLowerCase()).replace(/\.$/, '')
  if (domain === '') {
    const reason = NUMBER_AT_END.test(text)
      ? 'ends in a number, as no domain name does'
      : 'is not a domain name'
    return invalid(`${quote(shown)} ${reason}`)
  }
  const labels = domain.split('.')
  // URLs accept `0x7f.1` and full-width digits as addresses.
  if (isIP(domain) !== 0) return invalid(`${quote(shown)} is an IP address, not a domain name`)
  if (domain.length > CUSTOM_DOMAIN_LENGTH_MAX) {
    return invalid(`the domain name is longer than ${CUSTOM_DOMAIN_LENGTH_MAX} characters`)
  }
  if (labels.some((label) => !LABEL.test(label))) {
    return invalid(
      `${quote(shown)} has a part that is empty, longer than 63 characters, or begins or ends with a hyphen`,
    )
  }
  if (labels.length === 1)
    return invalid(`${quote(shown)} is a single word, not a whole domain name`)
  return { kind: 'domain', domain }
}

/** `ofRegistries` leaves out suffixes of companies, such as github.io. */
export async function isPublicSuffix(
  domain: string,
  options: { ofRegistries?: true } = {},
): Promise<boolean> {
  // Loaded on first use, because the list needs memory and most services never use it.
  const { getPublicSuffix } = await import('tldts')
  const allowPrivateDomains = options.ofRegistries !== true
  return getPublicSuffix(domain, { allowPrivateDomains, validateHostname: false }) === domain
}

function quote(text: string): string {
  return JSON.stringify(text)
}

function invalid(reason: string): NamedDomain {
  return { kind: 'invalid', reason }
}
