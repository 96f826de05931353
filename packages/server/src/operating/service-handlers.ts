// Handlers that tell about the service itself.

import type { Handlers } from '#http/handler.ts'
import { problem } from '#platform/problem.ts'

export type ServicePorts = {
  /** Null when the service can take requests and mail, else what it waits for. */
  findObstacle(): Promise<string | null>
  renderMetrics(): Promise<{ contentType: string; body: string }>
}

/** Health, readiness and metrics. */
export function serviceHandlers(
  ports: ServicePorts,
): Pick<Handlers, Extract<keyof Handlers, `service.${string}`>> {
  return {
    'service.health': () => ({ status: 'ok' as const }),
    'service.ready': async () => {
      const obstacle = await ports.findObstacle()
      if (obstacle !== null)
        throw problem('service_unavailable', obstacle, { retryAfterSeconds: 1 })
      return { status: 'ready' as const }
    },
    'service.metrics': async () => {
      const { contentType, body } = await ports.renderMetrics()
      return { headers: { 'content-type': contentType }, content: body }
    },
  }
}
