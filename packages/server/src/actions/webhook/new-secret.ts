// What a webhook is made of at its start: an id, and a secret with the form in which it is kept.

import type { Deps } from '#actions/deps.ts'
import { makeWebhookSecret } from '#model/webhook-signature.ts'
import { sealSecrets } from './secrets.ts'

export type NewSecret = { id: string; secret: string; sealedSecrets: Uint8Array }

/** Nothing of it is kept yet. */
export function makeNewSecret(deps: Pick<Deps, 'chance' | 'makeId' | 'sealer'>): NewSecret {
  const id = deps.makeId('whk')
  const secret = makeWebhookSecret(deps.chance)
  return { id, secret, sealedSecrets: sealSecrets(deps.sealer, id, [{ secret, untilMs: null }]) }
}
