// Reports come to return paths, and to an inbox in the same transaction, while the service is killed again and again.
// Their servers repeat unanswered reports: each recipient bounces once, has one event and one suppression, and each
// report is in the inbox once.

import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { bounceMail } from '#test/scenarios/report-mail.ts'
import { WIDE_LIMITS } from '#test/world.ts'
import { type KillTest, killAndRestart, killTest } from './kills.ts'
import { offerMail, sendToReport } from './reports.ts'

const KILLS = sizeOf('TEST_MAILROOM_REPORT_KILLS', { usual: 2, long: 8 })
const POSTGRES_KILLS = Math.ceil(KILLS / 2)
const REPORTS_PER_KILL = sizeOf('TEST_MAILROOM_REPORTS_PER_KILL', { usual: 40, long: 60 })
const CLIENTS = 4
/** A kill strikes after up to so many milliseconds more. */
const MOMENT_MS_MAX = 60
const RETRY_MS = 20
const LOOK_MS = 5

suite('reports survive kill -9', { concurrency: true }, () => {
  killTest('sqlite', { kills: KILLS }, killAgainAndAgain)
  killTest('postgres', { kills: POSTGRES_KILLS }, killAgainAndAgain)
})

async function killAgainAndAgain({ t, kills, random, start }: KillTest): Promise<void> {
  const count = REPORTS_PER_KILL * kills
  const service = await start(WIDE_LIMITS)
  const { client } = service
  const inbox = await client.inboxes.create()
  const reports = await sendToReport(service, inbox, count)
  const mails = reports.map(({ recipient, path }) => ({
    from: '',
    to: [path, inbox.address],
    raw: bounceMail({ to: path, recipient }),
  }))
  const figures = { answered: 0, unanswered: 0 }
  let isOver = false
  // Their servers begin again after the last report, so that there is always one for a kill to strike.
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let next = client; next < count || !isOver; next += CLIENTS) {
      const mail = mails[next % count]
      assert.ok(mail !== undefined)
      for (;;) {
        const outcome = await offerMail(service, mail)
        if (outcome === 'cut') figures.unanswered += 1
        if (outcome === 'taken') break
        await sleep(RETRY_MS)
      }
      figures.answered += 1
    }
  })
  // All kills may strike while nothing is on its way.
  for (let kill = 0; kill < kills || figures.unanswered === 0; kill++) {
    const wanted = figures.answered + random() * REPORTS_PER_KILL
    while (figures.answered < wanted) await sleep(LOOK_MS)
    await killAndRestart({ service, random, momentMs: MOMENT_MS_MAX })
  }
  isOver = true
  await Promise.all(clients)

  const kinds = new Map<string, number>()
  for (const { event, recipient = '' } of await service.listEvents()) {
    const key = event === 'message.bounced' ? `${event} ${recipient}` : event
    kinds.set(key, (kinds.get(key) ?? 0) + 1)
  }
  t.diagnostic(JSON.stringify(figures))
  for (const { recipient } of reports) {
    assert.equal(kinds.get(`message.bounced ${recipient}`), 1, recipient)
  }
  assert.equal(kinds.get('message.failed'), count)
  assert.equal(kinds.get('message.received'), count)
  assert.equal((await client.suppressions.list({ limit: 1 }).page()).total, count)
  const listed = client.messages.list(inbox.id, { direction: 'inbound', limit: 1 })
  assert.equal((await listed.page()).total, count)
}
