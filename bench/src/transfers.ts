// Exports an inbox from one service and imports it into another, in each format. Measures the time
// and the peak memory of both services, and checks that every message kept its octets, thread, date
// and flag.

import { openAsBlob, readFileSync, writeFileSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { describeMachine, table } from './figures.ts'
import { fillInbox } from './fill-inbox.ts'
import { type RunningMailroom, startMailroom } from './mailroom.ts'

/** Options: `--messages 100000`, with bodies of `--bytes 2048`; `--formats mbox,maildir,jsonl`. */
export async function transfers(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      messages: { type: 'string', default: '100000' },
      bytes: { type: 'string', default: '2048' },
      formats: { type: 'string', default: 'mbox,maildir,jsonl' },
    },
  })
  const [from, to] = [await startMailroom(), await startMailroom()]
  const rows = [
    ['format', 'file MiB', 'export s', 'MiB more', 'import s', 'MiB more', 'imported', 'differ'],
  ]
  try {
    const inbox = await from.client.inboxes.create({})
    await fillInbox(from, inbox.address, Number(values.messages), Number(values.bytes))
    await readSome(from, inbox.id)
    const kept = keptIn(from, inbox.id)
    for (const format of values.formats.split(',') as ('mbox' | 'maildir' | 'jsonl')[]) {
      const file = join(process.env.BENCH_DIR ?? tmpdir(), `mailroom-bench-${process.pid}`)
      const out = await measured(from, async () => {
        const { id } = await from.client.exports.create({ inboxId: inbox.id, format })
        const done = await from.client.exports.untilDone(id)
        if (done.status !== 'done') throw new Error(`The export ended as ${done.status}.`)
        return done
      })
      await save(from, out.result.id, file)
      const other = await to.client.inboxes.create({})
      const back = await measured(to, async () => {
        const { id } = await to.client.imports.create(other.id, await openAsBlob(file))
        return to.client.imports.untilDone(id)
      })
      await rm(file)
      rows.push([
        format,
        ((out.result.sizeBytes ?? 0) / 2 ** 20).toFixed(0),
        out.seconds.toFixed(0),
        out.moreMib.toFixed(0),
        back.seconds.toFixed(0),
        back.moreMib.toFixed(0),
        String(back.result.imported),
        String(differences(kept, keptIn(to, other.id), format)),
      ])
    }
    process.stdout.write(
      `${describeMachine()}\n${kept.length} messages with bodies of ${values.bytes} octets\n\n${table(rows)}\n`,
    )
  } finally {
    await Promise.all([from.stop(), to.stop()])
  }
}

/** Marks every hundredth thread of the newest ten thousand as read. */
async function readSome({ client }: RunningMailroom, inboxId: string): Promise<void> {
  for (let offset = 0; offset < 10_000; offset += 100) {
    const { data } = await client.threads.list(inboxId, { limit: 1, offset }).page()
    for (const { id } of data) await client.threads.update(id, { isRead: true })
  }
}

/** The time of the work, and the increase of the service's memory during it. */
async function measured<Result>({ pid }: RunningMailroom, work: () => Promise<Result>) {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  const mib = (name: string) => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
  }
  const beforeMib = mib('VmRSS')
  const startMs = performance.now()
  const result = await work()
  const seconds = (performance.now() - startMs) / 1000
  return { result, seconds, moreMib: mib('VmHWM') - beforeMib }
}

async function save({ client }: RunningMailroom, id: string, path: string): Promise<void> {
  const stream = await client.exports.stream(id)
  const file = await open(path, 'w')
  for await (const chunk of stream) await file.write(chunk)
  await file.close()
}

type Kept = { sha256: string; createdAt: number; isRead: number; thread: number }

/** The messages in order, each with the position of the first message of its thread. */
function keptIn({ dataDir }: RunningMailroom, inboxId: string): Kept[] {
  const db = new DatabaseSync(join(dataDir, 'mailroom.db'), { readOnly: true })
  const rows = db
    .prepare(
      `select hex(sha256) as sha256, messages.created_at as "createdAt", threads.is_read as "isRead",
        min(position) over (partition by thread_id) as thread
      from messages join raw_messages on raw_messages.id = raw_id join threads on threads.id = thread_id
      where messages.inbox_id = ? order by arrival`,
    )
    .all(inboxId) as Kept[]
  db.close()
  return rows
}

/** Number of messages that changed. An mbox has whole seconds and no flags. */
function differences(before: Kept[], after: Kept[], format: string): number {
  const form = ({ createdAt, isRead, ...kept }: Kept) =>
    JSON.stringify(
      format === 'mbox'
        ? { ...kept, createdAt: Math.floor(createdAt / 1000) }
        : { ...kept, createdAt, isRead },
    )
  return before.filter((one, index) => {
    const other = after[index]
    return other === undefined || form(one) !== form(other)
  }).length
}
