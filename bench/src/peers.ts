// Compares the service with other mail servers: the same generator, messages and disk, alternating
// runs, medians and their ratios. Needs root, because two servers are unpacked from Debian's
// packages and started in a mount namespace. Nothing is installed.

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openDnsServer } from './dns-server.ts'
import { describeMachine, median, table } from './figures.ts'
import {
  load,
  MODE_NAMES,
  MODES,
  type Mode,
  type Outcome,
  RECIPIENT,
  SENDER_RECORDS,
} from './intake-load.ts'
import { freePort, startMailroom } from './mailroom.ts'
import { startHaraka } from './peers/haraka.ts'
import { startOpenSmtpd } from './peers/opensmtpd.ts'
import type { PeerServer } from './peers/peer-server.ts'
import { startPostfix } from './peers/postfix.ts'

type Lane = {
  server: PeerServer
  acknowledged: number
  runs: Outcome[]
  settledPerSecond: number[]
}

const SETTLE_MS_MAX = 120_000

const PEERS = { postfix: startPostfix, opensmtpd: startOpenSmtpd, haraka: startHaraka }

/**
 * Options: `--seconds 5` per run, `--rounds 3`, `--sessions 20`, `--bytes 2048`, `--peers
 * postfix,opensmtpd,haraka`.
 */
export async function peers(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '3' },
      sessions: { type: 'string', default: '20' },
      bytes: { type: 'string', default: '2048' },
      peers: { type: 'string', default: Object.keys(PEERS).join(',') },
    },
  })
  const folder = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'bench-peers-'))
  // The servers' own users must be able to read the folder.
  chmodSync(folder, 0o755)
  const servers: PeerServer[] = []
  const dns = await openDnsServer({ texts: SENDER_RECORDS })
  const plan = {
    sessions: Number(values.sessions),
    messageBytes: Number(values.bytes),
    recipient: RECIPIENT,
  }
  try {
    servers.push(await startUs(dns.address))
    for (const [name, start] of Object.entries(PEERS)) {
      if (values.peers.split(',').includes(name))
        servers.push(await start(folder, await freePort()))
    }
    const lanes = servers.map((server) => ({ server, acknowledged: 0 }))
    process.stdout.write(
      `${describeMachine()}\n${values.bytes} octets a message, ${values.sessions} sessions\n`,
    )
    for (const mode of MODES) {
      const measured: Lane[] = lanes.map((lane) => ({ ...lane, runs: [], settledPerSecond: [] }))
      for (const lane of measured) await run(lane, { ...plan, mode, seconds: 2 }, false)
      for (let round = 0; round < Number(values.rounds); round++) {
        for (const lane of measured) {
          await run(lane, { ...plan, mode, seconds: Number(values.seconds) }, true)
        }
      }
      process.stdout.write(`\n${MODE_NAMES[mode]}\n\n${table(await rowsOf(measured))}\n`)
      for (const [index, lane] of measured.entries()) {
        const kept = lanes[index]
        if (kept !== undefined) kept.acknowledged = lane.acknowledged
      }
    }
    process.stdout.write(`\n${servers.map(({ name, does }) => `${name}: ${does}`).join('\n')}\n`)
  } finally {
    for (const server of servers) await server.stop()
    dns.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

type Plan = {
  sessions: number
  messageBytes: number
  recipient: string
  mode: Mode
  seconds: number
}

/** Waits for deliveries that follow the reply, so that they do not slow the next server's run. */
async function run(lane: Lane, plan: Plan, isMeasured: boolean): Promise<void> {
  const beganMs = performance.now()
  const outcome = await load({ ...plan, port: lane.server.port })
  lane.acknowledged += outcome.messages
  const endMs = performance.now() + SETTLE_MS_MAX
  while ((await lane.server.countDelivered()) < lane.acknowledged && performance.now() < endMs) {
    await wait(50)
  }
  const seconds = (performance.now() - beganMs) / 1000
  if (!isMeasured) return
  lane.runs.push(outcome)
  lane.settledPerSecond.push(outcome.messages / seconds)
}

async function rowsOf(lanes: Lane[]): Promise<string[][]> {
  const rateOf = (lane: Lane) => median(lane.runs.map((one) => one.perSecond))
  const ours = lanes[0] === undefined ? 0 : rateOf(lanes[0])
  return [
    [
      'server',
      'acknowledged/s',
      'delivered/s',
      'ours to it',
      'p50 ms',
      'p99 ms',
      'failures',
      'lost',
    ],
    ...(await Promise.all(
      lanes.map(async (lane) => [
        lane.server.name,
        rateOf(lane).toFixed(0),
        median(lane.settledPerSecond).toFixed(0),
        (ours / rateOf(lane)).toFixed(2),
        median(lane.runs.map((one) => one.p50Ms)).toFixed(1),
        median(lane.runs.map((one) => one.p99Ms)).toFixed(1),
        String(lane.runs.reduce((sum, one) => sum + one.failures, 0)),
        String(Math.max(0, lane.acknowledged - (await lane.server.countDelivered()))),
      ]),
    )),
  ]
}

async function startUs(dnsServer: string): Promise<PeerServer> {
  const mailroom = await startMailroom({ MAILROOM_DNS_SERVERS: dnsServer })
  const inbox = await mailroom.client.inboxes.create({ mailboxName: 'bench' })
  return {
    name: 'Mailroom',
    port: mailroom.smtpPort,
    does: 'authenticated, parsed, threaded, indexed and its event written before the answer; SQLite',
    async countDelivered() {
      return (await mailroom.client.messages.list(inbox.id, { limit: 1 }).page()).total
    },
    stop: mailroom.stop,
  }
}
