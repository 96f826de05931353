// Giving a webhook a new secret, while the one before signs along.

import type { Deps } from '#actions/deps.ts'
import type { Webhook } from '#model/webhook.ts'
import { makeWebhookSecret } from '#model/webhook-signature.ts'
import { getWebhook, getWebhookOfInbox } from './read-webhooks.ts'
import { sealNewest } from './secrets.ts'

type RotateDeps = Pick<Deps, 'db' | 'clock' | 'chance' | 'sealer'>

/** The webhook with the new secret, which is told this once. Of two calls at once both hold. */
export async function rotateSecret(
  deps: RotateDeps,
  input: { accountId: string; webhookId: string },
): Promise<{ webhook: Webhook; secret: string }> {
  const secret = makeWebhookSecret(deps.chance)
  for (;;) {
    const webhook = await getWebhook(deps, input)
    const sealedSecrets = sealNewest(deps.sealer, webhook, { secret, nowMs: deps.clock.now() })
    const kept = webhook.sealedSecrets
    // Where it fails another call has succeeded, so that one of all always gets on.
    const isKept = await deps.db.write('replaceWebhookSecrets', { ...input, kept, sealedSecrets })
    if (isKept) return { webhook, secret }
  }
}

/** The same for the one behind an inbox's `webhookUrl`. */
export async function rotateInboxSecret(
  deps: RotateDeps,
  input: { accountId: string; inboxId: string },
): Promise<string> {
  const { id } = await getWebhookOfInbox(deps, input)
  const { secret } = await rotateSecret(deps, { accountId: input.accountId, webhookId: id })
  return secret
}
