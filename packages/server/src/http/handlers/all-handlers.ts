// The whole table of handlers, with a store in trouble told as 503 wherever it shows.

import type { Deps } from '#actions/deps.ts'
import { withStorageTold } from '#actions/storage-trouble.ts'
import type { Handlers } from '#http/handler.ts'
import { accountHandlers } from './account-handlers.ts'
import { mailHandlers } from './mail-handlers.ts'
import { type ServicePorts, serviceHandlers } from './service-handlers.ts'

/** One handler for each operation of the contract. */
export function allHandlers(deps: Deps, ports: ServicePorts): Handlers {
  const handlers: Handlers = {
    ...accountHandlers(deps),
    ...mailHandlers(deps),
    ...serviceHandlers(ports),
  }
  const told = Object.entries(handlers).map(([id, handler]) => [
    id,
    tellingStorage(handler as (...parameters: unknown[]) => unknown),
  ])
  return Object.fromEntries(told) as Handlers
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
