// Tests of webhooks under way in this process: how many there may be, and their end with the service.

import { WEBHOOK_TEST_END_MS, WEBHOOK_TESTS_MAX } from '#base/limits.ts'
import { problem } from '#model/problem.ts'

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
export function openWebhookTests(): WebhookTests {
  const underWay = new Map<string, Promise<unknown>>()
  const ending = new AbortController()
  let isClosed = false
  return {
    async run(webhookId, run) {
      if (isClosed) throw problem('service_unavailable', 'The service is shutting down.')
      if (underWay.has(webhookId)) {
        throw problem('rate_limit_exceeded', 'A test of this webhook is under way.')
      }
      if (underWay.size >= WEBHOOK_TESTS_MAX) {
        throw problem('service_unavailable', 'Too many webhooks are being tested.')
      }
      const test = run(ending.signal)
      underWay.set(webhookId, test)
      try {
        return await test
      } finally {
        underWay.delete(webhookId)
      }
    },
    async close(drainMs) {
      isClosed = true
      const timer = setTimeout(() => ending.abort(), Math.max(0, drainMs - WEBHOOK_TEST_END_MS))
      await Promise.allSettled(underWay.values())
      clearTimeout(timer)
    },
  }
}
