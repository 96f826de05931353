// What became of a message's recipients.

import type { Deps } from '#actions/deps.ts'
import type { Page } from '#actions/page.ts'
import type { Delivery } from '#model/delivery.ts'
import { notFound } from '#model/problem.ts'
import * as store from '#store/delivery.ts'
import { findMessage } from '#store/message.ts'

/** In the order of the recipients; none for received mail. `not_found` without such a message. */
export async function listDeliveries(
  deps: Pick<Deps, 'db' | 'clock' | 'queueClock'>,
  input: { accountId: string; messageId: string } & Page,
): Promise<{ deliveries: Delivery[]; total: number }> {
  const message = await findMessage(deps.db, input.accountId, input.messageId, { lengthMax: 0 })
  if (message === null) throw notFound()
  const { deliveries, total } = await store.listDeliveries(deps.db, input)
  // Told in the time of the wall clock, as everything else is.
  const aheadMs = deps.clock.now() - deps.queueClock.now()
  return { deliveries: deliveries.map((delivery) => shifted(delivery, aheadMs)), total }
}

function shifted(delivery: Delivery, aheadMs: number): Delivery {
  const { nextAttemptAtMs: nextMs } = delivery
  return nextMs === null ? delivery : { ...delivery, nextAttemptAtMs: nextMs + aheadMs }
}
