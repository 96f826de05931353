// The service is killed in the middle of moves and removals of a thread with many messages. After its start they go on by
// themselves, and every list agrees with the others.

import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import type { Mailroom } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import { checkLists } from '#test/scenarios/removal-check.ts'
import { plainMail } from '#test/world.ts'
import { type KillTest, killAndRestart, killTest } from './kills.ts'
import type { Service } from './service.ts'

const KILLS = sizeOf('TEST_MAILROOM_REMOVAL_KILLS', { usual: 3, long: 30 })
/** Four steps of a removal. */
const MESSAGES = 800
const OTHERS = 20
const AT_ONCE = 20
const MOMENT_MS_MAX = 250

suite('a thread is moved or removed whole after any kill', { concurrency: true }, () => {
  killTest('sqlite', { kills: KILLS }, removeThroughKills)
  killTest('postgres', { kills: Math.ceil(KILLS / 2) }, removeThroughKills)
})

async function removeThroughKills({ t, kills, random, start }: KillTest): Promise<void> {
  const service = await start()
  let { inboxId, threadId } = await filled(service.client)
  let interrupted = 0
  for (let kill = 0; kill < kills; kill += 1) {
    const isTrashed = (await service.client.threads.get(threadId)).trashedAt !== null
    const isLast = kill % 3 === 2
    const asked = isLast
      ? service.client.threads.delete(threadId, { permanent: true })
      : isTrashed
        ? service.client.threads.restore(threadId)
        : service.client.threads.delete(threadId)
    const outcome = asked.then(
      () => 'done',
      () => 'unanswered',
    )
    await killAndRestart({ service, random, momentMs: MOMENT_MS_MAX })
    if ((await outcome) === 'unanswered') interrupted += 1
    await untilSettled(service)
    const { live, trashed } = await checkLists(service.client, inboxId)
    assert.equal(live + trashed === OTHERS || live + trashed === OTHERS + MESSAGES, true)
    if (!isLast) continue
    if (live + trashed > OTHERS) await service.client.threads.delete(threadId, { permanent: true })
    assert.deepEqual(
      await runSql(service, `select id from messages where thread_id = '${threadId}'`),
      [],
    )
    ;({ inboxId, threadId } = await filled(service.client))
  }
  await service.stopWell()
  t.diagnostic(`${interrupted} of ${kills} were interrupted`)
}

async function filled(client: Mailroom): Promise<{ inboxId: string; threadId: string }> {
  const { id: inboxId, address } = await client.inboxes.create({})
  const root = `<root-${inboxId}@x.example>`
  const receive = (fields: Parameters<typeof plainMail>[0]) =>
    client.sandbox.receiveRaw(plainMail({ to: address, ...fields }))
  await receive({ messageId: root, subject: 'the thread' })
  let left = MESSAGES - 1
  const send = async () => {
    while (left-- > 0) await receive({ headers: [`In-Reply-To: ${root}`] })
  }
  await Promise.all(Array.from({ length: AT_ONCE }, send))
  for (let count = 0; count < OTHERS; count++) await receive({ subject: `other ${count}` })
  const threads = await Array.fromAsync(client.threads.list(inboxId))
  const thread = threads.find(({ messageCount }) => messageCount === MESSAGES)
  assert.ok(thread !== undefined)
  return { inboxId, threadId: thread.id }
}

/** Nothing asks for it: the service finishes what was interrupted. */
async function untilSettled(service: Service): Promise<void> {
  for (;;) {
    const rows = await runSql(
      service,
      'select id from threads where is_moving = 1 or trashed_at = 0',
    )
    if (rows.length === 0) return
    await sleep(100)
  }
}
