// Measures the p99 latency of intake at a steady rate before, during and after the removal of an
// inbox's expired messages.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { lowestIdAt } from '@mailroom/server/platform/ids.ts'
import { DAY_MS } from '@mailroom/server/platform/units.ts'
import { entryId } from '@mailroom/server/search/store/search-index.ts'
import { describeMachine, table } from './figures.ts'
import { load, type Outcome } from './intake-load.ts'
import { type RunningMailroom, startMailroom } from './mailroom.ts'
import { Words } from './words.ts'

const RETENTION_DAYS = 30

/**
 * Options: `--messages 1000000` expired ones, `--rate 300` new messages per second, `--seconds 30`
 * per figure.
 */
export async function retention(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      messages: { type: 'string', default: '1000000' },
      rate: { type: 'string', default: '300' },
      seconds: { type: 'string', default: '30' },
    },
  })
  const folder = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'mailroom-bench-'))
  const plan = { mode: 'kept', sessions: 20, messageBytes: 2048 } as const
  const measure = ({ smtpPort }: RunningMailroom, recipient: string) =>
    load({
      ...plan,
      port: smtpPort,
      recipient,
      seconds: Number(values.seconds),
      rate: Number(values.rate),
    })
  try {
    const first = await startMailroom({}, folder)
    const [old, busy] = [
      await first.client.inboxes.create({}),
      await first.client.inboxes.create({}),
    ]
    await load({ ...plan, port: first.smtpPort, sessions: 1, seconds: 0.1, recipient: old.address })
    while ((await first.client.inboxes.search(old.id, { q: 'figures' }).page()).total === 0) {
      await pause(100)
    }
    await first.stop({ keeps: true })
    fill(join(folder, 'mailroom.db'), old.id, Number(values.messages))

    const rows = [['intake', 'a second', 'p50 ms', 'p99 ms', 'failures', 'old messages left']]
    const note = (name: string, seen: Outcome, left: number) =>
      rows.push([
        name,
        seen.perSecond.toFixed(0),
        seen.p50Ms.toFixed(1),
        seen.p99Ms.toFixed(1),
        String(seen.failures),
        String(left),
      ])
    const before = await startMailroom({}, folder)
    const leftIn = async ({ client }: RunningMailroom) =>
      (await client.messages.list(old.id, { limit: 1 }).page()).total
    await measure(before, busy.address)
    note('before', await measure(before, busy.address), await leftIn(before))
    await before.client.inboxes.update(old.id, { retentionDays: RETENTION_DAYS })
    await before.stop({ keeps: true })

    const during = await startMailroom({}, folder)
    const startMs = performance.now()
    let left = await leftIn(during)
    while (left > 0) {
      const seen = await measure(during, busy.address)
      left = await leftIn(during)
      note('while they are removed', seen, left)
    }
    const removedMs = performance.now() - startMs
    note('after', await measure(during, busy.address), left)
    await during.stop({ keeps: true })
    process.stdout.write(
      `${describeMachine()}\n${values.messages} messages too old, removed within ${(removedMs / 1000).toFixed(0)} s\n\n${table(rows)}\n`,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

type Columns = Record<string, SQLInputValue>

/** Number of different texts, and words per text (1.8 KiB). */
const TEXTS = 2_000
const WORDS = 280

/**
 * Copies the inbox's only message with different texts, each copy in a separate thread, with a
 * storage time before the retention.
 */
function fill(file: string, inboxId: string, messages: number): void {
  const db = new DatabaseSync(file)
  db.exec('pragma synchronous = off')
  const one = (table: string, where: string) =>
    db.prepare(`select * from ${table} where ${where} limit 1`).get() as Columns
  const message = one('messages', `inbox_id = '${inboxId}'`)
  const thread = one('threads', `inbox_id = '${inboxId}'`)
  const raw = one('raw_messages', `id = '${message.raw_id}'`)
  const { number } = one('search_inboxes', `inbox_id = '${inboxId}'`)
  const insert = (table: string, names: string[]) => {
    const places = names.map(() => '?').join(', ')
    const statement = db.prepare(`insert into ${table} (${names.join(', ')}) values (${places})`)
    return (row: Columns) => statement.run(...names.map((name) => row[name] ?? null))
  }
  const add = {
    message: insert('messages', Object.keys(message)),
    thread: insert('threads', Object.keys(thread)),
    raw: insert('raw_messages', Object.keys(raw)),
    entry: insert('search_index', ['rowid', 'marks', 'subject', 'sender', 'recipients', 'body']),
  }
  const words = new Words()
  const texts = Array.from({ length: TEXTS }, () => words.text(WORDS))
  const firstMs = Date.now() - (RETENTION_DAYS + 10) * DAY_MS
  db.exec('begin')
  for (const table of ['messages', 'threads']) {
    db.exec(`delete from ${table} where inbox_id = '${inboxId}'`)
  }
  for (let position = 1; position <= messages; position++) {
    const storedMs = firstMs + position
    const [id, threadId, rawId] = [
      lowestIdAt('msg', storedMs),
      lowestIdAt('thr', storedMs),
      lowestIdAt('raw', storedMs),
    ]
    const key = `${position}.old@sender.example`
    const text = texts[position % TEXTS] ?? ''
    add.raw({ ...raw, id: rawId, created_at: storedMs })
    add.thread({ ...thread, id: threadId, last_message_at: storedMs, created_at: storedMs })
    add.message({
      ...message,
      id,
      thread_id: threadId,
      raw_id: rawId,
      arrival: position,
      message_key: key,
      receipt_key: Buffer.from(key),
      rfc_message_id: `<${key}>`,
      body_text: text,
      created_at: storedMs,
    })
    add.entry({
      rowid: entryId(Number(number), position),
      marks: 'in',
      subject: String(message.subject),
      sender: String(message.from_addr),
      recipients: '',
      body: text,
    })
  }
  db.exec(`update inbox_counters set inbound_count = ${messages}, last_arrival = ${messages},
    thread_count = ${messages}, unread_thread_count = ${messages},
    stored_bytes = stored_bytes * ${messages} where inbox_id = '${inboxId}'`)
  db.exec(`update search_inboxes set indexed_arrival = ${messages} where inbox_id = '${inboxId}'`)
  db.exec('commit')
  db.close()
}
