// The clients of the intake benchmark, in a separate process: sessions on plain sockets that each
// send one message at a time, command by command. Prints the acknowledged messages as JSON.

import { setTimeout as wait } from 'node:timers/promises'
import type { LoadPlan } from './intake-load.ts'
import { bodyOf, sharedFields } from './intake-message.ts'
import { openPeer } from './smtp-peer.ts'

const plan = JSON.parse(process.argv[2] ?? '{}') as LoadPlan
const startMs = performance.now()
const endMs = startMs + plan.seconds * 1000
const latencies: number[] = []
const body = bodyOf(plan.messageBytes)
const fields = sharedFields(plan.recipient)
let failures = 0
let serial = 0
let nextMs = startMs

await Promise.all(Array.from({ length: plan.sessions }, () => runSession()))
const elapsedSeconds = (performance.now() - startMs) / 1000
latencies.sort((a, b) => a - b)
const at = (share: number) => latencies[Math.floor(share * (latencies.length - 1))] ?? 0
process.stdout.write(
  JSON.stringify({
    messages: latencies.length,
    perSecond: latencies.length / elapsedSeconds,
    failures,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  }),
)
process.exit(0)

async function runSession(): Promise<void> {
  while (performance.now() < endMs) {
    try {
      const peer = await openPeer(plan.port)
      do {
        await turn()
        const beganMs = performance.now()
        await peer.say('MAIL FROM:<bench@sender.example>\r\n', 250)
        await peer.say(`RCPT TO:<${plan.recipient}>\r\n`, 250)
        await peer.say('DATA\r\n', 354)
        await peer.say(makeMessage(), 250)
        latencies.push(performance.now() - beganMs)
      } while (plan.mode === 'kept' && performance.now() < endMs)
      await peer.say('QUIT\r\n', 221)
      peer.close()
    } catch {
      failures += 1
      if (failures > 1_000) throw new Error('Too many failures; is the server up?')
    }
  }
}

/** Waits for the time of the next message at a given rate. Delays are not made up for. */
async function turn(): Promise<void> {
  if (plan.rate === undefined) return
  const nowMs = performance.now()
  nextMs = Math.max(nowMs, nextMs + 1000 / plan.rate)
  if (nextMs > nowMs) await wait(nextMs - nowMs)
}

function makeMessage(): string {
  serial += 1
  const id = `${process.pid}.${serial}.${startMs.toFixed(0)}`
  return `${plan.signature ?? ''}${fields.join('\r\n')}\r\nSubject: Figures for order ${id}\r\nMessage-ID: <${id}@sender.example>\r\n\r\n${body}.\r\n`
}
