// Giving a webhook a new secret, while the one before signs along.

import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { Log } from '#platform/log.ts'
import { problem } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import type { Db } from '#schema/tables.ts'
import { type FindInbox, getWebhook, getWebhookOfInbox } from './read-webhooks.ts'
import { sealNewest, WEBHOOK_SECRETS_MAX } from './secrets.ts'
import type { Webhook } from './webhook.ts'
import { replaceWebhookSecrets } from './webhook-rows.ts'
import { makeWebhookSecret } from './webhook-signature.ts'

type RotateDeps = { db: Db; clock: Clock; chance: Chance; sealer: Sealer; log: Log }

/**
 * The webhook with the new secret, which is told this once. Of two calls at once both hold.
 * `rate_limit_exceeded`, and nothing is changed, while WEBHOOK_SECRETS_MAX sign: a receiver was promised
 * each of them. Secrets that cannot be opened sign nothing, and are dropped.
 */
export async function rotateSecret(
  deps: RotateDeps,
  input: { accountId: string; webhookId: string },
): Promise<{ webhook: Webhook; secret: string }> {
  const secret = makeWebhookSecret(deps.chance)
  for (;;) {
    const webhook = await getWebhook(deps, input)
    const nowMs = deps.clock.now()
    const sealed = sealNewest(deps.sealer, webhook, { secret, nowMs })
    if (sealed.kind === 'full') throw tooMany(sealed.untilMs - nowMs)
    const { sealedSecrets, isAlone } = sealed
    const kept = webhook.sealedSecrets
    // Where it fails another call has succeeded, so that one of all always gets on.
    const isKept = await deps.db.write(replaceWebhookSecrets, { ...input, kept, sealedSecrets })
    if (!isKept) continue
    if (isAlone) {
      deps.log.warn(
        { webhook: webhook.id },
        'webhook secrets that could not be decrypted were dropped',
      )
    }
    return { webhook, secret }
  }
}

function tooMany(waitMs: number): ReturnType<typeof problem> {
  return problem(
    'rate_limit_exceeded',
    `The webhook has ${WEBHOOK_SECRETS_MAX} active secrets, which is the limit; wait until the oldest expires.`,
    { retryAfterSeconds: Math.ceil(waitMs / 1_000) },
  )
}

/** The same for the one behind an inbox's `webhookUrl`. */
export async function rotateInboxSecret(
  deps: RotateDeps & { findInbox: FindInbox },
  input: { accountId: string; inboxId: string },
): Promise<string> {
  const { id } = await getWebhookOfInbox(deps, input)
  const { secret } = await rotateSecret(deps, { accountId: input.accountId, webhookId: id })
  return secret
}
