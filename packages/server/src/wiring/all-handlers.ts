// The whole table of handlers, with a store in trouble told as 503 wherever it shows.

import { accountHandlers } from '#accounts/account-handlers.ts'
import { pairingHandlers } from '#accounts/pairing-handlers.ts'
import { domainHandlers } from '#domains/domain-handlers.ts'
import type { EventReaders } from '#http/event-readers.ts'
import type { DoorPorts, Handlers } from '#http/handler.ts'
import { senderHandlers } from '#inbound/sender-handlers.ts'
import { inboxHandlers } from '#inboxes/inbox-handlers.ts'
import { mailHandlers } from '#mailbox/mail-handlers.ts'
import { shownHandlers } from '#mailbox/shown-handlers.ts'
import { viewHandlers } from '#mailbox/view-handlers.ts'
import { type ServicePorts, serviceHandlers } from '#operating/service-handlers.ts'
import { findReplay } from '#outbound/find-replay.ts'
import { presentSent } from '#outbound/present-sending.ts'
import { sendHandlers } from '#outbound/send-handlers.ts'
import { unsubscribeHandlers } from '#outbound/unsubscribe-handlers.ts'
import { withStorageTold } from '#platform/storage-trouble.ts'
import { searchHandlers } from '#search/search-handlers.ts'
import { statsHandlers } from '#stats/stats-handlers.ts'
import { type AskedFilter, checkFilter } from '#streams/check-filter.ts'
import { eventHandlers } from '#streams/event-handlers.ts'
import { type EventStream, openEventStream } from '#streams/event-stream.ts'
import { webhookHandlers } from '#webhooks/webhook-handlers.ts'
import type { Deps } from './deps.ts'

/** One handler for each operation of the contract. */
export function allHandlers(deps: Deps, ports: ServicePorts, readers: EventReaders): Handlers {
  const handlers: Handlers = {
    ...accountHandlers(deps, readers),
    ...domainHandlers(deps),
    ...inboxHandlers(deps),
    ...mailHandlers(deps),
    ...shownHandlers(deps),
    ...searchHandlers(deps),
    ...viewHandlers(deps),
    ...sendHandlers(deps),
    ...senderHandlers(deps),
    ...unsubscribeHandlers(deps),
    ...eventHandlers(deps, readers),
    ...webhookHandlers(deps),
    ...pairingHandlers(deps),
    ...statsHandlers(deps),
    ...serviceHandlers(ports),
  }
  const told = Object.entries(handlers).map(([id, handler]) => [
    id,
    tellingStorage(handler as (...parameters: unknown[]) => unknown),
  ])
  return Object.fromEntries(told) as Handlers
}

/** What the door asks before it reads or checks a body, and for WebSockets. */
export function doorPorts(deps: Deps): DoorPorts {
  return {
    findReplay: tellingStorage(async (asked: Parameters<DoorPorts['findReplay']>[0]) => {
      const answer = await findReplay(deps, asked)
      return answer && presentSent(answer)
    }),
    isSandbox: () => deps.carrier === null,
    requireRoom: (accountId) => deps.storePressure.requireRoom(accountId),
    checkFilter: tellingStorage((asked: AskedFilter) => checkFilter(deps, asked)),
    openEventStream: (opened) => {
      const stream = openEventStream(deps, opened)
      return {
        subscribe: tellingStorage((wanted: Parameters<EventStream['subscribe']>[0]) =>
          stream.subscribe(wanted),
        ),
        unsubscribe: (inboxIds) => stream.unsubscribe(inboxIds),
        resume: () => stream.resume(),
        close: () => stream.close(),
      }
    },
  }
}

/** The same function, whose rejections for a store in trouble are `service_unavailable`. */
export function tellingStorage<Parameters extends unknown[], Value>(
  run: (...parameters: Parameters) => Value | Promise<Value>,
): (...parameters: Parameters) => Promise<Value> {
  return async (...parameters) => {
    try {
      return await run(...parameters)
    } catch (error) {
      throw withStorageTold(error)
    }
  }
}
