// The SMTP listener: accepts connections within the limits, keeps their deadlines with one timer
// for all of them, and ends service without losing a message on its way.

import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import { formatReply, reply } from '@mailroom/mail/smtp/reply.ts'
import { clientGroup, plainAddress } from '#client-address.ts'
import type { Clock } from '#clock.ts'
import { Connection } from './connection.ts'
import type { DialogueService } from './dialogue.ts'
import { emptyBudget, isHigher } from './message-intake.ts'
import type { CountOutcome, SmtpLog } from './outcome.ts'
import type { MailReceiver } from './session.ts'
import { defaultSmtpLimits, type SmtpLimits } from './smtp-limits.ts'

export type SmtpServerOptions = {
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  /** Others may listen on the same port. */
  readonly reusePort?: boolean
  /** The name in the greeting and in the reply to EHLO. */
  readonly hostname: string
  /** Offers STARTTLS; asked at each handshake, for certificates are renewed. */
  readonly tls?: () => SecureContext
  readonly receiver: MailReceiver
  readonly clock: Clock
  readonly log: SmtpLog
  readonly limits?: Partial<SmtpLimits>
  /** Called within the dialogue, so it must be quick; what it throws is logged. */
  readonly onOutcome?: CountOutcome
}

export type SmtpServer = {
  readonly address: AddressInfo
  /**
   * Stops accepting, closes idle connections with 421 4.3.2, gives messages on their way `drainMs`
   * to be answered, then closes those too. Resolves when no connection is left; a second call
   * returns the first one's promise.
   */
  close(options: { drainMs: number }): Promise<void>
  /** Ends what has passed a deadline; runs by itself every second. */
  sweep(): void
  stats(): { connections: number; heldBytes: number }
  isListening(): boolean
}

const SWEEP_MS = 1000

/** Listens; rejects when the address cannot be had. */
export async function openSmtpServer(options: SmtpServerOptions): Promise<SmtpServer> {
  const listener = new Listener(options)
  await listener.listen(options)
  return listener
}

class Listener implements SmtpServer {
  readonly #options: SmtpServerOptions
  readonly #service: DialogueService
  readonly #server: Server
  readonly #connections = new Set<Connection>()
  readonly #perAddress = new Map<string, number>()
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
      intake: emptyBudget(),
    }
    this.#refusal = formatReply(
      reply(421, '4.7.0', `${options.hostname} Too many connections, try again later`),
    )
    this.#strainedRefusal = formatReply(
      reply(421, '4.3.2', `${options.hostname} Too busy, try again later`),
    )
    // Half-open: a client may close its side after QUIT or `.` and still read our answers.
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (s) => this.#accept(s))
  }

  get address(): AddressInfo {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('SMTP is not listening')
    return address
  }

  listen({ host, port, reusePort = false }: SmtpServerOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host, port, reusePort }, () => {
        this.#server.off('error', reject)
        // An accept that fails, for want of descriptors say, must not end the process.
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
    return { connections: this.#connections.size, heldBytes: this.#service.intake.heldBytes }
  }

  sweep(): void {
    const nowMs = this.#service.clock.monotonic()
    for (const connection of this.#connections) connection.sweep(nowMs)
  }

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
    const fromAddress = this.#perAddress.get(group) ?? 0
    if (fromAddress >= limits.connectionsPerAddressMax) {
      this.#turnAway(socket, this.#refusal)
      return
    }
    if (this.#connections.size >= limits.strainedConnectionsMax && this.#isStrained()) {
      this.#turnAway(socket, this.#strainedRefusal)
      return
    }
    if (this.#connections.size >= limits.connectionsMax && !this.#makeRoom(fromAddress)) {
      this.#turnAway(socket, this.#refusal)
      return
    }
    this.#perAddress.set(group, fromAddress + 1)
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
   * Closes the connection that is of least use, for a newcomer from an address with `fromAddress` of them:
   * one that has waited for long, or is of an address that will still have as many as the newcomer's.
   */
  #makeRoom(fromAddress: number): boolean {
    const nowMs = this.#service.clock.monotonic()
    let found: { connection: Connection; rank: readonly number[] } | null = null
    for (const connection of this.#connections) {
      const idleMs = connection.idleMs(nowMs)
      if (idleMs === null) continue
      const isLongIdle = idleMs >= this.#service.limits.crowdedIdleMs
      const ofAddress = this.#perAddress.get(clientGroup(connection.address)) ?? 0
      if (!isLongIdle && ofAddress <= fromAddress + 1) continue
      const rank = [isLongIdle ? 1 : 0, ofAddress, idleMs]
      if (found === null || isHigher(rank, found.rank)) found = { connection, rank }
    }
    if (found === null) return false
    this.#release(found.connection)
    found.connection.giveWay()
    return true
  }

  #isStrained(): boolean {
    return this.#service.receiver.isStrained?.() === true
  }

  #turnAway(socket: Socket, refusal: string): void {
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

  /** Its place is another's; the second time does nothing. */
  #release(connection: Connection): void {
    if (!this.#connections.delete(connection)) return
    const group = clientGroup(connection.address)
    const left = (this.#perAddress.get(group) ?? 1) - 1
    if (left > 0) this.#perAddress.set(group, left)
    else this.#perAddress.delete(group)
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
