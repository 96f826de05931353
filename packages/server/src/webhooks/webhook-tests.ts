// Tests of webhooks under way: one of each at a time over all processes, how many there may be in this one,
// and their end with the service.

import { problem } from '#platform/problem.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { Budgets } from '#rate-limits/budgets.ts'

/** Tests of a process under way at once, of one webhook each; they are attempts beside those counted below. */
export const WEBHOOK_TESTS_MAX = 50
/** Before the end of a shutdown, for telling who waits for a test that it was cut. */
const WEBHOOK_TEST_END_MS = SECOND_MS

export type WebhookTests = {
  /**
   * What `run` gives; its signal is aborted when the service ends. `rate_limit_exceeded` while another
   * test of this webhook is under way, `service_unavailable` while WEBHOOK_TESTS_MAX of all are, or
   * after `close`.
   */
  run<Value>(webhookId: string, run: (signal: AbortSignal) => Promise<Value>): Promise<Value>
  /** Lets those under way end for as long as leaves time to tell of the others within `drainMs`. */
  close(drainMs: number): Promise<void>
}

/** Holds nothing while there are none. */
export function openWebhookTests(budgets: Pick<Budgets, 'openPlaces'>): WebhookTests {
  const places = budgets.openPlaces({ name: 'webhook tests', limit: 1 })
  const underWay = new Set<Promise<unknown>>()
  const ending = new AbortController()
  let isClosed = false
  const keeping = async <Value>(test: Promise<Value>) => {
    underWay.add(test)
    try {
      return await test
    } finally {
      underWay.delete(test)
    }
  }
  return {
    async run(webhookId, run) {
      if (isClosed) throw problem('service_unavailable', 'The service is shutting down.')
      const place = await places.take(webhookId)
      if (place === null) {
        throw problem('rate_limit_exceeded', 'A test of this webhook is already running.')
      }
      try {
        if (isClosed) throw problem('service_unavailable', 'The service is shutting down.')
        if (underWay.size >= WEBHOOK_TESTS_MAX) {
          throw problem('service_unavailable', 'Too many webhooks are being tested.')
        }
        return await keeping(run(ending.signal))
      } finally {
        place.release()
      }
    },
    async close(drainMs) {
      isClosed = true
      const timer = setTimeout(() => ending.abort(), Math.max(0, drainMs - WEBHOOK_TEST_END_MS))
      await Promise.allSettled(underWay)
      clearTimeout(timer)
    },
  }
}
