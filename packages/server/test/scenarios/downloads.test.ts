import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { filePart, messageOf, multipart, textPart } from '@mailroom/mail/test/samples.ts'
import { type Downloads, openDownloads } from '#mailbox/attachments/downloads.ts'
import { deliver } from '#test/scenarios/deliver.ts'
import { outcomeOf } from '#test/scenarios/outcomes.ts'
import { changePart, onEachEngine, opened, openTenant } from '#test/world.ts'

describe('the cache of downloads', () => {
  const bytes = (length: number) => new Uint8Array(length)

  /** Reads that end on demand, in the order in which they began. */
  function pausedReads(downloads: Downloads) {
    const begun: { key: string; end(content: Uint8Array): void }[] = []
    const hold = (key: string) =>
      downloads.hold('attachment', key, () => {
        const { promise, resolve } = Promise.withResolvers<Uint8Array>()
        begun.push({ key, end: resolve })
        return promise
      })
    return { begun, hold, keys: () => begun.map(({ key }) => key) }
  }

  test('reads one content once for all requests during the read and soon after', async () => {
    const { begun, hold } = pausedReads(openDownloads())
    const asked = Array.from({ length: 60 }, () => hold('a'))
    assert.equal(begun.length, 1)
    begun[0]?.end(bytes(5))
    const held = await Promise.all(asked)
    assert.equal(new Set(held.map(({ content }) => content)).size, 1)
    for (const { release } of held) release()
    assert.equal((await hold('a')).content, held[0]?.content)
    assert.equal(begun.length, 1)
  })

  test('bounds concurrent reads, serves them in order, and refuses too many', async () => {
    const { begun, hold, keys } = pausedReads(
      openDownloads({ atOnce: { raw: 1, attachment: 2 }, waitingMax: 2 }),
    )
    const asked = ['a', 'b', 'c', 'd'].map(hold)
    assert.deepEqual(keys(), ['a', 'b'])
    await assert.rejects(hold('e'), { code: 'service_unavailable' })
    for (let at = 0; at < 4; at += 1) {
      begun[at]?.end(bytes(1))
      await asked[at]
    }
    assert.deepEqual(keys(), ['a', 'b', 'c', 'd'])
    const again = hold('e')
    begun[4]?.end(bytes(1))
    await again
  })

  test('never drops content in use, and reads nothing beyond its size', async () => {
    const downloads = openDownloads({ bytesMax: 100, bytesKept: 50 })
    const hold = (key: string, length: number) =>
      downloads.hold('raw', key, async () => bytes(length))
    const [first, second] = [await hold('a', 60), await hold('b', 60)]
    await assert.rejects(hold('c', 1), { code: 'service_unavailable' })
    assert.equal((await hold('a', 0)).content, first.content)
    second.release()
    second.release()
    assert.equal((await hold('c', 1)).content.length, 1)
    assert.equal((await hold('b', 7)).content.length, 7)
  })

  test('drops the content that was unused longest first', async () => {
    const downloads = openDownloads({ bytesKept: 100 })
    let reads = 0
    const use = async (key: string) => {
      const held = await downloads.hold('raw', key, async () => {
        reads += 1
        return bytes(40)
      })
      held.release()
    }
    for (const key of ['a', 'b', 'a', 'c', 'a']) await use(key)
    assert.equal(reads, 3)
    await use('b')
    assert.equal(reads, 4)
  })

  test('passes a failed read to all who wait for it, and tries again for the next request', async () => {
    const downloads = openDownloads()
    const fail = () => Promise.reject(new Error('disk on fire'))
    const asked = [downloads.hold('raw', 'a', fail), downloads.hold('raw', 'a', fail)]
    for (const one of asked) await assert.rejects(one, /on fire/)
    assert.equal((await downloads.hold('raw', 'a', async () => bytes(3))).content.length, 3)
  })

  test('keeps a raw message and an attachment of one name apart', async () => {
    const downloads = openDownloads()
    await downloads.hold('raw', 'a', async () => bytes(1))
    assert.equal((await downloads.hold('attachment', 'a', async () => bytes(2))).content.length, 2)
  })
})

onEachEngine('downloads', (engine) => {
  const world = opened(() => openTenant(engine))

  async function receive(...names: string[]) {
    const files = names.map((name) => filePart(name, randomBytes(2_000)))
    const raw = messageOf(multipart('mixed', 'mix', [textPart('Text'), ...files]))
    return deliver(world, await world.inbox(), raw)
  }

  /** Blocks reads of attachments until `open` is called, and counts them. */
  function holdUpReads() {
    const { parser } = world.app.deps
    const readAttachment = parser.readAttachment.bind(parser)
    const gate = Promise.withResolvers<void>()
    const restore = () => void Object.assign(parser, { readAttachment })
    const counted = { reads: 0, open: gate.resolve, restore }
    parser.readAttachment = async (raw, filename) => {
      counted.reads += 1
      await gate.promise
      return readAttachment(raw, filename)
    }
    return counted
  }

  test('sixty requests for parts of one attachment read it once', async () => {
    const [entry] = (await receive('a.bin')).attachments
    const counted = holdUpReads()
    counted.open()
    const ask = async (_: unknown, at: number) => {
      const response = await fetch(entry?.url ?? '', { headers: { range: `bytes=${at}-${at}` } })
      return [response.status, (await response.arrayBuffer()).byteLength]
    }
    const answers = await Promise.all(Array.from({ length: 60 }, ask))
    counted.restore()
    assert.deepEqual(new Set(answers.map(String)), new Set(['206,1']))
    assert.equal(counted.reads, 1)
  })

  test('an attachment is not read for its size, for a 304 or for an unsatisfiable range', async () => {
    const url = (await receive('a.bin')).attachments[0]?.url ?? ''
    const counted = holdUpReads()
    counted.open()
    const head = await fetch(url, { method: 'HEAD' })
    assert.equal(head.headers.get('content-length'), '2000')
    const known = { 'if-none-match': head.headers.get('etag') ?? '' }
    assert.equal((await fetch(url, { headers: known })).status, 304)
    assert.equal((await fetch(url, { headers: { range: 'bytes=2000-' } })).status, 416)
    counted.restore()
    assert.equal(counted.reads, 0)
  })

  test('too many at once are told to retry, while mail still arrives', async () => {
    const narrow = openDownloads({ waitingMax: 1 })
    let asked = 0
    const restore = changePart(world.app.deps.downloads, () => ({
      hold(...parameters) {
        asked += 1
        return narrow.hold(...parameters)
      },
    }))
    const [first, second, third] = (await receive('a.bin', 'b.bin', 'c.bin')).attachments
    const counted = holdUpReads()
    const underWay = [first, second].map((entry) => fetch(entry?.url ?? ''))
    while (asked < 2) await new Promise((resolve) => setImmediate(resolve))
    const refused = await fetch(third?.url ?? '')
    assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/)
    assert.equal(await outcomeOf(refused), '503 service_unavailable')
    await receive('d.bin')
    counted.open()
    for (const answer of await Promise.all(underWay)) {
      assert.equal(answer.status, 200)
      assert.equal((await answer.arrayBuffer()).byteLength, 2_000)
    }
    assert.equal(counted.reads, 2)
    counted.restore()
    restore()
  })
})
