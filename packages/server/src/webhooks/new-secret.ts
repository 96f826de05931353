// What a webhook is made of at its start: an id, and a secret with the form in which it is kept.

import type { Chance } from '#platform/chance.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Sealer } from '#platform/seal.ts'
import { sealSecrets } from './secrets.ts'
import { makeWebhookSecret } from './webhook-signature.ts'

export type NewSecret = { id: string; secret: string; sealedSecrets: Uint8Array }

/** Nothing of it is kept yet. */
export function makeNewSecret(deps: { chance: Chance; makeId: MakeId; sealer: Sealer }): NewSecret {
  const id = deps.makeId('whk')
  const secret = makeWebhookSecret(deps.chance)
  return { id, secret, sealedSecrets: sealSecrets(deps.sealer, id, [{ secret, untilMs: null }]) }
}
