import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { MIME_PARTS_MAX } from '@mailroom/mail/mime/mime-parts.ts'
import {
  BOMBS,
  filePart,
  message,
  messageOf,
  multipart,
  part,
  textPart,
} from '@mailroom/mail/test/samples.ts'
import { parseMessage } from '@mailroom/mail-reading/parse-message.ts'
import { bodyParts } from '@mailroom/mail-reading/quote/body-parts.ts'
import { openParserPool, type ParserPool } from '#parser/parser.ts'
import { AppError } from '#platform/problem.ts'

/** The goal is two seconds on an idle machine. */
const BOMB_MS_MAX = 20_000
/** Processor time, which, unlike the lag, does not grow on a busy machine. */
const MAIN_MS_MAX = 1_000

describe('the parser pool', () => {
  const pool = openParserPool({ timeoutMs: 60_000 })
  after(() => pool.close())

  test('a small plain message is parsed without a thread', async () => {
    const lazy = openParserPool({ workersMax: 0 })
    const parsed = await lazy.parse(message('From: a@b.example', 'Subject: Hi', '', 'Hello'))
    assert.equal(parsed.headers.subject, 'Hi')
    assert.equal(parsed.text, 'Hello')
    await lazy.close()
  })

  test('a message with attachments is parsed, and each attachment can be read by its listed name', async () => {
    const raw = messageOf(
      multipart('mixed', 'b', [
        textPart('Hello'),
        filePart('a.pdf', Buffer.from('one')),
        filePart('a.pdf', Buffer.from('two')),
      ]),
    )
    const parsed = await pool.parse(raw)
    assert.deepEqual(parsed, parseMessage(raw))
    assert.equal(parsed.extractedText, 'Hello')
    assert.deepEqual(
      parsed.attachments.map(({ filename }) => filename),
      ['a.pdf', 'a (2).pdf'],
    )
    const second = await pool.readAttachment(raw, 'a (2).pdf')
    assert.equal(Buffer.from(second?.content ?? []).toString(), 'two')
    assert.deepEqual(second?.attachment, parsed.attachments[1])
    assert.equal(await pool.readAttachment(raw, 'b.pdf'), null)
  })

  test('bodies with little HTML are made without a thread, all others in a thread', async () => {
    const lazy = openParserPool({ workersMax: 0 })
    const little = { body: '<p>Hi <b>you</b></p>', bodyHtml: null, quote: null }
    assert.deepEqual(await lazy.makeBodies(little), bodyParts(little))
    const much = { ...little, body: '<p>x'.repeat(25_000) }
    const unmade = lazy.makeBodies(much)
    unmade.catch(() => {})
    assert.equal(lazy.waiting(), 1)
    await lazy.close()
    await assert.rejects(unmade, AppError)
    assert.deepEqual(await pool.makeBodies(much), bodyParts(much))
    const impatient = openParserPool({ timeoutMs: 1 })
    const plain = await impatient.makeBodies({ ...much, body: '<p>x<b>y</b></p>'.repeat(7_000) })
    assert.equal(plain.text.replaceAll(/\s/g, ''), 'xy'.repeat(7_000))
    await impatient.close()
  })

  test('a message that takes longer than the limit keeps its headers, and the rest is one attachment', async () => {
    const impatient = openParserPool({ timeoutMs: 1 })
    const raw = messageOf(multipart('mixed', 'b', [filePart('a.pdf', new Uint8Array(3_000_000))]))
    const parsed = await impatient.parse(raw)
    assert.deepEqual(parsed.defects, ['parse-timed-out'])
    assert.equal(parsed.headers.subject, 'Sample')
    assert.equal(parsed.text, '')
    assert.deepEqual(
      parsed.attachments.map(({ sizeBytes }) => sizeBytes),
      [raw.length],
    )
    const [name] = parsed.attachments.map(({ filename }) => filename)
    const whole = await pool.readAttachment(raw, name ?? '')
    assert.deepEqual(Buffer.from(whole?.content ?? []), Buffer.from(raw))
    await impatient.close()
  })

  test('a message that exhausts the memory of a thread ends only that thread', async () => {
    const small = openParserPool({ heapMib: 16, workersMax: 1, timeoutMs: 10_000 })
    const harmless = messageOf(multipart('mixed', 'b', [textPart('Hello')]))
    assert.equal((await small.parse(harmless)).text, 'Hello')
    // As many elements as are ever laid out: their tree alone exceeds this heap.
    const html = '<p class="a"><b>bold</b></p>\r\n'.repeat(7_400)
    const raw = messageOf(part(html, 'Content-Type: text/html'))
    const parsed = await small.parse(raw)
    assert.deepEqual(parsed.defects, ['parse-failed'])
    assert.equal(parsed.headers.subject, 'Sample')
    assert.equal((await small.parse(harmless)).text, 'Hello')
    await small.close()
    assert.deepEqual((await pool.parse(raw)).defects, [])
  })

  test('messages beyond the queue are refused, and queued ones are parsed', async () => {
    const narrow = openParserPool({ workersMax: 1, queueMax: 2 })
    const raw = messageOf(multipart('mixed', 'b', [textPart('Hello')]))
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => narrow.parse(raw)))
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'],
    )
    for (const result of results.filter(({ status }) => status === 'rejected')) {
      const { reason } = result as PromiseRejectedResult
      assert.ok(reason instanceof AppError)
      assert.equal(reason.code, 'service_unavailable')
    }
    await narrow.close()
  })

  test('each parse is reported with its duration and place, and the number waiting can be read', async () => {
    const seen: { isInline: boolean; durationMs: number }[] = []
    const watched = openParserPool({ workersMax: 1, onParsed: (parse) => seen.push(parse) })
    await watched.parse(message('From: a@b.example', '', 'Hello'))
    const raw = messageOf(multipart('mixed', 'b', [filePart('a.pdf', Buffer.from('one'))]))
    const parsing = [watched.parse(raw), watched.parse(raw), watched.parse(raw)]
    assert.equal(watched.waiting(), 2)
    await Promise.all(parsing)
    assert.equal(watched.waiting(), 0)
    await watched.readAttachment(raw, 'a.pdf')
    assert.deepEqual(
      seen.map(({ isInline }) => isInline),
      [true, false, false, false],
    )
    for (const { durationMs } of seen) assert.ok(durationMs > 0 && durationMs < 60_000)
    await watched.close()
  })

  test('idle threads do not keep the process', () => {
    const script = `
      import { openParserPool } from '#parser/parser.ts'
      const pool = openParserPool()
      const { html } = await pool.parse(Buffer.from('Content-Type: text/html\\r\\n\\r\\n<p>Hi'))
      console.log(html)`
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
      encoding: 'utf8',
      timeout: 60_000,
    })
    assert.equal(child.stdout, '<p>Hi\n')
    assert.equal(child.status, 0)
  })

  test('closing rejects pending and later requests', async () => {
    const closing = openParserPool({ workersMax: 1 })
    const raw = messageOf(multipart('mixed', 'b', [textPart('Hello')]))
    const [underWay, waiting] = [closing.parse(raw), closing.parse(raw)]
    await Promise.all([
      assert.rejects(underWay, /closed/),
      assert.rejects(waiting, /closed/),
      closing.close(),
    ])
    await assert.rejects(closing.parse(raw), /closed/)
  })
})

describe('bombs', { concurrency: false }, () => {
  const pool = openParserPool({ timeoutMs: BOMB_MS_MAX })
  after(() => pool.close())

  for (const [name, build] of BOMBS) {
    test(`${name}: parsed in part in time, with the main thread free`, async (t) => {
      const raw = build()
      const measured = await measure(pool, raw)
      t.diagnostic(
        `${Math.round(measured.elapsedMs)} ms, of the main thread ${Math.round(measured.mainMs)}`,
      )
      assert.ok(measured.elapsedMs <= BOMB_MS_MAX, `took ${measured.elapsedMs} ms`)
      assert.ok(measured.mainMs <= MAIN_MS_MAX, `took ${measured.mainMs} ms of the main thread`)
      assert.ok(measured.attachments <= MIME_PARTS_MAX + 1)
      assert.ok(!measured.defects.includes('parse-timed-out'), 'broke the time limit')
      assert.ok(!measured.defects.includes('parse-failed'), 'defeated the parser')
      if (process.env.MAILROOM_FIGURES !== undefined) console.log(name, raw.length, measured)
    })
  }

  test('a bomb keeps its subject, its beginning and the rest as an attachment', async () => {
    const build = BOMBS.get('25 MiB of dashes called base64')
    assert.ok(build)
    const raw = build()
    const parsed = await pool.parse(raw)
    assert.equal(parsed.headers.subject, 'Sample')
    assert.equal(parsed.text, 'text')
    assert.deepEqual(parsed.defects, ['too-many-lines'])
    const rest = parsed.attachments.at(-1)
    assert.equal(rest?.contentType, 'application/octet-stream')
    assert.ok((rest?.sizeBytes ?? 0) > raw.length - 1_000_000)
  })
})

async function measure(pool: ParserPool, raw: Uint8Array) {
  const monitor = startLagMonitor()
  const start = performance.now()
  const before = process.threadCpuUsage()
  const parsed = await pool.parse(raw)
  const { user, system } = process.threadCpuUsage(before)
  return {
    mainMs: (user + system) / 1_000,
    elapsedMs: performance.now() - start,
    lagMs: monitor.stop(),
    rssMib: Math.round(process.memoryUsage().rss / 1024 ** 2),
    attachments: parsed.attachments.length,
    defects: parsed.defects,
  }
}

/** The longest delay of the event loop between two timers of 5 ms. */
function startLagMonitor() {
  let worst = 0
  let last = performance.now()
  const turn = () => {
    const now = performance.now()
    worst = Math.max(worst, now - last - 5)
    last = now
  }
  const timer = setInterval(turn, 5)
  return {
    stop: () => {
      turn()
      clearInterval(timer)
      return worst
    },
  }
}
