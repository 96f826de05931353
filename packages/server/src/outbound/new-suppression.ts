// A suppression that comes about by what happened to mail, ready to be written with it.

import { RESPONSE_LENGTH_MAX } from '@mailroom/mail-reading/report/delivery-status.ts'
import type { Clock } from '#platform/clock.ts'
import { addressKey } from '#platform/email-address.ts'
import type { MakeId } from '#platform/ids.ts'
import type { SuppressionType } from './suppression.ts'
import type { NewSuppression } from './suppression-rows.ts'

/** `reason` is in somebody else's words, and is cut. */
export function newSuppression(
  deps: { clock: Clock; makeId: MakeId },
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
