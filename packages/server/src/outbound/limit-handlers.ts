import type { InboxLimits } from '@mailroom/contract/limits.ts'
import { findAccount } from '#accounts/store/accounts.ts'
import type { Handlers } from '#http/handler.ts'
import { findInbox } from '#inboxes/store/inboxes.ts'
import { limitsOf } from '#outbound/send/sender.ts'
import type { SendSettings } from '#outbound/send/store/check-send.ts'
import { readUsedLimits, type UsedLimit } from '#outbound/send/store/send-limits.ts'
import { presentTime } from '#platform/clock.ts'
import { notFound } from '#platform/problem.ts'
import type { Store } from '#store/store.ts'

export function limitHandlers(
  deps: Store & { sending: SendSettings },
): Pick<Handlers, 'inboxes.limits'> {
  return {
    'inboxes.limits': async ({ path: { id: inboxId } }, { accountId }): Promise<InboxLimits> => {
      const [inbox, account] = await Promise.all([
        findInbox(deps.db, accountId, inboxId),
        findAccount(deps.db, accountId),
      ])
      if (inbox === null || account === null) throw notFound()
      const nowMs = deps.clock.now()
      const limits = limitsOf(deps, { inbox, account }, nowMs)
      const used = await readUsedLimits(deps.db, { accountId, inboxId, limits, nowMs })
      if (used === null) throw notFound()
      return {
        sendsPerMinute: presentLimit(used.sendsPerMinute),
        sendsPerDay: presentLimit(used.sendsPerDay),
        coldRecipientsPerDay: presentLimit(used.coldRecipientsPerDay),
        accountColdRecipientsPerDay: presentLimit(used.accountColdRecipientsPerDay),
        heldMessages: presentLimit(used.heldMessages),
      }
    },
  }
}

function presentLimit({ limit, used, resetsAtMs }: UsedLimit): InboxLimits['sendsPerDay'] {
  return {
    limit,
    used,
    remaining: limit === null ? null : Math.max(0, limit - used),
    resetsAt: resetsAtMs === null ? null : presentTime(resetsAtMs),
  }
}
