// An SMTP client (RFC 5321): opens a connection with the required TLS and AUTH, and runs one
// transaction after another. The caller chooses the server and handles refusals.

import { connect, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { isDomainName } from '@mailroom/mail/address.ts'
import type { PeerReply } from '@mailroom/mail/smtp/reply.ts'
import { type Extensions, NO_EXTENSIONS, parseExtensions } from '@mailroom/mail/smtp/reply.ts'
import { isLoopback } from '#client-address.ts'
import {
  ABORTED,
  type Answer,
  Channel,
  CLOSED_BY_US,
  networkFailure,
  protocolFailure,
  timeoutFailure,
  tlsFailure,
  toClientReply,
  unexpectedReply,
} from './channel.ts'
import { secure } from './handshake.ts'
import {
  type ClientTimeouts,
  type Credentials,
  defaultClientTimeouts,
  type Failure,
  type OpenOptions,
  type OutgoingMail,
  type RecipientOutcome,
  type Stage,
} from './outgoing-mail.ts'
import { planTransaction, Transaction } from './transaction.ts'

type Opened =
  | { readonly kind: 'open'; readonly client: SmtpClient }
  | { readonly kind: 'failed'; readonly stage: Stage; readonly failure: Failure }

type Failed = Extract<Opened, { kind: 'failed' }>

/**
 * Connects, sends EHLO, and performs STARTTLS and AUTH, each with its own time limit. Server errors
 * never reject; a failure ends the connection. After a failed opportunistic handshake (`stage` is
 * 'tls'), the caller may reconnect with 'none'. Throws if `hostname` is not valid in EHLO.
 */
export async function openSmtpClient(options: OpenOptions): Promise<Opened> {
  const { hostname } = options
  if (!/^\[[\w.:]+\]$/.test(hostname) && !isDomainName(hostname)) {
    throw new Error(`Not a name for EHLO: ${hostname}`)
  }
  const timeouts = { ...defaultClientTimeouts, ...options.timeouts }
  const opening = new Opening(options, timeouts)
  const failed = await opening.run()
  if (failed === null) return { kind: 'open', client: new SmtpClient(opening.session(), timeouts) }
  opening.leave()
  return failed
}

type Session = {
  readonly channel: Channel
  readonly extensions: Extensions
  readonly tls: string | null
  readonly isTlsVerified: boolean
}

export class SmtpClient {
  /** The TLS version in use, such as `TLSv1.3`; null without TLS. */
  readonly tls: string | null
  /** Whether the certificate was checked, either by PKIX and name or by DANE. */
  readonly isTlsVerified: boolean
  readonly extensions: Extensions
  transactions = 0
  readonly #channel: Channel
  readonly #timeouts: ClientTimeouts
  #isBusy = false
  #needsReset = false
  #quitting: Promise<void> | null = null

  constructor(session: Session, timeouts: ClientTimeouts) {
    this.tls = session.tls
    this.isTlsVerified = session.isTlsVerified
    this.extensions = session.extensions
    this.#channel = session.channel
    this.#timeouts = timeouts
  }

  /** False once the server has closed or sent an unexpected reply, or the client has closed. */
  isUsable(): boolean {
    const { failure, farewell, isInStep } = this.#channel
    const isOpen = failure === null && farewell === null && this.#quitting === null
    return isOpen && (this.#isBusy || isInStep)
  }

  /**
   * Runs one transaction and returns the outcomes in the order of the recipients. Server errors
   * never reject. Throws while another transaction of this client is running.
   */
  async send(mail: OutgoingMail): Promise<RecipientOutcome[]> {
    if (this.#isBusy) throw new Error('An SMTP client runs one transaction at a time')
    if (mail.recipients.length === 0) return []
    const plan = planTransaction(mail, this.extensions)
    if ('kind' in plan) return mail.recipients.map(() => plan)
    if (!plan.outcomes.includes(null)) return plan.outcomes.filter((outcome) => outcome !== null)
    if (!this.isUsable()) {
      const failure = this.#channel.failure ?? this.#channel.farewell ?? CLOSED_BY_US
      return plan.outcomes.map((outcome) => outcome ?? { kind: 'unsent', stage: 'mail', failure })
    }
    const transaction = new Transaction({
      channel: this.#channel,
      plan,
      isPipelining: this.extensions.pipelining,
      needsReset: this.#needsReset,
      timeouts: this.#timeouts,
    })
    this.transactions += 1
    this.#isBusy = true
    try {
      return await transaction.run()
    } finally {
      this.#isBusy = false
      this.#needsReset = transaction.isLeftOpen
    }
  }

  /** Sends QUIT and waits two seconds for the reply. During a transaction, closes immediately. */
  quit(): Promise<void> {
    this.#quitting ??= this.#quit()
    return this.#quitting
  }

  destroy(): void {
    this.#channel.fail(CLOSED_BY_US)
  }

  async #quit(): Promise<void> {
    if (!this.#isBusy) {
      const answer = await this.#channel.ask('QUIT\r\n', this.#timeouts.quitMs)
      if (answer.kind === 'answer') this.#channel.close()
    }
    this.destroy()
  }
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
      (await this.#readGreeting()) ??
      (await this.#greet()) ??
      (await this.#upgrade()) ??
      (await this.#authenticate())
    )
  }

  session(): Session {
    return {
      channel: this.#open,
      extensions: this.#extensions,
      tls: this.#secured?.getProtocol() ?? null,
      isTlsVerified: this.#isTlsVerified,
    }
  }

  /** Sends QUIT if the server can still read it (RFC 5321 §3.1). */
  leave(): void {
    this.#channel?.write('QUIT\r\n', 1)
    this.#channel?.close()
  }

  get #open(): Channel {
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

  async #readGreeting(): Promise<Failed | null> {
    const failed = judge('greeting', await this.#open.read(this.#timeouts.greetingMs))
    if (failed === null) this.#options.onGreeting?.()
    return failed
  }

  /** A server from before 1995 refuses EHLO but supports HELO (RFC 5321 §3.2). */
  async #greet(): Promise<Failed | null> {
    const { hostname } = this.#options
    this.#extensions = NO_EXTENSIONS
    const ehlo = await this.#open.ask(`EHLO ${hostname}\r\n`, this.#timeouts.replyMs)
    const failed = judge('ehlo', ehlo)
    if (ehlo.kind === 'failed') return failed
    if (failed === null) this.#extensions = parseExtensions(ehlo.reply.lines)
    if (failed === null || !isPermanent(ehlo)) return failed
    return judge('ehlo', await this.#open.ask(`HELO ${hostname}\r\n`, this.#timeouts.replyMs))
  }

  async #upgrade(): Promise<Failed | null> {
    const { tls } = this.#options
    if (this.#secured !== null || tls.kind === 'none') return null
    const isOptional = tls.kind === 'opportunistic'
    if (!this.#extensions.starttls) {
      if (isOptional) return null
      return failAt('starttls', tlsFailure('The server does not offer STARTTLS'))
    }
    const answer = await this.#open.ask('STARTTLS\r\n', this.#timeouts.replyMs)
    const refused = judge('starttls', answer)
    // After a refusal, the client may continue in clear text (RFC 3207 §4).
    if (refused?.failure.kind === 'reply' && isOptional && this.#open.farewell === null) return null
    if (refused !== null) return refused
    // An attacker may have inserted these octets, to be read as if they had arrived under TLS.
    if (!this.#open.isInStep) {
      this.#open.fail(protocolFailure('Clear text followed the answer to STARTTLS'))
      return failAt('starttls', this.#open.failure ?? ABORTED)
    }
    const socket = this.#open.release()
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
    const failure = await authenticate(this.#open, auth, credentials, this.#timeouts.replyMs)
    return failure && failAt('auth', failure)
  }
}

/** Null for 2xx. Other codes below 400 have no meaning at these stages. */
function judge(stage: Stage, answer: Answer): Failed | null {
  if (answer.kind === 'failed') return failAt(stage, answer.failure)
  const { reply } = answer
  if (reply.code >= 200 && reply.code < 300) return null
  return failAt(stage, reply.code < 400 ? unexpectedReply(reply) : refusal(reply))
}

function refusal(reply: PeerReply): Failure {
  return { kind: 'reply', reply: toClientReply(reply) }
}

function isPermanent(answer: Answer): boolean {
  return answer.kind === 'answer' && answer.reply.code >= 500 && answer.reply.code < 600
}

function failAt(stage: Stage, failure: Failure): Failed {
  return { kind: 'failed', stage, failure }
}

type Connected = { kind: 'connected'; socket: Socket } | { kind: 'failed'; failure: Failure }

function connectSocket(options: OpenOptions, timeoutMs: number): Promise<Connected> {
  const { address, port, signal } = options
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, noDelay: true })
    const settle = (connected: Connected) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      if (connected.kind === 'failed') socket.destroy()
      resolve(connected)
    }
    const fail = (failure: Failure) => settle({ kind: 'failed', failure })
    const onAbort = () => fail(ABORTED)
    const timer = setTimeout(() => fail(timeoutFailure('connection', timeoutMs)), timeoutMs)
    // The listener is never removed: an error without a listener would end the process, and
    // settling twice has no effect.
    socket.on('error', (error) => fail(networkFailure(error)))
    socket.once('connect', () => settle({ kind: 'connected', socket }))
    signal?.addEventListener('abort', onAbort)
    if (signal?.aborted) onAbort()
  })
}

/**
 * Runs AUTH (RFC 4954) with PLAIN (RFC 4616) or LOGIN; returns null if the server accepts the
 * credentials. The failure never contains the password, even if the server echoes it. `mechanisms`
 * are in upper case.
 */
async function authenticate(
  channel: Channel,
  mechanisms: readonly string[],
  credentials: Credentials,
  timeoutMs: number,
): Promise<Failure | null> {
  const { user, password } = credentials
  const plain = base64(`\0${user}\0${password}`)
  const secrets = [password, plain, base64(password)].filter((secret) => secret !== '')
  if (mechanisms.includes('PLAIN') && !`${user}${password}`.includes('\0')) {
    return judgeAuth(await channel.ask(`AUTH PLAIN ${plain}\r\n`, timeoutMs), 2, secrets)
  }
  if (!mechanisms.includes('LOGIN')) {
    return protocolFailure('The server offers neither AUTH PLAIN nor AUTH LOGIN')
  }
  return (
    judgeAuth(await channel.ask('AUTH LOGIN\r\n', timeoutMs), 3, secrets) ??
    judgeAuth(await channel.ask(`${base64(user)}\r\n`, timeoutMs), 3, secrets) ??
    judgeAuth(await channel.ask(`${base64(password)}\r\n`, timeoutMs), 2, secrets)
  )
}

function judgeAuth(answer: Answer, digit: 2 | 3, secrets: readonly string[]): Failure | null {
  if (answer.kind === 'failed') return answer.failure
  const first = Math.floor(answer.reply.code / 100)
  if (first === digit) return null
  const reply = redact(answer.reply, secrets)
  return first === 2 || first === 3 ? unexpectedReply(reply) : refusal(reply)
}

function redact(reply: PeerReply, secrets: readonly string[]): PeerReply {
  const lines = reply.lines.map((line) =>
    secrets.reduce((text, secret) => text.replaceAll(secret, '***'), line),
  )
  return { code: reply.code, lines }
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64')
}
