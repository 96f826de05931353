import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { MessageToSend } from '@mailroom/sdk'
import { openLog } from '#platform/log.ts'
import { runSql } from '#test/peers/sql.ts'
import { readFigures } from '#test/scenarios/figures.ts'
import { refusalOf } from '#test/scenarios/outcomes.ts'
import { onEachEngine, openWorld, plainMail, type World } from '#test/world.ts'

const CARD = '4242 4242 4242 4242'
const TOKEN = ['sk', 'live', 'aB3dE5gH7j'.repeat(3)].join('_')
const SECRET = `Card ${CARD}, key ${TOKEN}`
const FILE = { filename: 'a.txt', contentType: 'text/plain', data: Buffer.from(SECRET) }
const MESSAGES: readonly Partial<MessageToSend>[] = [
  { subject: SECRET },
  { body: SECRET },
  { bodyHtml: `<p>${SECRET}</p>` },
  { headers: { 'X-Note': SECRET } },
  { attachments: [FILE] },
]
/** The guard cannot read it, and says so in the log. */
const UNREADABLE = { body: SECRET, attachments: [{ ...FILE, filename: 'a.eml', data: deepMail() }] }

/** Messages within each other, deeper than they are read. */
function deepMail(): Buffer {
  let raw = plainMail({ body: SECRET })
  for (let depth = 0; depth < 8; depth++) {
    raw = plainMail({ headers: ['Content-Type: message/rfc822'], body: raw })
  }
  return Buffer.from(raw)
}

onEachEngine('secrets in mail that policy stops', (engine) => {
  let world: World
  let log = ''
  const answers: unknown[] = []

  before(async () => {
    const output = { write: (line: string) => (log += line) }
    const opened = await openLog({ level: 'debug', isTerminal: false, output })
    world = await openWorld(engine, { env: { MAILROOM_LOG_LEVEL: 'debug' }, log: opened.log })
    const inbox = await world.inbox()
    const { token } = await world.client.approvers.create({ name: 'Ann' })
    const ann = world.clientWith(token)
    const asked = { to: 'bob@friend.example', subject: 'A subject', body: 'A body.' }
    for (const secrets of ['reject', 'hold'] as const) {
      await ann.policy.replace({ outbound: { guards: { secrets } } }, { inboxId: inbox.id })
      for (const fields of MESSAGES) {
        const message = { ...asked, ...fields }
        answers.push(await world.client.inboxes.checkSend(inbox.id, message))
        const sending = world.client.inboxes.send(inbox.id, message)
        answers.push(secrets === 'hold' ? (await sending).hold : (await refusalOf(sending)).body)
      }
    }
    answers.push((await world.client.inboxes.send(inbox.id, { ...asked, ...UNREADABLE })).hold)
    answers.push((await ann.policy.audit().page()).data)
    answers.push((await ann.reviews.list().page()).data.map(({ reasons }) => reasons))
    answers.push(await readFigures(world))
  })
  after(() => world.close())

  test('are in no answer about it, in no line of the log and in no row of the audit', async () => {
    const rows = await runSql(world, 'select * from policy_audit')
    const reasons = await runSql(world, 'select reasons from reviews')
    assert.equal(reasons.length, MESSAGES.length + 1)
    const told = JSON.stringify(answers)
    for (const kind of ['card_number', 'stripe_key']) assert.ok(told.includes(kind), kind)
    assert.ok(log.includes('a guard failed'))
    const kept = JSON.stringify([rows, reasons], (_, value) =>
      typeof value === 'bigint' ? Number(value) : value,
    )
    for (const value of [CARD, TOKEN, TOKEN.slice(8, 24)]) {
      for (const place of [told, log, kept]) assert.ok(!place.includes(value), value)
    }
  })
})
