// How soon an agent learns of mail: from the client's final dot to the reply, the WebSocket frame and
// the webhook's request; and what clients cost that only wait.

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
/** As many WebSockets as an account may have. */
const SOCKETS_PER_ACCOUNT = 10

/** Options: `--seconds 10` a rate, `--idle 1000` WebSockets and as many waiters, `--rounds 3`. */
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
    const rates = [1, 100, Math.floor(perSecond / 2)]
    const rows = await measureLatencies(mailroom, rates, Number(values.seconds))
    const costs = await measureIdle(mailroom, { idle: Number(values.idle), rounds, perSecond })
    process.stdout.write(`${describeMachine()}\n\n${table(rows)}\n\n${costs}\n`)
  } finally {
    await mailroom.stop()
  }
}

/** Messages a second over kept connections, into an inbox that nobody listens to. */
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
  rates: number[],
  seconds: number,
): Promise<string[][]> {
  const columns = ['250', 'frame', 'webhook'].flatMap((end) => [`${end} p50 ms`, `${end} p99 ms`])
  const rows = [['messages a second', ...columns, 'sent', 'missing']]
  for (const perSecond of rates) {
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
    }
    const seen = await runToEnd<LatencyOutcome>('latency-load.ts', plan)
    const figures = [seen.reply, seen.frame, seen.request].flatMap(({ p50Ms, p99Ms }) => [
      p50Ms.toFixed(1),
      p99Ms.toFixed(1),
    ])
    rows.push([String(perSecond), ...figures, String(seen.sent), String(seen.missing)])
  }
  return rows
}

async function measureIdle(
  mailroom: RunningMailroom,
  { idle, rounds, perSecond }: { idle: number; rounds: number; perSecond: number },
): Promise<string> {
  const accounts = await makeAccounts(mailroom, Math.ceil(idle / SOCKETS_PER_ACCOUNT))
  await sleep(2_000)
  const beforeKib = residentKib(mailroom.pid)
  const plan: IdlePlan = { port: mailroom.httpPort, accounts, sockets: idle, waiters: idle }
  const clients = await startServer('idle-clients.ts', { arguments: [JSON.stringify(plan)] })
  await sleep(2_000)
  const afterKib = residentKib(mailroom.pid)
  const during = await measureIntake(mailroom, rounds)
  clients.child.stdin?.end()
  await sleep(1_000)
  const again = await measureIntake(mailroom, rounds)
  const mib = ((afterKib - beforeKib) / 1024).toFixed(1)
  return [
    `${idle} idle WebSockets and ${idle} waiting requests: ${mib} MiB`,
    `intake ${perSecond.toFixed(0)}/s without them, ${during.toFixed(0)}/s with them, ${again.toFixed(0)}/s after them`,
  ].join('\n')
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

/** Memory of a process as the kernel counts it; 0 where there is no /proc. */
function residentKib(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}
