import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { type Mta, type MtaScript, openMta } from '@mailroom/smtp/test/peers/mta.ts'
import {
  attempted,
  deliveryOf,
  openSendingWorld,
  type SendingWorld,
  send,
} from '#test/scenarios/sending-world.ts'
import { onAnyEngine } from '#test/world.ts'

const STEPS = ['greeting', 'onEhlo', 'onMail', 'onRcpt', 'onData', 'onFinalDot'] as const
type Step = (typeof STEPS)[number]

const HANGING = 10
const RESETS = 3
const DOMAINS = { domain: 'one.example', neighbour: 'two.example' }
const LIMIT = { timeout: 120_000 }

/** Accepts the message and closes the connection, so that the next message begins with a greeting. */
const TAKE: MtaScript = { onFinalDot: { octets: '250 2.0.0 Ok\r\n', next: 'close' } }

/** Hangs at this stage, and counts the hanging connections. */
function hangAt(step: Step): { script: MtaScript; hanging(): number } {
  let hanging = 0
  const hang = () => {
    hanging += 1
    return 'hang' as const
  }
  return { script: { [step]: hang }, hanging: () => hanging }
}

/** No hanging attempt ends before that. */
const WAIT_MS_MAX = 100_000

async function until(isSo: () => boolean): Promise<void> {
  const endMs = performance.now() + WAIT_MS_MAX
  while (!isSo()) {
    if (performance.now() > endMs) assert.fail(`It did not come true in time: ${isSo}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

type Peer = { mta: Mta; domain: string; neighbour: string; isFirstTaken: boolean }

/** Ten messages hang at the stage, three connections are reset; then one message goes to each of the domains. */
async function goesOn(world: SendingWorld, peer: Peer, step: Step): Promise<void> {
  const { mta, domain, neighbour, isFirstTaken } = peer
  const inbox = await world.inbox()
  const sendOne = (name: string, to = domain) => send(world, inbox, { to: `${name}@${to}` })
  const isTaken = (name: string, to = domain) =>
    mta.received.some(({ recipients }) => recipients.includes(`${name}@${to}`))
  if (isFirstTaken) {
    mta.script = TAKE
    await sendOne('first')
    await until(() => isTaken('first') && mta.connections.open === 0)
  }

  const { script, hanging } = hangAt(step)
  mta.script = script
  const hung = await Promise.all(
    Array.from({ length: HANGING }, (_, index) => sendOne(`hung-${index}`)),
  )
  await until(() => hanging() === HANGING)
  mta.script = { [step]: 'reset' }
  for (let reset = 0; reset < RESETS; reset++) {
    await attempted(world, await sendOne(`reset-${reset}`), 1)
  }

  mta.script = TAKE
  await sendOne('last')
  await until(() => isTaken('last'))
  await sendOne('last', neighbour)
  await until(() => isTaken('last', neighbour))
  assert.equal(hanging(), HANGING)
  for (const sent of hung) {
    const { status, attempts } = await deliveryOf(world, sent)
    assert.deepEqual([status, attempts], ['queued', 1], 'it still hangs')
  }
}

onAnyEngine(
  'while ten messages hang and three connections are reset, mail is still delivered',
  (engine) => {
    suite('to a server that accepted mail before', { concurrency: true }, () => {
      for (const [index, step] of STEPS.entries()) {
        test(`at ${step}`, LIMIT, async (t) => {
          await using world = await openSendingWorld(engine)
          const host = `127.0.9.${index + 1}`
          const mta = await openPeer(t, world.mta.port, host)
          Object.assign(world.dns.zone, {
            'one.example': { A: [host] },
            'two.example': { A: [host] },
          })
          await goesOn(world, { mta, ...DOMAINS, isFirstTaken: true }, step)
        })
      }
    })

    suite('to a server that has greeted, from the first message on', { concurrency: true }, () => {
      for (const [index, step] of STEPS.slice(1).entries()) {
        test(`at ${step}`, LIMIT, async (t) => {
          await using world = await openSendingWorld(engine)
          const host = `127.0.10.${index + 1}`
          const mta = await openPeer(t, world.mta.port, host)
          Object.assign(world.dns.zone, {
            'one.example': { A: [host] },
            'two.example': { A: [host] },
          })
          await goesOn(world, { mta, ...DOMAINS, isFirstTaken: false }, step)
        })
      }
    })

    suite('to the relay, from the first message on', { concurrency: true }, () => {
      for (const step of STEPS) {
        test(`at ${step}`, LIMIT, async (t) => {
          const mta = await openPeer(t)
          await using world = await openSendingWorld(engine, {
            env: {
              MAILROOM_DELIVERY: 'relay',
              MAILROOM_RELAY_URL: `smtp://127.0.0.1:${mta.port}`,
            },
          })
          await goesOn(world, { mta, ...DOMAINS, isFirstTaken: false }, step)
        })
      }
    })
  },
)

async function openPeer(t: TestContext, port?: number, host?: string): Promise<Mta> {
  const mta = await openMta({}, port, host)
  t.after(() => mta.close())
  return mta
}
