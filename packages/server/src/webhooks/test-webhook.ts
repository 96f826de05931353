import type { Budgets } from '#limits/limits.ts'
import { WEBHOOK_MS_MAX } from '#platform/egress/http-post.ts'
import { notFound, problem } from '#platform/problem.ts'
import { SECOND_MS } from '#platform/units.ts'
import { WEBHOOK_LEASE_MS } from '#queue/dispatcher-bounds.ts'
import { findWebhookDelivery, type WebhookDelivery } from '#webhooks/store/deliveries.ts'
import { addWebhookTest } from '#webhooks/store/queue.ts'
import { getWebhook } from './change-webhooks.ts'
import { type DeliverWebhookDeps, deliverWebhook } from './deliver-webhooks.ts'
import type { WebhookError } from './model.ts'

export type TestDeps = DeliverWebhookDeps & { webhookTests: WebhookTests }
type Named = { accountId: string; webhookId: string }
type WebhookTestOutcome = { message: string; delivery: WebhookDelivery }

/**
 * Posts a test event once, even to a disabled webhook. Throws `not_found`, `webhook_failed` if the
 * receiver did not accept it, `rate_limit_exceeded`, or `service_unavailable` when busy or shutting
 * down.
 */
export async function testWebhook(deps: TestDeps, input: Named): Promise<WebhookTestOutcome> {
  // Keeps other accounts from using up this webhook's tests.
  await getWebhook(deps, input)
  return deps.webhookTests.run(input.webhookId, (signal) => test(deps, input, signal))
}

async function test(
  deps: TestDeps,
  { accountId, webhookId }: Named,
  isEnding: AbortSignal,
): Promise<WebhookTestOutcome> {
  const deliveryId = deps.makeId('dlv')
  const worker = `test ${deliveryId}`
  const queueMs = deps.queueClock.now()
  const held = await deps.db.write(addWebhookTest, {
    accountId,
    webhookId,
    eventId: deps.makeId('evt'),
    deliveryId,
    worker,
    nowMs: deps.clock.now(),
    queueMs,
    leaseUntilMs: queueMs + WEBHOOK_LEASE_MS,
  })
  if (held === null) throw notFound()
  deps.wakeEvents()
  const signal = AbortSignal.any([isEnding, AbortSignal.timeout(WEBHOOK_LEASE_MS)])
  await deliverWebhook(deps, held, { worker, signal })
  const delivery = await findWebhookDelivery(deps.db, { accountId, webhookId, deliveryId })
  if (delivery === null) throw notFound()
  const { response_status: responseStatus, latency_ms: latencyMs } = delivery
  const error = delivery.error as WebhookError | null
  if (error === 'internal_error' && isEnding.aborted) {
    throw problem(
      'service_unavailable',
      'The service shut down before the receiver responded to the test.',
    )
  }
  if (delivery.status !== 'succeeded') {
    throw problem('webhook_failed', failureOf(error, responseStatus))
  }
  return { message: `The receiver responded with ${responseStatus} in ${latencyMs} ms.`, delivery }
}

function failureOf(error: WebhookError | null, status: number | null): string {
  switch (error) {
    case 'status':
      return `The receiver responded with ${status}, which is not a 2xx status.`
    case 'redirect':
      return `The receiver responded with ${status}; redirects are not followed.`
    case 'timeout': {
      const limit = `within ${WEBHOOK_MS_MAX / 1_000} seconds`
      return status === null
        ? `The receiver did not respond ${limit}.`
        : `The receiver responded with ${status}, but did not finish its response ${limit}.`
    }
    case 'forbidden_address':
      return 'The host of the URL has a private or reserved address, which webhooks must not use.'
    case 'dns_failed':
      return 'The host name of the URL was not found.'
    case 'connection_failed':
      return 'The connection to the receiver failed or was closed too early.'
    case 'tls_failed':
      return 'The TLS handshake with the receiver failed, or its certificate is invalid.'
    case 'protocol_error':
      return 'The receiver did not respond with valid HTTP.'
    case 'internal_error':
    case 'webhook_disabled':
    case null:
      return 'The test was not completed.'
  }
}

/** Excludes the dispatcher's attempts. */
export const WEBHOOK_TESTS_MAX = 50
/** The last part of a shutdown answers aborted tests. */
const WEBHOOK_TEST_END_MS = SECOND_MS

export type WebhookTests = {
  /**
   * `rate_limit_exceeded` while any process tests this webhook; `service_unavailable` at
   * WEBHOOK_TESTS_MAX or after `close`.
   */
  run<Value>(webhookId: string, run: (signal: AbortSignal) => Promise<Value>): Promise<Value>
  /** Aborts running tests in time to answer all within `drainMs`. */
  close(drainMs: number): Promise<void>
}

export function openWebhookTests(budgets: Pick<Budgets, 'openSlots'>): WebhookTests {
  const slots = budgets.openSlots({ name: 'webhook tests', limit: 1 })
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
      const slot = await slots.take(webhookId)
      if (slot === null) {
        throw problem('rate_limit_exceeded', 'A test of this webhook is already running.')
      }
      try {
        if (isClosed) throw problem('service_unavailable', 'The service is shutting down.')
        if (underWay.size >= WEBHOOK_TESTS_MAX) {
          throw problem('service_unavailable', 'Too many webhooks are being tested.')
        }
        return await keeping(run(ending.signal))
      } finally {
        slot.release()
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
