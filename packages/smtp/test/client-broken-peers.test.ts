import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ClientTimeouts } from '@mailroom/smtp/client/outgoing-mail.ts'
import { describeOutcomes, failToOpen, mailTo, openClient } from '#test/client-world.ts'
import { type MtaAnswer, type MtaScript, openMta } from '#test/peers/mta.ts'

/** Of the stages whose limit no earlier stage has. */
const SHORT_MS = 500
/** EHLO, MAIL and RCPT share a limit: short for the one without an answer, long enough for those that have one. */
const SHARED_MS = 2_000
const LARGE = Buffer.from(`${'x'.repeat(98)}\r\n`.repeat(200_000))

type Broken = [answer: MtaAnswer, failure: string]

const BROKEN: Record<string, Broken> = {
  closes: ['close', 'network closed'],
  'is silent': ['hang', 'timeout'],
  'sends lines without end': ['endless-lines', 'protocol'],
  'sends a line without end': ['endless-line', 'protocol'],
  'speaks no SMTP': ['HTTP/1.1 400 Bad Request', 'protocol'],
  'drips too slowly': [{ drip: '250 2.0.0 Ok', everyMs: 250 }, 'timeout'],
}

for (const [name, [answer, failure]] of Object.entries(BROKEN)) {
  const optionsWith = (timeouts: Partial<ClientTimeouts>) =>
    failure === 'timeout' ? { timeouts } : {}
  describe(`a server that ${name}`, { concurrency: true }, () => {
    const opening: [stage: string, script: MtaScript, limit: Partial<ClientTimeouts>][] = [
      ['greeting', { greeting: answer }, { greetingMs: SHORT_MS }],
      ['ehlo', { onEhlo: answer }, { replyMs: SHORT_MS }],
    ]
    for (const [stage, script, limit] of opening) {
      test(`at ${stage} is abandoned`, async () => {
        await using mta = await openMta(script)
        assert.equal(await failToOpen(mta.port, optionsWith(limit)), `${stage}: ${failure}`)
      })
    }

    const transactions: [script: MtaScript, limit: Partial<ClientTimeouts>, outcomes: string[]][] =
      [
        [{ onMail: answer }, { replyMs: SHARED_MS }, Array(2).fill(`unsent mail ${failure}`)],
        [
          { onRcpt: (to) => (/^c/.test(to) ? answer : '550 5.1.1 No such user') },
          { replyMs: SHARED_MS },
          ['refused rcpt 550 5.1.1', `unsent rcpt ${failure}`],
        ],
        [{ onData: answer }, { dataMs: SHORT_MS }, Array(2).fill(`unsent data ${failure}`)],
        [{ onFinalDot: answer }, { finalDotMs: SHORT_MS }, Array(2).fill(`ambiguous ${failure}`)],
        [
          {
            onRcpt: (to) => (/^b/.test(to) ? '550 5.1.1 No such user' : undefined),
            onFinalDot: answer,
          },
          { finalDotMs: SHORT_MS },
          ['refused rcpt 550 5.1.1', `ambiguous ${failure}`],
        ],
      ]
    for (const [script, limit, expected] of transactions) {
      for (const extensions of [['PIPELINING'], []]) {
        const what = `${Object.keys(script)}${extensions.length > 0 ? ', pipelined' : ''}`
        test(`at ${what} gives ${expected}`, async () => {
          await using mta = await openMta({ ...script, extensions })
          const client = await openClient(mta.port, optionsWith(limit))
          const outcomes = await client.send(mailTo(['b@b.example', 'c@c.example']))
          assert.deepEqual(describeOutcomes(outcomes), expected)
          assert.equal(client.isUsable(), false)
          const [after] = describeOutcomes(await client.send(mailTo('b@b.example')))
          assert.equal(after, `unsent mail ${failure}`)
        })
      }
    }
  })
}

describe('a server that resets the connection', () => {
  const cases: [script: MtaScript, outcome: RegExp][] = [
    [{ onMail: 'reset' }, /^unsent mail network (ECONNRESET|closed)$/],
    [{ onData: 'reset' }, /^unsent data network (ECONNRESET|closed)$/],
    [{ onFinalDot: 'reset' }, /^ambiguous network (ECONNRESET|closed)$/],
  ]
  for (const [script, expected] of cases) {
    test(`at ${Object.keys(script)} gives ${expected}`, async () => {
      await using mta = await openMta(script)
      const client = await openClient(mta.port)
      assert.match(describeOutcomes(await client.send(mailTo('b@b.example')))[0] ?? '', expected)
    })
  }

  test('during the content of a large message has accepted nothing', async () => {
    await using mta = await openMta({
      onData: { octets: '354 Go ahead\r\n', next: { delayMs: 5, next: 'reset' } },
    })
    const client = await openClient(mta.port)
    const [outcome] = describeOutcomes(await client.send(mailTo('b@b.example', { raw: LARGE })))
    assert.match(outcome ?? '', /^unsent content network/)
  })
})

describe('content', () => {
  test('that a server no longer reads is abandoned in time', async () => {
    await using mta = await openMta({ isDeafToContent: true })
    const client = await openClient(mta.port, { timeouts: { blockMs: SHORT_MS } })
    const outcomes = await client.send(mailTo('b@b.example', { raw: LARGE }))
    assert.deepEqual(describeOutcomes(outcomes), ['unsent content timeout'])
  })

  test('that takes too long as a whole is abandoned', async () => {
    await using mta = await openMta({ isDeafToContent: true })
    const client = await openClient(mta.port, { timeouts: { blockMs: 60_000, contentMs: 100 } })
    const outcomes = await client.send(mailTo('b@b.example', { raw: LARGE }))
    assert.deepEqual(describeOutcomes(outcomes), ['unsent content timeout'])
  })

  test('of any size waits in blocks, not in our memory', async () => {
    await using mta = await openMta({ isDeafToContent: true })
    const client = await openClient(mta.port, { timeouts: { blockMs: 300 } })
    const before = process.memoryUsage().arrayBuffers
    const sent = client.send(mailTo('b@b.example', { raw: LARGE }))
    await new Promise((resolve) => setTimeout(resolve, 150))
    assert.ok(process.memoryUsage().arrayBuffers - before < 10_000_000)
    assert.deepEqual(describeOutcomes(await sent), ['unsent content timeout'])
  })
})

describe('an unexpected reply', () => {
  const early: [name: string, script: MtaScript, raw: Buffer | undefined, outcome: string][] = [
    [
      'an early 250 right behind 354',
      { onData: { octets: '354 Go ahead\r\n250 2.0.0 Ok\r\n', next: 'hang' } },
      undefined,
      'unsent content protocol',
    ],
    [
      'the beginning of a reply behind 354',
      { onData: { octets: '354 Go ahead\r\n25', next: 'hang' } },
      undefined,
      'unsent content protocol',
    ],
    [
      'an early 250 within the content',
      {
        isDeafToContent: true,
        onData: { octets: '354 Go ahead\r\n', next: { delayMs: 10, next: '250 2.0.0 Ok' } },
      },
      LARGE,
      'unsent content protocol',
    ],
    [
      '421 within the content',
      {
        isDeafToContent: true,
        onData: { octets: '354 Go ahead\r\n', next: { delayMs: 10, next: '421 4.3.2 Bye' } },
      },
      LARGE,
      'unsent content reply 421',
    ],
    [
      'a refusal within the content, which is the refusal of the message',
      {
        isDeafToContent: true,
        onData: { octets: '354 Go ahead\r\n', next: { delayMs: 10, next: '552 5.3.4 Too big' } },
      },
      LARGE,
      'refused content 552 5.3.4',
    ],
    [
      'a refusal right behind 354',
      { onData: { octets: '354 Go ahead\r\n451 4.3.1 Full\r\n', next: 'hang' } },
      undefined,
      'refused content 451 4.3.1',
    ],
    ['250 to DATA', { onData: '250 2.0.0 Ok' }, undefined, 'unsent data protocol'],
    ['334 to DATA', { onData: '334 Ok' }, undefined, 'unsent data protocol'],
    ['354 to the final dot', { onFinalDot: '354 More' }, undefined, 'refused final-dot 354 -'],
    [
      'one reply too many in the pipeline',
      { onMail: '250 2.1.0 Ok\r\n250 2.1.0 Ok' },
      undefined,
      'unsent data protocol',
    ],
  ]
  for (const [name, script, raw, expected] of early) {
    test(`is never read as the answer: ${name}`, async () => {
      await using mta = await openMta(script)
      const client = await openClient(mta.port)
      const mail = mailTo('b@b.example', raw === undefined ? {} : { raw })
      assert.deepEqual(describeOutcomes(await client.send(mail)), [expected])
      assert.equal(client.isUsable(), false)
    })
  }

  test('after a message leaves it accepted, but ends the connection', async () => {
    await using mta = await openMta({ onFinalDot: '250 2.0.0 Ok\r\n250 2.0.0 Ok' })
    const client = await openClient(mta.port)
    assert.deepEqual(describeOutcomes(await client.send(mailTo('b@b.example'))), ['accepted 250'])
    assert.equal(client.isUsable(), false)
  })

  for (const [greeting, failure] of [
    ['220 hi\r\n250 early', 'ehlo: protocol'],
    ['220 hi\r\n421 4.3.2 Bye', 'ehlo: reply 421'],
  ]) {
    test(`after the greeting ends the opening: ${JSON.stringify(greeting)}`, async () => {
      await using mta = await openMta({ greeting: greeting ?? '' })
      assert.equal(await failToOpen(mta.port), failure)
    })
  }

  test('of 421 within a pipeline gives the reason for missing replies', async () => {
    await using mta = await openMta({ onRcpt: { octets: '421 4.3.2 Bye\r\n', next: 'close' } })
    const client = await openClient(mta.port)
    const outcomes = await client.send(mailTo(['b@b.example', 'c@c.example']))
    assert.deepEqual(describeOutcomes(outcomes), [
      'refused rcpt 421 4.3.2',
      'unsent rcpt reply 421',
    ])
  })

  test('of 421 gives the reason for a close', async () => {
    await using mta = await openMta({
      onFinalDot: {
        octets: '250 2.0.0 Ok\r\n421 4.4.2 Idle',
        next: { octets: '\r\n', next: 'close' },
      },
    })
    const client = await openClient(mta.port)
    assert.deepEqual(describeOutcomes(await client.send(mailTo('b@b.example'))), ['accepted 250'])
    const outcomes = await client.send(mailTo('b@b.example'))
    assert.deepEqual(describeOutcomes(outcomes), ['unsent mail reply 421'])
  })
})

describe('the client', () => {
  test('can abort at any moment', async () => {
    await using mta = await openMta({ onFinalDot: 'hang' })
    const abort = new AbortController()
    const client = await openClient(mta.port, { signal: abort.signal })
    const sent = client.send(mailTo('b@b.example'))
    while (mta.received.length === 0) await new Promise((resolve) => setImmediate(resolve))
    abort.abort()
    assert.deepEqual(describeOutcomes(await sent), ['ambiguous network aborted'])
  })

  test('can abort while the connection opens', async () => {
    await using mta = await openMta({ greeting: 'hang' })
    const signal = AbortSignal.timeout(1_000)
    assert.equal(await failToOpen(mta.port, { signal }), 'greeting: network aborted')
    assert.equal(await failToOpen(mta.port, { signal }), 'connect: network aborted')
  })

  test('can destroy the connection within a transaction', async () => {
    await using mta = await openMta({ onMail: 'hang' })
    const client = await openClient(mta.port)
    const sent = client.send(mailTo('b@b.example'))
    assert.equal(client.isUsable(), true)
    client.destroy()
    assert.equal(client.isUsable(), false)
    assert.deepEqual(describeOutcomes(await sent), ['unsent mail network closed'])
  })

  test('does not wait for a reply to QUIT, and quits once', async () => {
    await using mta = await openMta({ onQuit: 'hang' })
    const client = await openClient(mta.port, { timeouts: { quitMs: 50 } })
    await Promise.all([client.quit(), client.quit()])
    await client.quit()
    while (mta.connections.open > 0) await new Promise((resolve) => setImmediate(resolve))
    assert.equal(mta.commands.filter(({ line }) => line === 'QUIT').length, 1)
    assert.equal(client.isUsable(), false)
  })

  test('notices when a server closes an idle connection', async () => {
    await using mta = await openMta()
    const client = await openClient(mta.port)
    await mta.close()
    while (client.isUsable()) await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(describeOutcomes(await client.send(mailTo('b@b.example'))), [
      'unsent mail network closed',
    ])
  })

  test('keeps under a megabyte of a server that sends without end', async () => {
    await using mta = await openMta({ onEhlo: 'endless-line' })
    const before = process.memoryUsage()
    assert.equal(await failToOpen(mta.port), 'ehlo: protocol')
    await using lines = await openMta({ onEhlo: 'endless-lines' })
    assert.equal(await failToOpen(lines.port), 'ehlo: protocol')
    // The server of this test is in the same process and has its own output waiting.
    assert.ok(process.memoryUsage().arrayBuffers - before.arrayBuffers < 2_000_000)
  })
})
