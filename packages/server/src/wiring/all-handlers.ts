import { accountHandlers } from '#accounts/account-handlers.ts'
import { pairingHandlers } from '#accounts/pairing.ts'
import type { DoorPorts } from '#api/ports.ts'
import { domainHandlers } from '#domains/domain-handlers.ts'
import type { EventReaders } from '#http/event-readers.ts'
import type { Handlers } from '#http/handler.ts'
import { quarantineHandlers } from '#inbound/quarantine.ts'
import { senderRuleHandlers } from '#inbound/sender-rules.ts'
import { inboxHandlers } from '#inboxes/inbox-handlers.ts'
import { mailHandlers } from '#mailbox/mail-handlers.ts'
import { type ServicePorts, serviceHandlers } from '#operating/service-handlers.ts'
import { presentSent, sendHandlers } from '#outbound/send-handlers.ts'
import { findReplay } from '#outbound/send-message.ts'
import { suppressionHandlers } from '#outbound/suppressions.ts'
import { unsubscribeHandlers } from '#outbound/unsubscribe.ts'
import { removalHandlers } from '#removal/purge.ts'
import { sandboxHandlers } from '#sandbox/sandbox-handlers.ts'
import { searchHandlers } from '#search/search-handlers.ts'
import { statsHandlers } from '#stats/stats-handlers.ts'
import { eventHandlers } from '#streams/event-handlers.ts'
import { openEventStream } from '#streams/event-stream.ts'
import { checkFilter } from '#streams/read-events.ts'
import { webhookHandlers } from '#webhooks/webhook-handlers.ts'
import type { Deps } from './deps.ts'

/** One handler for each operation of the contract. */
export function allHandlers(deps: Deps, ports: ServicePorts, readers: EventReaders): Handlers {
  return {
    ...accountHandlers(deps, readers),
    ...domainHandlers(deps),
    ...inboxHandlers(deps),
    ...removalHandlers(deps),
    ...mailHandlers(deps),
    ...searchHandlers(deps),
    ...sendHandlers(deps),
    ...suppressionHandlers(deps),
    ...sandboxHandlers(deps),
    ...senderRuleHandlers(deps),
    ...quarantineHandlers(deps),
    ...unsubscribeHandlers(deps),
    ...eventHandlers(deps, readers),
    ...webhookHandlers(deps),
    ...pairingHandlers(deps),
    ...statsHandlers(deps),
    ...serviceHandlers(ports),
  }
}

/** What the server calls before it reads or checks a body, and for WebSockets. */
export function doorPorts(deps: Deps): DoorPorts {
  return {
    async findReplay(asked) {
      const answer = await findReplay(deps, asked)
      return answer && presentSent(answer)
    },
    isSandbox: () => deps.carrier === null,
    requireRoom: (accountId) => deps.storePressure.requireRoom(accountId),
    checkFilter: (asked) => checkFilter(deps, asked),
    openEventStream: (opened) => openEventStream(deps, opened),
  }
}
