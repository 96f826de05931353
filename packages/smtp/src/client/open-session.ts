// From an address to a server that is ready for a transaction: connection, TLS, greeting, EHLO,
// STARTTLS, AUTH, each under its own limit of time.

import { connect, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { isDomainName } from '@mailroom/mail/address.ts'
import { type Extensions, NO_EXTENSIONS, parseExtensions } from '@mailroom/mail/smtp/reply.ts'
import { isLoopback } from '#client-address.ts'
import { authenticate } from './authenticate.ts'
import { type Answer, Channel } from './channel.ts'
import type { ClientTimeouts } from './client-timeouts.ts'
import {
  ABORTED,
  type Failure,
  networkFailure,
  protocolFailure,
  timeoutFailure,
  tlsFailure,
  toClientReply,
  unexpectedReply,
} from './failure.ts'
import { secure } from './handshake.ts'
import type { OpenOptions, Stage } from './outgoing-mail.ts'

export type Session = {
  readonly channel: Channel
  readonly extensions: Extensions
  readonly tls: string | null
  readonly isTlsVerified: boolean
}

type Failed = { readonly kind: 'failed'; readonly stage: Stage; readonly failure: Failure }

/** Never rejects for what a server does; on failure nothing of the connection is left. */
export async function openSession(
  options: OpenOptions,
  timeouts: ClientTimeouts,
): Promise<{ kind: 'open'; session: Session } | Failed> {
  const { hostname } = options
  if (!/^\[[\w.:]+\]$/.test(hostname) && !isDomainName(hostname)) {
    throw new Error(`Not a name for EHLO: ${hostname}`)
  }
  const opening = new Opening(options, timeouts)
  const failed = await opening.run()
  if (failed === null) return { kind: 'open', session: opening.session() }
  opening.leave()
  return failed
}

class Opening {
  readonly #options: OpenOptions
  readonly #timeouts: ClientTimeouts
  #channel: Channel | null = null
  #extensions = NO_EXTENSIONS
  #secured: TLSSocket | null = null
  #isTlsVerified = false

  constructor(options: OpenOptions, timeouts: ClientTimeouts) {
    this.#options = options
    this.#timeouts = timeouts
  }

  async run(): Promise<Failed | null> {
    return (
      (await this.#connect()) ??
      (await this.#hearGreeting()) ??
      (await this.#greet()) ??
      (await this.#upgrade()) ??
      (await this.#authenticate())
    )
  }

  session(): Session {
    return {
      channel: this.#talk,
      extensions: this.#extensions,
      tls: this.#secured?.getProtocol() ?? null,
      isTlsVerified: this.#isTlsVerified,
    }
  }

  /** A server that can still hear it is told that we go (RFC 5321 §3.1). */
  leave(): void {
    this.#channel?.write('QUIT\r\n', 1)
    this.#channel?.close()
  }

  get #talk(): Channel {
    if (this.#channel === null) throw new Error('There is no connection yet')
    return this.#channel
  }

  async #connect(): Promise<Failed | null> {
    const { signal, implicitTls } = this.#options
    const connected = await connectSocket(this.#options, this.#timeouts.connectMs)
    if (connected.kind === 'failed') return failAt('connect', connected.failure)
    if (implicitTls) return this.#secure(connected.socket, 1)
    this.#channel = new Channel(connected.socket, 1, signal)
    return null
  }

  async #hearGreeting(): Promise<Failed | null> {
    const failed = judge('greeting', await this.#talk.read(this.#timeouts.greetingMs))
    if (failed === null) this.#options.onGreeting?.()
    return failed
  }

  /** A server of before 1995 refuses EHLO and knows HELO (RFC 5321 §3.2). */
  async #greet(): Promise<Failed | null> {
    const { hostname } = this.#options
    this.#extensions = NO_EXTENSIONS
    const ehlo = await this.#talk.ask(`EHLO ${hostname}\r\n`, this.#timeouts.replyMs)
    const failed = judge('ehlo', ehlo)
    if (ehlo.kind === 'failed') return failed
    if (failed === null) this.#extensions = parseExtensions(ehlo.reply.lines)
    if (failed === null || !isPermanent(ehlo)) return failed
    return judge('ehlo', await this.#talk.ask(`HELO ${hostname}\r\n`, this.#timeouts.replyMs))
  }

  async #upgrade(): Promise<Failed | null> {
    const { tls } = this.#options
    if (this.#secured !== null || tls.kind === 'none') return null
    const isOptional = tls.kind === 'opportunistic'
    if (!this.#extensions.starttls) {
      if (isOptional) return null
      return failAt('starttls', tlsFailure('The server does not offer STARTTLS'))
    }
    const answer = await this.#talk.ask('STARTTLS\r\n', this.#timeouts.replyMs)
    const refused = judge('starttls', answer)
    // RFC 3207 §4: after a refusal the client may go on in clear text.
    if (refused?.failure.kind === 'reply' && isOptional && this.#talk.farewell === null) return null
    if (refused !== null) return refused
    // Whoever put it there wants it taken for something said under TLS.
    if (!this.#talk.isInStep) {
      this.#talk.fail(protocolFailure('Clear text followed the answer to STARTTLS'))
      return failAt('starttls', this.#talk.failure ?? ABORTED)
    }
    const socket = this.#talk.release()
    return (await this.#secure(socket, 0)) ?? this.#greet()
  }

  async #secure(plain: Socket, owed: number): Promise<Failed | null> {
    const { tls, servername, trustedCertificates, signal } = this.#options
    const timeoutMs = this.#timeouts.handshakeMs
    const options = { tls, servername, trustedCertificates, signal, timeoutMs }
    const secured = await secure(plain, options)
    if (secured.kind === 'failed') return failAt('tls', secured.failure)
    this.#secured = secured.socket
    this.#isTlsVerified = secured.isVerified
    this.#channel = new Channel(secured.socket, owed, signal)
    return null
  }

  async #authenticate(): Promise<Failed | null> {
    const { credentials, address } = this.#options
    if (!credentials) return null
    if (this.#secured === null && !isLoopback(address)) {
      return failAt('auth', tlsFailure('The password is not sent in clear text'))
    }
    const { auth } = this.#extensions
    const failure = await authenticate(this.#talk, auth, credentials, this.#timeouts.replyMs)
    return failure && failAt('auth', failure)
  }
}

/** Null for 2xx. Other codes below 400 have no meaning at these stages. */
function judge(stage: Stage, answer: Answer): Failed | null {
  if (answer.kind === 'failed') return failAt(stage, answer.failure)
  const { reply } = answer
  if (reply.code >= 200 && reply.code < 300) return null
  const isRefusal = reply.code >= 400
  return failAt(
    stage,
    isRefusal ? { kind: 'reply', reply: toClientReply(reply) } : unexpectedReply(reply),
  )
}

function isPermanent(answer: Answer): boolean {
  return answer.kind === 'answer' && answer.reply.code >= 500 && answer.reply.code < 600
}

function failAt(stage: Stage, failure: Failure): Failed {
  return { kind: 'failed', stage, failure }
}

type Connected = { kind: 'connected'; socket: Socket } | { kind: 'failed'; failure: Failure }

function connectSocket(options: OpenOptions, timeoutMs: number): Promise<Connected> {
  const { address, port, localAddress, signal } = options
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, localAddress, noDelay: true })
    const settle = (connected: Connected) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      if (connected.kind === 'failed') socket.destroy()
      resolve(connected)
    }
    const fail = (failure: Failure) => settle({ kind: 'failed', failure })
    const onAbort = () => fail(ABORTED)
    const timer = setTimeout(() => fail(timeoutFailure('connection', timeoutMs)), timeoutMs)
    // Stays for the life of the socket: settling twice changes nothing, and an error that nobody
    // hears would end the process.
    socket.on('error', (error) => fail(networkFailure(error)))
    socket.once('connect', () => settle({ kind: 'connected', socket }))
    signal?.addEventListener('abort', onAbort)
    if (signal?.aborted) onAbort()
  })
}
