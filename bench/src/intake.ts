// Measures durable messages per second into the running service, compared with the yardstick in the
// same run, and the cost of authentication. Runs alternate. Prints medians and their ratios.

import { parseArgs } from 'node:util'
import type { Inbox } from '@mailroom/sdk'
import { startServer } from './child.ts'
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
import { bodyOf, sharedFields } from './intake-message.ts'
import { type RunningMailroom, startMailroom } from './mailroom.ts'
import { makeSignature, type SharedSignature } from './signature.ts'

/** One side of a comparison: a server and its mail. */
type Lane = { port: number; recipient: string; signature: string; runs: Outcome[] }

/** Options: `--seconds 5` per run, `--rounds 3`, `--sessions 20`, `--bytes 2048`. */
export async function intake(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '3' },
      sessions: { type: 'string', default: '20' },
      bytes: { type: 'string', default: '2048' },
    },
  })
  const [messageBytes, sessions] = [Number(values.bytes), Number(values.sessions)]
  const recipient = RECIPIENT
  const signed = makeSignature(sharedFields(recipient), bodyOf(messageBytes))
  const dns = await openDnsServer({ texts: recordsOf(signed) })
  const checking = await startMailroom({ MAILROOM_DNS_SERVERS: dns.address })
  const trusting = await startMailroom({ MAILROOM_AUTHENTICATE_INBOUND: 'false' })
  const yardstick = await startServer<{ port: number }>('yardstick-server.ts')
  const run = (lane: Lane, mode: Mode, seconds: number) => {
    const { port, signature } = lane
    const plan = { port, mode, seconds, sessions, messageBytes, recipient, signature }
    return load(plan)
  }
  try {
    const inbox = await makeInbox(checking)
    await makeInbox(trusting)
    const rows = [['mode', 'mailroom/s', 'yardstick/s', 'ratio', 'p50 ms', 'p99 ms', 'failures']]
    const costs = [['mode', 'mail', 'without/s', 'with/s', 'cost', 'p50 ms with']]
    for (const mode of MODES) {
      const lane = (port: number, signature = ''): Lane => ({
        port,
        recipient,
        signature,
        runs: [],
      })
      const theirs = lane(yardstick.hello.port)
      const plain = { off: lane(trusting.smtpPort), on: lane(checking.smtpPort) }
      const { field } = signed
      const signing = { off: lane(trusting.smtpPort, field), on: lane(checking.smtpPort, field) }
      const lanes = [plain.on, theirs, plain.off, signing.on, signing.off]
      for (const one of lanes) await run(one, mode, 2)
      for (let round = 0; round < Number(values.rounds); round++) {
        for (const one of lanes) one.runs.push(await run(one, mode, Number(values.seconds)))
      }
      rows.push(compared(MODE_NAMES[mode], plain.on, theirs))
      costs.push(costRow(MODE_NAMES[mode], 'unsigned', plain))
      costs.push(costRow(MODE_NAMES[mode], 'signed', signing))
    }
    const { data, total } = await checking.client.messages.list(inbox.id, { limit: 1 }).page()
    const { spf, dkim, dmarc } = data[0]?.authentication ?? {}
    process.stdout.write(
      `${describeMachine()}\n${values.bytes} octets a message, ${values.sessions} sessions, generator on the same machine\n\n${table(rows)}\n\nauthentication, DNS at hand\n\n${table(costs)}\n\n${total} messages in the inbox afterwards; the last: SPF ${spf?.result}, DKIM ${dkim?.[0]?.result}, DMARC ${dmarc?.result}\n`,
    )
  } finally {
    await yardstick.stop()
    await Promise.all([checking.stop(), trusting.stop()])
    dns.close()
  }
}

function recordsOf({ record }: SharedSignature): Record<string, string> {
  return {
    ...SENDER_RECORDS,
    [record.name]: record.text,
  }
}

function makeInbox({ client }: RunningMailroom): Promise<Inbox> {
  return client.inboxes.create({ mailboxName: 'bench' })
}

function compared(name: string, ours: Lane, theirs: Lane): string[] {
  const [us, them] = [rateOf(ours), rateOf(theirs)]
  return [
    name,
    us.toFixed(0),
    them.toFixed(0),
    (us / them).toFixed(2),
    median(ours.runs.map((run) => run.p50Ms)).toFixed(1),
    median(ours.runs.map((run) => run.p99Ms)).toFixed(1),
    String([...ours.runs, ...theirs.runs].reduce((sum, run) => sum + run.failures, 0)),
  ]
}

function costRow(name: string, mail: string, { off, on }: { off: Lane; on: Lane }): string[] {
  const [without, checked] = [rateOf(off), rateOf(on)]
  return [
    name,
    mail,
    without.toFixed(0),
    checked.toFixed(0),
    `${(100 * (1 - checked / without)).toFixed(0)} %`,
    median(on.runs.map((run) => run.p50Ms)).toFixed(1),
  ]
}

function rateOf({ runs }: Lane): number {
  return median(runs.map((run) => run.perSecond))
}
