// One connection as a client sees it: octets go out, replies come in, and each reply must have been
// owed. Whatever breaks it is kept as its failure, and a broken channel stays broken. Knows no
// command by name.

import type { Socket } from 'node:net'
import { type PeerReply, ReplyDecoder } from '@mailroom/mail/smtp/reply.ts'
import {
  ABORTED,
  CLOSED,
  CLOSED_BY_US,
  type Failure,
  networkFailure,
  protocolFailure,
  timeoutFailure,
  toClientReply,
  unexpectedReply,
} from './failure.ts'

export type Answer =
  | { readonly kind: 'answer'; readonly reply: PeerReply }
  | { readonly kind: 'failed'; readonly failure: Failure }

const SERVICE_CLOSING = 421

export class Channel {
  readonly #socket: Socket
  readonly #decoder = new ReplyDecoder()
  readonly #signal: AbortSignal | undefined
  /** Replies that have come and were owed. */
  #ready: PeerReply[] = []
  #owed: number
  #waiter: ((answer: Answer) => void) | null = null
  #timer: NodeJS.Timeout | undefined
  #onFailed: () => void = () => {}
  #failure: Failure | null = null
  /** Its 421: why the server closes the connection, once it does. */
  #farewell: Failure | null = null
  /** The reply that came although none was owed, and broke it. */
  #unasked: PeerReply | null = null

  /** `owed` is how many replies the server owes already: its greeting. */
  constructor(socket: Socket, owed: number, signal: AbortSignal | undefined) {
    this.#socket = socket
    this.#owed = owed
    this.#signal = signal
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('error', this.#onError)
    socket.on('close', this.#onEnd)
    signal?.addEventListener('abort', this.#onAbort)
    if (signal?.aborted) this.fail(ABORTED)
    else if (socket.destroyed) this.fail(CLOSED)
  }

  get failure(): Failure | null {
    return this.#failure
  }

  /** The server's 421: it may be gone at any moment. */
  get farewell(): Failure | null {
    return this.#farewell
  }

  /** The reply that nothing asked for and that the channel was left for; what it means is for others. */
  get unasked(): PeerReply | null {
    return this.#unasked
  }

  /** Nothing has arrived that was not asked for, not even in part. */
  get isInStep(): boolean {
    return this.#failure === null && this.#ready.length === 0 && !this.#decoder.isWithinReply
  }

  /** Sends octets that `replies` replies answer. On a broken channel it does nothing. */
  write(octets: string | Uint8Array, replies: number): void {
    if (this.#failure !== null) return
    this.#owed += replies
    this.#socket.write(octets)
  }

  /** Sends octets that nothing answers; resolves when the system has taken all of them. */
  async writeBlock(octets: Uint8Array, timeoutMs: number): Promise<Failure | null> {
    if (this.#failure !== null) return this.#failure
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onFailed = resolve
    const timer = setTimeout(() => this.fail(timeoutFailure('progress', timeoutMs)), timeoutMs)
    this.#socket.write(octets, (error) => {
      if (error) this.fail(networkFailure(error))
      resolve()
    })
    await promise
    clearTimeout(timer)
    return this.#failure
  }

  /** The next reply, or why there will be none. One caller at a time. */
  read(timeoutMs: number): Promise<Answer> {
    const reply = this.#ready.shift()
    if (reply !== undefined) return Promise.resolve({ kind: 'answer', reply })
    if (this.#failure !== null) return Promise.resolve({ kind: 'failed', failure: this.#failure })
    return new Promise((resolve) => {
      this.#waiter = resolve
      this.#timer = setTimeout(() => this.fail(timeoutFailure('reply', timeoutMs)), timeoutMs)
    })
  }

  /** Sends one command and reads its reply. */
  ask(command: string, timeoutMs: number): Promise<Answer> {
    this.write(command, 1)
    return this.read(timeoutMs)
  }

  /** Destroys the connection; the first failure is the one that counts. */
  fail(failure: Failure): void {
    if (this.#failure !== null) return
    this.#failure = failure
    this.#unlisten()
    this.#socket.destroy()
    this.#resolve({ kind: 'failed', failure })
    this.#onFailed()
  }

  /** Lets what was written go out, then closes; replies are not read any more. */
  close(): void {
    if (this.#failure !== null) return
    this.#failure = CLOSED_BY_US
    this.#unlisten()
    this.#socket.resume()
    this.#socket.destroySoon()
  }

  /** Gives the socket away, for a handshake; the channel is used up. */
  release(): Socket {
    this.#unlisten()
    this.#failure = CLOSED_BY_US
    return this.#socket
  }

  // The listener for errors stays: an error that nobody hears ends the process.
  #unlisten(): void {
    this.#socket.off('data', this.#onData)
    this.#socket.off('end', this.#onEnd)
    this.#socket.off('close', this.#onEnd)
    this.#signal?.removeEventListener('abort', this.#onAbort)
  }

  readonly #onData = (chunk: Buffer): void => {
    let offset = 0
    while (offset < chunk.length && this.#failure === null) {
      const decoded = this.#decoder.decode(chunk, offset)
      if (decoded === null) break
      if (decoded.kind === 'malformed') {
        this.fail(protocolFailure(`The server's reply is malformed: ${decoded.defect}`))
        return
      }
      offset = this.#decoder.end
      this.#take(decoded.reply)
    }
  }

  #take(reply: PeerReply): void {
    if (reply.code === SERVICE_CLOSING) {
      this.#farewell = { kind: 'reply', reply: toClientReply(reply) }
    }
    if (this.#owed === 0) {
      this.#unasked = reply
      this.fail(this.#farewell ?? unexpectedReply(reply))
      return
    }
    this.#owed -= 1
    if (this.#waiter === null) this.#ready.push(reply)
    else this.#resolve({ kind: 'answer', reply })
  }

  #resolve(answer: Answer): void {
    const waiter = this.#waiter
    if (waiter === null) return
    this.#waiter = null
    clearTimeout(this.#timer)
    waiter(answer)
  }

  readonly #onEnd = (): void => this.fail(this.#farewell ?? CLOSED)
  readonly #onError = (error: Error): void => this.fail(this.#farewell ?? networkFailure(error))
  readonly #onAbort = (): void => this.fail(ABORTED)
}
