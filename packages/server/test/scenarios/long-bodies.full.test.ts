import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { before, test } from 'node:test'
import { SHOWN_BODY_BYTES_MAX } from '@mailroom/contract/messages.ts'
import type { Message } from '@mailroom/sdk'
import { untilReadable } from '#test/scenarios/event-world.ts'
import { onEachEngine, opened, openTenant, plainMail, prepared } from '#test/world.ts'

const LINES = 12_000
/** Characters that JSON writes with six, the most possible. */
const BODY = `${'\x01'.repeat(70)}\r\n`.repeat(LINES)
const COUNT = 8

onEachEngine('long bodies', (engine) => {
  const world = opened(() => openTenant(engine))

  const inbox = prepared(() => world.inbox())
  before(async () => {
    for (let number = 1; number <= COUNT; number++) {
      const headers = number === 1 ? [] : ['In-Reply-To: <1@long.example>']
      const messageId = `<${number}@long.example>`
      // Some are short, so that one page has both kinds.
      const body = number % 10 === 5 ? `short ${number}` : BODY
      const raw = plainMail({ to: inbox.address, messageId, headers, body })
      assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    }
  })

  test('a page shows the beginning of each, newest first, and which were cut', async () => {
    const { data } = await world.client.messages.list(inbox.id).page()
    assert.deepEqual(data.map(numberOf), [8, 7, 6, 5, 4, 3, 2, 1])
    for (const message of data) await assertCut(message)
  })

  test('a thread does so, too', async () => {
    const { data: threads } = await world.client.threads.list(inbox.id).page()
    const { data } = await world.client.threads.messages(threads[0]?.id ?? '')
    assert.deepEqual(data.map(numberOf), [1, 2, 3, 4, 5, 6, 7, 8])
    for (const message of data) await assertCut(message)
  })

  test('the log of events does so, too', async () => {
    await untilReadable(world)
    const { data } = await world.client.events.list({ inbox_id: inbox.id }).page()
    const told = data.flatMap(({ message }) => message ?? [])
    assert.equal(told.length, COUNT)
    for (const { id, truncated, body_text: text } of told) {
      const whole = await world.client.messages.get(id)
      assert.equal(truncated, whole.bodyText.length > SHOWN_BODY_BYTES_MAX)
      assert.ok(text === whole.bodyText.slice(0, SHOWN_BODY_BYTES_MAX), 'the beginning differs')
    }
  })

  test('a single message is complete, however long', async () => {
    const { data } = await world.client.messages.list(inbox.id, { offset: COUNT - 1 }).page()
    const whole = await world.client.messages.get(data[0]?.id ?? '')
    assert.equal(whole.isTruncated, false)
    assert.ok(whole.bodyText.trimEnd() === BODY.replaceAll('\r\n', '\n').trimEnd(), 'not as sent')
  })

  test('forty clients that do not read their pages take little memory and delay nobody', async () => {
    const before = memory()
    const url = new URL(world.baseUrl)
    const sockets = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const socket = connect(Number(url.port), url.hostname).pause()
        socket.on('error', () => {})
        await once(socket, 'connect')
        socket.write(
          `GET /v1/inboxes/${inbox.id}/messages?limit=100 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${world.key}\r\n\r\n`,
        )
        return socket
      }),
    )
    // Later requests are answered once the pages are made.
    const page = await world.fetch(`/v1/inboxes/${inbox.id}/messages?limit=100`)
    assert.equal(page.status, 200)
    assert.equal((await world.fetch('/health')).status, 200)
    const grownBy = memory() - before
    for (const socket of sockets) socket.destroy()
    // Unshortened, they were 5.9 MB a message: 1.9 GB.
    assert.ok(grownBy < 256 * 2 ** 20, `grown by ${Math.round(grownBy / 2 ** 20)} MiB`)
  })

  /** The text of the list is the beginning of the message. */
  async function assertCut(listed: Message) {
    const whole = await world.client.messages.get(listed.id)
    assert.equal(listed.isTruncated, whole.bodyText.length > SHOWN_BODY_BYTES_MAX)
    assert.equal(listed.isTruncated, numberOf(listed) !== 5)
    for (const field of ['bodyText', 'bodyHtml', 'extractedText'] as const) {
      // Not compared by `equal`, whose report of a difference would hold both.
      assert.ok(listed[field] === whole[field].slice(0, SHOWN_BODY_BYTES_MAX), `${field} differs`)
    }
    assert.deepEqual(listed.extracted, whole.extracted)
  }
})

function numberOf({ rfcMessageId }: Message): number {
  return Number(/\d+/.exec(rfcMessageId ?? '')?.[0])
}

function memory(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
