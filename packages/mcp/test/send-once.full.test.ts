import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import { openApp } from '@mailroom/server/app/app.ts'
import { silentLog } from '@mailroom/server/platform/log.ts'
import {
  onEachEngine,
  openTenant,
  openWorld,
  plainMail,
  testKey,
  type World,
} from '@mailroom/server/test/world.ts'
import { GENERATIONS_MAX, REPEAT_MS } from '@mailroom/tools/send-once.ts'
import { connect, type Tools } from './mcp-world.ts'

const LIMIT = { timeout: 90_000 }
const LETTER = { to: 'ann@firm.example', subject: 'Hello', body: 'How are you?' }
const sentIn = (world: World, { id }: Inbox) =>
  world.client.messages.list(id, { direction: 'outbound' }).page()
const idIn = (text: string) => /message (msg_\w+)/.exec(text)?.[1] ?? assert.fail(text)

onEachEngine('a repeated send', (engine) => {
  /** A service with one client for each transport. */
  let world: World
  let http: Tools
  let stdio: Tools
  before(async () => {
    world = await openTenant(engine)
    http = await connect('http', world.baseUrl, world.key)
    stdio = await connect('stdio', world.baseUrl, world.key)
  })
  after(async () => {
    await Promise.all([http?.close(), stdio?.close()])
    await world?.close()
  })

  /** An inbox and a letter that only this test sends. */
  async function begin() {
    const inbox = await world.inbox()
    return { inbox, letter: { inbox: inbox.id, ...LETTER } }
  }

  test('is one message, and the tool says when it was sent', LIMIT, async () => {
    const { inbox, letter } = await begin()
    const first = await http.call('send_mail', letter)
    for (const tools of [http, stdio]) {
      const again = await tools.call('send_mail', letter)
      assert.match(again, /^Already sent at 2\d{3}-.*Z as message .*; not sent again/)
      assert.equal(idIn(again), idIn(first))
    }
    assert.equal((await sentIn(world, inbox)).total, 1)
  })

  test('is one message when sent ten times at once over two transports', LIMIT, async () => {
    const { inbox, letter } = await begin()
    const texts = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        (index % 2 === 0 ? http : stdio).call('send_mail', letter),
      ),
    )
    assert.equal(texts.filter((text) => text.startsWith('Sent to')).length, 1)
    assert.equal(texts.filter((text) => text.startsWith('Already sent')).length, 9)
    assert.equal(new Set(texts.map(idIn)).size, 1)
    assert.equal((await sentIn(world, inbox)).total, 1)
  })

  test('in a thread is one reply', LIMIT, async () => {
    const { inbox } = await begin()
    await world.send({ to: inbox.address, raw: plainMail({ subject: 'A question' }) })
    const [thread] = (await world.client.threads.list(inbox.id).page()).data
    const given = { thread_id: thread?.id, body: 'An answer.' }
    const texts = await Promise.all([http, stdio, http].map((tools) => tools.call('reply', given)))
    assert.equal(texts.filter((text) => text.startsWith('Sent to')).length, 1)
    assert.equal((await sentIn(world, inbox)).total, 1)
  })

  test('is another message if anything in it differs', LIMIT, async () => {
    const { inbox, letter } = await begin()
    const other = await begin()
    const file = { filename: 'a.txt', content_type: 'text/plain', text: 'a' }
    const letters = [
      letter,
      { ...letter, to: 'bob@firm.example' },
      { ...letter, subject: 'Hello!' },
      { ...letter, body: 'How are you??' },
      { ...letter, html: '<p>How are you?</p>' },
      { ...letter, cc: ['bob@firm.example'] },
      { ...letter, attachments: [file] },
      { ...letter, attachments: [{ ...file, text: 'b' }] },
      { ...letter, attachments: [{ ...file, filename: 'b.txt' }] },
    ]
    for (const one of letters) assert.match(await http.call('send_mail', one), /^Sent to/)
    const { text: _, ...named } = file
    const encoded = { ...letter, attachments: [{ ...named, base64: 'YQ==' }] }
    assert.match(await http.call('send_mail', encoded), /^Already sent/)
    assert.equal((await sentIn(world, inbox)).total, letters.length)
    assert.match(await http.call('send_mail', other.letter), /^Sent to/)
  })

  test('over stdio uses the clock of the service', LIMIT, async () => {
    const { letter } = await begin()
    // The Date of an answer has no fractions of a second.
    const awayMs = REPEAT_MS + 2_000
    world.clock.step(-awayMs)
    assert.match(await stdio.call('send_mail', letter), /^Sent to/)
    world.clock.step(awayMs)
    assert.match(await stdio.call('send_mail', letter), /^Sent to/)
    assert.match(await stdio.call('send_mail', letter), /^Already sent/)
  })

  // The last of the tests, because from here on the service's clock is ahead.
  test('after ten minutes is a new message, which may itself be repeated', LIMIT, async () => {
    const { inbox, letter } = await begin()
    const ids = new Set<string>()
    for (let generation = 0; generation < GENERATIONS_MAX; generation += 1) {
      const first = await http.call('send_mail', letter)
      assert.match(first, /^Sent to/)
      ids.add(idIn(first))
      world.clock.advance(REPEAT_MS - 20_000)
      const again = await http.call('send_mail', letter)
      assert.match(again, /^Already sent/)
      assert.equal(idIn(again), idIn(first))
      world.clock.advance(20_000)
    }
    assert.match(await http.refusal('send_mail', letter), /16 times within a day/)
    assert.equal((await sentIn(world, inbox)).total, GENERATIONS_MAX)
    assert.equal(ids.size, GENERATIONS_MAX)
  })
})

suite('a send that is repeated elsewhere', () => {
  test(
    'at another service on the database, or after a restart, is one message',
    LIMIT,
    async () => {
      const world = await openWorld('postgres')
      const dataDir = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
      const settings = { ...world.settings, dataDir }
      const options = { log: silentLog, clock: world.clock, makeKey: testKey }
      let second = await openApp(settings, options)
      const baseUrls = () => [world.baseUrl, second.http?.address ?? '']
      try {
        const inbox = await world.inbox()
        const send = async (baseUrl: string) => {
          const tools = await connect('http', baseUrl, world.key)
          const text = await tools.call('send_mail', LETTER)
          await tools.close()
          return text
        }
        const texts = await Promise.all([...baseUrls(), ...baseUrls(), ...baseUrls()].map(send))
        assert.equal(texts.filter((text) => text.startsWith('Sent to')).length, 1)
        await second.close(1_000)
        second = await openApp(settings, options)
        for (const baseUrl of baseUrls()) assert.match(await send(baseUrl), /^Already sent/)
        assert.equal((await sentIn(world, inbox)).total, 1)
      } finally {
        await second.close(1_000)
        await world.close()
        await rm(dataDir, { recursive: true, force: true })
      }
    },
  )
})
