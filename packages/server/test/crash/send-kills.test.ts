// Clients send under idempotency keys while the service is killed again and again, and repeat each unanswered send.
// Each key is one message, however often a client repeats it, and each message is delivered.

import { suite } from 'node:test'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { type KillTest, killAndRestart, killTest } from './kills.ts'
import { assertAllSent, makeInboxes, Sending, untilSettled } from './outbound-mail.ts'
import { Sink } from './outbound-sink.ts'

const KILLS = sizeOf('TEST_MAILROOM_SEND_KILLS', { usual: 2, long: 12 })
const POSTGRES_KILLS = Math.ceil(KILLS / 2)
const CLIENTS = 6
/** A kill strikes after up to so many acknowledgements, and a moment more. */
const SENDS_MAX = 40
const LIFE_MS_MAX = 4_000
const MOMENT_MS_MAX = 15
const SETTLED_MS_MAX = 120_000

suite('a send under a key is one message after any kill', { concurrency: true }, () => {
  killTest('sqlite', { kills: KILLS }, sendThroughKills)
  killTest('postgres', { kills: POSTGRES_KILLS }, sendThroughKills)
})

async function sendThroughKills({ t, kills, random, start }: KillTest): Promise<void> {
  const sink = await Sink.open({ rcptMs: () => random() * 20 })
  t.after(() => sink.close())
  const service = await start(sink.environment)
  const inboxes = await makeInboxes(service, 3)
  const sending = new Sending({ services: [service], sink, random, inboxes, clients: CLIENTS })
  t.after(() => sending.abandon())
  // All kills may strike while nothing is on its way.
  for (let kill = 0; kill < kills || sending.unanswered === 0; kill++) {
    const wanted = sending.promised.length + random() * SENDS_MAX
    await sink.until(() => sending.promised.length >= wanted, LIFE_MS_MAX).catch(() => {})
    await killAndRestart({ service, random, momentMs: MOMENT_MS_MAX })
  }
  await sink.until(() => sending.replayed > 0, SETTLED_MS_MAX)
  await sending.stop()

  const { promised, unanswered, replayed, putOff } = sending
  await untilSettled(service, SETTLED_MS_MAX)
  await service.stopWell()
  const repeats = await assertAllSent(service, sink, promised)
  t.diagnostic(
    `${promised.length} acknowledged, ${unanswered} unanswered, ${putOff} put off, ${replayed} repeated, ${repeats.length} copies too many`,
  )
}
