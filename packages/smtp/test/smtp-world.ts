// The engine with a clock that tests move, behind a real socket or, for exact segments, in memory.

import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls, type SecureContext } from 'node:tls'
import { Dialogue, type DialogueService } from '@mailroom/smtp/server/dialogue.ts'
import { emptyBudget } from '@mailroom/smtp/server/message-intake.ts'
import { openSmtpServer, type SmtpServer } from '@mailroom/smtp/server/server.ts'
import type { SmtpOutcome } from '@mailroom/smtp/server/session.ts'
import { defaultSmtpLimits, type SmtpLimits } from '@mailroom/smtp/server/session.ts'
import { RecordingReceiver } from '#test/recording-receiver.ts'
import { ReplyReader } from '#test/reply-reader.ts'

export class TurnableClock {
  #ms = 1_000_000

  now(): number {
    return this.#ms
  }

  steady(): number {
    return this.monotonic()
  }

  monotonic(): number {
    return this.#ms
  }

  advance(ms: number): void {
    this.#ms += ms
  }
}

export class RecordingLog {
  readonly lines: { fields: object; message: string }[] = []

  warn(fields: object, message: string): void {
    this.lines.push({ fields, message })
  }

  error(fields: object, message: string): void {
    this.lines.push({ fields, message })
  }
}

/** The client's end of one connection. */
export type Peer = {
  send(bytes: string | Buffer): void
  reply(): Promise<string>
  /** The replies not read yet, once the server has closed. */
  end(): Promise<string[]>
}

export type SmtpWorld = {
  server: SmtpServer
  receiver: RecordingReceiver
  clock: TurnableClock
  log: RecordingLog
  outcomes: SmtpOutcome[]
  /** Connects; the greeting is not read. */
  connect(from?: string): Promise<SocketPeer>
  [Symbol.asyncDispose](): Promise<void>
}

export async function openSmtpWorld({
  tls,
  ...options
}: {
  limits?: Partial<SmtpLimits>
  tls?: SecureContext
} = {}): Promise<SmtpWorld> {
  const receiver = new RecordingReceiver()
  const clock = new TurnableClock()
  const log = new RecordingLog()
  const outcomes: SmtpOutcome[] = []
  const server = await openSmtpServer({
    host: '0.0.0.0',
    port: 0,
    hostname: 'mx.example',
    receiver,
    clock,
    log,
    onOutcome: (outcome) => outcomes.push(outcome),
    ...options,
    ...(tls && { tls: () => tls }),
  })
  return {
    server,
    receiver,
    clock,
    log,
    outcomes,
    connect: (from) => SocketPeer.connect(server.address.port, from),
    [Symbol.asyncDispose]: () => server.close({ drainMs: 0 }),
  }
}

export class SocketPeer implements Peer {
  socket: Socket
  readonly #reader = new ReplyReader()

  constructor(socket: Socket) {
    this.socket = socket
    this.#listen(socket)
  }

  static connect(port: number, from = '127.0.0.1'): Promise<SocketPeer> {
    return new Promise((resolve, reject) => {
      const socket = connectTcp({ port, host: '127.0.0.1', localAddress: from, noDelay: true })
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.off('error', reject)
        resolve(new SocketPeer(socket))
      })
    })
  }

  send(bytes: string | Buffer): void {
    this.socket.write(bytes)
  }

  reply(): Promise<string> {
    return this.#reader.next()
  }

  end(): Promise<string[]> {
    return this.#reader.end()
  }

  async dialogue(...lines: string[]): Promise<string[]> {
    const answers: string[] = []
    for (const line of lines) {
      this.send(`${line}\r\n`)
      answers.push(await this.reply())
    }
    return answers
  }

  /** The client's side of the handshake after STARTTLS; rejects when it fails. */
  startTls(): Promise<string> {
    const plain = this.socket
    plain.removeAllListeners('data')
    return new Promise((resolve, reject) => {
      const secure = connectTls({ socket: plain, rejectUnauthorized: false })
      secure.once('error', reject)
      secure.once('secureConnect', () => resolve(secure.getProtocol() ?? ''))
      this.socket = secure
      this.#listen(secure)
    })
  }

  #listen(socket: Socket): void {
    socket.on('data', (chunk: Buffer) => this.#reader.push(chunk.toString('latin1')))
    socket.on('error', () => {})
    socket.on('close', () => this.#reader.close())
  }
}

/** A dialogue without a socket: every `send` is exactly one chunk. */
export class MemoryPeer implements Peer {
  readonly receiver: RecordingReceiver
  readonly clock = new TurnableClock()
  readonly outcomes: SmtpOutcome[] = []
  readonly dialogue: Dialogue
  readonly reader = new ReplyReader()
  readonly intake = emptyBudget()
  isReading = true
  writes = 0

  constructor(options: { limits?: Partial<SmtpLimits>; receiver?: RecordingReceiver } = {}) {
    this.receiver = options.receiver ?? new RecordingReceiver()
    const service: DialogueService = {
      hostname: 'mx.example',
      receiver: this.receiver,
      limits: { ...defaultSmtpLimits, ...options.limits },
      clock: this.clock,
      log: new RecordingLog(),
      count: (outcome) => this.outcomes.push(outcome),
      offersTls: true,
      intake: this.intake,
    }
    const wire = {
      write: (replies: string) => {
        this.writes += 1
        this.reader.push(replies)
      },
      isCongested: () => false,
      setReading: (isReading: boolean) => {
        this.isReading = isReading
      },
      startTls: () => {},
      end: () => this.reader.close(),
      fail: (error: unknown) => {
        throw error
      },
    }
    this.dialogue = new Dialogue(service, wire, '192.0.2.1', 4711)
    this.dialogue.greet()
  }

  send(bytes: string | Buffer): void {
    this.dialogue.receive(Buffer.from(bytes))
  }

  sendBytewise(bytes: string | Buffer): void {
    for (const byte of Buffer.from(bytes)) this.send(Buffer.of(byte))
  }

  reply(): Promise<string> {
    return this.reader.next()
  }

  end(): Promise<string[]> {
    return this.reader.end()
  }
}
