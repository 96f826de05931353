// Measures sends per second that the API accepts: composed, signed, committed with their deliveries
// and synced to disk before the answer.

import { parseArgs } from 'node:util'
import { runToEnd } from './child.ts'
import { describeMachine, median, table } from './figures.ts'
import type { HttpOutcome, HttpPlan } from './http-load.ts'
import { type RunningMailroom, startMailroom } from './mailroom.ts'

/** Settings that raise the limits that would stop a benchmark. */
export const NO_SEND_LIMITS = {
  MAILROOM_LIMIT_SENDS_PER_MINUTE: '100000000',
  MAILROOM_LIMIT_SENDS_PER_DAY: '100000000',
  MAILROOM_LIMIT_COLD_PER_DAY: '100000000',
  MAILROOM_LIMIT_COLD_ACCOUNT_PER_DAY: '100000000',
  MAILROOM_LIMIT_INBOXES_PER_DAY: '1000',
}

/** 1 KiB of text. */
export const SEND_TEXT = 'All work and no play makes a dull agent. '.repeat(25).slice(0, 1024)

const CONNECTIONS = 16

/** The requests of each connection. Every connection sends from a different inbox. */
export async function sendPlan(
  mailroom: RunningMailroom,
  bounds: { seconds: number; requests: number; to?: string },
): Promise<HttpPlan> {
  const inboxes = await mailroom.client.inboxes.list({ limit: CONNECTIONS }).page()
  const made = [...inboxes.data]
  while (made.length < CONNECTIONS) made.push(await mailroom.client.inboxes.create({}))
  const { seconds, requests, to = 'someone@sink.example' } = bounds
  return {
    port: mailroom.httpPort,
    key: mailroom.key,
    connections: CONNECTIONS,
    seconds,
    requests,
    method: 'POST',
    paths: made.map((inbox) => `/v1/inboxes/${inbox.id}/send`),
    body: JSON.stringify({ to, subject: 'Message {n}', body: SEND_TEXT }),
  }
}

/** Options: `--seconds 10` per run, `--rounds 3`. */
export async function send(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '10' },
      rounds: { type: 'string', default: '3' },
    },
  })
  const rows = [['delivering meanwhile', 'accepted/s', 'p50 ms', 'p99 ms', 'failures']]
  for (const [name, roles] of [
    ['no', 'http,smtp'],
    ['into the sandbox', 'all'],
  ] as const) {
    const mailroom = await startMailroom({ ...NO_SEND_LIMITS, MAILROOM_ROLES: roles })
    try {
      const run = async (seconds: number) =>
        runToEnd<HttpOutcome>(
          'http-load.ts',
          await sendPlan(mailroom, { seconds, requests: Number.MAX_SAFE_INTEGER }),
        )
      await run(2)
      const runs: HttpOutcome[] = []
      for (let round = 0; round < Number(values.rounds); round++) {
        runs.push(await run(Number(values.seconds)))
      }
      rows.push([
        name,
        median(runs.map((one) => one.perSecond)).toFixed(0),
        median(runs.map((one) => one.p50Ms)).toFixed(1),
        median(runs.map((one) => one.p99Ms)).toFixed(1),
        String(runs.reduce((sum, one) => sum + one.failures, 0)),
      ])
    } finally {
      await mailroom.stop()
    }
  }
  process.stdout.write(
    `${describeMachine()}\n1 KiB of text, ${CONNECTIONS} connections, generator on the same machine\n\n${table(rows)}\n`,
  )
}
