// The secrets of a webhook as they lie in the database: sealed, the newest first, each replaced one
// with the time until which it signs along.

import { WEBHOOK_OLD_SECRET_MS, WEBHOOK_SECRETS_MAX } from '#base/limits.ts'
import type { Sealer } from '#base/seal.ts'
import type { WebhookSecret } from '#model/webhook.ts'

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
  return openAll(sealer, webhook, nowMs).map(({ secret }) => secret)
}

/**
 * What is to be kept once `secret` is the newest: the one before it signs along for a day, earlier
 * ones for as long as they were promised, except where there are too many.
 */
export function sealNewest(
  sealer: Sealer,
  webhook: Sealed,
  { secret, nowMs }: { secret: string; nowMs: number },
): Uint8Array {
  const older = openAll(sealer, webhook, nowMs).map((old) => ({
    secret: old.secret,
    untilMs: old.untilMs ?? nowMs + WEBHOOK_OLD_SECRET_MS,
  }))
  const secrets = [{ secret, untilMs: null }, ...older].slice(0, WEBHOOK_SECRETS_MAX)
  return sealSecrets(sealer, webhook.id, secrets)
}

function openAll(sealer: Sealer, { id, sealedSecrets }: Sealed, nowMs: number): WebhookSecret[] {
  const plain = sealer.open(sealedSecrets, contextOf(id))
  if (plain === null) throw new Error(`the secrets of ${id} are not those that were kept.`)
  const secrets = JSON.parse(Buffer.from(plain).toString()) as WebhookSecret[]
  return secrets.filter(({ untilMs }) => untilMs === null || untilMs > nowMs)
}

function contextOf(webhookId: string): string {
  return `webhook:${webhookId}`
}
