// A suppression that comes about by what happened to mail, ready to be written with it.

import type { Deps } from '#actions/deps.ts'
import { RESPONSE_LENGTH_MAX } from '#base/limits.ts'
import { addressKey } from '#model/email-address.ts'
import type { SuppressionType } from '#model/suppression.ts'
import type { NewSuppression } from '#store/suppression.ts'

/** `reason` is in somebody else's words, and is cut. */
export function newSuppression(
  deps: Pick<Deps, 'clock' | 'makeId'>,
  why: { accountId: string; address: string; type: SuppressionType; reason: string },
): NewSuppression {
  return {
    id: deps.makeId('sup'),
    account_id: why.accountId,
    address: why.address,
    address_key: addressKey(why.address),
    type: why.type,
    reason: why.reason.slice(0, RESPONSE_LENGTH_MAX),
    created_at: deps.clock.now(),
  }
}
