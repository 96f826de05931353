// What the text of a webhook's URL shows: whether it is one that strangers may have us post to. What
// its name resolves to is looked at where the connection is made.

import { isIP } from 'node:net'
import { isSpecialAddress } from '#platform/egress/address-guard.ts'

export const WEBHOOK_URL_LENGTH_MAX = 2_000

const BLANK_OR_CONTROL = /[\s\p{Cc}\p{Cf}\p{Z}]/u
/** The parts up to the path, by which a parser that mends URLs (WHATWG) has nothing to mend. */
const ABSOLUTE = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]+)/i

/**
 * What is wrong with it, to follow `The field "url"`; null when nothing is. `allowPrivate`: the
 * operator lets webhooks go to private addresses, by plain HTTP and to any port too. Never throws.
 */
export function checkWebhookUrl(text: string, options: { allowPrivate: boolean }): string | null {
  const { allowPrivate } = options
  if ([...text].length > WEBHOOK_URL_LENGTH_MAX) {
    return `must have at most ${WEBHOOK_URL_LENGTH_MAX} characters`
  }
  if (BLANK_OR_CONTROL.test(text)) return 'must have no blanks and no control characters'
  if (text.includes('\\')) return 'must have no backslashes'
  const [, scheme = '', authority = ''] = ABSOLUTE.exec(text) ?? []
  const url = URL.canParse(text) ? new URL(text) : null
  if (scheme === '' || url === null)
    return 'must be an absolute URL such as https://example.com/mail'
  if (url.protocol !== 'https:' && !(allowPrivate && url.protocol === 'http:')) {
    return allowPrivate ? 'must begin with https:// or http://' : 'must begin with https://'
  }
  const host = url.hostname.replace(/\.+$/, '').replace(/^\[(.*)\]$/, '$1')
  if (host === '') return 'must name a host'
  if (authority.includes('@')) return 'must not contain a user name or password'
  if (url.port === '0') return 'must not name port 0'
  if (allowPrivate) return null
  if (!['', '80', '443'].includes(url.port)) return 'must not name a port other than 443 and 80'
  return isOwnHost(host) ? 'must name a host that the public Internet can reach' : null
}

/** Of a host as WHATWG's parser leaves it: every spelling of an IPv4 address is dotted decimal. */
function isOwnHost(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost')) return true
  return isIP(host) !== 0 && isSpecialAddress(host)
}
