// The sending side of the intake benchmark, in a process of its own: sessions that each keep one
// message under way, command by command, on plain sockets. Prints what was acknowledged as JSON.

import { connect, type Socket } from 'node:net'

type Plan = {
  port: number
  sessions: number
  seconds: number
  mode: 'kept' | 'one-message'
  recipient: string
  messageBytes: number
}

const plan = JSON.parse(process.argv[2] ?? '{}') as Plan
const startMs = performance.now()
const endMs = startMs + plan.seconds * 1000
const latencies: number[] = []
let failures = 0
let serial = 0

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
      const peer = await openPeer()
      do {
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

async function openPeer() {
  const socket = connect({ port: plan.port, host: '127.0.0.1', noDelay: true })
  const replies = readReplies(socket)
  const say = async (text: string, code: number) => {
    socket.write(text)
    const got = await replies.next()
    if (got !== code) throw new Error(`Expected ${code}, got ${got}`)
  }
  if ((await replies.next()) !== 220) throw new Error('No greeting')
  await say('EHLO sender.example\r\n', 250)
  return { say, close: () => socket.destroy() }
}

function readReplies(socket: Socket): { next(): Promise<number> } {
  let text = ''
  let waiter: { resolve(code: number): void; reject(error: Error): void } | null = null
  const ready: number[] = []
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
      const line = text.slice(0, end)
      text = text.slice(end + 2)
      if (line[3] === '-') continue
      const code = Number(line.slice(0, 3))
      if (waiter === null) ready.push(code)
      else waiter.resolve(code)
      waiter = null
    }
  })
  socket.on('error', (error) => waiter?.reject(error))
  socket.on('close', () => waiter?.reject(new Error('closed')))
  return {
    next() {
      const code = ready.shift()
      if (code !== undefined) return Promise.resolve(code)
      return new Promise((resolve, reject) => {
        waiter = { resolve, reject }
      })
    },
  }
}

function makeMessage(): string {
  serial += 1
  const id = `${process.pid}.${serial}.${startMs.toFixed(0)}`
  const head = [
    'From: Bench Sender <bench@sender.example>',
    `To: <${plan.recipient}>`,
    `Subject: Figures for order ${id}`,
    `Message-ID: <${id}@sender.example>`,
    'Date: Fri, 20 Nov 2026 09:00:00 +0000',
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    '',
    '',
  ].join('\r\n')
  const line = 'The quick brown fox jumps over the lazy dog, and then over the next one.\r\n'
  const lines = Math.max(1, Math.round((plan.messageBytes - head.length) / line.length))
  return `${head}${line.repeat(lines)}.\r\n`
}
