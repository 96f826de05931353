// Measures the cost of a long queue for other work: reading and accepting with and without waiting
// deliveries, and starting with them.

import { parseArgs } from 'node:util'
import { runToEnd } from './child.ts'
import { describeMachine, median, table } from './figures.ts'
import type { HttpOutcome } from './http-load.ts'
import { type RunningMailroom, startMailroom } from './mailroom.ts'
import { NO_SEND_LIMITS, sendPlan } from './send.ts'

/** Options: `--waiting 100000`, `--seconds 5` per run, `--rounds 3`. */
export async function queue(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      waiting: { type: 'string', default: '100000' },
      seconds: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '3' },
    },
  })
  const options = { seconds: Number(values.seconds), rounds: Number(values.rounds) }
  // The port is closed, so each delivery is tried once and then waits.
  const env = {
    ...NO_SEND_LIMITS,
    MAILROOM_DELIVERY: 'direct',
    MAILROOM_MX_PORT: '9',
    MAILROOM_ALLOW_PRIVATE_EGRESS: 'true',
  }
  const idle = await startMailroom({ ...env, MAILROOM_ROLES: 'http,smtp' })
  // The first requests fill the pages, which are full in both measurements.
  const some = { seconds: 60, requests: 2_000, to: 'someone@[127.0.0.1]' }
  await runToEnd<HttpOutcome>('http-load.ts', await sendPlan(idle, some))
  const empty = await measure(idle, options)
  const bounds = { seconds: 3600, requests: Number(values.waiting), to: 'someone@[127.0.0.1]' }
  await runToEnd<HttpOutcome>('http-load.ts', await sendPlan(idle, bounds))
  const full = await measure(idle, options)
  await idle.stop({ keeps: true })
  const startMs = performance.now()
  const working = await startMailroom(env, idle.dataDir)
  const readyMs = performance.now() - startMs
  await working.stop()
  const rows = [['', 'short queue', `${values.waiting} waiting`, 'ratio']]
  for (const name of ['a page of messages, p50 ms', 'accepting, ms a send'] as const) {
    const [before, after] = [empty[name], full[name]]
    rows.push([name, before.toFixed(2), after.toFixed(2), (after / before).toFixed(2)])
  }
  process.stdout.write(
    `${describeMachine()}\n\n${table(rows)}\n\nready ${readyMs.toFixed(0)} ms after a start on the full queue\n`,
  )
}

type Costs = Record<'a page of messages, p50 ms' | 'accepting, ms a send', number>

async function measure(
  mailroom: RunningMailroom,
  { seconds, rounds }: { seconds: number; rounds: number },
): Promise<Costs> {
  const plan = await sendPlan(mailroom, { seconds, requests: Number.MAX_SAFE_INTEGER })
  const pages = plan.paths.map((path) => path.replace(/send$/, 'messages?limit=50'))
  const reads: number[] = []
  const sends: number[] = []
  for (let round = 0; round < rounds; round++) {
    const reading = { ...plan, method: 'GET' as const, paths: pages, body: null, connections: 1 }
    reads.push((await runToEnd<HttpOutcome>('http-load.ts', reading)).p50Ms)
    sends.push(1000 / (await runToEnd<HttpOutcome>('http-load.ts', plan)).perSecond)
  }
  return { 'a page of messages, p50 ms': median(reads), 'accepting, ms a send': median(sends) }
}
