// Compares receiving on the databases: the same messages into a service on SQLite, into one on
// PostgreSQL, and into two that share a PostgreSQL, in alternating runs.

import { parseArgs } from 'node:util'
import { createTestDatabase, startPostgres } from '@mailroom/server/test/peers/postgres.ts'
import { openDnsServer } from './dns-server.ts'
import { describeMachine, median, table } from './figures.ts'
import { holdToShare } from './hold-to-share.ts'
import { load, MODE_NAMES, MODES, type Outcome, RECIPIENT, SENDER_RECORDS } from './intake-load.ts'
import { type RunningMailroom, startMailroom } from './mailroom.ts'

type Lane = { name: string; ports: number[]; runs: Outcome[] }

/**
 * Options: `--seconds 5` per run, `--rounds 3`, `--sessions 20` in total, `--bytes 2048`. `--share
 * 0.3` limits each process of the service to a share of a processor, so that neither the database
 * nor the machine is the bottleneck.
 */
export async function engines(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '3' },
      sessions: { type: 'string', default: '20' },
      bytes: { type: 'string', default: '2048' },
      share: { type: 'string' },
    },
  })
  const dns = await openDnsServer({ texts: SENDER_RECORDS })
  const postgres = await startPostgres()
  const started: RunningMailroom[] = []
  const releases: (() => void)[] = []
  const start = async (databaseUrl?: string) => {
    const where: Record<string, string> =
      databaseUrl === undefined ? {} : { MAILROOM_DATABASE_URL: databaseUrl }
    const one = await startMailroom({ MAILROOM_DNS_SERVERS: dns.address, ...where })
    started.push(one)
    if (values.share !== undefined) releases.push(holdToShare(one.pid, Number(values.share)))
    return one
  }
  try {
    const alone = await start()
    const url = await createTestDatabase(postgres.url)
    const [first, second] = [await start(url), await start(url)]
    for (const one of [alone, first]) await one.client.inboxes.create({ mailboxName: 'bench' })
    process.stdout.write(
      `${describeMachine()}\n${values.bytes} octets a message, ${values.sessions} sessions; database, services and generator on the same machine\n${values.share === undefined ? '' : `each process of the service has ${values.share} of a processor\n`}`,
    )
    for (const mode of MODES) {
      const lanes: Lane[] = [
        { name: 'SQLite', ports: [alone.smtpPort], runs: [] },
        { name: 'PostgreSQL, one process', ports: [first.smtpPort], runs: [] },
        { name: 'PostgreSQL, two processes', ports: [first.smtpPort, second.smtpPort], runs: [] },
      ]
      const run = async ({ ports, runs }: Lane, seconds: number) => {
        const sessions = Number(values.sessions) / ports.length
        const plan = {
          sessions,
          mode,
          seconds,
          messageBytes: Number(values.bytes),
          recipient: RECIPIENT,
        }
        const parts = await Promise.all(ports.map((port) => load({ ...plan, port })))
        runs.push(together(parts))
      }
      for (const lane of lanes) await run({ ...lane, runs: [] }, 2)
      for (let round = 0; round < Number(values.rounds); round++) {
        for (const lane of lanes) await run(lane, Number(values.seconds))
      }
      process.stdout.write(`\n${MODE_NAMES[mode]}\n\n${table(rowsOf(lanes))}\n`)
    }
  } finally {
    await Promise.all(started.map((one) => one.stop()))
    for (const release of releases) release()
    await postgres.stop()
    dns.close()
  }
}

/** Combines the results of concurrent generators, with the worse latency. */
function together(parts: Outcome[]): Outcome {
  const sum = (read: (one: Outcome) => number) => parts.reduce((all, one) => all + read(one), 0)
  return {
    messages: sum((one) => one.messages),
    perSecond: sum((one) => one.perSecond),
    failures: sum((one) => one.failures),
    p50Ms: Math.max(...parts.map((one) => one.p50Ms)),
    p99Ms: Math.max(...parts.map((one) => one.p99Ms)),
  }
}

function rowsOf(lanes: Lane[]): string[][] {
  const rateOf = ({ runs }: Lane) => median(runs.map((run) => run.perSecond))
  const [sqlite = 1, one = 1] = lanes.map(rateOf)
  return [
    ['service', 'messages/s', 'to SQLite', 'to one process', 'p50 ms', 'p99 ms', 'failures'],
    ...lanes.map((lane) => [
      lane.name,
      rateOf(lane).toFixed(0),
      (rateOf(lane) / sqlite).toFixed(2),
      (rateOf(lane) / one).toFixed(2),
      median(lane.runs.map((run) => run.p50Ms)).toFixed(1),
      median(lane.runs.map((run) => run.p99Ms)).toFixed(1),
      String(lane.runs.reduce((sum, run) => sum + run.failures, 0)),
    ]),
  ]
}
