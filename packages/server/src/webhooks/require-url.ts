// Refusing what is no URL of a webhook.

import { problem } from '#platform/problem.ts'
import { checkWebhookUrl } from './webhook-url.ts'

/** `invalid_webhook_url` for what no event may be posted to; `field` names it in the message. */
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
