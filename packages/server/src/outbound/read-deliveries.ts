// What became of a message's recipients.

import { findMessage } from '#mailbox/message-rows.ts'
import type { Clock } from '#platform/clock.ts'
import { notFound } from '#platform/problem.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import type { Db, Page } from '#schema/tables.ts'
import type { Delivery } from './delivery.ts'
import * as store from './delivery-rows.ts'

/** In the order of the recipients; none for received mail. `not_found` without such a message. */
export async function listDeliveries(
  deps: { db: Db; clock: Clock; queueClock: QueueClock },
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
