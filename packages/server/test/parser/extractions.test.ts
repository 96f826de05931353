import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { readContent, unreadContent } from '@mailroom/mail-reading/extract/extract.ts'
import { openExtractions } from '#mailbox/messages/extractions.ts'
import { openParserPool } from '#parser/parser.ts'

const pool = openParserPool()
after(() => pool.close())

const CODE = 'Your verification code is 482913.'
const styled = `<p style="color:#333">${CODE}</p>`

test('a thread finds the same as the main thread', async () => {
  let asked = 0
  const parser = {
    readContent: (source: Parameters<typeof pool.readContent>[0]) => {
      asked++
      return pool.readContent(source)
    },
  }
  const extractions = openExtractions(undefined, undefined, parser)
  const find = (id: string, text: string, html: string) =>
    extractions.of({
      id,
      direction: 'inbound',
      subject: '',
      bodyText: text,
      bodyHtml: html,
      defects: [],
    })
  const short = await find('msg_1', CODE, '')
  assert.equal(asked, 0)
  for (const [id, text, html] of [
    ['msg_2', '', styled],
    ['msg_3', `${CODE}\n${'Some more text.\n'.repeat(1_000)}`, ''],
    ['msg_4', '', `<p>${CODE}</p>${'<p>Some more text.</p>'.repeat(1_000)}`],
  ] as const) {
    const found = await find(id, text, html)
    assert.deepEqual(found, readContent({ subject: '', text, html }), id)
    assert.deepEqual(found?.extracted.codes, short?.extracted.codes, id)
  }
  assert.equal(asked, 3)
})

test('a message that takes too long is reported as not searched for hidden text', async () => {
  const parser = {
    readContent: async (source: Parameters<typeof pool.readContent>[0]) => unreadContent(source),
  }
  const extractions = openExtractions(undefined, undefined, parser)
  const message = { id: 'msg_1', direction: 'inbound', subject: '', bodyText: '' } as const
  const found = await extractions.of({ ...message, bodyHtml: styled, defects: [] })
  assert.deepEqual(found?.hidden, [{ kind: 'unread-html', characters: styled.length }])
})

test('a search that the full queue refuses still returns its result', async () => {
  const parser = { readContent: () => Promise.reject(new Error('full')) }
  const extractions = openExtractions(undefined, undefined, parser)
  const message = { id: 'msg_1', direction: 'inbound', subject: '', bodyText: '' } as const
  const found = await extractions.of({ ...message, bodyHtml: styled, defects: [] })
  assert.equal(found?.extracted.codes[0]?.value, '482913')
})

test('the cost of a line of thousands of codes grows with its length', () => {
  let spread = 0
  const iterate = String.prototype[Symbol.iterator]
  const count = (codes: number) => {
    spread = 0
    const text = `Your verification code is ${'482 913, '.repeat(codes)}`
    String.prototype[Symbol.iterator] = function (this: string) {
      spread += this.length
      return iterate.call(this)
    }
    try {
      readContent({ subject: '', text, html: `<p>${text}</p>` })
    } finally {
      String.prototype[Symbol.iterator] = iterate
    }
    return spread
  }
  // At most ten sources are shown, each with a part of a line.
  assert.ok(count(3_000) <= 40 * 1_000, `${spread} characters were taken apart`)
})

const BODY = '<p style="color:#333">Your code is <a href="https://a.example/v">4829</a></p>'

test('a long list yields to other work, and does not yield without need', async () => {
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
      defects: [],
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
