// A receiver of webhooks: a real HTTP or HTTPS server on 127.0.0.1 that answers by a script, with faults of receivers
// by name, and keeps the requests.

import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Certificate } from '#platform/tls/server-tls.ts'

export type Received = {
  readonly method: string
  readonly path: string
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders
  /** The body, unchanged. */
  readonly body: Buffer
  /** Value of performance.now() when the whole request had arrived. */
  readonly atMs: number
}

export type Answer =
  | {
      readonly status?: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string | Buffer
      /** Delay from the whole request to the answer. */
      readonly delayMs?: number
    }
  /** Sends exactly these octets, then closes the connection. */
  | { readonly raw: string }
  | Habit

/**
 * `hang`: nothing, on an open connection. `trickle`: an octet of the body every 20 ms, for ever;
 * `endless`: as much body as the client reads; the same of the header. `gzip-bomb`: 10 MiB, packed.
 * `reset`: RST, before the answer, in its header, in its body. `close`: FIN instead of an answer.
 * `early`: 413 before the body was read, which it never is; as a fixed answer only.
 */
export type Habit =
  | 'hang'
  | 'trickle'
  | 'trickle-header'
  | 'endless'
  | 'endless-header'
  | 'gzip-bomb'
  | 'reset'
  | 'reset-in-header'
  | 'reset-in-body'
  | 'close'
  | 'early'

/** Called with each request and the number of earlier ones. */
export type Script = (request: Received, index: number) => Answer

export type Receiver = AsyncDisposable & {
  /** `http://127.0.0.1:<port>` or `https://localhost:<port>`. */
  readonly origin: string
  readonly port: number
  /** In the order of completion. */
  readonly requests: readonly Received[]
  readonly connections: { opened: number; open: number; mostOpen: number }
  /** Octets written to all closed connections. */
  readonly bytesWritten: number
  /** From the next request on; the last of a list is repeated for ever. */
  answer: Answer | readonly Answer[] | Script
  /** Resolves with the first request, past or future, for which the condition holds. */
  waitFor(predicate: (request: Received, index: number) => boolean): Promise<Received>
  waitForCount(count: number): Promise<void>
  /** Resolves as soon as no connection is open. */
  waitForQuiet(): Promise<void>
  /** Cuts all connections and refuses new ones until it is started again, on its port. */
  stop(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

export type ReceiverOptions = {
  certificate?: Certificate
  port?: number
  hostname?: string
  /** Whether `requests` keep their bodies; otherwise only the script sees them. */
  keepsBodies?: boolean
}

/** Answers 200 by default. With a certificate it speaks HTTPS. */
export async function openReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const receiver = new Peer(options)
  await receiver.start()
  return receiver
}

const TRICKLE_MS = 20
const BOMB = gzipSync(Buffer.alloc(10 * 1024 * 1024))
const CHUNK = Buffer.alloc(16 * 1024, 'x')

type Waiting = { predicate: Parameters<Receiver['waitFor']>[0]; resolve: (found: Received) => void }

class Peer implements Receiver {
  readonly requests: Received[] = []
  readonly connections = { opened: 0, open: 0, mostOpen: 0 }
  bytesWritten = 0
  answer: Receiver['answer'] = {}
  port: number
  readonly #keepsBodies: boolean
  readonly #hostname: string
  readonly #scheme: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #waiting = new Set<Waiting>()
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor({ certificate, port = 0, hostname, keepsBodies = true }: ReceiverOptions) {
    this.port = port
    this.#keepsBodies = keepsBodies
    this.#scheme = certificate === undefined ? 'http' : 'https'
    this.#hostname = hostname ?? (certificate === undefined ? '127.0.0.1' : 'localhost')
    const serve = (request: IncomingMessage, response: ServerResponse) =>
      this.#serve(request, response).catch(() => request.socket.destroy())
    this.#server =
      certificate === undefined
        ? createServer(serve)
        : createTlsServer(
            { cert: certificate.certificatePem, key: certificate.privateKeyPem },
            serve,
          )
    this.#server.on('connection', (socket: Socket) => this.#count(socket))
    this.#server.on('tlsClientError', () => {})
  }

  get origin(): string {
    return `${this.#scheme}://${this.#hostname}:${this.port}`
  }

  waitFor(predicate: Waiting['predicate']): Promise<Received> {
    const found = this.requests.find(predicate)
    if (found !== undefined) return Promise.resolve(found)
    return new Promise((resolve) => this.#waiting.add({ predicate, resolve }))
  }

  async waitForCount(count: number): Promise<void> {
    if (count > 0) await this.waitFor((_, index) => index === count - 1)
  }

  async waitForQuiet(): Promise<void> {
    const [socket] = this.#sockets
    if (socket === undefined) return
    await new Promise((resolve) => socket.once('close', resolve))
    await this.waitForQuiet()
  }

  async start(): Promise<void> {
    this.#server.listen(this.port, '127.0.0.1')
    await once(this.#server, 'listening')
    const address = this.#server.address()
    if (typeof address === 'object' && address !== null) this.port = address.port
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    this.#timers.clear()
    for (const socket of this.#sockets) socket.destroy()
    if (!this.#server.listening) return
    this.#server.close()
    await once(this.#server, 'close')
  }

  close(): Promise<void> {
    return this.stop()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  #count(socket: Socket): void {
    this.#sockets.add(socket)
    this.connections.opened += 1
    this.connections.open += 1
    this.connections.mostOpen = Math.max(this.connections.mostOpen, this.connections.open)
    socket.on('error', () => {})
    socket.once('close', () => {
      this.#sockets.delete(socket)
      this.connections.open -= 1
      this.bytesWritten += socket.bytesWritten
    })
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.answer === 'early') {
      response.writeHead(413, { connection: 'close' }).end('too large')
      return
    }
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const received: Received = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks),
      atMs: performance.now(),
    }
    const kept = this.#keepsBodies ? received : { ...received, body: Buffer.alloc(0) }
    const index = this.requests.push(kept) - 1
    for (const waiting of this.#waiting) {
      if (!waiting.predicate(received, index)) continue
      this.#waiting.delete(waiting)
      waiting.resolve(received)
    }
    this.#take(this.#next(received, index), response)
  }

  #next(received: Received, index: number): Answer {
    const { answer } = this
    if (typeof answer === 'function') return answer(received, index)
    if (isList(answer)) return answer[Math.min(index, answer.length - 1)] ?? {}
    return answer
  }

  #take(answer: Answer, response: ServerResponse): void {
    const socket = response.socket
    if (socket === null) return
    if (typeof answer === 'string') {
      this.#misbehave(answer, response, socket)
      return
    }
    if ('raw' in answer) {
      socket.end(answer.raw, 'latin1')
      return
    }
    const { status = 200, headers = {}, body = '', delayMs = 0 } = answer
    const send = () => response.writeHead(status, headers).end(body)
    if (delayMs === 0) send()
    else this.#timers.add(setTimeout(send, delayMs))
  }

  #misbehave(habit: Habit, response: ServerResponse, socket: Socket): void {
    switch (habit) {
      case 'early':
        throw new Error('an early answer is a fixed one')
      case 'hang':
        return
      case 'trickle':
        response.writeHead(200, { 'content-length': '100000' })
        this.#repeat(socket, () => response.write('x'))
        return
      case 'trickle-header':
        socket.write('HTTP/1.1 200 OK\r\nX: ')
        this.#repeat(socket, () => socket.write('x'))
        return
      case 'endless':
        response.writeHead(200)
        pour(response, CHUNK)
        return
      case 'endless-header':
        socket.write('HTTP/1.1 200 OK\r\n')
        pour(socket, `X: ${'x'.repeat(1000)}\r\n`)
        return
      case 'gzip-bomb':
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(BOMB)
        return
      case 'reset':
        socket.resetAndDestroy()
        return
      case 'reset-in-header':
        socket.write('HTTP/1.1 200 OK\r\nContent-Le', () => resetSoon(socket))
        return
      case 'reset-in-body':
        response.writeHead(200, { 'content-length': '1000' })
        response.write('x', () => resetSoon(socket))
        return
      case 'close':
        socket.end()
        return
      default:
        habit satisfies never
    }
  }

  #repeat(socket: Socket, write: () => void): void {
    const timer = setInterval(write, TRICKLE_MS)
    this.#timers.add(timer)
    socket.once('close', () => {
      clearInterval(timer)
      this.#timers.delete(timer)
    })
  }
}

function isList(answer: Receiver['answer']): answer is readonly Answer[] {
  return Array.isArray(answer)
}

function pour(target: ServerResponse | Socket, chunk: Buffer | string): void {
  const fill = () => {
    while (!target.destroyed && target.write(chunk));
  }
  target.on('drain', fill)
  target.on('error', () => {})
  fill()
}

/** RST discards data that the other side has not read, so it gets a moment to read. */
function resetSoon(socket: Socket): void {
  setTimeout(() => socket.resetAndDestroy(), TRICKLE_MS)
}
