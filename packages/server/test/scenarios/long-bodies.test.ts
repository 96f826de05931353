// Lists whose messages are so long that their page as a whole would be tens of megabytes, or in a
// long run not fit into one string.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import { sizeOf } from '#test/size-of.ts'
import { onEachEngine, openWorld, plainMail, type World } from '#test/world.ts'

const LINES = sizeOf('TEST_MAILROOM_LONG_BODY_LINES', { usual: 12_000, long: 33_000 })
/** Characters that JSON writes with six: in a long run 14 MB of it for each message. */
const BODY = `${'\x01'.repeat(70)}\r\n`.repeat(LINES)
const COUNTS = {
  sqlite: sizeOf('TEST_MAILROOM_LONG_BODIES', { usual: 8, long: 45 }),
  postgres: 8,
}
/** So many are together more than the 512 MiB that a string can hold. */
const TOO_MANY = 45

onEachEngine('long bodies', (engine) => {
  const count = COUNTS[engine]
  let world: World
  let inbox: Inbox

  before(async () => {
    world = await openWorld(engine)
    inbox = await world.inbox()
    for (let number = 1; number <= count; number++) {
      const headers = number === 1 ? [] : ['In-Reply-To: <1@long.example>']
      const messageId = `<${number}@long.example>`
      // Some are short: both kinds in one page.
      const body = number % 10 === 5 ? `short ${number}` : BODY
      const raw = plainMail({ to: inbox.address, messageId, headers, body })
      assert.equal((await world.send({ to: inbox.address, raw })).code, 250)
    }
  })
  after(() => world.close())

  test('a page of them is one well-formed answer, longest and shortest in order', async () => {
    const { seen, sizeBytes } = await readList(world, `/v1/inboxes/${inbox.id}/messages`)
    const newestFirst = Array.from({ length: count }, (_, index) => count - index)
    assert.deepEqual(seen, newestFirst)
    assert.ok(count < TOO_MANY || sizeBytes > 2 ** 29, `only ${sizeBytes} bytes`)
  })

  test('so are those of a thread', async () => {
    const { data } = await world.client.threads.list(inbox.id).page()
    const path = `/v1/threads/${data[0]?.id}/messages?limit=8`
    const { seen } = await readList(world, path)
    assert.deepEqual(
      seen,
      Array.from({ length: 8 }, (_, index) => index + 1),
    )
  })

  test('the body in the page is the body of the message', async () => {
    const { data } = await world.client.messages
      .list(inbox.id, { offset: count - 5, limit: 2 })
      .page()
    assert.equal(data[0]?.bodyText, 'short 5')
    const long = await world.client.messages.get(data[1]?.id ?? '')
    // Not compared by `equal`: its report of a difference would hold both.
    assert.ok(data[1]?.bodyText === long.bodyText, 'page and message differ')
    assert.ok(long.bodyText.trimEnd() === BODY.replaceAll('\r\n', '\n').trimEnd(), 'not as sent')
  })
})

/** Reads an answer that is longer than a string can be: its Message-IDs, in order, and its length. */
async function readList(world: World, path: string) {
  const response = await world.fetch(path)
  assert.equal(response.status, 200)
  const seen: number[] = []
  let sizeBytes = 0
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    sizeBytes += chunk.byteLength
    const text = rest + decoder.decode(chunk, { stream: true })
    for (const [, number] of text.matchAll(/"rfcMessageId":"<(\d+)@long\.example>"/g)) {
      seen.push(Number(number))
    }
    // Enough to hold a field that was cut in two, too short to find one twice.
    rest = text.slice(-40).replaceAll(/"rfcMessageId":"<\d+@long\.example>"/g, '')
  }
  assert.equal(rest.slice(-2), ']}'.slice(-2))
  return { seen, sizeBytes }
}
