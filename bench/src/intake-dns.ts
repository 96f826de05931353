// Measures the cost of a slow resolver for receiving: the same mail into two services, one with
// immediate DNS, one with a slow resolver that answers NXDOMAIN without SOA. Runs alternate. Prints
// medians and their ratio.

import { parseArgs } from 'node:util'
import { openDnsServer } from './dns-server.ts'
import { describeMachine, median, table } from './figures.ts'
import { load, MODE_NAMES, MODES, type Mode, type Outcome, RECIPIENT } from './intake-load.ts'
import { startMailroom } from './mailroom.ts'

type Lane = { readonly port: number; readonly runs: Outcome[] }

/**
 * Options: `--delay-ms 60` per answer, `--seconds 12` per run, `--rounds 3`, `--sessions 20`,
 * `--bytes 2048`.
 */
export async function intakeDns(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      'delay-ms': { type: 'string', default: '60' },
      // Longer than twice the five seconds for which an answer without SOA is cached.
      seconds: { type: 'string', default: '12' },
      rounds: { type: 'string', default: '3' },
      sessions: { type: 'string', default: '20' },
      bytes: { type: 'string', default: '2048' },
    },
  })
  const [messageBytes, sessions] = [Number(values.bytes), Number(values.sessions)]
  const near = await openDnsServer({ texts: {} })
  const far = await openDnsServer({ texts: {}, delayMs: Number(values['delay-ms']), hasSoa: false })
  const services = [
    await startMailroom({ MAILROOM_DNS_SERVERS: near.address }),
    await startMailroom({ MAILROOM_DNS_SERVERS: far.address }),
  ]
  const run = ({ port }: Lane, mode: Mode, seconds: number) =>
    load({ port, mode, seconds, sessions, messageBytes, recipient: RECIPIENT })
  try {
    for (const { client } of services) await client.inboxes.create({ mailboxName: 'bench' })
    const rows = [
      ['mode', 'at hand/s', 'slow/s', 'ratio', 'p50 ms slow', 'p99 ms slow', 'failures'],
    ]
    for (const mode of MODES) {
      const lanes = services.map(({ smtpPort }): Lane => ({ port: smtpPort, runs: [] }))
      for (const lane of lanes) await run(lane, mode, 2)
      for (let round = 0; round < Number(values.rounds); round++) {
        for (const lane of lanes) lane.runs.push(await run(lane, mode, Number(values.seconds)))
      }
      const of = (lane: Lane | undefined, figure: keyof Outcome) =>
        median((lane?.runs ?? []).map((one) => one[figure]))
      const [atHand, slow] = lanes
      const [fast, held] = [of(atHand, 'perSecond'), of(slow, 'perSecond')]
      rows.push([
        MODE_NAMES[mode],
        fast.toFixed(0),
        held.toFixed(0),
        (held / fast).toFixed(2),
        of(slow, 'p50Ms').toFixed(1),
        of(slow, 'p99Ms').toFixed(1),
        String(lanes.flatMap(({ runs }) => runs).reduce((sum, one) => sum + one.failures, 0)),
      ])
    }
    process.stdout.write(
      `${describeMachine()}\n${values.bytes} octets a message, ${values.sessions} sessions, one sender domain; slow: ${values['delay-ms']} ms an answer, NXDOMAIN without SOA\n\n${table(rows)}\n`,
    )
  } finally {
    await Promise.all(services.map((service) => service.stop()))
    near.close()
    far.close()
  }
}
