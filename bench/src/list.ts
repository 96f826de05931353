// Measures the time to read a page of threads and of messages at three sizes of an inbox, for first
// pages and for pages from anywhere in the list.

import { parseArgs } from 'node:util'
import { seededDice } from '@mailroom/mail/test/seeded-dice.ts'
import type { Inbox } from '@mailroom/sdk'
import { describeMachine, quantile, table } from './figures.ts'
import { fillInbox } from './fill-inbox.ts'
import { type RunningMailroom, startMailroom } from './mailroom.ts'

const SIZES = [1_000, 30_000, 300_000]

/**
 * Options: `--requests 500` per measurement, `--sizes 1000,30000,300000`, `--removed 0.5` of the
 * messages of each inbox, at random. Filling takes long: `--fill FOLDER` only fills a folder, and
 * `--filled FOLDER` measures a filled one.
 */
export async function list(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      requests: { type: 'string', default: '500' },
      sizes: { type: 'string', default: SIZES.join(',') },
      removed: { type: 'string', default: '0' },
      fill: { type: 'string' },
      filled: { type: 'string' },
    },
  })
  const sizes = values.sizes.split(',').map(Number)
  const mailroom = await startMailroom({}, values.fill ?? values.filled)
  const { data } = await mailroom.client.inboxes.list().page()
  const inboxes = data.toReversed()
  try {
    for (const size of sizes.slice(inboxes.length)) {
      const inbox = await mailroom.client.inboxes.create({})
      inboxes.push(inbox)
      await fillInbox(mailroom, inbox.address, size)
      await removeSome(mailroom, inbox, { size, share: Number(values.removed) })
    }
    if (values.fill === undefined) await measure(mailroom, inboxes, Number(values.requests))
  } finally {
    await mailroom.stop({ keeps: values.fill !== undefined || values.filled !== undefined })
  }
}

async function measure(
  mailroom: RunningMailroom,
  inboxes: Inbox[],
  requests: number,
): Promise<void> {
  const rows = [['page', 'messages', 'p50 ms', 'p99 ms', 'p50 ratio']]
  for (const measured of measurements(mailroom)) {
    await sample(measured, inboxes.slice(0, 1), requests / 5)
    // Sizes alternate, so that other work on the machine affects all of them equally.
    const times = await sample(measured, inboxes, requests)
    const first = quantile(times[0] ?? [], 0.5)
    for (const [index, inbox] of inboxes.entries()) {
      const { total } = await mailroom.client.messages.list(inbox.id, { limit: 1 }).page()
      const p50 = quantile(times[index] ?? [], 0.5)
      const p99 = quantile(times[index] ?? [], 0.99)
      const ratio = (p50 / first).toFixed(2)
      rows.push([measured.name, String(total), p50.toFixed(2), p99.toFixed(2), ratio])
    }
  }
  process.stdout.write(`${describeMachine()}\n\n${table(rows)}\n`)
}

const REMOVALS_AT_ONCE = 16

/** Removes a share of the messages one by one, in a random order that is the same in every run. */
async function removeSome(
  { client }: RunningMailroom,
  inbox: Inbox,
  { size, share }: { size: number; share: number },
): Promise<void> {
  if (share === 0) return
  const ids: string[] = []
  for (let offset = 0; offset < size; offset += 100) {
    const { data } = await client.messages.list(inbox.id, { limit: 100, offset }).page()
    ids.push(...data.map(({ id }) => id))
  }
  const roll = seededDice(1)
  const left = Math.round(size * (1 - share))
  const worker = async () => {
    while (ids.length > left) {
      const [id] = ids.splice(roll(ids.length), 1)
      if (id !== undefined) await client.messages.delete(id)
    }
  }
  await Promise.all(Array.from({ length: REMOVALS_AT_ONCE }, worker))
}

type Measurement = {
  name: string
  run(inbox: Inbox, offset: number): Promise<number>
  isDeep: boolean
}

function measurements({ client }: RunningMailroom): Measurement[] {
  const threads = async (inbox: Inbox, offset: number) =>
    (await client.threads.list(inbox.id, { offset }).page()).total
  const messages = async (inbox: Inbox, offset: number) =>
    (await client.messages.list(inbox.id, { offset }).page()).total
  const unread = async (inbox: Inbox, offset: number) =>
    (await client.threads.list(inbox.id, { is_read: false, offset }).page()).total
  const filtered = (category: 'personal' | 'automated') => ({
    threads: async (inbox: Inbox, offset: number) =>
      (await client.threads.list(inbox.id, { category, offset }).page()).total,
    messages: async (inbox: Inbox, offset: number) =>
      (await client.messages.list(inbox.id, { category, offset }).page()).total,
  })
  const [common, rare] = [filtered('personal'), filtered('automated')]
  return [
    { name: 'threads of a common category, first page', run: common.threads, isDeep: false },
    { name: 'threads of a common category, any page', run: common.threads, isDeep: true },
    { name: 'threads of a rare category, any page', run: rare.threads, isDeep: true },
    { name: 'messages of a common category, first page', run: common.messages, isDeep: false },
    { name: 'messages of a common category, any page', run: common.messages, isDeep: true },
    { name: 'messages of a rare category, any page', run: rare.messages, isDeep: true },
    { name: 'threads, first page', run: threads, isDeep: false },
    { name: 'unread threads, first page', run: unread, isDeep: false },
    { name: 'messages, first page', run: messages, isDeep: false },
    { name: 'threads, any page', run: threads, isDeep: true },
    { name: 'messages, any page', run: messages, isDeep: true },
  ]
}

async function sample(
  { run, isDeep }: Measurement,
  inboxes: Inbox[],
  requests: number,
): Promise<number[][]> {
  const totals = await Promise.all(inboxes.map((inbox) => run(inbox, 0)))
  const times: number[][] = inboxes.map(() => [])
  for (let request = 0; request < requests; request++) {
    for (const [index, inbox] of inboxes.entries()) {
      const pages = Math.max(1, Math.floor((totals[index] ?? 0) / 50))
      // A low-discrepancy sequence over all pages, the same in every run.
      const page = isDeep ? Math.floor(((request * 0.618034) % 1) * pages) : 0
      // Read messages are cached, so all messages of a small inbox would be in memory.
      if (isDeep) await run(inbox, page * 50)
      const startMs = performance.now()
      await run(inbox, page * 50)
      times[index]?.push(performance.now() - startMs)
    }
  }
  return times
}
