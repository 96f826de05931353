import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMetrics, silentMetrics } from '#platform/telemetry/metrics.ts'

test('requests, outcomes, commits and parses are counted under their names', async () => {
  const metrics = await openMetrics({ includesProcess: false })
  const request = { method: 'GET', route: '/v1/pods', status: 200, durationMs: 3 }
  metrics.countHttpRequest(request)
  metrics.countHttpRequest(request)
  metrics.countSmtpOutcome({ outcome: 'received', code: 250 })
  metrics.observeCommit({ size: 7, durationMs: 2 })
  metrics.observeParse({ thread: 'worker', durationMs: 40 })
  const { contentType, body } = await metrics.render()
  assert.match(contentType, /^text\/plain/)
  for (const line of [
    'mailroom_http_requests_total{method="GET",route="/v1/pods",status="200"} 2',
    'mailroom_http_request_duration_seconds_sum{method="GET",route="/v1/pods"} 0.006',
    'mailroom_smtp_outcomes_total{outcome="received",code="250"} 1',
    'mailroom_commit_group_size_bucket{le="10"} 1',
    'mailroom_commit_group_size_bucket{le="5"} 0',
    'mailroom_commit_duration_seconds_count 1',
    'mailroom_parse_duration_seconds_sum{thread="worker"} 0.04',
  ]) {
    assert.ok(body.includes(`${line}\n`), line)
  }
})

test('a gauge is read when metrics are rendered', async () => {
  const metrics = await openMetrics({ includesProcess: false })
  let length = 3
  metrics.watch('writeQueue', () => length)
  metrics.watch('jobsWaiting', async () => 5)
  length = 4
  const { body } = await metrics.render()
  assert.match(body, /^mailroom_write_queue_length 4$/m)
  assert.match(body, /^mailroom_jobs_waiting 5$/m)
  assert.match(body, /^mailroom_parse_queue_length 0$/m)
})

test('a gauge that cannot be read is NaN, and all other figures are still shown', async () => {
  const metrics = await openMetrics({ includesProcess: false })
  let isAway = true
  metrics.watch('jobsWaiting', async () => {
    if (isAway) throw new Error('no database')
    return 2
  })
  metrics.watch('parseQueue', () => {
    throw new Error('at once')
  })
  metrics.watch('writeQueue', () => 1)
  const { body } = await metrics.render()
  assert.match(body, /^mailroom_jobs_waiting nan$/im)
  assert.match(body, /^mailroom_parse_queue_length nan$/im)
  assert.match(body, /^mailroom_write_queue_length 1$/m)
  isAway = false
  assert.match((await metrics.render()).body, /^mailroom_jobs_waiting 2$/m)
})

test('invented HTTP methods share one label', async () => {
  const metrics = await openMetrics({ includesProcess: false })
  for (const method of ['BREW', 'WHEN']) {
    metrics.countHttpRequest({ method, route: 'unknown', status: 405, durationMs: 1 })
  }
  const { body } = await metrics.render()
  assert.match(body, /requests_total\{method="other",route="unknown",status="405"\} 2/)
})

test('two services in one process count separately, and one of them includes the process figures', async () => {
  const first = await openMetrics({ includesProcess: true })
  const second = await openMetrics({ includesProcess: false })
  first.observeCommit({ size: 1, durationMs: 1 })
  assert.match((await first.render()).body, /^process_resident_memory_bytes \d/m)
  assert.match((await second.render()).body, /^mailroom_commit_group_size_count 0$/m)
})

test('silent metrics render nothing', async () => {
  silentMetrics.observeCommit({ size: 1, durationMs: 1 })
  assert.equal((await silentMetrics.render()).body, '')
})
