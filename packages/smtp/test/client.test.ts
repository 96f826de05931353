import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { describeOutcomes, failToOpen, mailTo, openClient, RAW } from '#test/client-world.ts'
import { type MtaScript, openMta } from '#test/peers/mta.ts'

const PIPELINING = ['PIPELINING', '8BITMIME']
const ONE_BY_ONE = ['8BITMIME']

for (const extensions of [PIPELINING, ONE_BY_ONE]) {
  const way = extensions.includes('PIPELINING') ? 'pipelined' : 'one by one'

  describe(`a transaction ${way}`, () => {
    test('carries a message octet for octet', async () => {
      await using mta = await openMta({ extensions })
      const client = await openClient(mta.port)
      const raw = Buffer.from('Subject: dots\r\n\r\n.\r\n..\r\n.a\r\nb.\r\n\r\n.')
      const outcomes = await client.send(mailTo(['b@b.example', 'c@c.example'], { raw }))
      assert.deepEqual(describeOutcomes(outcomes), ['accepted 250', 'accepted 250'])
      const [message] = await mta.waitFor(1)
      assert.equal(message?.raw.toString(), `${raw}\r\n`)
      assert.equal(message?.reversePath, 'a@a.example')
      assert.deepEqual(message?.recipients, ['b@b.example', 'c@c.example'])
      await client.quit()
    })

    test('is followed by others on the same connection', async () => {
      await using mta = await openMta({ extensions })
      const client = await openClient(mta.port)
      for (const to of ['b@b.example', 'c@c.example', 'd@d.example']) {
        assert.deepEqual(describeOutcomes(await client.send(mailTo(to))), ['accepted 250'])
      }
      assert.equal(client.transactions, 3)
      assert.equal(mta.connections.opened, 1)
      assert.equal(mta.commands.filter(({ line }) => line === 'RSET').length, 0)
      await client.quit()
      assert.equal(client.isUsable(), false)
      assert.equal(mta.commands.at(-1)?.line, 'QUIT')
    })

    const refusals: [name: string, script: MtaScript, outcomes: string[]][] = [
      [
        'MAIL is refused',
        { onMail: '550 5.7.1 Not you' },
        ['refused mail 550 5.7.1', 'refused mail 550 5.7.1', 'refused mail 550 5.7.1'],
      ],
      [
        'MAIL gets a code of no class',
        { onMail: '999 What' },
        ['refused mail 999 -', 'refused mail 999 -', 'refused mail 999 -'],
      ],
      [
        'the first recipient is refused',
        { onRcpt: (to) => (/^b/.test(to) ? '550 5.1.1 No such user' : undefined) },
        ['refused rcpt 550 5.1.1', 'accepted 250', 'accepted 250'],
      ],
      [
        'recipients are refused for different reasons',
        {
          onRcpt: (to) =>
            /^b/.test(to)
              ? '999 What'
              : /^d/.test(to)
                ? '451 4.7.1 Greylisted'
                : '251 2.1.5 Will do',
        },
        ['refused rcpt 999 -', 'accepted 250', 'refused rcpt 451 4.7.1'],
      ],
      [
        'all recipients are refused, and DATA too',
        { onRcpt: '550 5.1.1 No such user' },
        ['refused rcpt 550 5.1.1', 'refused rcpt 550 5.1.1', 'refused rcpt 550 5.1.1'],
      ],
      [
        'all recipients are refused, but DATA is not',
        { onRcpt: '550 5.1.1 No such user', onData: '354 Go ahead' },
        ['refused rcpt 550 5.1.1', 'refused rcpt 550 5.1.1', 'refused rcpt 550 5.1.1'],
      ],
      [
        'MAIL and all recipients are refused, but DATA is not',
        { onMail: '451 4.3.0 Later', onData: '354 Go ahead' },
        ['refused mail 451 4.3.0', 'refused mail 451 4.3.0', 'refused mail 451 4.3.0'],
      ],
      [
        'DATA is refused',
        {
          onRcpt: (to) => (/^c/.test(to) ? '550 5.1.1 No such user' : undefined),
          onData: '451 4.3.0 Not now',
        },
        ['refused data 451 4.3.0', 'refused rcpt 550 5.1.1', 'refused data 451 4.3.0'],
      ],
      [
        'the final dot is refused',
        {
          onRcpt: (to) => (/^c/.test(to) ? '550 5.1.1 No such user' : undefined),
          onFinalDot: '550-5.7.1 Spam\r\n550 5.7.1 Go away',
        },
        ['refused final-dot 550 5.7.1', 'refused rcpt 550 5.1.1', 'refused final-dot 550 5.7.1'],
      ],
    ]
    for (const [name, script, expected] of refusals) {
      test(`reports each refused recipient and its stage when ${name}, and the next is unaffected`, async () => {
        await using mta = await openMta({ ...script, extensions })
        const client = await openClient(mta.port)
        const to = ['b@b.example', 'c@c.example', 'd@d.example']
        assert.deepEqual(describeOutcomes(await client.send(mailTo(to))), expected)
        assert.equal(client.isUsable(), true)
        mta.script = { extensions }
        const next = await client.send(mailTo(['b@b.example', 'x@b.example']))
        assert.deepEqual(describeOutcomes(next), ['accepted 250', 'accepted 250'])
        assert.deepEqual(mta.transactions.at(-1)?.recipients, ['b@b.example', 'x@b.example'])
        assert.equal(mta.transactions.at(-1)?.raw.equals(RAW), true)
        client.destroy()
      })
    }

    test('ends with 421 at any command, and so does the connection', async () => {
      await using mta = await openMta({
        extensions,
        onRcpt: (to) => (/^c/.test(to) ? '421 4.3.2 Going down' : undefined),
      })
      const client = await openClient(mta.port)
      const outcomes = await client.send(mailTo(['b@b.example', 'c@c.example']))
      assert.equal(describeOutcomes(outcomes)[1], 'refused rcpt 421 4.3.2')
      assert.equal(client.isUsable(), false)
      client.destroy()
    })

    test('carries a thousand recipients and eight megabytes', async () => {
      await using mta = await openMta({ extensions })
      const client = await openClient(mta.port)
      const to = Array.from({ length: 1_000 }, (_, index) => `b${index}@b.example`)
      const raw = Buffer.from(`${'.'.repeat(60)}\r\n${'x'.repeat(66)}\r\n`.repeat(64_000))
      const outcomes = await client.send(mailTo(to, { raw }))
      assert.equal(outcomes.filter(({ kind }) => kind === 'accepted').length, 1_000)
      assert.equal(mta.transactions[0]?.raw.equals(raw), true)
      assert.deepEqual(mta.transactions[0]?.recipients, to)
      client.destroy()
    })
  })
}

test('a pipelined envelope and the content are two writes', async () => {
  await using mta = await openMta()
  const client = await openClient(mta.port)
  const writes: string[] = []
  const { write } = Socket.prototype
  Socket.prototype.write = function (this: Socket, ...parts: unknown[]) {
    if (this.remotePort === mta.port) writes.push(String(parts[0]))
    return Reflect.apply(write, this, parts)
  }
  try {
    await client.send(mailTo(['b@b.example', 'c@c.example']))
  } finally {
    Socket.prototype.write = write
  }
  assert.deepEqual(writes, [
    'MAIL FROM:<a@a.example>\r\nRCPT TO:<b@b.example>\r\nRCPT TO:<c@c.example>\r\nDATA\r\n',
    `${RAW}.\r\n`,
  ])
  client.destroy()
})

describe('extensions', () => {
  const eightBit = Buffer.from('Subject: ü\r\n\r\nü\r\n')
  const parameters: [extensions: string[], changes: object, expected: string][] = [
    [[], {}, ''],
    [['SIZE'], {}, `SIZE=${RAW.length}`],
    [['SIZE 1000'], { raw: Buffer.from('no end') }, 'SIZE=8'],
    [['SIZE 0', '8BITMIME'], {}, `SIZE=${RAW.length}`],
    [['8BITMIME'], { raw: eightBit }, 'BODY=8BITMIME'],
    [[], { raw: eightBit }, ''],
    [['SMTPUTF8'], { needsSmtpUtf8: true }, 'SMTPUTF8'],
    [['SMTPUTF8'], { reversePath: 'ü@a.example' }, 'SMTPUTF8'],
    [['SMTPUTF8'], { reversePath: 'a@bücher.example' }, ''],
  ]
  for (const [extensions, changes, expected] of parameters) {
    const given = `${extensions.join(', ') || 'none'} and ${Object.keys(changes)}`
    test(`make the parameters of MAIL "${expected}" for ${given}`, async () => {
      await using mta = await openMta({ extensions })
      const client = await openClient(mta.port)
      const outcomes = await client.send(mailTo('b@bücher.example', changes))
      assert.deepEqual(describeOutcomes(outcomes), ['accepted 250'])
      assert.equal(mta.transactions[0]?.mailParameters, expected)
      assert.deepEqual(mta.transactions[0]?.recipients, ['b@xn--bcher-kva.example'])
      client.destroy()
    })
  }

  const refusals: [name: string, changes: object, to: string[], outcomes: string[]][] = [
    ['too large', { raw: Buffer.alloc(99, 'x') }, ['b@b.example'], ['refused mail 552 5.3.4']],
    [
      'with a header in UTF-8',
      { needsSmtpUtf8: true },
      ['b@b.example'],
      ['refused mail 553 5.6.7'],
    ],
    ['from ü', { reversePath: 'ü@a.example' }, ['b@b.example'], ['refused mail 553 5.6.7']],
    ['to ü', {}, ['b@b.example', 'ü@b.example'], Array(2).fill('refused mail 553 5.6.7')],
    ['from nobody', { reversePath: 'a>@a.example' }, ['b@b.example'], ['refused mail 501 5.1.7']],
    ['to nobody', {}, ['b@b.example\r\nDATA'], ['refused rcpt 501 5.1.3']],
    ['with a bare LF', { raw: Buffer.from('a\n') }, ['b@b.example'], ['refused content 554 5.6.0']],
    ['with a bare CR', { raw: Buffer.from('a\r') }, ['b@b.example'], ['refused content 554 5.6.0']],
    ['to no one', {}, [], []],
  ]
  for (const [name, changes, to, expected] of refusals) {
    test(`prevent a message ${name} from being sent`, async () => {
      await using mta = await openMta({ extensions: ['PIPELINING', 'SIZE 100'] })
      const client = await openClient(mta.port)
      assert.deepEqual(describeOutcomes(await client.send(mailTo(to, changes))), expected)
      assert.equal(client.isUsable(), true)
      assert.equal(client.transactions, 0)
      await client.quit()
      assert.deepEqual(
        mta.commands.map(({ line }) => line),
        ['EHLO client.example', 'QUIT'],
      )
    })
  }

  test('deliver to a good recipient beside a bad one', async () => {
    await using mta = await openMta()
    const client = await openClient(mta.port)
    const outcomes = await client.send(mailTo(['b b@b.example', 'c@c.example', '"d>"@d.example']))
    assert.deepEqual(describeOutcomes(outcomes), [
      'refused rcpt 501 5.1.3',
      'accepted 250',
      'refused rcpt 501 5.1.3',
    ])
    assert.deepEqual(mta.transactions[0]?.recipients, ['c@c.example'])
    client.destroy()
  })

  test('are absent after HELO, which is sent to a server that refuses EHLO', async () => {
    await using mta = await openMta({ onEhlo: '500 What' })
    const client = await openClient(mta.port)
    assert.equal(client.extensions.pipelining, false)
    assert.deepEqual(describeOutcomes(await client.send(mailTo('b@b.example'))), ['accepted 250'])
    assert.equal(mta.commands[1]?.line, 'HELO client.example')
    client.destroy()
  })
})

describe('opening', () => {
  const failures: [name: string, script: MtaScript, failure: string][] = [
    ['a greeting of 421', { greeting: '421 4.3.2 Too busy' }, 'greeting: reply 421'],
    ['a greeting of 554', { greeting: '554 No SMTP service here' }, 'greeting: reply 554'],
    ['a greeting of 354', { greeting: '354 Go ahead' }, 'greeting: protocol'],
    ['EHLO answered 421', { onEhlo: '421 4.3.2 Too busy' }, 'ehlo: reply 421'],
    ['EHLO answered 451', { onEhlo: '451 4.3.0 Not now' }, 'ehlo: reply 451'],
    ['EHLO and HELO refused', { onEhlo: '502 No', onHelo: '550 No' }, 'ehlo: reply 550'],
  ]
  for (const [name, script, failure] of failures) {
    test(`fails with ${name}`, async () => {
      await using mta = await openMta(script)
      assert.equal(await failToOpen(mta.port), failure)
    })
  }

  test('fails where no server listens', async () => {
    const mta = await openMta()
    await mta.close()
    assert.equal(await failToOpen(mta.port), 'connect: network ECONNREFUSED')
  })
})

test('a reply of many lines is kept with its text bounded and printable', async () => {
  const lines = Array.from({ length: 90 }, () => `550-5.7.1 ${'x'.repeat(60)}\x1b`)
  await using mta = await openMta({ onRcpt: `${lines.join('\r\n')}\r\n550 5.7.1 end` })
  const client = await openClient(mta.port)
  const [outcome] = await client.send(mailTo('b@b.example'))
  assert.ok(outcome?.kind === 'refused')
  assert.equal(outcome.reply.enhanced, '5.7.1')
  assert.equal(outcome.reply.text.length, 1_000)
  assert.match(outcome.reply.text, /^x{60}\?\nx{60}\?\n/)
  client.destroy()
})

test('two transactions at once are an error of the caller', async () => {
  await using mta = await openMta()
  const client = await openClient(mta.port)
  const first = client.send(mailTo('b@b.example'))
  await assert.rejects(client.send(mailTo('c@c.example')), /one transaction/)
  assert.deepEqual(describeOutcomes(await first), ['accepted 250'])
  client.destroy()
})
