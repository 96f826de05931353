import { isIP } from 'node:net'
import type { WebhookDeliveryStatus, WebhookError } from '@mailroom/contract/vocabulary.ts'
import type { LogOffset } from '#events/model.ts'
import { isSpecialAddress } from '#platform/egress/address-guard.ts'
import { problem } from '#platform/problem.ts'
import type { Fields } from '#store/columns.ts'
import type { webhooks } from '#store/nouns.ts'

export type { WebhookDeliveryStatus, WebhookError }

export type Webhook = Readonly<Fields<typeof webhooks>>

export function enabledAfter(webhook: Webhook): LogOffset {
  const { enabledAfterTransactionId: transactionId, enabledAfterSequence: sequence } = webhook
  return { transactionId, sequence }
}

/** A request without its body and signatures. */
export type WebhookRequest = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

export type WebhookFailure = {
  /** Start of the newest failed attempt; null if that attempt is no longer stored. */
  readonly lastFailureAtMs: number | null
  /** Number of stored failures since the last success, up to `COUNTED_MAX`. */
  readonly failures: number
  readonly error: WebhookError | null
  readonly responseStatus: number | null
  /** Null if no retry is waiting. */
  readonly nextAttemptAtMs: number | null
}

/** Throws `invalid_webhook_url` with a message that names `field`. */
export function requireWebhookUrl(
  deps: { allowPrivateEgress: boolean },
  url: string,
  field: 'url' | 'webhookUrl',
): void {
  const mistake = checkWebhookUrl(url, { allowPrivate: deps.allowPrivateEgress })
  if (mistake === null) return
  throw problem('invalid_webhook_url', `The field "${field}" ${mistake}.`, {
    details: [{ path: field, message: mistake }],
    ...(LOCAL_URL.test(url) && { fix: LOCAL_FIX }),
  })
}

const LOCAL_URL = /^https?:\/\/(localhost|127\.[0-9.]+|\[::1\])(:\d+)?([/?#]|$)/i
const LOCAL_FIX =
  'To get events on your machine without a webhook, run: mailroom listen --forward URL. The operator can allow private addresses with MAILROOM_ALLOW_PRIVATE_EGRESS=true.'

export const WEBHOOK_URL_LENGTH_MAX = 2_000

const BLANK_OR_CONTROL = /[\s\p{Cc}\p{Cf}\p{Z}]/u
/** Matches up to the path, where the `URL` parser would silently correct errors. */
const ABSOLUTE = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]+)/i

/**
 * Returns an error that follows `The field "url"`. `allowPrivate` allows private addresses, plain
 * HTTP and any port. The host's addresses are checked at each connection.
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

/** The `URL` parser has already normalized every spelling of an IPv4 address. */
function isOwnHost(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost')) return true
  return isIP(host) !== 0 && isSpecialAddress(host)
}
