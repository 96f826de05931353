// The load of the latency benchmark, in one process with one clock: sessions that send mail at a
// steady rate, a WebSocket and a webhook receiver. Prints as JSON how long after the final dot the
// reply, the frame and the request arrived.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from './figures.ts'
import { openPeer, type Peer } from './smtp-peer.ts'

export type LatencyPlan = {
  httpPort: number
  smtpPort: number
  key: string
  inboxId: string
  recipient: string
  perSecond: number
  seconds: number
  messageBytes: number
  /** Whether a webhook also receives the events. */
  hasWebhook: boolean
}

type Quantiles = { p50Ms: number; p99Ms: number }
export type LatencyOutcome = {
  sent: number
  /** Messages whose frame or request had not arrived five seconds after the last reply. */
  missing: number
  reply: Quantiles
  frame: Quantiles
  request: Quantiles
}

const plan = JSON.parse(process.argv[2] ?? '{}') as LatencyPlan
const dots = new Map<string, number>()
const arrivals = { reply: [] as number[], frame: [] as number[], request: [] as number[] }

const receiver = createServer((request, response) => {
  const nowMs = performance.now()
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    note('request', Buffer.concat(chunks).toString('utf8'), nowMs)
    response.end()
  })
})
receiver.listen(0, '127.0.0.1')
await once(receiver, 'listening')
const webhookId = plan.hasWebhook
  ? await makeWebhook((receiver.address() as AddressInfo).port)
  : null
const socket = await openSocket()

/** Below the limit for one address. Due messages wait while all sessions are busy. */
const SESSIONS = 40
const idle: Peer[] = []
for (let index = 0; index < SESSIONS; index++) idle.push(await openPeer(plan.smtpPort))
const due: number[] = []
const underWay: Promise<void>[] = []
let serial = 0
const startMs = performance.now()
while (serial < plan.perSecond * plan.seconds) {
  const dueMs = startMs + (serial * 1000) / plan.perSecond
  const waitMs = dueMs - performance.now()
  if (waitMs > 0) await sleep(waitMs)
  due.push(++serial)
  const peer = idle.pop()
  if (peer !== undefined) underWay.push(sendDue(peer))
}
await Promise.all(underWay)
const endMs = performance.now() + 5_000
const ends = plan.hasWebhook ? [arrivals.frame, arrivals.request] : [arrivals.frame]
const isWhole = () => ends.every(({ length }) => length >= serial)
while (!isWhole() && performance.now() < endMs) await sleep(20)

const outcome: LatencyOutcome = {
  sent: serial,
  missing: ends.reduce((missing, { length }) => missing + serial - length, 0),
  reply: quantilesOf(arrivals.reply),
  frame: quantilesOf(arrivals.frame),
  request: quantilesOf(arrivals.request),
}
if (webhookId !== null) await api('DELETE', `/v1/webhooks/${webhookId}`)
socket.close()
process.stdout.write(JSON.stringify(outcome), () => process.exit(0))

function quantilesOf(values: number[]): Quantiles {
  return { p50Ms: quantile(values, 0.5), p99Ms: quantile(values, 0.99) }
}

/** At-least-once delivery may repeat an event; repetitions are ignored. */
function note(kind: 'frame' | 'request', text: string, nowMs: number): void {
  const serialText = /"subject":"latency (\d+)"/.exec(text)?.[1]
  const dotMs = serialText === undefined ? undefined : dots.get(`${kind} ${serialText}`)
  if (dotMs === undefined) return
  dots.delete(`${kind} ${serialText}`)
  arrivals[kind].push(nowMs - dotMs)
}

async function sendDue(peer: Peer): Promise<void> {
  for (let number = due.shift(); number !== undefined; number = due.shift()) {
    await sendOne(peer, number)
  }
  idle.push(peer)
}

async function sendOne(peer: Peer, number: number): Promise<void> {
  await peer.say('MAIL FROM:<bench@sender.example>\r\n', 250)
  await peer.say(`RCPT TO:<${plan.recipient}>\r\n`, 250)
  await peer.say('DATA\r\n', 354)
  const dotMs = performance.now()
  dots.set(`frame ${number}`, dotMs)
  dots.set(`request ${number}`, dotMs)
  await peer.say(makeMessage(number), 250)
  arrivals.reply.push(performance.now() - dotMs)
}

function makeMessage(number: number): string {
  const head = [
    'From: Bench Sender <bench@sender.example>',
    `To: <${plan.recipient}>`,
    `Subject: latency ${number}`,
    `Message-ID: <${process.pid}.${number}.${Date.now()}@sender.example>`,
    'Date: Fri, 20 Nov 2026 09:00:00 +0000',
    '',
    '',
  ].join('\r\n')
  const line = 'The quick brown fox jumps over the lazy dog, and then over the next one.\r\n'
  return `${head}${line.repeat(Math.max(1, Math.round((plan.messageBytes - head.length) / line.length)))}.\r\n`
}

async function api(method: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${plan.httpPort}${path}`, {
    method,
    headers: { authorization: `Bearer ${plan.key}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return text === '' ? null : JSON.parse(text)
}

async function makeWebhook(port: number): Promise<string> {
  const made = await api('POST', '/v1/webhooks', {
    url: `http://127.0.0.1:${port}/`,
    inboxIds: [plan.inboxId],
  })
  return (made as { id: string }).id
}

async function openSocket(): Promise<WebSocket> {
  const opened = new WebSocket(`ws://127.0.0.1:${plan.httpPort}/v1/ws?token=${plan.key}`)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  opened.addEventListener('error', () => reject(new Error('The WebSocket failed.')))
  opened.addEventListener('open', () => {
    opened.send(JSON.stringify({ type: 'subscribe', inbox_ids: [plan.inboxId] }))
  })
  opened.addEventListener('message', ({ data }) => {
    const nowMs = performance.now()
    const text = String(data)
    if (text.includes('"type":"subscribed"')) resolve()
    else note('frame', text, nowMs)
  })
  await promise
  return opened
}
