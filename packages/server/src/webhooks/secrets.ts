// The secrets of a webhook as they lie in the database: sealed, the newest first, each replaced one
// with the time until which it signs along.

import type { Sealer } from '#platform/seal.ts'
import { DAY_MS } from '#platform/units.ts'
import type { WebhookSecret } from './webhook.ts'

/** How long a secret that was replaced signs along. */
export const WEBHOOK_OLD_SECRET_MS = DAY_MS
/** Secrets of a webhook that sign at once. */
export const WEBHOOK_SECRETS_MAX = 5

type Sealed = { readonly id: string; readonly sealedSecrets: Uint8Array }

/** For the webhook of this id alone. */
export function sealSecrets(
  sealer: Sealer,
  webhookId: string,
  secrets: readonly WebhookSecret[],
): Uint8Array {
  return sealer.seal(Buffer.from(JSON.stringify(secrets)), contextOf(webhookId))
}

/** Those that sign at this time, the newest first. Throws when another key sealed them. */
export function openSecrets(sealer: Sealer, webhook: Sealed, nowMs: number): string[] {
  const secrets = openAll(sealer, webhook, nowMs)
  if (secrets === null)
    throw new Error(`the secrets of ${webhook.id} are not those that were kept.`)
  return secrets.map(({ secret }) => secret)
}

export type NewestSealed =
  /** `isAlone`: those before it cannot be opened, and are dropped. */
  | { readonly kind: 'sealed'; readonly sealedSecrets: Uint8Array; readonly isAlone: boolean }
  /** So many sign that none fits in before `untilMs`. */
  | { readonly kind: 'full'; readonly untilMs: number }

/**
 * What is to be kept once `secret` is the newest: the one before it signs along for a day, earlier
 * ones for as long as they were promised.
 */
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

/** Null when another key sealed them. */
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
