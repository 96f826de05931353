import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openExtractions } from '#mailbox/extractions.ts'

const BODY = '<p style="color:#333">Your code is <a href="https://a.example/v">4829</a></p>'

test('others have their turn while a long list is looked at, and none is waited for without need', async () => {
  const extractions = openExtractions()
  let turns = 0
  const count = () => {
    turns++
    immediate = setImmediate(count)
  }
  let immediate = setImmediate(count)
  const find = (id: string) =>
    extractions.of({
      id,
      direction: 'inbound',
      subject: '',
      bodyText: '',
      bodyHtml: BODY.repeat(1_000),
    })
  for (let at = 0; at < 20; at++) {
    await find(`msg_${at}`)
  }
  const whileNew = turns
  turns = 0
  for (let at = 0; at < 20; at++) {
    await find(`msg_${at}`)
  }
  clearImmediate(immediate)
  assert.ok(whileNew > 0)
  assert.equal(turns, 0)
})
