// Durable messages a second into the running service, side by side with the yardstick in the same
// run: runs alternate, medians and their ratio are printed.

import { parseArgs } from 'node:util'
import { runToEnd, startServer } from './child.ts'
import { describeMachine, median, table } from './figures.ts'
import { startMailroom } from './mailroom.ts'

type Outcome = {
  messages: number
  perSecond: number
  failures: number
  p50Ms: number
  p99Ms: number
}

const MODES = ['one-message', 'kept'] as const
const MODE_NAMES = { 'one-message': 'one message a connection', kept: 'kept connections' }

/** Options: `--seconds 5` a run, `--rounds 3`, `--sessions 20`, `--bytes 2048`. */
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
  const mailroom = await startMailroom()
  const yardstick = await startServer<{ port: number }>('yardstick-server.ts')
  const inbox = await mailroom.client.inboxes.create({})
  const load = (port: number, mode: (typeof MODES)[number], seconds: number) =>
    runToEnd<Outcome>('load-generator.ts', {
      port,
      mode,
      seconds,
      sessions: Number(values.sessions),
      messageBytes: Number(values.bytes),
      recipient: inbox.address,
    })
  try {
    const rows = [['mode', 'mailroom/s', 'yardstick/s', 'ratio', 'p50 ms', 'p99 ms', 'failures']]
    for (const mode of MODES) {
      const ours: Outcome[] = []
      const theirs: Outcome[] = []
      await load(mailroom.smtpPort, mode, 2)
      await load(yardstick.hello.port, mode, 2)
      for (let round = 0; round < Number(values.rounds); round++) {
        ours.push(await load(mailroom.smtpPort, mode, Number(values.seconds)))
        theirs.push(await load(yardstick.hello.port, mode, Number(values.seconds)))
      }
      const [us, them] = [ours, theirs].map((runs) => median(runs.map((run) => run.perSecond)))
      rows.push([
        MODE_NAMES[mode],
        (us ?? 0).toFixed(0),
        (them ?? 0).toFixed(0),
        ((us ?? 0) / (them ?? 1)).toFixed(2),
        median(ours.map((run) => run.p50Ms)).toFixed(1),
        median(ours.map((run) => run.p99Ms)).toFixed(1),
        String([...ours, ...theirs].reduce((sum, run) => sum + run.failures, 0)),
      ])
    }
    const { total } = await mailroom.client.messages.list(inbox.id, { limit: 1 }).page()
    process.stdout.write(
      `${describeMachine()}\n${values.bytes} octets a message, ${values.sessions} sessions, generator on the same machine\n\n${table(rows)}\n\n${total} messages in the inbox afterwards\n`,
    )
  } finally {
    await yardstick.stop()
    await mailroom.stop()
  }
}
