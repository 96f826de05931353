import { createHmac } from 'node:crypto'
import type { Chance } from '#platform/chance.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Sealer } from '#platform/seal.ts'
import { DAY_MS } from '#platform/units.ts'

/** A replaced secret signs for this long. */
export const WEBHOOK_OLD_SECRET_MS = DAY_MS
export const WEBHOOK_SECRETS_MAX = 5

/** Stored as a sealed list, newest first. `untilMs` is null for the current secret. */
type WebhookSecret = { readonly secret: string; readonly untilMs: number | null }
type Sealed = { readonly id: string; readonly sealedSecrets: Uint8Array }

function sealSecrets(
  sealer: Sealer,
  webhookId: string,
  secrets: readonly WebhookSecret[],
): Uint8Array {
  return sealer.seal(Buffer.from(JSON.stringify(secrets)), contextOf(webhookId))
}

/** Newest first, without expired ones. Throws if they were sealed with another key. */
export function openSecrets(sealer: Sealer, webhook: Sealed, nowMs: number): string[] {
  const secrets = openAll(sealer, webhook, nowMs)
  if (secrets === null)
    throw new Error(`the secrets of ${webhook.id} are not those that were kept.`)
  return secrets.map(({ secret }) => secret)
}

type NewestSealed =
  /** `isAlone`: earlier secrets could not be decrypted and are dropped. */
  | { readonly kind: 'sealed'; readonly sealedSecrets: Uint8Array; readonly isAlone: boolean }
  /** WEBHOOK_SECRETS_MAX secrets sign until `untilMs`. */
  | { readonly kind: 'full'; readonly untilMs: number }

/** The former newest secret signs for another day; earlier ones keep their end. */
export function sealNewest(
  sealer: Sealer,
  webhook: Sealed,
  { secret, nowMs }: { secret: string; nowMs: number },
): NewestSealed {
  const kept = openAll(sealer, webhook, nowMs)
  const older = (kept ?? []).map((old) => ({
    secret: old.secret,
    untilMs: old.untilMs ?? nowMs + WEBHOOK_OLD_SECRET_MS,
  }))
  if (older.length >= WEBHOOK_SECRETS_MAX) {
    return { kind: 'full', untilMs: Math.min(...older.map(({ untilMs }) => untilMs)) }
  }
  const sealedSecrets = sealSecrets(sealer, webhook.id, [{ secret, untilMs: null }, ...older])
  return { kind: 'sealed', sealedSecrets, isAlone: kept === null }
}

function openAll(
  sealer: Sealer,
  { id, sealedSecrets }: Sealed,
  nowMs: number,
): WebhookSecret[] | null {
  const plain = sealer.open(sealedSecrets, contextOf(id))
  if (plain === null) return null
  const secrets = JSON.parse(Buffer.from(plain).toString()) as WebhookSecret[]
  return secrets.filter(({ untilMs }) => untilMs === null || untilMs > nowMs)
}

function contextOf(webhookId: string): string {
  return `webhook:${webhookId}`
}

export function makeNewSecret(deps: { chance: Chance; makeId: MakeId; sealer: Sealer }) {
  const id = deps.makeId('whk')
  const secret = makeWebhookSecret(deps.chance)
  return { id, secret, sealedSecrets: sealSecrets(deps.sealer, id, [{ secret, untilMs: null }]) }
}

const SECRET_PREFIX = 'whsec_'
/** Standard Webhooks requires 24 to 64 octets. */
const SECRET_BYTES = 32

export function makeWebhookSecret(chance: Chance): string {
  return SECRET_PREFIX + Buffer.from(chance.bytes(SECRET_BYTES)).toString('base64')
}

type SignedRequest = {
  readonly id: string
  /** Of this attempt, in seconds since the epoch. */
  readonly timestamp: number
  readonly body: string
  /** Newest first, at least one. */
  readonly secrets: readonly string[]
}

/**
 * `X-Signature` signs the time and the body with the secret as written. Standard Webhooks also
 * signs the id, with the secret's octets.
 */
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

export function withoutSignatures(
  headers: Readonly<Record<string, string>>,
): Record<string, string> {
  const fields = Object.entries(headers)
  return Object.fromEntries(fields.filter(([name]) => !/signature/i.test(name)))
}

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
