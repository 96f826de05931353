// The whole table of handlers, with a store in trouble told as 503 wherever it shows.

import type { Deps } from '#actions/deps.ts'
import { type AskedFilter, checkFilter } from '#actions/event/check-filter.ts'
import { type EventStream, openEventStream } from '#actions/event/event-stream.ts'
import { findReplay } from '#actions/message/find-replay.ts'
import { withStorageTold } from '#actions/storage-trouble.ts'
import type { EventReaders } from '#http/event-readers.ts'
import type { DoorPorts, Handlers } from '#http/handler.ts'
import { presentSent } from '#http/present/sending.ts'
import { accountHandlers } from './account-handlers.ts'
import { domainHandlers } from './domain-handlers.ts'
import { eventHandlers } from './event-handlers.ts'
import { inboxHandlers } from './inbox-handlers.ts'
import { mailHandlers } from './mail-handlers.ts'
import { pairingHandlers } from './pairing-handlers.ts'
import { searchHandlers } from './search-handlers.ts'
import { sendHandlers } from './send-handlers.ts'
import { senderHandlers } from './sender-handlers.ts'
import { type ServicePorts, serviceHandlers } from './service-handlers.ts'
import { shownHandlers } from './shown-handlers.ts'
import { statsHandlers } from './stats-handlers.ts'
import { unsubscribeHandlers } from './unsubscribe-handlers.ts'
import { viewHandlers } from './view-handlers.ts'
import { webhookHandlers } from './webhook-handlers.ts'

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
