import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type MtaScript, openMta } from '#test/peers/mta.ts'
import {
  attempted,
  openSendingWorld,
  passTime,
  send,
  settled,
} from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened } from '#test/world.ts'

const BROKEN: Record<string, MtaScript> = {
  'is closing': { greeting: '421 4.3.2 Closing' },
  'closes instead of a greeting': { greeting: 'close' },
  'says something else than SMTP': { greeting: { octets: 'HTTP/1.1 400 Bad Request\r\n\r\n' } },
  'says 354 in its greeting': { greeting: '354 Go ahead' },
  'never ends its reply': { onEhlo: 'endless-lines' },
  'never ends its line': { onEhlo: 'endless-line' },
  'closes after EHLO': { onEhlo: 'close' },
  'resets at MAIL': { onMail: 'reset' },
  'says 354 to RCPT': { onRcpt: '354 Go ahead' },
  'is closing at RCPT': { onRcpt: '421 4.3.2 Closing' },
  'resets at DATA': { onData: 'reset' },
  'says 250 to DATA': { onData: '250 2.0.0 Ok' },
  'is out of room at the final dot': { onFinalDot: '452 4.3.1 No room' },
  'says 354 to the final dot': { onFinalDot: '354 Go on' },
}

onEachEngine('a server that', (engine) => {
  const world = opened(() => openSendingWorld(engine))

  test('misbehaves in any way gets the message later, whole and once', async (t) => {
    const inbox = await world.inbox()
    const cases = await Promise.all(
      Object.entries(BROKEN).map(async ([name, script], index) => {
        const address = `127.0.3.${index + 1}`
        const mta = await openMta(script, world.mta.port, address)
        t.after(() => mta.close())
        const destination = `broken${index}.example`
        world.dns.zone[destination] = { A: [address] }
        const sent = await send(world, inbox, { to: `bob@${destination}` })
        const delivery = await attempted(world, sent, 1)
        assert.equal(delivery.status, 'deferred', `${name}: ${JSON.stringify(delivery)}`)
        assert.ok((delivery.response ?? '').length <= 1_000)
        assert.equal(mta.transactions.length, 0)
        mta.script = {}
        return { name, mta, sent }
      }),
    )
    await passTime(world, 60_000)
    for (const { name, mta, sent } of cases) {
      assert.equal((await settled(world, sent)).status, 'sent', name)
      const { content } = await world.client.messages.raw(sent.messageId)
      assert.equal(mta.transactions.length, 1, name)
      assert.ok(mta.transactions[0]?.raw.equals(content), name)
    }
  })
})
