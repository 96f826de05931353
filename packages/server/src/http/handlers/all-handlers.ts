// The whole table of handlers, with a store in trouble told as 503 wherever it shows.

import type { Deps } from '#actions/deps.ts'
import { findReplay } from '#actions/message/find-replay.ts'
import { withStorageTold } from '#actions/storage-trouble.ts'
import type { DoorPorts, Handlers } from '#http/handler.ts'
import { presentSent } from '#http/present/sending.ts'
import { accountHandlers } from './account-handlers.ts'
import { mailHandlers } from './mail-handlers.ts'
import { sendHandlers } from './send-handlers.ts'
import { type ServicePorts, serviceHandlers } from './service-handlers.ts'

/** One handler for each operation of the contract. */
export function allHandlers(deps: Deps, ports: ServicePorts): Handlers {
  const handlers: Handlers = {
    ...accountHandlers(deps),
    ...mailHandlers(deps),
    ...sendHandlers(deps),
    ...serviceHandlers(ports),
  }
  const told = Object.entries(handlers).map(([id, handler]) => [
    id,
    tellingStorage(handler as (...parameters: unknown[]) => unknown),
  ])
  return Object.fromEntries(told) as Handlers
}

/** What the door asks before it reads or checks a body. */
export function doorPorts(deps: Deps): DoorPorts {
  return {
    findReplay: tellingStorage(async (asked: Parameters<DoorPorts['findReplay']>[0]) => {
      const answer = await findReplay(deps, asked)
      return answer && presentSent(answer)
    }),
    isSandbox: () => deps.carrier === null,
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
