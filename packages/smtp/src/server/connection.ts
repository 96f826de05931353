// One client's socket: carries octets between it and its dialogue, brings TLS up when asked, and
// closes so that the last reply still arrives. Knows no SMTP.

import { constants } from 'node:crypto'
import type { Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'
import { Dialogue, type DialogueService, type Wire } from './dialogue.ts'

export type ConnectionOptions = {
  readonly socket: Socket
  readonly service: DialogueService
  readonly address: string
  readonly tls: (() => SecureContext) | undefined
  /** Called once, when the socket is gone. */
  readonly onClosed: (connection: Connection) => void
}

export class Connection {
  readonly address: string
  readonly #options: ConnectionOptions
  readonly #dialogue: Dialogue
  readonly #greeting: NodeJS.Timeout
  #socket: Socket
  #isStalled = false
  #isReading = true
  #isClosed = false
  #endedMs: number | null = null

  constructor(options: ConnectionOptions) {
    const { socket, service, address } = options
    this.#options = options
    this.address = address
    this.#socket = socket
    this.#dialogue = new Dialogue(service, this.#wire(), address, socket.remotePort ?? 0)
    // One more turn of the event loop, so that what has arrived by then is read before we speak.
    this.#greeting = setTimeout(
      () => setImmediate(() => this.#dialogue.greet()),
      service.limits.greetingDelayMs,
    )
    this.#listen(socket)
  }

  /** Ends what has outlived a deadline; `nowMs` is monotonic. */
  sweep(nowMs: number): void {
    if (this.#endedMs === null) this.#dialogue.checkDeadlines(nowMs)
    else if (nowMs - this.#endedMs >= this.#options.service.limits.lingerMsMax) this.destroy()
  }

  /** How long it has been of no use; null while it is at work. One that only lingers is never of use again. */
  idleMs(nowMs: number): number | null {
    return this.#endedMs === null ? this.#dialogue.idleMs(nowMs) : Number.POSITIVE_INFINITY
  }

  /** Closes at once, so that another may have its place. */
  giveWay(): void {
    this.#dialogue.giveWay()
    // Not for a client that reads no reply: its place is taken already.
    setImmediate(() => this.destroy())
  }

  /** Service ends: idle connections are closed now, messages on their way may finish. */
  drain(): void {
    this.#dialogue.drain()
  }

  /** Service has ended: closes with what can still be said. */
  abandon(): void {
    this.#dialogue.abandon()
    this.#socket.destroySoon()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #wire(): Wire {
    return {
      write: (replies) => {
        if (this.#socket.writable) this.#socket.write(replies, 'latin1', this.#afterWrite)
      },
      isCongested: () => {
        this.#isStalled = this.#socket.writableLength > this.#unreadBytesMax
        return this.#isStalled
      },
      setReading: (isReading) => this.#setReading(isReading),
      startTls: () => this.#startTls(),
      end: () => this.#end(),
      fail: (error) => this.#fail(error),
    }
  }

  get #unreadBytesMax(): number {
    return this.#options.service.limits.unreadReplyBytesMax
  }

  readonly #afterWrite = (): void => {
    if (!this.#isStalled || this.#socket.writableLength > this.#unreadBytesMax / 2) return
    this.#isStalled = false
    this.#dialogue.resume()
  }

  #listen(socket: Socket): void {
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    // A reset or a broken handshake ends this connection and concerns nobody else; 'close' follows.
    socket.on('error', ignore)
    socket.on('close', this.#onClose)
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#endedMs !== null) return
    try {
      this.#dialogue.receive(chunk)
    } catch (error) {
      this.#fail(error)
    }
  }

  readonly #onEnd = (): void => {
    if (this.#endedMs === null) this.#dialogue.endInput()
  }

  readonly #onClose = (): void => {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#greeting)
    this.#dialogue.drop()
    this.#options.onClosed(this)
  }

  #fail(error: unknown): void {
    const { service, address } = this.#options
    service.log.error({ error, address }, 'SMTP connection broke')
    this.destroy()
  }

  #setReading(isReading: boolean): void {
    if (this.#isReading === isReading) return
    this.#isReading = isReading
    if (isReading) this.#socket.resume()
    else this.#socket.pause()
  }

  // Closing while octets of the client lie unread would make the kernel reset the connection and
  // throw our reply away with it: so they are read, and dropped, until the client closes or `sweep`
  // loses patience.
  #end(): void {
    if (this.#endedMs !== null) return
    this.#endedMs = this.#options.service.clock.monotonic()
    this.#setReading(true)
    this.#socket.end()
  }

  // RFC 3207 §4.2: what came in clear text after the command is thrown away. All of it that has
  // arrived lies in this socket's buffer; what is still to come is taken for a handshake and fails.
  #startTls(): void {
    const { tls } = this.#options
    const plain = this.#socket
    if (tls === undefined || plain.destroyed) {
      this.destroy()
      return
    }
    plain.off('data', this.#onData)
    plain.off('end', this.#onEnd)
    plain.pause()
    while (plain.read() !== null);
    const secure = new TLSSocket(plain, {
      isServer: true,
      secureContext: tls(),
      requestCert: false,
      rejectUnauthorized: false,
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    })
    this.#socket = secure
    this.#isReading = true
    this.#listen(secure)
    secure.on('_tlsError', () => this.destroy())
    secure.once('secure', () => this.#dialogue.secured(secure.getProtocol() ?? 'TLS'))
  }
}

function ignore(): void {}
