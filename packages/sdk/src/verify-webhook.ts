// Verifies that a webhook request comes from the service and is recent. Uses only WebCrypto, so it
// runs anywhere.

import type { Event } from '@mailroom/contract/events.ts'

export type WebhookVerificationErrorCode =
  /** The secret is undefined, because its environment variable is not set. */
  | 'missing_secret'
  /** The signature, timestamp or id is missing. */
  | 'missing_header'
  /** The timestamp is not a number of seconds. */
  | 'bad_timestamp'
  /** The request is too old, possibly a replay, or the clocks differ. */
  | 'too_old'
  | 'wrong_signature'
  /** The signature is valid, but the body is not JSON. */
  | 'not_json'

export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError'
  readonly code: WebhookVerificationErrorCode

  constructor(code: WebhookVerificationErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** Fetch headers, or an object of names and values. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

export type VerifyWebhookOptions = {
  /** Maximum difference between the request's timestamp and the current time; default 300. */
  toleranceSeconds?: number
  /** The current time in milliseconds since the Unix epoch; default Date.now(). */
  now?: number
}

const TOLERANCE_SECONDS_DEFAULT = 300
const SECRET_PREFIX = 'whsec_'
const encoder = new TextEncoder()

/**
 * Returns the event of a verified request. `rawBody` is the unparsed body; with several secrets,
 * any may match. Rejects with WebhookVerificationError. A request may arrive more than once, even
 * within the tolerance, so remember its `event_id`.
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string | readonly string[] | undefined,
  options: VerifyWebhookOptions = {},
): Promise<Event> {
  if (secret === undefined) {
    const message = 'The secret is missing. Set the environment variable that contains it.'
    throw new WebhookVerificationError('missing_secret', message)
  }
  // Callers in JavaScript may pass a parsed body, or null as the secret.
  const secrets = [secret].flat().filter((one) => typeof one === 'string')
  const body = typeof rawBody === 'string' ? encoder.encode(rawBody) : rawBody
  if (!(body instanceof Uint8Array)) {
    const message = 'The signature covers the unparsed body: pass its text or its bytes.'
    throw new WebhookVerificationError('wrong_signature', message)
  }
  const signed = readStandard(headers) ?? readPlain(headers)
  if (signed === null) {
    const names = 'webhook-id, webhook-timestamp and webhook-signature'
    throw new WebhookVerificationError('missing_header', `The request needs ${names}.`)
  }
  checkTime(signed.timestamp, options)
  const text = join(encoder.encode(signed.prefix), body)
  if (!(await isSignedByAny(text, signed, secrets))) {
    const message = 'No signature of the request was made with this secret.'
    throw new WebhookVerificationError('wrong_signature', message)
  }
  try {
    return JSON.parse(new TextDecoder().decode(body))
  } catch {
    throw new WebhookVerificationError('not_json', 'The body is not JSON.')
  }
}

type Signed = {
  readonly timestamp: string
  /** The signed text before the body. */
  readonly prefix: string
  readonly signatures: readonly Uint8Array<ArrayBuffer>[]
  /** The key bytes of a secret; null for a malformed secret. */
  keyOf(secret: string): Uint8Array<ArrayBuffer> | null
}

/** The Standard Webhooks convention. */
function readStandard(headers: WebhookHeaders): Signed | null {
  const id = read(headers, 'webhook-id')
  const timestamp = read(headers, 'webhook-timestamp')
  const list = read(headers, 'webhook-signature')
  if (id === null || timestamp === null || list === null) return null
  return {
    timestamp,
    prefix: `${id}.${timestamp}.`,
    signatures: list.split(' ').flatMap((entry) => {
      const [version, signature = ''] = entry.split(',')
      return version === 'v1' ? (decodeBase64(signature) ?? []) : []
    }),
    keyOf: (secret) =>
      decodeBase64(secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret),
  }
}

/** The plain convention: one header per secret, with the secret's text as key. */
function readPlain(headers: WebhookHeaders): Signed | null {
  const timestamp = read(headers, 'x-timestamp')
  const newest = read(headers, 'x-signature')
  if (timestamp === null || newest === null) return null
  const previous = read(headers, 'x-signature-previous') ?? ''
  return {
    timestamp,
    prefix: `${timestamp}.`,
    signatures: [newest, previous].flatMap((text) => decodeHex(text) ?? []),
    keyOf: (secret) => encoder.encode(secret),
  }
}

function read(headers: WebhookHeaders, name: string): string | null {
  const value = isFetchHeaders(headers)
    ? headers.get(name)
    : Object.entries(headers ?? {}).find(
        ([key, one]) => key.toLowerCase() === name && one !== undefined,
      )?.[1]
  const [first] = [value].flat()
  return typeof first === 'string' ? first : null
}

function isFetchHeaders(
  headers: WebhookHeaders,
): headers is Extract<WebhookHeaders, { get(name: string): string | null }> {
  return typeof headers?.get === 'function'
}

function checkTime(timestamp: string, options: VerifyWebhookOptions): void {
  const { toleranceSeconds = TOLERANCE_SECONDS_DEFAULT, now = Date.now() } = options
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookVerificationError(
      'bad_timestamp',
      'The timestamp of the request is not a number.',
    )
  }
  if (Math.abs(now / 1000 - Number(timestamp)) > toleranceSeconds) {
    const message = `The request was made more than ${toleranceSeconds} seconds ago, or the clocks differ.`
    throw new WebhookVerificationError('too_old', message)
  }
}

/** Compares all signatures in constant time, as WebCrypto's verify does. */
async function isSignedByAny(
  text: Uint8Array<ArrayBuffer>,
  { signatures, keyOf }: Signed,
  secrets: readonly string[],
): Promise<boolean> {
  let isSigned = false
  for (const secret of secrets) {
    const octets = keyOf(secret)
    if (octets === null || octets.length === 0) continue
    const algorithm = { name: 'HMAC', hash: 'SHA-256' }
    const key = await crypto.subtle.importKey('raw', octets, algorithm, false, ['verify'])
    for (const signature of signatures) {
      isSigned = (await crypto.subtle.verify('HMAC', key, signature, text)) || isSigned
    }
  }
  return isSigned
}

function join(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(one.length + other.length)
  joined.set(one)
  joined.set(other, one.length)
  return joined
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return null
  }
}

function decodeHex(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[0-9a-f]{64}$/i.test(text)) return null
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}
