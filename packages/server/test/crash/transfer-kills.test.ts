// An inbox is exported and imported elsewhere while the service is killed again and again. Each time the work goes on: the
// file is whole, and no message comes twice.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { suite } from 'node:test'
import type { ExportFormat } from '@mailroom/contract/transfers.ts'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import type { Export, Import, Mailroom } from '@mailroom/sdk'
import { imported, mailFrom, mboxOf } from '#test/scenarios/transfer-mail.ts'
import { type KillTest, killAndRestart, killTest } from './kills.ts'
import type { Service } from './service.ts'

const KILLS = sizeOf('TEST_MAILROOM_TRANSFER_KILLS', { usual: 2, long: 12 })
const MESSAGES = sizeOf('TEST_MAILROOM_TRANSFER_MESSAGES', { usual: 600, long: 3_000 })
const MOMENT_MS_MAX = 400

suite('exports and imports go on after any kill', { concurrency: true }, () => {
  killTest('sqlite', { kills: KILLS }, (test) =>
    moveThroughKills(test, ['mbox', 'maildir', 'jsonl']),
  )
  // After each kill the lease has to run out, which takes a minute, since another process may have the job.
  killTest('postgres', { kills: Math.ceil(KILLS / 2) }, (test) => moveThroughKills(test, ['jsonl']))
})

async function moveThroughKills(
  { t, kills, random, start }: KillTest,
  formats: readonly ExportFormat[],
): Promise<void> {
  const service = await start({})
  const { client } = service
  const source = await client.inboxes.create({})
  const mails = Array.from({ length: MESSAGES }, (_, at) => {
    const text = `${'x'.repeat(Math.floor(random() * 3_000))}\n`.repeat(2)
    return (
      mailFrom('ann@a.example', `k${at}`, `References: <k${at - (at % 10)}@x.example>\n`) + text
    )
  })
  await imported(client, source.id, mboxOf(...mails))
  let cut = 0
  for (const format of formats) {
    const target = await client.inboxes.create({})
    const { id } = await client.exports.create({ inboxId: source.id, format })
    const exporting = () => client.exports.get(id)
    const file = await throughKills(service, { kills, random, ask: exporting })
    cut += file.killed
    assert.deepEqual([file.job.status, file.job.progress.done], ['done', MESSAGES])
    const { content } = await client.exports.download(id)
    const upload = new Uint8Array(content)
    const { id: importId } = await client.imports.create(target.id, upload)
    const importing = () => client.imports.get(importId)
    const { job, killed } = await throughKills(service, { kills, random, ask: importing })
    cut += killed
    const counts = [job.status, job.imported, job.duplicates, job.failed]
    assert.deepEqual(counts, ['done', MESSAGES, 0, 0])
    assert.deepEqual(await shapeOf(client, target.id), await shapeOf(client, source.id))
  }
  assert.ok(cut > 0, 'No kill struck a running job.')
  t.diagnostic(`${cut} kills struck running jobs`)
}

type Killing<Job> = { kills: number; random: () => number; ask: () => Promise<Job> }

async function throughKills<Job extends Export | Import>(
  service: Service,
  { kills, random, ask }: Killing<Job>,
): Promise<{ job: Job; killed: number }> {
  let killed = 0
  for (let kill = 0; kill < kills; kill += 1) {
    const { status } = await ask()
    if (status !== 'queued' && status !== 'running') break
    await killAndRestart({ service, random, momentMs: MOMENT_MS_MAX })
    killed += 1
  }
  for (;;) {
    const job = await ask()
    if (job.status !== 'queued' && job.status !== 'running') return { job, killed }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** The subjects, dates and threads of all messages, in their order. */
async function shapeOf(client: Mailroom, inboxId: string): Promise<string> {
  const digest: string[] = []
  const threads = new Map<string, number>()
  for await (const message of client.messages.list(inboxId, { limit: 100 })) {
    const { subject, createdAt, threadId, bodyText } = message
    if (!threads.has(threadId)) threads.set(threadId, threads.size)
    digest.push(`${subject} ${createdAt} ${threads.get(threadId)} ${hash('sha256', bodyText)}`)
  }
  return hash('sha256', digest.join('\n'))
}
