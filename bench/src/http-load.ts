// The clients of the send benchmarks, in a separate process: keep-alive HTTP connections on plain
// sockets, each with one pending request. Prints the answers as JSON.

import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'

const ANSWER_MS_MAX = 30_000

export type HttpPlan = {
  port: number
  key: string
  connections: number
  /** Ends after this many seconds or requests, whichever comes first. */
  seconds: number
  requests: number
  method: 'GET' | 'POST'
  /** One path per connection, in rotation. */
  paths: string[]
  /** `{n}` is replaced by the number of the request. */
  body: string | null
}

export type HttpOutcome = {
  requests: number
  perSecond: number
  failures: number
  p50Ms: number
  p99Ms: number
}

const plan = JSON.parse(process.argv[2] ?? '{}') as HttpPlan
const startMs = performance.now()
const endMs = startMs + plan.seconds * 1000
const latencies: number[] = []
let failures = 0
let serial = 0

await Promise.all(Array.from({ length: plan.connections }, (_, index) => runConnection(index)))
const elapsedSeconds = (performance.now() - startMs) / 1000
latencies.sort((a, b) => a - b)
const at = (share: number) => latencies[Math.floor(share * (latencies.length - 1))] ?? 0
const outcome: HttpOutcome = {
  requests: latencies.length,
  perSecond: latencies.length / elapsedSeconds,
  failures,
  p50Ms: at(0.5),
  p99Ms: at(0.99),
}
process.stdout.write(JSON.stringify(outcome))
process.exit(0)

async function runConnection(index: number): Promise<void> {
  let connection = openConnection()
  const path = plan.paths[index % plan.paths.length] ?? '/'
  while (performance.now() < endMs && serial < plan.requests) {
    serial += 1
    const body = plan.body?.replace('{n}', String(serial)) ?? ''
    const beganMs = performance.now()
    const status = await connection.ask(requestText(path, body))
    if (typeof status === 'number' && status < 300) latencies.push(performance.now() - beganMs)
    else failures += 1
    if (failures > 1_000) throw new Error(`Too many failures, the last with ${status}`)
    if (typeof status === 'number') continue
    process.stderr.write(`request ${serial} on connection ${index}: ${status}\n`)
    connection.close()
    connection = openConnection()
  }
  connection.close()
}

function requestText(path: string, body: string): string {
  const content =
    plan.method === 'GET'
      ? ''
      : `Content-Type: application/json\r\nIdempotency-Key: ${randomUUID()}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`
  return `${plan.method} ${path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${plan.key}\r\n${content}\r\n${body}`
}

/** The status of an answer, or an error. */
type Answer = number | 'closed' | 'no answer'

/** Sends one request at a time. Every answer must have a Content-Length. */
function openConnection(): { ask(request: string): Promise<Answer>; close(): void } {
  const socket = connect({ port: plan.port, host: '127.0.0.1', noDelay: true })
  let buffered: Buffer = Buffer.alloc(0)
  let isClosed = false
  let tell: (answer: Answer) => void = () => {}
  socket.on('error', () => {})
  // An answer that the server cuts off also ends here.
  socket.on('close', () => {
    isClosed = true
    tell('closed')
  })
  socket.on('data', (chunk: Buffer) => {
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk])
    const headEnd = buffered.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const head = buffered.subarray(0, headEnd).toString('latin1')
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
    if (buffered.length < headEnd + 4 + length) return
    buffered = buffered.subarray(headEnd + 4 + length)
    tell(Number(head.slice(9, 12)))
  })
  socket.setTimeout(ANSWER_MS_MAX, () => tell('no answer'))
  return {
    ask: (request) =>
      new Promise((resolve) => {
        tell = resolve
        if (isClosed) resolve('closed')
        else socket.write(request)
      }),
    close: () => socket.destroy(),
  }
}
