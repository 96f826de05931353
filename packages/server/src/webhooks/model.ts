// A webhook: a URL to which the service posts events of an account.

import { isIP } from 'node:net'
import type { WebhookDeliveryStatus, WebhookError } from '@mailroom/contract/vocabulary.ts'
import type { LogPosition } from '#events/model.ts'
import { isSpecialAddress } from '#platform/egress/address-guard.ts'
import { problem } from '#platform/problem.ts'
import type { Fields } from '#store/columns.ts'
import type { webhooks } from '#store/nouns.ts'

export type { WebhookDeliveryStatus, WebhookError }

export type Webhook = Readonly<Fields<typeof webhooks>>

/** The webhook gets the events after this position. */
export function enabledAfter(webhook: Webhook): LogPosition {
  const { enabledAfterTransactionId: transactionId, enabledAfterSequence: sequence } = webhook
  return { transactionId, sequence }
}

/** The request of an attempt, without the body and the signatures. */
export type WebhookRequest = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

export type WebhookFailure = {
  /** When the newest failed attempt began; null if that is no longer stored. */
  readonly lastFailureAtMs: number | null
  /** Failed attempts since the last success that are still stored, up to `COUNTED_MAX`. */
  readonly failures: number
  /** The error of the newest failed attempt; null if that is no longer stored. */
  readonly error: WebhookError | null
  readonly responseStatus: number | null
  /** When the next retry is due; null if none is waiting. */
  readonly nextAttemptAtMs: number | null
}

/** `invalid_webhook_url` if no event may be posted to the URL. The message names `field`. */
export function requireWebhookUrl(
  deps: { allowPrivateEgress: boolean },
  url: string,
  field: 'url' | 'webhookUrl',
): void {
  const mistake = checkWebhookUrl(url, { allowPrivate: deps.allowPrivateEgress })
  if (mistake === null) return
  throw problem('invalid_webhook_url', `The field "${field}" ${mistake}.`, {
    details: [{ path: field, message: mistake }],
  })
}

export const WEBHOOK_URL_LENGTH_MAX = 2_000

const BLANK_OR_CONTROL = /[\s\p{Cc}\p{Cf}\p{Z}]/u
/** The parts up to the path, where the parser of `URL` would correct mistakes silently. */
const ABSOLUTE = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]+)/i

/**
 * The mistake in the text of a URL, to follow `The field "url"`, or null. `allowPrivate`: webhooks
 * may go to private addresses, by plain HTTP and to any port. The addresses of the host are checked
 * when a connection is made. Never throws.
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

/** The parser of `URL` has already normalised every spelling of an IPv4 address. */
function isOwnHost(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost')) return true
  return isIP(host) !== 0 && isSpecialAddress(host)
}
