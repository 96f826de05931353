// One mail transaction (RFC 5321 §3.3) over an open channel, pipelined (RFC 2920) if the server
// allows it. The commands are decided before the first octet is written. Each recipient's outcome
// shows whether the server may have accepted the message.

import { writeAddress } from '@mailroom/mail/address.ts'
import { formatMail, formatRcpt } from '@mailroom/mail/smtp/command.ts'
import { endOfData, inspectContent, stuffDots } from '@mailroom/mail/smtp/data.ts'
import type { Extensions, PeerReply } from '@mailroom/mail/smtp/reply.ts'
import {
  type Answer,
  type Channel,
  protocolFailure,
  timeoutFailure,
  toClientReply,
  unexpectedReply,
} from './channel.ts'
import type {
  ClientReply,
  ClientTimeouts,
  Failure,
  OutgoingMail,
  RecipientOutcome,
  Stage,
} from './outgoing-mail.ts'

const SMTP_BLOCK_BYTES = 64 * 1024

type TransactionOptions = {
  readonly channel: Channel
  readonly plan: Plan
  readonly isPipelining: boolean
  /** Whether RSET must be sent first because the previous transaction was left open. */
  readonly needsReset: boolean
  readonly timeouts: ClientTimeouts
}

const START_OF_INPUT = 354

export class Transaction {
  /** Whether the next transaction must start with RSET. */
  isLeftOpen = false
  readonly #options: TransactionOptions
  readonly #channel: Channel
  readonly #outcomes: (RecipientOutcome | null)[]

  constructor(options: TransactionOptions) {
    this.#options = options
    this.#channel = options.channel
    this.#outcomes = options.plan.outcomes
  }

  /** May be called once. The outcomes are in the order of the plan's recipients. */
  async run(): Promise<RecipientOutcome[]> {
    const end = await this.#converse()
    return this.#outcomes.map((outcome) => outcome ?? end)
  }

  /** Returns the outcome for all recipients that have no outcome of their own. */
  async #converse(): Promise<RecipientOutcome> {
    const { plan, isPipelining, needsReset, timeouts } = this.#options
    if (isPipelining) this.#writeAll()
    if (needsReset) {
      const reset = await this.#ask('RSET\r\n', timeouts.replyMs)
      if (reset.kind === 'failed') return unsent('mail', reset.failure)
      if (!isPositive(reset.reply)) return this.#breakOff('mail', unexpectedReply(reset.reply))
    }
    const mail = await this.#ask(plan.mail, timeouts.replyMs)
    if (mail.kind === 'failed') return unsent('mail', mail.failure)
    const isOpen = isPositive(mail.reply)
    if (!isOpen) {
      const refusal = refused('mail', toClientReply(mail.reply))
      if (!isPipelining) return refusal
      this.#settle(refusal)
    }
    this.isLeftOpen = isOpen
    const failure = await this.#nameRecipients()
    if (failure !== null) return unsent('rcpt', failure)
    return this.#deliver()
  }

  #writeAll(): void {
    const { plan, needsReset } = this.#options
    const recipients = plan.recipients.filter((line) => line !== null)
    const reset = needsReset ? 'RSET\r\n' : ''
    const commands = `${reset}${plan.mail}${recipients.join('')}DATA\r\n`
    this.#channel.write(commands, recipients.length + (needsReset ? 3 : 2))
  }

  /** In a pipeline, the command has already been written, so only its reply is read. */
  #ask(command: string, timeoutMs: number): Promise<Answer> {
    return this.#options.isPipelining
      ? this.#channel.read(timeoutMs)
      : this.#channel.ask(command, timeoutMs)
  }

  async #nameRecipients(): Promise<Failure | null> {
    const { plan, timeouts } = this.#options
    for (const [index, line] of plan.recipients.entries()) {
      if (line === null) continue
      const answer = await this.#ask(line, timeouts.replyMs)
      if (answer.kind === 'failed') return answer.failure
      if (!isPositive(answer.reply))
        this.#outcomes[index] ??= refused('rcpt', toClientReply(answer.reply))
    }
    return null
  }

  async #deliver(): Promise<RecipientOutcome> {
    const { isPipelining, timeouts } = this.#options
    const isForNobody = !this.#outcomes.includes(null)
    if (isForNobody && !isPipelining) return NOBODY
    const data = await this.#ask('DATA\r\n', timeouts.dataMs)
    if (data.kind === 'failed') return unsent('data', data.failure)
    const { reply } = data
    if (reply.code === START_OF_INPUT) {
      this.isLeftOpen = false
      return isForNobody ? this.#sendNothing() : this.#sendContent()
    }
    // The server may now read commands as content, or content as commands.
    if (reply.code < 400) return this.#breakOff('data', unexpectedReply(reply))
    return refused('data', toClientReply(reply))
  }

  /** The server accepted DATA without recipients and waits for a dot (RFC 2920 §3.1). */
  async #sendNothing(): Promise<RecipientOutcome> {
    await this.#channel.ask('.\r\n', this.#options.timeouts.finalDotMs)
    return NOBODY
  }

  async #sendContent(): Promise<RecipientOutcome> {
    const { plan, timeouts } = this.#options
    if (plan.raw.length <= SMTP_BLOCK_BYTES) {
      if (!this.#channel.isInStep) return this.#endEarly()
      const content = plan.needsStuffing ? stuffDots(plan.raw, 0, plan.raw.length) : plan.raw
      this.#channel.write(Buffer.concat([content, Buffer.from(endOfData(plan.raw))]), 1)
    } else {
      const failure = await this.#sendBlocks()
      if (failure !== null || !this.#channel.isInStep) return this.#endEarly()
      this.#channel.write(endOfData(plan.raw), 1)
    }
    const answer = await this.#channel.read(timeouts.finalDotMs)
    if (answer.kind === 'failed') return { kind: 'ambiguous', failure: answer.failure }
    const { reply } = answer
    if (isPositive(reply)) return { kind: 'accepted', reply: toClientReply(reply) }
    if (reply.code < 400) this.#channel.fail(unexpectedReply(reply))
    return refused('final-dot', toClientReply(reply))
  }

  /** Sends everything but the final dot, because an earlier reply cannot answer the message. */
  async #sendBlocks(): Promise<Failure | null> {
    const { plan, timeouts } = this.#options
    const { raw } = plan
    const timer = setTimeout(
      () => this.#channel.fail(timeoutFailure('end of the content', timeouts.contentMs)),
      timeouts.contentMs,
    )
    let failure: Failure | null = null
    for (let from = 0; from < raw.length && failure === null; from += SMTP_BLOCK_BYTES) {
      const to = Math.min(from + SMTP_BLOCK_BYTES, raw.length)
      const block = plan.needsStuffing ? stuffDots(raw, from, to) : raw.subarray(from, to)
      failure = await this.#channel.writeBlock(block, timeouts.blockMs)
    }
    clearTimeout(timer)
    return failure
  }

  /**
   * The message was sent only in part. If the server refused it early and disconnected, its refusal
   * is the reply to the transaction, as after the final dot.
   */
  #endEarly(): RecipientOutcome {
    const broken = this.#breakOff('content', OUT_OF_STEP)
    const reply = this.#channel.unasked
    const isRefusal = reply !== null && reply.code >= 400 && reply.code < 600
    return isRefusal && this.#channel.farewell === null
      ? refused('content', toClientReply(reply))
      : broken
  }

  #settle(outcome: RecipientOutcome): void {
    for (const [index, settled] of this.#outcomes.entries()) {
      this.#outcomes[index] = settled ?? outcome
    }
  }

  /** Client and server disagree about the dialogue. A channel failure takes precedence. */
  #breakOff(stage: Stage, failure: Failure): RecipientOutcome {
    this.#channel.fail(failure)
    return unsent(stage, this.#channel.failure ?? failure)
  }
}

const OUT_OF_STEP = protocolFailure('The server replied before the message had been sent')
/** Never returned, because every recipient has an outcome of its own. */
const NOBODY = unsent('data', protocolFailure('No recipient'))

function isPositive(reply: PeerReply): boolean {
  return reply.code >= 200 && reply.code < 300
}

function refused(stage: Stage, reply: ClientReply): RecipientOutcome {
  return { kind: 'refused', stage, reply }
}

function unsent(stage: Stage, failure: Failure): RecipientOutcome {
  return { kind: 'unsent', stage, failure }
}

type Plan = {
  readonly mail: string
  /** The RCPT line of each recipient; null if the recipient already has an outcome. */
  readonly recipients: readonly (string | null)[]
  /** Refusals by the client itself, at the indexes of their recipients. */
  readonly outcomes: (RecipientOutcome | null)[]
  readonly raw: Uint8Array
  readonly needsStuffing: boolean
}

const NO_SENDER = refuse('mail', 501, '5.1.7', 'The sender address is not valid')
const NO_MAILBOX = refuse('rcpt', 501, '5.1.3', 'The recipient address is not valid')
const NOT_CRLF = refuse('content', 554, '5.6.0', 'The message has a CR or LF that is no CRLF')
const UTF8_NEEDED = refuse('mail', 553, '5.6.7', 'The server does not offer SMTPUTF8')

/**
 * The commands of a transaction, or one outcome for all recipients if nothing may be sent because
 * the server could only refuse or misunderstand the message.
 */
export function planTransaction(
  mail: OutgoingMail,
  extensions: Extensions,
): Plan | RecipientOutcome {
  const facts = inspectContent(mail.raw)
  if (!facts.isCrlfOnly) return NOT_CRLF
  const { size } = extensions
  if (size !== null && facts.sizeBytes > size) {
    return refuse('mail', 552, '5.3.4', `The server accepts messages up to ${size} octets`)
  }
  const sender =
    mail.reversePath === ''
      ? { address: '', isInternational: false }
      : writeAddress(mail.reversePath)
  if (sender === null) return NO_SENDER
  const addresses = mail.recipients.map(writeAddress)
  const isSmtpUtf8 =
    mail.needsSmtpUtf8 ||
    sender.isInternational ||
    addresses.some((address) => address?.isInternational)
  if (isSmtpUtf8 && !extensions.smtpUtf8) return UTF8_NEEDED
  return {
    mail: formatMail({
      reversePath: sender.address,
      sizeBytes: extensions.isSizeOffered ? facts.sizeBytes : null,
      // Without 8BITMIME the octets are sent unchanged: modern servers relay them, and rewriting
      // the content would break its signature.
      isEightBit: facts.isEightBit && extensions.eightBitMime,
      isSmtpUtf8,
    }),
    recipients: addresses.map((address) => address && formatRcpt(address.address)),
    outcomes: addresses.map((address) => (address === null ? NO_MAILBOX : null)),
    raw: mail.raw,
    needsStuffing: facts.needsStuffing,
  }
}

function refuse(stage: Stage, code: number, enhanced: string, text: string): RecipientOutcome {
  return refused(stage, { code, enhanced, text })
}
