// Measures how soon an agent gets mail, from the client's final dot to the reply, the WebSocket
// frame and the webhook request, and the cost of idle clients.

import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Mailroom } from '@mailroom/sdk'
import { runToEnd, startServer } from './child.ts'
import { describeMachine, median, table } from './figures.ts'
import type { IdlePlan } from './idle-clients.ts'
import type { LatencyOutcome, LatencyPlan } from './latency-load.ts'
import { type RunningMailroom, startMailroom } from './mailroom.ts'

const OPERATOR = 'bench-operator-0123456789-0123456789'
/** The maximum WebSockets per account. */
const SOCKETS_PER_ACCOUNT = 10

/**
 * Options: `--seconds 10` per rate, `--idle 1000` WebSockets and equally many waiting requests,
 * `--rounds 3`.
 */
export async function latency(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '10' },
      idle: { type: 'string', default: '1000' },
      rounds: { type: 'string', default: '3' },
    },
  })
  const mailroom = await startMailroom({
    MAILROOM_ALLOW_PRIVATE_EGRESS: 'true',
    MAILROOM_ADMIN_TOKEN: OPERATOR,
  })
  try {
    const rounds = Number(values.rounds)
    const perSecond = await measureIntake(mailroom, rounds)
    const half = Math.floor(perSecond / 2)
    const plans = [
      { perSecond: 1, hasWebhook: true },
      { perSecond: 100, hasWebhook: true },
      { perSecond: half, hasWebhook: false },
      { perSecond: half, hasWebhook: true },
    ]
    const rows = await measureLatencies(mailroom, plans, Number(values.seconds))
    process.stdout.write(`${describeMachine()}\n\n${table(rows)}\n`)
  } finally {
    await mailroom.stop()
  }
  const costs = await measureIdle({ idle: Number(values.idle), rounds: Number(values.rounds) })
  process.stdout.write(`\n${costs}\n`)
}

/** Messages per second over kept connections, into an inbox without readers of events. */
async function measureIntake(mailroom: RunningMailroom, rounds: number): Promise<number> {
  const { address } = await mailroom.client.inboxes.create({})
  const plan = {
    port: mailroom.smtpPort,
    mode: 'kept',
    seconds: 4,
    sessions: 20,
    messageBytes: 2048,
    recipient: address,
  }
  const rates: number[] = []
  for (let round = 0; round < rounds; round++) {
    rates.push((await runToEnd<{ perSecond: number }>('load-generator.ts', plan)).perSecond)
  }
  return median(rates)
}

async function measureLatencies(
  mailroom: RunningMailroom,
  plans: readonly Pick<LatencyPlan, 'perSecond' | 'hasWebhook'>[],
  seconds: number,
): Promise<string[][]> {
  const columns = ['250', 'frame', 'webhook'].flatMap((end) => [`${end} p50 ms`, `${end} p99 ms`])
  const rows = [['messages a second', ...columns, 'sent', 'missing']]
  for (const { perSecond, hasWebhook } of plans) {
    const inbox = await mailroom.client.inboxes.create({})
    const plan: LatencyPlan = {
      httpPort: mailroom.httpPort,
      smtpPort: mailroom.smtpPort,
      key: mailroom.key,
      inboxId: inbox.id,
      recipient: inbox.address,
      perSecond,
      seconds: perSecond === 1 ? Math.max(seconds, 30) : seconds,
      messageBytes: 2048,
      hasWebhook,
    }
    const seen = await runToEnd<LatencyOutcome>('latency-load.ts', plan)
    const ends = hasWebhook ? [seen.reply, seen.frame, seen.request] : [seen.reply, seen.frame]
    const figures = ends.flatMap(({ p50Ms, p99Ms }) => [p50Ms.toFixed(1), p99Ms.toFixed(1)])
    if (!hasWebhook) figures.push('-', '-')
    rows.push([String(perSecond), ...figures, String(seen.sent), String(seen.missing)])
  }
  return rows
}

/** Uses a fresh service, because memory used by earlier work would hide the difference. */
async function measureIdle({ idle, rounds }: { idle: number; rounds: number }): Promise<string> {
  const mailroom = await startMailroom({ MAILROOM_ADMIN_TOKEN: OPERATOR })
  try {
    const accounts = await makeAccounts(mailroom, Math.ceil(idle / SOCKETS_PER_ACCOUNT))
    const plan: IdlePlan = { port: mailroom.httpPort, accounts, sockets: idle, waiters: idle }
    const open = () => startServer('idle-clients.ts', { arguments: [JSON.stringify(plan)] })
    await sleep(2_000)
    const beforeKib = residentKib(mailroom.pid)
    let clients = await open()
    await sleep(5_000)
    const mib = ((residentKib(mailroom.pid) - beforeKib) / 1024).toFixed(1)
    const [without, during]: [number[], number[]] = [[], []]
    // The first messages of a process are slow, with or without idle clients.
    await measureIntake(mailroom, 1)
    for (let round = 0; round < rounds; round++) {
      if (round > 0) clients = await open()
      during.push(await measureIntake(mailroom, 1))
      clients.child.stdin?.end()
      await sleep(1_000)
      without.push(await measureIntake(mailroom, 1))
    }
    const ratio = median(during) / median(without)
    return [
      `${idle} idle WebSockets and ${idle} waiting requests: ${mib} MiB`,
      `intake with them ${median(during).toFixed(0)}/s, without them ${median(without).toFixed(0)}/s: ${ratio.toFixed(2)}`,
    ].join('\n')
  } finally {
    await mailroom.stop()
  }
}

async function makeAccounts(
  { httpPort }: RunningMailroom,
  count: number,
): Promise<IdlePlan['accounts']> {
  const baseUrl = `http://127.0.0.1:${httpPort}`
  const operator = new Mailroom({ baseUrl, apiKey: OPERATOR })
  const accounts: IdlePlan['accounts'] = []
  for (let number = 1; number <= count; number++) {
    const { apiKey } = await operator.admin.accounts.create({
      name: `bench ${number}`,
      plan: 'free',
    })
    const client = new Mailroom({ baseUrl, apiKey: apiKey.token })
    accounts.push({ key: apiKey.token, inboxId: (await client.inboxes.create({})).id })
  }
  return accounts
}

/** Resident memory of a process; 0 on systems without /proc. */
function residentKib(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}
