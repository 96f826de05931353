// Measures receiving in one, two and three threads, each limited to a share of a processor (needs
// root), and the time of an API page while mail floods in. Runs alternate.

import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openDnsServer } from './dns-server.ts'
import { describeMachine, median, quantile, table } from './figures.ts'
import { holdThreadsToShare } from './hold-to-share.ts'
import {
  load,
  MODE_NAMES,
  MODES,
  type Mode,
  type Outcome,
  RECIPIENT,
  SENDER_RECORDS,
} from './intake-load.ts'
import { type RunningMailroom, startMailroom } from './mailroom.ts'

const THREADS = [1, 2, 3]
const MESSAGE_BYTES = 2048
/** Pages are requested at this interval, so that the client does not load the machine. */
const PAGE_GAP_MS = 5

/**
 * Options: `--seconds 4` per run, `--rounds 5`, `--sessions 20`, `--share 0.3` of a processor per
 * thread.
 */
export async function intakeThreads(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '4' },
      rounds: { type: 'string', default: '5' },
      sessions: { type: 'string', default: '20' },
      share: { type: 'string', default: '0.3' },
    },
  })
  const seconds = Number(values.seconds)
  const rounds = Number(values.rounds)
  const dns = await openDnsServer({ texts: SENDER_RECORDS })
  const start = async (threads?: number) => {
    const service = await startMailroom({
      MAILROOM_DNS_SERVERS: dns.address,
      ...(threads !== undefined && { MAILROOM_INTAKE_THREADS: String(threads) }),
    })
    const { id } = await service.client.inboxes.create({ mailboxName: 'bench' })
    const run = (mode: Mode, seconds: number) =>
      load({
        port: service.smtpPort,
        mode,
        seconds,
        sessions: Number(values.sessions),
        messageBytes: MESSAGE_BYTES,
        recipient: RECIPIENT,
      })
    // The first run warms up the service and starts all threads.
    for (const mode of MODES) await run(mode, 2)
    return { service, inboxId: id, run }
  }
  try {
    process.stdout.write(`${describeMachine()}\n`)
    const whole = await start()
    try {
      process.stdout.write(`\n${table(await measurePages(whole, { seconds, rounds }))}\n`)
    } finally {
      await whole.service.stop()
    }
    const lanes: Lane[] = []
    for (const threads of THREADS) lanes.push({ threads, ...(await start(threads)) })
    const share = Number(values.share)
    const releases = lanes.map(({ service }) => holdThreadsToShare(service.pid, share))
    process.stdout.write(`\neach thread of the service has ${values.share} of a processor\n`)
    for (const mode of MODES) {
      const rows = await measureThreads(lanes, { mode, seconds, rounds })
      process.stdout.write(`\n${MODE_NAMES[mode]}\n\n${table(rows)}\n`)
    }
    await Promise.all(lanes.map(({ service }) => service.stop()))
    for (const release of releases) release()
  } finally {
    dns.close()
  }
}

type Started = {
  service: RunningMailroom
  inboxId: string
  run(mode: Mode, seconds: number): Promise<Outcome>
}
type Lane = Started & { threads: number }

async function measureThreads(
  lanes: readonly Lane[],
  { mode, seconds, rounds }: { mode: Mode; seconds: number; rounds: number },
): Promise<string[][]> {
  const runs = lanes.map((): Outcome[] => [])
  for (let round = 0; round < rounds; round++) {
    for (const [at, lane] of lanes.entries()) runs[at]?.push(await lane.run(mode, seconds))
  }
  const rows = [['threads', 'messages/s', 'to one', 'p50 ms', 'p99 ms', 'failures']]
  for (const [at, { threads }] of lanes.entries()) {
    const own = runs[at] ?? []
    const ratios = own.map((run, round) => run.perSecond / (runs[0]?.[round]?.perSecond ?? 1))
    rows.push([
      String(threads),
      median(own.map((run) => run.perSecond)).toFixed(0),
      median(ratios).toFixed(2),
      median(own.map((run) => run.p50Ms)).toFixed(1),
      median(own.map((run) => run.p99Ms)).toFixed(1),
      String(own.reduce((sum, run) => sum + run.failures, 0)),
    ])
  }
  return rows
}

/**
 * Measures a page of 50 messages, idle and while mail arrives at the highest rate, in alternating
 * runs.
 */
async function measurePages(
  { service, inboxId, run }: Started,
  { seconds, rounds }: { seconds: number; rounds: number },
): Promise<string[][]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const page = () =>
    new Promise<number>((resolve, reject) => {
      const startMs = performance.now()
      const options = {
        host: '127.0.0.1',
        port: service.httpPort,
        path: `/v1/inboxes/${inboxId}/messages?limit=50`,
        agent,
        headers: { authorization: `Bearer ${service.key}` },
      }
      get(options, (response) => {
        response.resume().on('end', () => resolve(performance.now() - startMs))
      }).on('error', reject)
    })
  const pages = async () => {
    const times: number[] = []
    const endMs = performance.now() + 1000 * seconds
    while (performance.now() < endMs) {
      times.push(await page())
      await sleep(PAGE_GAP_MS)
    }
    return { p50Ms: quantile(times, 0.5), p99Ms: quantile(times, 0.99) }
  }
  await pages()
  type Figures = Awaited<ReturnType<typeof pages>>
  const idle: Figures[] = []
  const flooded = new Map(MODES.map((mode) => [mode, [] as Figures[]]))
  for (let round = 0; round < rounds; round++) {
    idle.push(await pages())
    for (const mode of MODES) {
      const flood = run(mode, seconds + 1)
      await sleep(500)
      flooded.get(mode)?.push(await pages())
      await flood
    }
  }
  agent.destroy()
  const p99Of = (runs: Figures[]) => median(runs.map(({ p99Ms }) => p99Ms))
  const row = (name: string, runs: Figures[]) => [
    name,
    median(runs.map(({ p50Ms }) => p50Ms)).toFixed(1),
    p99Of(runs).toFixed(1),
    (p99Of(runs) / p99Of(idle)).toFixed(2),
  ]
  return [
    ['a page of 50 messages', 'p50 ms', 'p99 ms', 'p99 to idle'],
    row('idle', idle),
    ...MODES.map((mode) => row(`flood, ${MODE_NAMES[mode]}`, flooded.get(mode) ?? [])),
  ]
}
