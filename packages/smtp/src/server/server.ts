// The SMTP listener: accepts connections within the limits, enforces their deadlines with one
// timer, and shuts down without losing a message that is being received.

import { constants } from 'node:crypto'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'
import { formatReply, reply } from '@mailroom/mail/smtp/reply.ts'
import { clientGroup, plainAddress } from '#client-address.ts'
import { Dialogue, type DialogueService, type Wire } from './dialogue.ts'
import { emptyBudget, isHigher } from './message-intake.ts'
import type { PortCounts } from './port-counts.ts'
import {
  type Clock,
  type CountOutcome,
  defaultSmtpLimits,
  type MailReceiver,
  type SmtpLimits,
  type SmtpLog,
} from './session.ts'

type SmtpServerOptions = {
  readonly host: string
  /** Port 0 selects a free port. */
  readonly port: number
  /** Whether other servers may listen on the same port. */
  readonly reusePort?: boolean
  /** Shared by all servers on the port, which share the limits. By default, the server is alone. */
  readonly counts?: PortCounts
  /** The name in the greeting and in the reply to EHLO. */
  readonly hostname: string
  /** Offers STARTTLS. Called for each handshake, because certificates are renewed. */
  readonly tls?: () => SecureContext
  readonly receiver: MailReceiver
  readonly clock: Clock
  readonly log: SmtpLog
  readonly limits?: Partial<SmtpLimits>
  /** Called within the dialogue, so it must be fast; exceptions are logged. */
  readonly onOutcome?: CountOutcome
}

const SWEEP_MS = 1000

/** Rejects if the address cannot be listened on. */
export async function openSmtpServer(options: SmtpServerOptions): Promise<SmtpServer> {
  const server = new SmtpServer(options)
  await server.listen()
  return server
}

export class SmtpServer {
  readonly #options: SmtpServerOptions
  readonly #service: DialogueService
  readonly #server: Server
  readonly #connections = new Set<Connection>()
  readonly #refusal: string
  readonly #strainedRefusal: string
  #sweeper: NodeJS.Timeout | undefined
  #closing: Promise<void> | undefined
  #onEmpty: () => void = () => {}

  constructor(options: SmtpServerOptions) {
    this.#options = options
    this.#service = {
      hostname: options.hostname,
      receiver: options.receiver,
      limits: { ...defaultSmtpLimits, ...options.limits },
      clock: options.clock,
      log: options.log,
      count: guard(options.onOutcome, options.log),
      offersTls: options.tls !== undefined,
      intake: emptyBudget(options.counts),
    }
    this.#refusal = formatReply(
      reply(421, '4.7.0', `${options.hostname} Too many connections, try again later`),
    )
    this.#strainedRefusal = formatReply(
      reply(421, '4.3.2', `${options.hostname} Too busy, try again later`),
    )
    // Half-open, because a client may close its side after QUIT or `.` and still read the replies.
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (s) => this.#accept(s))
  }

  get address(): AddressInfo {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('SMTP is not listening')
    return address
  }

  listen(): Promise<void> {
    const { host, port, reusePort = false } = this.#options
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host, port, reusePort }, () => {
        this.#server.off('error', reject)
        // A failed accept, for example for lack of file descriptors, must not end the process.
        this.#server.on('error', (error) =>
          this.#service.log.error({ error }, 'SMTP accept failed'),
        )
        this.#sweeper = setInterval(() => this.sweep(), SWEEP_MS).unref()
        resolve()
      })
    })
  }

  isListening(): boolean {
    return this.#server.listening
  }

  stats(): { connections: number; heldBytes: number } {
    return {
      connections: this.#service.intake.counts.connections,
      heldBytes: this.#service.intake.counts.heldBytes,
    }
  }

  /** Ends connections whose deadline has passed; called every second. */
  sweep(): void {
    const nowMs = this.#service.clock.monotonic()
    for (const connection of this.#connections) connection.sweep(nowMs)
  }

  /**
   * Stops accepting, closes idle connections with 421 4.3.2, and waits up to `drainMs` for messages
   * that are being received before closing their connections too. Resolves when all connections are
   * closed; further calls return the same promise.
   */
  close(options: { drainMs: number }): Promise<void> {
    this.#closing ??= this.#close(options.drainMs)
    return this.#closing
  }

  async #close(drainMs: number): Promise<void> {
    const stopped = new Promise<void>((resolve) => {
      this.#server.close(() => resolve())
    })
    const empty = new Promise<void>((resolve) => {
      this.#onEmpty = resolve
    })
    for (const connection of this.#connections) connection.drain()
    if (this.#connections.size > 0) {
      const deadline = setTimeout(() => {
        for (const connection of this.#connections) connection.abandon()
        setImmediate(() => {
          for (const connection of this.#connections) connection.destroy()
        })
      }, drainMs)
      await empty
      clearTimeout(deadline)
    }
    await stopped
    clearInterval(this.#sweeper)
  }

  #accept(socket: Socket): void {
    const address = plainAddress(socket.remoteAddress)
    const { limits, count } = this.#service
    const group = clientGroup(address)
    const fromAddress = this.#service.intake.counts.connectionsOf(group)
    if (fromAddress >= limits.connectionsPerAddressMax) {
      this.#refuse(socket, this.#refusal)
      return
    }
    if (
      this.#service.intake.counts.connections >= limits.strainedConnectionsMax &&
      this.#isStrained()
    ) {
      this.#refuse(socket, this.#strainedRefusal)
      return
    }
    if (
      this.#service.intake.counts.connections >= limits.connectionsMax &&
      !this.#evictFor(fromAddress)
    ) {
      this.#refuse(socket, this.#refusal)
      return
    }
    this.#service.intake.counts.countConnection(group, 1)
    count({ kind: 'connection-opened' })
    const connection = new Connection({
      socket,
      service: this.#service,
      address,
      tls: this.#options.tls,
      onClosed: (closed) => this.#forget(closed),
    })
    this.#connections.add(connection)
    if (this.#closing !== undefined) connection.drain()
  }

  /**
   * Closes the least useful connection to make room for one from an address that already has
   * `fromAddress`. The victim has been idle for long, or its address will still have as many
   * connections.
   */
  #evictFor(fromAddress: number): boolean {
    const nowMs = this.#service.clock.monotonic()
    let found: { connection: Connection; rank: readonly number[] } | null = null
    for (const connection of this.#connections) {
      const idleMs = connection.idleMs(nowMs)
      if (idleMs === null) continue
      const isLongIdle = idleMs >= this.#service.limits.crowdedIdleMs
      const ofAddress = this.#service.intake.counts.connectionsOf(clientGroup(connection.address))
      if (!isLongIdle && ofAddress <= fromAddress + 1) continue
      const rank = [isLongIdle ? 1 : 0, ofAddress, idleMs]
      if (found === null || isHigher(rank, found.rank)) found = { connection, rank }
    }
    if (found === null) return false
    this.#release(found.connection)
    found.connection.evict()
    return true
  }

  #isStrained(): boolean {
    return this.#service.receiver.isStrained?.() === true
  }

  #refuse(socket: Socket, refusal: string): void {
    this.#service.count({ kind: 'connection-refused' })
    socket.on('error', () => {})
    socket.end(refusal, 'latin1')
    socket.destroySoon()
  }

  #forget(connection: Connection): void {
    this.#release(connection)
    this.#service.count({ kind: 'connection-closed' })
    if (this.#connections.size === 0) this.#onEmpty()
  }

  /** Frees the connection's slot. Further calls do nothing. */
  #release(connection: Connection): void {
    if (!this.#connections.delete(connection)) return
    this.#service.intake.counts.countConnection(clientGroup(connection.address), -1)
  }
}

function guard(onOutcome: CountOutcome | undefined, log: SmtpLog): CountOutcome {
  if (onOutcome === undefined) return () => {}
  return (outcome) => {
    try {
      onOutcome(outcome)
    } catch (error) {
      log.error({ error, outcome: outcome.kind }, 'an SMTP outcome could not be counted')
    }
  }
}

type ConnectionOptions = {
  readonly socket: Socket
  readonly service: DialogueService
  readonly address: string
  readonly tls: (() => SecureContext) | undefined
  /** Called once, when the socket is closed. */
  readonly onClosed: (connection: Connection) => void
}

/**
 * A client's socket. Connects the socket with its dialogue, starts TLS on request, and closes so
 * that the last reply still arrives. Does not interpret SMTP.
 */
class Connection {
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
    // Waits another turn of the event loop, so that octets that have arrived are read before the
    // greeting.
    this.#greeting = setTimeout(
      () => setImmediate(() => this.#dialogue.greet()),
      service.limits.greetingDelayMs,
    )
    this.#listen(socket)
  }

  /** `nowMs` is monotonic. */
  sweep(nowMs: number): void {
    if (this.#endedMs === null) this.#dialogue.checkDeadlines(nowMs)
    else if (nowMs - this.#endedMs >= this.#options.service.limits.lingerMsMax) this.destroy()
  }

  /** The connection's idle time; null while it is busy. A closed connection is infinitely idle. */
  idleMs(nowMs: number): number | null {
    return this.#endedMs === null ? this.#dialogue.idleMs(nowMs) : Number.POSITIVE_INFINITY
  }

  /** Closes immediately to free its slot for another connection. */
  evict(): void {
    this.#dialogue.cut('crowded-out')
    // The slot is already in use, so this does not wait for a client that does not read its reply.
    setImmediate(() => this.destroy())
  }

  /** Shuts down: closes an idle connection, and lets a message that is being received finish. */
  drain(): void {
    this.#dialogue.drain()
  }

  /** Ends the shutdown by closing connections that are still receiving a message. */
  abandon(): void {
    this.#dialogue.cut('shutdown')
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
    // A reset or a failed handshake ends only this connection, and 'close' follows.
    socket.on('error', () => {})
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
    this.#dialogue.close()
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

  // Closing a socket with unread octets would reset the connection and lose the last reply. The
  // octets are read and dropped until the client closes or `sweep` destroys the socket.
  #end(): void {
    if (this.#endedMs !== null) return
    this.#endedMs = this.#options.service.clock.monotonic()
    this.#setReading(true)
    this.#socket.end()
  }

  // Clear text after the command is discarded (RFC 3207 §4.2): octets that have arrived remain in
  // the plain socket's buffer, and later ones are read as a handshake and fail.
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
