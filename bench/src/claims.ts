// Measures how soon a worker that waits for a claim gets the thread of a new message, on both
// databases.

import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createTestDatabase, startPostgres } from '@mailroom/server/test/peers/postgres.ts'
import { describeMachine, quantile, table } from './figures.ts'
import { type RunningMailroom, startMailroom } from './mailroom.ts'
import { openPeer } from './smtp-peer.ts'

/** Options: `--rounds 200`; `--waiting 100` workers that wait for other inboxes. */
export async function claims(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string', default: '200' },
      waiting: { type: 'string', default: '100' },
    },
  })
  const postgres = await startPostgres()
  const url = await createTestDatabase(postgres.url)
  const rows = [['mail and claim', 'p50 ms', 'p99 ms', 'longest ms']]
  const size = { rounds: Number(values.rounds), waiting: Number(values.waiting) }
  const started: RunningMailroom[] = []
  const start = async (env: Record<string, string> = {}) => {
    const one = await startMailroom(env)
    started.push(one)
    return one
  }
  try {
    const alone = await start()
    rows.push(figures('SQLite', await measure(alone, alone, size)))
    const [first, second] = [
      await start({ MAILROOM_DATABASE_URL: url }),
      await start({ MAILROOM_DATABASE_URL: url }),
    ]
    rows.push(figures('PostgreSQL, one process', await measure(first, first, size)))
    rows.push(figures('PostgreSQL, two processes', await measure(first, second, size)))
    process.stdout.write(
      `${describeMachine()}\n${size.rounds} rounds, ${size.waiting} workers wait for ${OTHER_INBOXES} other inboxes\n\n${table(rows)}\n`,
    )
  } finally {
    await Promise.all(started.map((one) => one.stop()))
    await postgres.stop()
  }
}

const WAIT_SECONDS = 30
const OTHER_INBOXES = 10
/** The first rounds of a process are slow, so they are not measured. */
const WARM_UP_ROUNDS = 20

/**
 * Milliseconds from the reply to the message, which follows its commit, to the claim. 0 if the
 * claim came first.
 */
async function measure(
  receiver: RunningMailroom,
  worker: RunningMailroom,
  { rounds, waiting }: { rounds: number; waiting: number },
): Promise<number[]> {
  const ended = new AbortController()
  const claim = (inboxId: string, signal?: AbortSignal) =>
    worker.client.inboxes.claimThreads(
      inboxId,
      { owner: 'bench', leaseSeconds: 60, waitSeconds: WAIT_SECONDS },
      signal === undefined ? {} : { signal },
    )
  const others: string[] = []
  for (let count = 0; count < OTHER_INBOXES; count++) {
    others.push((await worker.client.inboxes.create({})).id)
  }
  const idle = Array.from({ length: waiting }, async (_, index) => {
    const inboxId = others[index % OTHER_INBOXES] ?? ''
    while (!ended.signal.aborted) await claim(inboxId, ended.signal).catch(() => {})
  })
  const inbox = await worker.client.inboxes.create({})
  const peer = await openPeer(receiver.smtpPort)
  const times: number[] = []
  for (let round = 0; round < WARM_UP_ROUNDS + rounds; round++) {
    const claimed = claim(inbox.id).then(({ data }) => {
      if (data.length !== 1) throw new Error(`${data.length} threads were claimed.`)
      return performance.now()
    })
    await pause(40)
    await peer.say('MAIL FROM:<bench@sender.example>\r\n', 250)
    await peer.say(`RCPT TO:<${inbox.address}>\r\n`, 250)
    await peer.say('DATA\r\n', 354)
    await peer.say(
      `From: bench@sender.example\r\nSubject: Round ${round}\r\n\r\nHello\r\n.\r\n`,
      250,
    )
    const storedMs = performance.now()
    const tookMs = Math.max(0, (await claimed) - storedMs)
    if (round >= WARM_UP_ROUNDS) times.push(tookMs)
  }
  peer.close()
  ended.abort()
  await Promise.all(idle)
  return times
}

function figures(name: string, times: number[]): string[] {
  const at = (share: number) => quantile(times, share).toFixed(1)
  return [name, at(0.5), at(0.99), at(1)]
}
