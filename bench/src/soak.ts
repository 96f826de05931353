// Runs a steady load for a long time, to see whether memory, descriptors and latency stay constant.
// The rate is half of the highest rate measured just before, together with sends, pages and a
// webhook.

import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openDnsServer } from './dns-server.ts'
import { describeMachine, quantile, table } from './figures.ts'
import { load, RECIPIENT, SENDER_RECORDS } from './intake-load.ts'
import { type RunningMailroom, startMailroom } from './mailroom.ts'

type Look = {
  minute: number
  residentMb: number
  descriptors: number
  perSecond: number
  p50Ms: number
  p99Ms: number
  pageMs: number
  failures: number
}

const WARM_UP_SECONDS = 60

/**
 * Options: `--minutes 20`, `--sessions 10`, `--bytes 2048`, `--rate` in messages per second instead
 * of half.
 */
export async function soak(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: 'string', default: '20' },
      sessions: { type: 'string', default: '10' },
      bytes: { type: 'string', default: '2048' },
      rate: { type: 'string' },
    },
  })
  const dns = await openDnsServer({ texts: SENDER_RECORDS })
  const mailroom = await startMailroom({ MAILROOM_DNS_SERVERS: dns.address })
  const run = (seconds: number, rate?: number) =>
    load({
      port: mailroom.smtpPort,
      recipient: RECIPIENT,
      mode: 'kept',
      sessions: Number(values.sessions),
      messageBytes: Number(values.bytes),
      seconds,
      rate,
    })
  try {
    const inbox = await mailroom.client.inboxes.create({ mailboxName: 'bench' })
    const most = values.rate === undefined ? (await run(10)).perSecond : 2 * Number(values.rate)
    const rate = most / 2
    process.stdout.write(`${describeMachine()}\n${rate.toFixed(0)} messages a second\n\n`)
    await run(WARM_UP_SECONDS, rate)
    const looks: Look[] = []
    for (let minute = 1; minute <= Number(values.minutes); minute++) {
      const outcome = await run(60, rate)
      const startMs = performance.now()
      await mailroom.client.threads.list(inbox.id, { limit: 50 }).page()
      const look = {
        minute,
        pageMs: performance.now() - startMs,
        ...(await lookAt(mailroom)),
        ...outcome,
      }
      looks.push(look)
      process.stdout.write(`${JSON.stringify(look)}\n`)
    }
    process.stdout.write(`\n${table(rowsOf(looks))}\n`)
  } finally {
    await mailroom.stop()
    dns.close()
  }
}

async function lookAt({ pid }: RunningMailroom): Promise<Pick<Look, 'residentMb' | 'descriptors'>> {
  // The pause gives the runtime time to collect the garbage of the last minute.
  await wait(2_000)
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const residentKb = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1])
  return {
    residentMb: residentKb / 1024,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
  }
}

function rowsOf(looks: Look[]): string[][] {
  const third = Math.max(1, Math.floor(looks.length / 3))
  const part = (name: string, some: Look[]) => [
    name,
    ...(['perSecond', 'p50Ms', 'p99Ms', 'pageMs', 'residentMb', 'descriptors'] as const).map(
      (key) =>
        quantile(
          some.map((look) => look[key]),
          0.5,
        ).toFixed(1),
    ),
  ]
  const failures = looks.reduce((sum, look) => sum + look.failures, 0)
  return [
    ['medians', 'messages/s', 'p50 ms', 'p99 ms', 'page ms', 'resident MB', 'descriptors'],
    part('first third', looks.slice(0, third)),
    part('last third', looks.slice(-third)),
    [`slope ${slopeOf(looks).toFixed(2)} MB/min, ${failures} failures`, '', '', '', '', '', ''],
  ]
}

/** Slope of the best-fitting line through the resident memory, in MB per minute. */
function slopeOf(looks: Look[]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [
    mean(looks.map((look) => look.minute)),
    mean(looks.map((look) => look.residentMb)),
  ]
  const above = looks.reduce(
    (sum, { minute, residentMb }) => sum + (minute - x) * (residentMb - y),
    0,
  )
  const below = looks.reduce((sum, { minute }) => sum + (minute - x) ** 2, 0)
  return below === 0 ? 0 : above / below
}
