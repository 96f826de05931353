import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type MtaScript, openMta } from '@mailroom/smtp/test/peers/mta.ts'
import { runSql } from '#test/peers/sql.ts'
import { until } from '#test/scenarios/outcomes.ts'
import {
  arrived,
  attempted,
  deliveriesOf,
  deliveryOf,
  openSendingTenant,
  passTime,
  send,
  settled,
} from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'

onEachEngine('a delivery', (engine) => {
  /** A server without TLS, of its own domain. */
  const world = opened(() => openSendingTenant(engine))
  const polite = prepared(() => world.mta.script)
  const plain = opened(() => openMta({ extensions: ['8BITMIME'] }, world.mta.port, '127.0.0.2'))
  before(async () => {
    Object.assign(world.dns.zone, {
      'plain.example': { MX: [{ exchange: 'mx.plain.example', preference: 1 }] },
      'mx.plain.example': { A: ['127.0.0.2'] },
    })
  })

  const withScript = async (script: MtaScript, run: () => Promise<void>) => {
    world.mta.script = { ...polite, ...script }
    try {
      await run()
    } finally {
      world.mta.script = polite
    }
  }

  test('that was accepted shows the server, the TLS version and the reply', async () => {
    const inbox = await world.inbox()
    const before = world.clock.now()
    const sent = await send(world, inbox)
    await settled(world, sent)
    const { id, lastAttemptAt, ...delivery } = await deliveryOf(world, sent)
    assert.match(id, /^dlv_[0-9a-z]{26}$/)
    const at = Date.parse(lastAttemptAt ?? '')
    assert.ok(at >= before && at <= world.clock.now())
    assert.deepEqual(delivery, {
      recipient: 'bob@friend.example',
      status: 'accepted',
      attempts: 1,
      nextAttemptAt: null,
      host: 'mx.friend.example',
      tls: 'TLSv1.3',
      responseCode: 250,
      enhancedCode: '2.0.0',
      response: 'Ok: queued',
      bounceClass: null,
    })
    const open = await send(world, inbox, { to: 'ann@plain.example' })
    await settled(world, open)
    const { tls, host } = await deliveryOf(world, open)
    assert.deepEqual([tls, host], [null, 'mx.plain.example'])
  })

  test('exists for each address, with one message to each destination', async () => {
    const inbox = await world.inbox()
    const to = 'one@friend.example'
    const cc = ['two@plain.example', 'three@friend.example', 'ONE@friend.example', to]
    const sent = await send(world, inbox, { to, cc })
    await settled(world, sent)
    const deliveries = await deliveriesOf(world, sent)
    const recipients = deliveries.map(({ recipient }) => recipient)
    assert.deepEqual(recipients, [to, 'two@plain.example', 'three@friend.example'])
    const here = await arrived(world, sent)
    assert.deepEqual(here.recipients, [to, 'three@friend.example'])
    const there = plain.transactions.filter(({ raw }) => raw.includes(sent.providerMessageId))
    assert.deepEqual(
      there.map(({ recipients: envelope }) => envelope),
      [['two@plain.example']],
    )
    assert.ok(there[0]?.raw.equals(here.raw))
    const page = await world.client.messages
      .deliveries(sent.messageId, { limit: 1, offset: 1 })
      .page()
    assert.deepEqual([page.data, page.total], [[deliveries[1]], 3])
  })

  test('refused for one recipient of three affects that one alone', async () => {
    const onRcpt = (address: string) => (address.startsWith('no') ? '550 5.7.1 Not you' : undefined)
    await withScript({ onRcpt }, async () => {
      const inbox = await world.inbox()
      const cc = ['no@friend.example', 'cid@friend.example']
      const sent = await send(world, inbox, { cc })
      const message = await settled(world, sent)
      assert.deepEqual(
        (await deliveriesOf(world, sent)).map(({ status, responseCode }) => [status, responseCode]),
        [
          ['accepted', 250],
          ['failed', 550],
          ['accepted', 250],
        ],
      )
      assert.equal(message.status, 'sent')
      assert.equal(message.failureReason, 'no@friend.example: 550 5.7.1 Not you')
      const { recipients } = await arrived(world, sent)
      assert.deepEqual(recipients, ['bob@friend.example', 'cid@friend.example'])
    })
  })

  const STAGES: Record<string, (answer: string) => MtaScript> = {
    greeting: (answer) => ({ greeting: answer }),
    MAIL: (answer) => ({ onMail: answer }),
    RCPT: (answer) => ({ onRcpt: answer }),
    DATA: (answer) => ({ onData: answer }),
    'the final dot': (answer) => ({ onFinalDot: answer }),
  }
  for (const [index, [stage, script]] of Object.entries(STAGES).entries()) {
    test(`that is refused for good at ${stage} fails at once, with the server's words`, async () => {
      const lines = '550-5.7.1 First line\r\n550 5.7.1 and the second'
      const answer = stage === 'RCPT' ? lines : '554 5.7.1 Go away'
      await withScript(script(answer), async () => {
        const inbox = await world.inbox()
        const to = `stage${index}@friend.example`
        // An idle connection is past its greeting.
        await passTime(world, 60_000)
        if (stage === 'greeting') await useUp()
        const sent = await send(world, inbox, { to })
        const message = await settled(world, sent)
        const delivery = await deliveryOf(world, sent)
        assert.deepEqual(
          [message.status, delivery.status, delivery.attempts, delivery.enhancedCode],
          ['failed', 'failed', 1, '5.7.1'],
        )
        assert.equal(delivery.responseCode, stage === 'RCPT' ? 550 : 554)
        const words = stage === 'RCPT' ? /First line\s+and the second/ : /Go away/
        assert.match(delivery.response ?? '', words)
        assert.match(message.failureReason ?? '', words)
      })
    })
  }

  /** Ends the connections that wait for their next message. */
  async function useUp(): Promise<void> {
    const { greeting, ...rest } = world.mta.script
    world.mta.script = { ...rest, onMail: 'close', ...(greeting === undefined ? {} : { greeting }) }
    await send(world, await world.inbox(), { to: 'used@friend.example' })
    await until(async () => world.mta.connections.open === 0)
    world.mta.script = { ...rest, ...(greeting === undefined ? {} : { greeting }) }
  }

  test('that is deferred is attempted again after a minute with the same octets', async () => {
    for (const stage of ['RCPT', 'the final dot'] as const) {
      const script: MtaScript = STAGES[stage]?.('451 4.7.1 Greylisted') ?? {}
      const inbox = await world.inbox()
      let sent: Awaited<ReturnType<typeof send>> | undefined
      await withScript(script, async () => {
        sent = await send(world, inbox, { to: `grey.${inbox.id}@friend.example` })
        const delivery = await attempted(world, sent, 1)
        assert.deepEqual(
          [delivery.status, delivery.attempts, delivery.responseCode, delivery.enhancedCode],
          ['deferred', 1, 451, '4.7.1'],
        )
        const waitMs =
          Date.parse(delivery.nextAttemptAt ?? '') - Date.parse(delivery.lastAttemptAt ?? '')
        assert.ok(waitMs >= 60_000 && waitMs < 90_000, `${waitMs}`)
      })
      assert.ok(sent !== undefined)
      const { status, failureReason } = await world.client.messages.get(sent.messageId)
      assert.deepEqual([status, failureReason], ['pending', null])
      // Half of the minute is the margin for a busy machine.
      await passTime(world, 30_000)
      assert.equal((await deliveryOf(world, sent)).attempts, 1)
      await passTime(world, 30_000)
      assert.equal((await settled(world, sent)).status, 'sent')
      const delivery = await deliveryOf(world, sent)
      assert.deepEqual([delivery.status, delivery.attempts], ['accepted', 2])
      const id = sent.providerMessageId
      const copies = world.mta.received.filter(({ raw }) => raw.includes(id))
      assert.equal(copies.length, stage === 'RCPT' ? 1 : 2)
      const { content } = await world.client.messages.raw(sent.messageId)
      for (const { raw } of copies) assert.ok(raw.equals(content))
    }
  })

  test('that gets a reply code of no known kind is attempted again', async () => {
    for (const [code, script] of [
      [999, { onRcpt: '999 Whatever' }],
      [300, { onFinalDot: '300 Whatever' }],
    ] as const) {
      await withScript(script, async () => {
        const sent = await send(world, await world.inbox())
        const { status, responseCode } = await attempted(world, sent, 1)
        assert.deepEqual([status, responseCode], ['deferred', code])
      })
      await passTime(world, 60_000)
    }
  })

  test('to an address outside ASCII needs a server that supports SMTPUTF8', async () => {
    const inbox = await world.inbox()
    const good = await send(world, inbox, { to: 'jörg@friend.example' })
    await settled(world, good)
    const { mailParameters, recipients } = await arrived(world, good)
    assert.match(mailParameters, /SMTPUTF8/)
    assert.deepEqual(recipients, ['jörg@friend.example'])
    const sent = await send(world, inbox, { to: 'jörg@plain.example' })
    assert.equal((await settled(world, sent)).status, 'failed')
    const { responseCode, enhancedCode } = await deliveryOf(world, sent)
    assert.deepEqual([responseCode, enhancedCode], [553, '5.6.7'])
  })

  test('has a return path as its reverse-path, never the null sender', async () => {
    const inbox = await world.inbox()
    const { reversePath } = await arrived(world, await send(world, inbox))
    assert.match(reversePath, /^b\+[0-9a-z.]{37}@mailroom\.localhost$/)
    assert.ok(world.mta.commands.every(({ line }) => !/^MAIL FROM:<>/i.test(line)))
  })

  test('leaves nothing in the queue once it is settled', async () => {
    const queued = `select id from deliveries where queue_state is not null
      and recipient not like 'grey%' and recipient not like 'used%' and recipient not like 'bob%'`
    assert.deepEqual(await runSql(world, queued), [])
  })

  test('does not exist for a received message', async () => {
    const inbox = await world.inbox()
    const sent = await send(world, inbox, { to: inbox.address })
    await settled(world, sent)
    const [received] = (await world.client.messages.list(inbox.id, { direction: 'inbound' }).page())
      .data
    const { data, total } = await world.client.messages.deliveries(received?.id ?? '').page()
    assert.deepEqual([data, total], [[], 0])
  })
})
