// One mail transaction (RFC 5321 §3.3) over an open channel, pipelined (RFC 2920) where the server
// allows it. It knows at every moment what the server may have accepted, and says so for each
// recipient, whatever happens.

import { endOfData, stuffDots } from '@mailroom/mail/smtp/data.ts'
import type { PeerReply } from '@mailroom/mail/smtp/reply.ts'
import type { Answer, Channel } from './channel.ts'
import type { ClientTimeouts } from './client-timeouts.ts'
import {
  type Failure,
  protocolFailure,
  timeoutFailure,
  toClientReply,
  unexpectedReply,
} from './failure.ts'
import type { RecipientOutcome, Stage } from './outgoing-mail.ts'
import type { Plan } from './plan.ts'

const SMTP_BLOCK_BYTES = 64 * 1024

export type TransactionOptions = {
  readonly channel: Channel
  readonly plan: Plan
  readonly isPipelining: boolean
  /** The transaction before was left open: RSET goes first. */
  readonly needsReset: boolean
  readonly timeouts: ClientTimeouts
}

const START_OF_INPUT = 354

export class Transaction {
  /** It was left open, so that the next one must begin with RSET. */
  isLeftOpen = false
  readonly #options: TransactionOptions
  readonly #channel: Channel
  readonly #outcomes: (RecipientOutcome | null)[]

  constructor(options: TransactionOptions) {
    this.#options = options
    this.#channel = options.channel
    this.#outcomes = options.plan.outcomes
  }

  /** Once only. The outcomes are in the order of the plan's recipients. */
  async run(): Promise<RecipientOutcome[]> {
    const end = await this.#converse()
    return this.#outcomes.map((outcome) => outcome ?? end)
  }

  /** The outcome of all recipients that have none of their own. */
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
      const refusal = refused('mail', mail.reply)
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

  /** In a pipeline the command has been written with all others, and only its reply is read. */
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
      if (!isPositive(answer.reply)) this.#outcomes[index] ??= refused('rcpt', answer.reply)
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
    // The server may now take commands for content or the other way round.
    if (reply.code < 400) return this.#breakOff('data', unexpectedReply(reply))
    return refused('data', reply)
  }

  /** RFC 2920 §3.1: DATA was accepted although no recipient was; the server waits for a dot. */
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
    return refused('final-dot', reply)
  }

  /** All but the final dot: while any of it is on its way, no reply can be the one to the message. */
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
   * The message did not get through. A server that wants no more of it may say so before its end and
   * hang up: its words are the answer to the transaction then, as they would be after the final dot.
   */
  #endEarly(): RecipientOutcome {
    const broken = this.#breakOff('content', OUT_OF_STEP)
    const reply = this.#channel.unasked
    const isRefusal = reply !== null && reply.code >= 400 && reply.code < 600
    return isRefusal && this.#channel.farewell === null ? refused('content', reply) : broken
  }

  #settle(outcome: RecipientOutcome): void {
    for (const [index, settled] of this.#outcomes.entries()) {
      this.#outcomes[index] = settled ?? outcome
    }
  }

  /** The two sides do not agree on where they are; what the channel itself has noticed comes first. */
  #breakOff(stage: Stage, failure: Failure): RecipientOutcome {
    this.#channel.fail(failure)
    return unsent(stage, this.#channel.failure ?? failure)
  }
}

const OUT_OF_STEP = protocolFailure('The server replied before the message had been sent')
/** Stands in no list: every recipient has an outcome of its own. */
const NOBODY = unsent('data', protocolFailure('No recipient'))

function isPositive(reply: PeerReply): boolean {
  return reply.code >= 200 && reply.code < 300
}

function refused(stage: Stage, reply: PeerReply): RecipientOutcome {
  return { kind: 'refused', stage, reply: toClientReply(reply) }
}

function unsent(stage: Stage, failure: Failure): RecipientOutcome {
  return { kind: 'unsent', stage, failure }
}
