import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#platform/clock.ts'
import { type Log, silentLog } from '#platform/log.ts'
import {
  openOtlpTracing,
  TRACE_CALLERS_PER_SECOND_MAX,
  TRACE_SPANS_WAITING_MAX,
} from '#platform/telemetry/otlp-tracing.ts'
import type { OpenSpan, Tracing } from '#platform/telemetry/tracing.ts'
import { type Collector, openCollector } from '#test/peers/collector.ts'

const LIMIT = { timeout: 60_000 }
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'
const SAMPLED = `00-${TRACE}-${SPAN}-01`

type Traced = { tracing: Tracing; collector: Collector; time: { ms: number }; warned: unknown[] }

async function withTracing(share: number, run: (traced: Traced) => Promise<void>): Promise<void> {
  const collector = await openCollector()
  const time = { ms: 0 }
  const clock = { ...systemClock, monotonic: () => time.ms }
  const warned: unknown[] = []
  const log: Log = { ...silentLog, warn: (fields) => void warned.push(fields) }
  const { endpoint } = collector
  const tracing = openOtlpTracing({ endpoint, share, attributes: {}, log, clock })
  try {
    await run({ tracing, collector, time, warned })
  } finally {
    await tracing.close()
    await collector.close()
  }
}

const traceOf = ({ traceParent }: OpenSpan) => traceParent.split('-')[1]

test('only a valid traceparent is continued', LIMIT, () =>
  withTracing(1, async ({ tracing }) => {
    const isFollowed = (parent: string) => traceOf(tracing.open('one', { parent })) === TRACE
    for (const good of [SAMPLED, `00-${TRACE}-${SPAN}-00`, `01-${TRACE}-${SPAN}-01-later`]) {
      assert.ok(isFollowed(good), good)
    }
    const zeros = '0'.repeat(32)
    for (const bad of [
      '',
      `${SAMPLED}-more`,
      `${SAMPLED}, ${SAMPLED}`,
      `${SAMPLED}${'0'.repeat(16_000)}`,
      `ff-${TRACE}-${SPAN}-01`,
      `00-${TRACE.toUpperCase()}-${SPAN}-01`,
      `00-${zeros}-${SPAN}-01`,
      `00-${TRACE}-${zeros.slice(16)}-01`,
    ]) {
      assert.ok(!isFollowed(bad), bad.slice(0, 100))
    }
  }),
)

test('callers cause only a limited number of traces a second, whatever they send', LIMIT, () =>
  withTracing(0, async ({ tracing, time }) => {
    const isSampled = () => tracing.open('one', { parent: SAMPLED }).traceParent.endsWith('-01')
    const sampled = () => Array.from({ length: 3 * TRACE_CALLERS_PER_SECOND_MAX }, isSampled)
    assert.equal(sampled().filter(Boolean).length, TRACE_CALLERS_PER_SECOND_MAX)
    time.ms += 1_000
    assert.equal(sampled().filter(Boolean).length, TRACE_CALLERS_PER_SECOND_MAX)
  }),
)

test('a span that begins after its parent has ended is no child of it', LIMIT, () =>
  withTracing(1, async ({ tracing }) => {
    const nameOfStep = () => tracing.step('step', {}, async ({ traceParent }) => traceParent)
    const later = Promise.withResolvers<void>()
    let left: Promise<string> | undefined
    await tracing.begin('request', { parent: SAMPLED }, async () => {
      assert.ok((await nameOfStep()).includes(TRACE))
      left = later.promise.then(nameOfStep)
    })
    later.resolve()
    assert.equal(await left, '')
  }),
)

test('beyond the limit spans are dropped and counted, and memory is freed', LIMIT, () =>
  withTracing(1, async ({ tracing, collector, warned }) => {
    const over = 1_000
    for (let count = 0; count < TRACE_SPANS_WAITING_MAX + over; count++) {
      tracing.open('one', { parent: null }).end()
    }
    await collector.until(() => (warned.length > 0 ? true : undefined))
    // The first batch was being sent before the last of them came.
    const [{ spans }] = warned as [{ spans: number }]
    assert.ok(spans > 0 && spans <= over, `${spans}`)
    const kept = TRACE_SPANS_WAITING_MAX + over - spans
    await collector.until((taken) => (taken.length === kept ? true : undefined))
  }),
)

test('the end does not wait for a collector that hangs', LIMIT, () =>
  withTracing(1, async ({ tracing, collector }) => {
    collector.habit = 'hang'
    tracing.open('one', { parent: null }).end()
    await tracing.close()
    await collector.until(() => (collector.requests > 0 ? true : undefined))
    assert.equal(collector.hanging, 1)
  }),
)
