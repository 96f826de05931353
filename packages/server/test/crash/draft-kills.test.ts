// Drafts are sent while the service is killed again and again. Whatever strikes, there is the draft and no message, or the
// message and no draft; a repeat under the same key gets the same answer, and the message is sent.

import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { type Draft, type Mailroom, MailroomError } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import { type KillTest, killAndRestart, killTest } from './kills.ts'
import {
  assertAllSent,
  composeNumber,
  type Promised,
  promisedOf,
  untilSettled,
} from './outbound-mail.ts'
import { Sink } from './outbound-sink.ts'
import type { Service } from './service.ts'

const KILLS = sizeOf('TEST_MAILROOM_DRAFT_KILLS', { usual: 2, long: 12 })
const DRAFTS_PER_KILL = 60
const CLIENTS = 6
const MOMENT_MS_MAX = 300
const SETTLED_MS_MAX = 120_000
/** Over the size that a row has, so that the bytes are in the blob store. */
const FILE_BYTES = 150_000

suite('a draft is sent once after any kill', { concurrency: true }, () => {
  killTest('sqlite', { kills: KILLS }, sendThroughKills)
  killTest('postgres', { kills: Math.ceil(KILLS / 2) }, sendThroughKills)
})

type Tally = { unanswered: number; stillThere: number; sentBefore: number }

async function sendThroughKills({ t, kills, random, start }: KillTest): Promise<void> {
  const sink = await Sink.open({ rcptMs: () => random() * 20 })
  t.after(() => sink.close())
  const service = await start(sink.environment)
  const inbox = await service.client.inboxes.create({})
  const promised: Promised[] = []
  const tally: Tally = { unanswered: 0, stillThere: 0, sentBefore: 0 }
  for (let kill = 0; kill < kills || tally.unanswered === 0; kill += 1) {
    const drafts: Draft[] = []
    for (let index = 0; index < DRAFTS_PER_KILL; index += 1) {
      drafts.push(await makeDraft(service.client, { sink, inbox, number: promised.length + index }))
    }
    const sending = sendAll(service, drafts, tally)
    await killAndRestart({ service, random, momentMs: MOMENT_MS_MAX })
    promised.push(...(await sending))
  }
  await untilSettled(service, SETTLED_MS_MAX)
  assert.deepEqual(await runSql(service, 'select id from drafts'), [])
  await service.stopWell()
  const repeats = await assertAllSent(service, sink, promised)
  const { unanswered, stillThere, sentBefore } = tally
  t.diagnostic(
    `${promised.length} sent, ${unanswered} unanswered, then ${stillThere} still drafts and ${sentBefore} sent, ${repeats.length} copies too many`,
  )
}

async function makeDraft(
  client: Mailroom,
  { sink, inbox, number }: { sink: Sink; inbox: { id: string }; number: number },
): Promise<Draft> {
  const file = { filename: 'a', contentType: 'text/plain', data: Buffer.alloc(FILE_BYTES, number) }
  const attachments = number % 10 === 0 ? [file] : []
  return client.drafts.create(inbox.id, { ...composeNumber(sink, number), attachments })
}

/** Sends each until it is answered, and each again under its key. */
async function sendAll(service: Service, drafts: Draft[], tally: Tally): Promise<Promised[]> {
  const left = [...drafts]
  const promised: Promised[] = []
  const run = async () => {
    for (let draft = left.shift(); draft !== undefined; draft = left.shift()) {
      const answer = await sendOne(service, draft, tally)
      assert.deepEqual(await sendOne(service, draft, { ...tally }), answer)
      promised.push(promisedOf(answer, draft))
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, run))
  return promised
}

async function sendOne(service: Service, draft: Draft, tally: Tally) {
  const options = { idempotencyKey: `send ${draft.id}` }
  for (;;) {
    try {
      return await service.client.drafts.send(draft.id, options)
    } catch (error) {
      const isAnswered = error instanceof MailroomError && error.status > 0
      if (isAnswered && error.status !== 503) throw error
      tally.unanswered += 1
      tally[(await isDraft(service, draft)) ? 'stillThere' : 'sentBefore'] += 1
      await sleep(50)
    }
  }
}

/** False when it is a message. There is one of the two, at any moment. */
async function isDraft(service: Service, { id, inboxId, subject }: Draft): Promise<boolean> {
  const [row] = await runSql(
    service,
    `select (select count(*) from drafts where id = '${id}') as drafts,
       (select count(*) from messages where inbox_id = '${inboxId}' and subject = '${subject}')
         as messages`,
  )
  const [drafts, messages] = [Number(row?.drafts), Number(row?.messages)]
  assert.equal(drafts + messages, 1)
  return drafts === 1
}
