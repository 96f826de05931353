// The signatures of a webhook's request, in two conventions side by side: one that signs time and body
// with the secret as it is written, and Standard Webhooks, which signs the id too, with its octets.

import { createHmac } from 'node:crypto'
import type { Chance } from '#platform/chance.ts'

const SECRET_PREFIX = 'whsec_'
/** Standard Webhooks asks for 24 to 64. */
const SECRET_BYTES = 32

/** `whsec_` and the base64 of 32 random octets. */
export function makeWebhookSecret(chance: Chance): string {
  return SECRET_PREFIX + Buffer.from(chance.bytes(SECRET_BYTES)).toString('base64')
}

export type SignedRequest = {
  /** Of the event: the same at every attempt. */
  readonly id: string
  /** Of this attempt, in whole seconds since the Unix epoch. */
  readonly timestamp: number
  readonly body: string
  /** Newest first, at least one. All sign `webhook-signature`, the first two have fields of their own. */
  readonly secrets: readonly string[]
}

/** Header fields for the request. */
export function signWebhook(request: SignedRequest): Record<string, string> {
  const { id, timestamp, body, secrets } = request
  const [newest, previous] = secrets
  if (newest === undefined) throw new Error('a webhook without a secret cannot be signed')
  const plain = (secret: string) => hmac(secret, `${timestamp}.${body}`).toString('hex')
  const standard = (secret: string) =>
    `v1,${hmac(keyOf(secret), `${id}.${timestamp}.${body}`).toString('base64')}`
  return {
    'X-Event-Id': id,
    'X-Timestamp': String(timestamp),
    'X-Signature': plain(newest),
    ...(previous === undefined ? {} : { 'X-Signature-Previous': plain(previous) }),
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map(standard).join(' '),
  }
}

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
