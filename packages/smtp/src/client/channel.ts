// A client's connection: sends octets and reads the expected replies, without knowledge of SMTP
// commands. A channel cannot be used after its first failure, which it keeps.

import type { Socket } from 'node:net'
import { type PeerReply, ReplyDecoder, splitEnhancedCode } from '@mailroom/mail/smtp/reply.ts'
import type { ClientReply, Failure } from './outgoing-mail.ts'

export type Answer =
  | { readonly kind: 'answer'; readonly reply: PeerReply }
  | { readonly kind: 'failed'; readonly failure: Failure }

const SERVICE_CLOSING = 421

export class Channel {
  readonly #socket: Socket
  readonly #decoder = new ReplyDecoder()
  readonly #signal: AbortSignal | undefined
  /** Expected replies that have arrived and are waiting to be read. */
  #ready: PeerReply[] = []
  #owed: number
  #waiter: ((answer: Answer) => void) | null = null
  #timer: NodeJS.Timeout | undefined
  #onFailed: () => void = () => {}
  #failure: Failure | null = null
  /** The server's 421, with its reason for closing the connection. */
  #farewell: Failure | null = null
  /** The reply that broke the channel because none was expected. */
  #unasked: PeerReply | null = null

  /** `owed` is the number of replies that are expected already, such as the greeting. */
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

  /** The server's 421, after which it may close the connection at any time. */
  get farewell(): Failure | null {
    return this.#farewell
  }

  /** The reply that broke the channel because no reply was expected. */
  get unasked(): PeerReply | null {
    return this.#unasked
  }

  /** False if anything has arrived without a command, even part of a reply. */
  get isInStep(): boolean {
    return this.#failure === null && this.#ready.length === 0 && !this.#decoder.isWithinReply
  }

  /**
   * Sends octets that the server answers with `replies` replies. Does nothing on a broken channel.
   */
  write(octets: string | Uint8Array, replies: number): void {
    if (this.#failure !== null) return
    this.#owed += replies
    this.#socket.write(octets)
  }

  /** Sends octets that get no reply; resolves when the system has accepted all of them. */
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

  /** The next reply, or the failure. Only one read may be pending. */
  read(timeoutMs: number): Promise<Answer> {
    const reply = this.#ready.shift()
    if (reply !== undefined) return Promise.resolve({ kind: 'answer', reply })
    if (this.#failure !== null) return Promise.resolve({ kind: 'failed', failure: this.#failure })
    return new Promise((resolve) => {
      this.#waiter = resolve
      this.#timer = setTimeout(() => this.fail(timeoutFailure('reply', timeoutMs)), timeoutMs)
    })
  }

  ask(command: string, timeoutMs: number): Promise<Answer> {
    this.write(command, 1)
    return this.read(timeoutMs)
  }

  /** Destroys the connection. Only the first failure is kept. */
  fail(failure: Failure): void {
    if (this.#failure !== null) return
    this.#failure = failure
    this.#unlisten()
    this.#socket.destroy()
    this.#resolve({ kind: 'failed', failure })
    this.#onFailed()
  }

  /** Sends the written octets, then closes without reading further replies. */
  close(): void {
    if (this.#failure !== null) return
    this.#failure = CLOSED_BY_US
    this.#unlisten()
    this.#socket.resume()
    this.#socket.destroySoon()
  }

  /** Gives the socket to the caller for a handshake; the channel cannot be used afterwards. */
  release(): Socket {
    this.#unlisten()
    this.#failure = CLOSED_BY_US
    return this.#socket
  }

  // The error listener is kept: an error without a listener ends the process.
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
      this.#receive(decoded.reply)
    }
  }

  #receive(reply: PeerReply): void {
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

const REPLY_TEXT_LENGTH_MAX = 1_000

const CLOSED: Failure = {
  kind: 'network',
  code: 'closed',
  text: 'The server closed the connection',
}
export const CLOSED_BY_US: Failure = {
  kind: 'network',
  code: 'closed',
  text: 'The connection was closed on our side',
}
export const ABORTED: Failure = {
  kind: 'network',
  code: 'aborted',
  text: 'Attempt cancelled by this service',
}

/** A server's reply with its text made safe to show. */
export function toClientReply(reply: PeerReply): ClientReply {
  const { enhanced, text } = splitEnhancedCode(reply)
  return { code: reply.code, enhanced, text: boundText(text) }
}

export function protocolFailure(text: string): Failure {
  return { kind: 'protocol', text: boundText(text) }
}

/** The failure for a well-formed reply that has no meaning at this point of the dialogue. */
export function unexpectedReply(reply: PeerReply): Failure {
  return protocolFailure(`Unexpected reply: ${reply.code} ${reply.lines.join(' ')}`)
}

export function timeoutFailure(what: string, waitedMs: number): Failure {
  return { kind: 'timeout', text: `No ${what} within ${waitedMs / 1000} s` }
}

export function networkFailure(error: Error): Failure {
  return { kind: 'network', code: codeOf(error) ?? 'unknown', text: boundText(error.message) }
}

export function tlsFailure(error: Error | string): Failure {
  if (typeof error === 'string') return { kind: 'tls', text: boundText(error) }
  const code = codeOf(error)
  return { kind: 'tls', text: boundText(code ? `${code}: ${error.message}` : error.message) }
}

function codeOf(error: Error): string | null {
  return 'code' in error && typeof error.code === 'string' ? error.code : null
}

function boundText(text: string): string {
  const bounded = text.length > REPLY_TEXT_LENGTH_MAX ? text.slice(0, REPLY_TEXT_LENGTH_MAX) : text
  return bounded.toWellFormed().replace(/[^\P{C}\n]/gu, '?')
}
