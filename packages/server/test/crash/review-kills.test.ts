// Approvers decide about held mail while the service is killed again and again, and repeat each unanswered decision. An
// approved message is sent, once; a rejected one never is.

import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { MailroomError } from '@mailroom/sdk'
import { type Held, holdSend } from '#test/scenarios/review-world.ts'
import { type KillTest, killAndRestart, killTest } from './kills.ts'
import { assertAllSent, composeNumber, type Promised, untilSettled } from './outbound-mail.ts'
import { Sink } from './outbound-sink.ts'
import type { Service } from './service.ts'

const KILLS = sizeOf('TEST_MAILROOM_REVIEW_KILLS', { usual: 2, long: 12 })
const HELD_PER_KILL = 40
const CLIENTS = 4
const MOMENT_MS_MAX = 200
const SETTLED_MS_MAX = 120_000

suite('an approval is one message after any kill', { concurrency: true }, () => {
  killTest('sqlite', { kills: KILLS }, decideThroughKills)
  killTest('postgres', { kills: Math.ceil(KILLS / 2) }, decideThroughKills)
})

async function decideThroughKills({ t, kills, random, start }: KillTest): Promise<void> {
  const sink = await Sink.open({ rcptMs: () => random() * 20 })
  t.after(() => sink.close())
  const service = await start(sink.environment)
  const { token } = await service.client.approvers.create({ name: 'Ann' })
  const inbox = await service.client.inboxes.create({})
  const approved: Promised[] = []
  const tally = { unanswered: 0, repeated: 0 }
  for (let kill = 0; kill < kills || tally.unanswered === 0; kill += 1) {
    const helds = []
    for (let number = 0; number < HELD_PER_KILL; number += 1) {
      const message = composeNumber(sink, kill * HELD_PER_KILL + number)
      helds.push({ message, held: await holdSend(service, inbox, message) })
    }
    const deciding = decideAll(
      service,
      helds.map(({ held }) => held),
      { token, tally },
    )
    await killAndRestart({ service, random, momentMs: MOMENT_MS_MAX })
    await deciding
    for (const { message, held } of helds) {
      const { status } = await service.client.reviews.get(held.reviewId)
      assert.equal(status, 'approved')
      const recipients = [message.to ?? [], message.cc ?? []].flat()
      const { rfcMessageId } = await service.client.messages.get(held.messageId)
      const [id, messageId] = [held.messageId, rfcMessageId ?? '']
      approved.push({ id, messageId, recipients, inboxId: inbox.id })
    }
  }
  await untilSettled(service, SETTLED_MS_MAX)
  await service.stopWell()
  // The store has each delivery once; a copy may be repeated whose answer a kill took away.
  const repeats = await assertAllSent(service, sink, approved)
  t.diagnostic(
    `${approved.length} approved, ${tally.unanswered} unanswered, ${tally.repeated} decided before, ${repeats.length} copies too many`,
  )
}

async function decideAll(
  service: Service,
  helds: readonly Held[],
  { token, tally }: { token: string; tally: { unanswered: number; repeated: number } },
): Promise<void> {
  const client = service.clientWith(token)
  const left = [...helds]
  const run = async () => {
    for (let held = left.shift(); held !== undefined; held = left.shift()) {
      while (!(await decide(held))) await sleep(50)
    }
  }
  const decide = async ({ reviewId, digest }: Held): Promise<boolean> => {
    try {
      await client.reviews.approve(reviewId, { digest })
      return true
    } catch (error) {
      const isAnswered = error instanceof MailroomError && error.status > 0
      if (isAnswered && error.code === 'review_decided') {
        tally.repeated += 1
        return true
      }
      if (isAnswered && error.status !== 503) throw error
      tally.unanswered += 1
      return false
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, run))
}
