// A client of other people's mail servers (RFC 5321): opens a connection, brings TLS and AUTH up as
// the caller demands, and carries one transaction after another. Which server, and what becomes of
// a refusal, is the caller's business.

import type { Extensions } from '@mailroom/mail/smtp/reply.ts'
import type { Credentials } from './authenticate.ts'
import type { Channel } from './channel.ts'
import { type ClientTimeouts, defaultClientTimeouts } from './client-timeouts.ts'
import type { TlsaRecord } from './dane.ts'
import { CLOSED_BY_US, type ClientReply, type Failure } from './failure.ts'
import { openSession, type Session } from './open-session.ts'
import type { OpenOptions, OutgoingMail, RecipientOutcome, Stage } from './outgoing-mail.ts'
import { planTransaction } from './plan.ts'
import { Transaction } from './transaction.ts'

export type { ClientReply, ClientTimeouts, Credentials, Extensions, Failure, TlsaRecord }

export type SmtpClient = {
  /** The protocol in use, as `TLSv1.3`, or null. */
  readonly tls: string | null
  /** The certificate was checked, by PKIX and name or by DANE. */
  readonly isTlsVerified: boolean
  readonly extensions: Extensions
  /** Begun on this connection so far. */
  readonly transactions: number
  /** False once the server has closed or spoken out of turn, or we have closed. */
  isUsable(): boolean
  /**
   * One transaction; outcomes in the order of the recipients. Never rejects for what a server does.
   * Throws while another transaction of this client is under way.
   */
  send(mail: OutgoingMail): Promise<RecipientOutcome[]>
  /** QUIT with at most two seconds for its answer, then gone; within a transaction at once. */
  quit(): Promise<void>
  destroy(): void
}

export type Opened =
  | { readonly kind: 'open'; readonly client: SmtpClient }
  | { readonly kind: 'failed'; readonly stage: Stage; readonly failure: Failure }

/**
 * Connects, greets, and brings up TLS and AUTH. Never rejects for what a server does. After a failed
 * opportunistic handshake (`stage` is 'tls') the caller may open again with 'none'. Throws when
 * `hostname` is no name for EHLO.
 */
export async function openSmtpClient(options: OpenOptions): Promise<Opened> {
  const timeouts = { ...defaultClientTimeouts, ...options.timeouts }
  const opened = await openSession(options, timeouts)
  if (opened.kind === 'failed') return opened
  return { kind: 'open', client: new Client(opened.session, timeouts) }
}

class Client implements SmtpClient {
  readonly tls: string | null
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

  isUsable(): boolean {
    const { failure, farewell, isInStep } = this.#channel
    const isOpen = failure === null && farewell === null && this.#quitting === null
    return isOpen && (this.#isBusy || isInStep)
  }

  async send(mail: OutgoingMail): Promise<RecipientOutcome[]> {
    if (this.#isBusy) throw new Error('An SMTP client carries one transaction at a time')
    if (mail.recipients.length === 0) return []
    const planned = planTransaction(mail, this.extensions)
    if (planned.kind === 'refused') return mail.recipients.map(() => planned.outcome)
    const { plan } = planned
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
