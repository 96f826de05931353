// Measures the time to empty a queue into a fast sink, with every change of state durable. The
// yardstick is nodemailer's pooled transport, which sends the same messages from memory. Runs
// alternate.

import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { runToEnd, startServer } from './child.ts'
import { describeMachine, median, table } from './figures.ts'
import type { HttpOutcome } from './http-load.ts'
import { startMailroom } from './mailroom.ts'
import { NO_SEND_LIMITS, SEND_TEXT, sendPlan } from './send.ts'

type Drained = { messages: number; elapsedMs: number }

const CONNECTIONS = 20

/** Options: `--messages 5000`, `--rounds 3`. */
export async function deliver(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      messages: { type: 'string', default: '5000' },
      rounds: { type: 'string', default: '3' },
    },
  })
  const messages = Number(values.messages)
  const sink = await startSink()
  const env = {
    ...NO_SEND_LIMITS,
    MAILROOM_DELIVERY: 'direct',
    MAILROOM_MX_PORT: String(sink.port),
    MAILROOM_ALLOW_PRIVATE_EGRESS: 'true',
  }
  const rates: Record<string, number[]> = { mailroom: [], signing: [], plain: [] }
  const total: number[] = []
  try {
    for (let round = 0; round < Number(values.rounds); round++) {
      const drained = await drainQueue(env, messages, sink)
      rates.mailroom?.push(drained.drainPerSecond)
      total.push(drained.wholePerSecond)
      for (const signs of [true, false]) {
        const plan = { port: sink.port, messages, connections: CONNECTIONS, signs, text: SEND_TEXT }
        const { elapsedMs } = await runToEnd<{ elapsedMs: number }>('pooled-sender.ts', plan)
        rates[signs ? 'signing' : 'plain']?.push((messages * 1000) / elapsedMs)
      }
    }
  } finally {
    await sink.stop()
  }
  const mailroom = median(rates.mailroom ?? [])
  const rows = [['', 'messages/s', 'mailroom to it']]
  rows.push(['mailroom, queue to sink', mailroom.toFixed(0), ''])
  rows.push(['mailroom, API to sink', median(total).toFixed(0), ''])
  for (const name of ['signing', 'plain']) {
    const rate = median(rates[name] ?? [])
    rows.push([`nodemailer pool, ${name}`, rate.toFixed(0), (mailroom / rate).toFixed(2)])
  }
  process.stdout.write(
    `${describeMachine()}\n${messages} messages of 1 KiB, ${CONNECTIONS} connections, sink on the same machine\n\n${table(rows)}\n`,
  )
}

/** Queues the messages, then starts the service to send them. */
async function drainQueue(
  env: Record<string, string>,
  messages: number,
  sink: Sink,
): Promise<{ drainPerSecond: number; wholePerSecond: number }> {
  const accepting = await startMailroom({ ...env, MAILROOM_ROLES: 'http,smtp' })
  const bounds = { seconds: 600, requests: messages, to: 'someone@[127.0.0.1]' }
  const plan = await sendPlan(accepting, bounds)
  const accepted = await runToEnd<HttpOutcome>('http-load.ts', plan)
  const acceptedMs = (accepted.requests / accepted.perSecond) * 1000
  await accepting.stop({ keeps: true })
  await sink.ask('reset')
  const delivering = await startMailroom(env, accepting.dataDir)
  try {
    let drained: Drained
    do {
      await new Promise((resolve) => setTimeout(resolve, 200))
      drained = await sink.ask('report')
    } while (drained.messages < messages)
    return {
      drainPerSecond: (messages * 1000) / drained.elapsedMs,
      wholePerSecond: (messages * 1000) / (drained.elapsedMs + acceptedMs),
    }
  } finally {
    await delivering.stop()
  }
}

type Sink = { port: number; ask(line: string): Promise<Drained>; stop(): Promise<void> }

async function startSink(): Promise<Sink> {
  const { hello, child, stop } = await startServer<{ port: number }>('sink.ts')
  return {
    port: hello.port,
    stop,
    async ask(line) {
      child.stdin?.write(`${line}\n`)
      const [answer] = (await once(child.stdout ?? child, 'data')) as [Buffer]
      return JSON.parse(answer.toString('utf8')) as Drained
    },
  }
}
