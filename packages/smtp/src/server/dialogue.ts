// RFC 5321 from the server's side: octets in, replies and calls of the receiver out. A state machine
// that knows neither sockets nor timers; its connection brings both.

import {
  type Command,
  CommandDecoder,
  type DecodedLine,
  type LineDefect,
  parseCommand,
} from '@mailroom/mail/smtp/command.ts'
import { formatReply, type Reply, reply } from '@mailroom/mail/smtp/reply.ts'
import { clientGroup } from '#client-address.ts'
import type { Clock } from '#clock.ts'
import { Deadlines } from './deadlines.ts'
import { hasIntakeRoom, type IntakeBudget, MessageIntake } from './message-intake.ts'
import type { CountOutcome, CutReason, SmtpLog } from './outcome.ts'
import * as replies from './replies.ts'
import type { Client, Envelope, MailReceiver } from './session.ts'
import type { SmtpLimits } from './smtp-limits.ts'

/** What all dialogues of one listener share. */
export type DialogueService = {
  readonly hostname: string
  readonly receiver: MailReceiver
  readonly limits: SmtpLimits
  readonly clock: Clock
  readonly log: SmtpLog
  readonly count: CountOutcome
  readonly offersTls: boolean
  readonly intake: IntakeBudget
}

/** What a dialogue asks of its connection. */
export type Wire = {
  write(replies: string): void
  /** Whether so many replies lie unread that no further command should be answered. */
  isCongested(): boolean
  /** Whether octets that arrive are wanted now; false while some are waiting here. */
  setReading(isReading: boolean): void
  /** Called after the reply to STARTTLS was written; `secured` follows when TLS is up. */
  startTls(): void
  /** Nothing will be written any more. */
  end(): void
  /** The dialogue broke: an error of ours that must cost this connection only. */
  fail(error: unknown): void
}

type Mode = 'greeting' | 'command' | 'data' | 'recipient' | 'message' | 'handshake' | 'closed'
type Transaction = Envelope & { readonly recipients: string[]; hasRefused: boolean }

/** Replies are written together, but not more than this before the connection is asked again. */
const BATCH_BYTES = 8 * 1024

export class Dialogue {
  readonly #service: DialogueService
  readonly #wire: Wire
  readonly #lines: CommandDecoder
  readonly #deadlines: Deadlines
  /** Whom it shares bounds with. */
  readonly #group: string
  #client: Client
  #mode: Mode = 'greeting'
  #transaction: Transaction | null = null
  #intake: MessageIntake | null = null
  #rest: Buffer[] = []
  #replies = ''
  #hasInputEnded = false
  #isDraining = false
  #idleCommands = 0
  #refusedRecipients = 0

  constructor(service: DialogueService, wire: Wire, address: string, port: number) {
    this.#service = service
    this.#wire = wire
    this.#lines = new CommandDecoder(service.limits.commandLineBytesMax)
    this.#client = { address, port, helo: '', isExtended: false, tls: null }
    this.#group = clientGroup(address)
    this.#deadlines = new Deadlines(service.limits, service.clock.monotonic())
  }

  /** Sends the greeting unless the client spoke first. */
  greet(): void {
    if (this.#mode !== 'greeting') return
    this.#mode = 'command'
    this.#send(reply(220, '', `${this.#service.hostname} ESMTP Mailroom`))
    this.#proceed()
  }

  /** Octets from the client, in the clear or out of TLS. The chunk must not change afterwards. */
  receive(chunk: Buffer): void {
    if (this.#mode === 'greeting') {
      this.#cut('early-talker')
      return
    }
    if (this.#mode === 'closed' || this.#mode === 'handshake') return
    if (this.#mode === 'data') this.#deadlines.countData(chunk.length)
    this.#rest.push(chunk)
    this.#proceed()
  }

  /** The client sends nothing more. What it sent before is still carried out and answered. */
  endInput(): void {
    this.#hasInputEnded = true
    this.#proceed()
  }

  /** Replies have left; commands that had to wait may go on. */
  resume(): void {
    this.#proceed()
  }

  /** The connection is gone, whatever the reason. */
  drop(): void {
    this.#close()
  }

  /** STARTTLS is complete: nothing said in clear text counts any more (RFC 3207 §4.2). */
  secured(protocol: string): void {
    if (this.#mode !== 'handshake') return
    this.#client = { ...this.#client, helo: '', isExtended: false, tls: protocol }
    this.#transaction = null
    this.#mode = 'command'
    this.#giveTurn()
  }

  /** Cuts the connection when a deadline has passed; called about once a second. */
  checkDeadlines(nowMs: number): void {
    if (this.#mode === 'closed') return
    this.#intake?.sweep(nowMs)
    const phase = this.#isAsking() ? 'answer' : this.#mode === 'data' ? 'data' : 'command'
    const passed = this.#deadlines.findPassed(phase, nowMs)
    if (passed !== null) this.#cut(passed)
  }

  /**
   * How long the client has been waited for, or its message has hardly gone on. Null while it is we who are
   * waited for, and while a message comes in.
   */
  idleMs(nowMs: number): number | null {
    if (this.#mode === 'closed' || this.#isAsking()) return null
    if (this.#mode !== 'data') return this.#deadlines.waitedMs(nowMs)
    return this.#intake?.isSlow === true ? nowMs - this.#intake.startedMs : null
  }

  /** Others need what it holds. */
  giveWay(): void {
    this.#cut('crowded-out')
  }

  /** Service ends: a message on its way may still finish, everything else is cut now. */
  drain(): void {
    this.#isDraining = true
    if (this.#mode !== 'data' && this.#mode !== 'message') this.#cut('shutdown')
  }

  /** Service has ended: also a message on its way is cut. */
  abandon(): void {
    this.#cut('shutdown')
  }

  #isAsking(): boolean {
    return this.#mode === 'recipient' || this.#mode === 'message'
  }

  #proceed(): void {
    while (this.#rest.length > 0) {
      const chunk = this.#rest.shift()
      if (chunk === undefined) break
      const offset = this.#consume(chunk)
      if (offset < chunk.length) {
        this.#rest.unshift(chunk.subarray(offset))
        break
      }
    }
    if (this.#mode === 'closed' || this.#mode === 'handshake') this.#rest = []
    this.#flush()
    if (this.#mode === 'closed' || this.#mode === 'handshake') return
    if (this.#hasInputEnded && this.#rest.length === 0 && !this.#isAsking()) this.#finish(null)
    else this.#wire.setReading(this.#rest.length === 0)
  }

  #consume(chunk: Buffer): number {
    let offset = 0
    while (offset < chunk.length) {
      if (this.#mode === 'data') {
        offset = this.#readData(chunk, offset)
      } else if (this.#mode === 'command') {
        if (this.#replies.length >= BATCH_BYTES) this.#flush()
        if (this.#wire.isCongested()) return offset
        const line = this.#lines.decode(chunk, offset)
        offset = this.#lines.end
        if (line !== null) this.#takeLine(line)
      } else {
        return offset
      }
    }
    return offset
  }

  #takeLine(line: DecodedLine): void {
    this.#giveTurn()
    if (line.kind === 'malformed' && line.defect === 'flood') {
      this.#cut('flood')
      return
    }
    const answer =
      line.kind === 'line'
        ? this.#obey(parseCommand(line.text))
        : replies.LINE_REPLIES[line.defect as Exclude<LineDefect, 'flood'>]
    if (answer === null) return
    const movesMail = answer === replies.SENDER_OK || answer === replies.START_DATA
    if (movesMail) this.#send(answer)
    else this.#answerIdle(answer)
  }

  /** The reply, or null where it has been given already or follows later. */
  #obey(command: Command): Reply | null {
    switch (command.verb) {
      case 'MAIL':
        return this.#beginTransaction(command)
      case 'RCPT':
        return this.#addRecipient(command.recipient, command.isInternational)
      case 'DATA':
        return this.#beginData()
      case 'EHLO':
      case 'HELO':
        return this.#introduce(command.name, command.verb === 'EHLO')
      case 'RSET':
        this.#transaction = null
        return replies.OK
      case 'NOOP':
        return replies.OK
      case 'HELP':
        return replies.HELP
      case 'VRFY':
        return replies.CANNOT_VERIFY
      case 'STARTTLS':
        return this.#startTls()
      case 'QUIT':
        this.#finish(replies.GOODBYE)
        return null
      case 'HTTP':
        this.#cut('http')
        return null
      case 'refused':
        return command.reply
    }
  }

  #introduce(name: string, isExtended: boolean): Reply {
    const { hostname, limits, offersTls } = this.#service
    this.#client = { ...this.#client, helo: name, isExtended }
    this.#transaction = null
    const lines = [hostname]
    if (isExtended) {
      lines.push('PIPELINING', `SIZE ${limits.messageBytesMax}`)
      if (offersTls && this.#client.tls === null) lines.push('STARTTLS')
      lines.push('ENHANCEDSTATUSCODES', '8BITMIME', 'SMTPUTF8')
    }
    return reply(250, '', lines)
  }

  #startTls(): Reply | null {
    if (this.#client.tls !== null) return replies.TLS_TWICE
    if (!this.#service.offersTls) return replies.NO_TLS
    this.#answerIdle(replies.START_TLS)
    if (this.#mode !== 'command') return null
    this.#flush()
    this.#mode = 'handshake'
    this.#wire.startTls()
    return null
  }

  #beginTransaction(command: Extract<Command, { verb: 'MAIL' }>): Reply | null {
    if (this.#client.helo === '') return replies.GREET_FIRST
    if (this.#transaction !== null) return replies.MAIL_TWICE
    if (command.sizeBytes > this.#service.limits.messageBytesMax) return replies.TOO_BIG
    const obstacle = this.#findObstacle('sender')
    if (obstacle !== null) {
      // Not counted as idle: it is no fault of the client.
      this.#send(obstacle)
      return null
    }
    this.#transaction = {
      reversePath: command.reversePath,
      recipients: [],
      isSmtpUtf8: command.isSmtpUtf8,
      body: command.body,
      hasRefused: false,
    }
    return replies.SENDER_OK
  }

  #addRecipient(recipient: string, isInternational: boolean): Reply | null {
    const transaction = this.#transaction
    if (this.#client.helo === '') return replies.GREET_FIRST
    if (transaction === null) return replies.MAIL_FIRST
    if (isInternational && !transaction.isSmtpUtf8) return replies.UTF8_NEEDED
    if (transaction.recipients.length >= this.#service.limits.recipientsMax) {
      // Not counted as idle: RFC 5321 §4.5.3.1.10 has honest clients run into this.
      this.#service.count({ kind: 'recipient-refused', code: replies.TOO_MANY_RECIPIENTS.code })
      this.#send(replies.TOO_MANY_RECIPIENTS)
      return null
    }
    this.#ask(
      'recipient',
      () => this.#service.receiver.checkRecipient(recipient, transaction, this.#client),
      (answer) => this.#settleRecipient(transaction, recipient, answer),
    )
    return null
  }

  #settleRecipient(transaction: Transaction, recipient: string, answer: Reply): void {
    if (this.#mode === 'closed') return
    if (answer.code < 300) {
      transaction.recipients.push(recipient)
      this.#service.count({ kind: 'recipient-accepted' })
    } else {
      transaction.hasRefused = true
      this.#service.count({ kind: 'recipient-refused', code: answer.code })
      if (answer.code >= 500) this.#refusedRecipients += 1
    }
    const { refusedRecipientsMax } = this.#service.limits
    if (this.#refusedRecipients > refusedRecipientsMax) this.#cut('refused-recipients')
    else this.#send(answer)
  }

  #beginData(): Reply {
    const transaction = this.#transaction
    if (this.#client.helo === '') return replies.GREET_FIRST
    if (transaction === null) return replies.MAIL_FIRST
    if (transaction.recipients.length === 0) {
      return transaction.hasRefused ? replies.NO_RECIPIENTS : replies.RCPT_FIRST
    }
    const { limits, intake } = this.#service
    if (!hasIntakeRoom(intake, limits, this.#group)) return this.#refuse(replies.NO_MEMORY)
    const obstacle = this.#findObstacle('content')
    if (obstacle !== null) {
      // The next MAIL is that of the next try, also from whoever does not say RSET before.
      this.#transaction = null
      return obstacle
    }
    this.#intake = new MessageIntake(this.#service, {
      address: this.#group,
      nowMs: this.#service.clock.monotonic(),
      giveWay: () => this.giveWay(),
    })
    this.#mode = 'data'
    return replies.START_DATA
  }

  /** Why no message may come now, and that it was so. */
  #findObstacle(stage: 'sender' | 'content'): Reply | null {
    const { receiver, intake } = this.#service
    const obstacle = receiver.findObstacle?.(stage, intake.messages) ?? null
    return obstacle && this.#refuse(obstacle)
  }

  #refuse(answer: Reply): Reply {
    this.#service.count({ kind: 'message-refused', code: answer.code })
    return answer
  }

  #readData(chunk: Buffer, offset: number): number {
    const intake = this.#intake
    if (intake === null) return chunk.length
    const end = intake.read(chunk, offset)
    if (intake.isComplete) this.#finishData(intake)
    return end
  }

  // Refused only now, at the real end: whatever follows is commands again, for both sides.
  #finishData(intake: MessageIntake): void {
    const transaction = this.#transaction
    this.#intake = null
    this.#transaction = null
    this.#mode = 'command'
    this.#giveTurn()
    if (transaction === null) return
    const { refusal, content } = intake
    if (refusal !== null) {
      this.#settleMessage(transaction, intake, refusal)
      return
    }
    this.#ask(
      'message',
      () => this.#service.receiver.receiveMessage(content, transaction, this.#client),
      (answer) => this.#settleMessage(transaction, intake, answer),
    )
  }

  // Also when the client is gone by now: its message is stored or not, and is counted so.
  #settleMessage(envelope: Envelope, intake: MessageIntake, answer: Reply): void {
    intake.release()
    if (answer.code < 300) {
      const { sizeBytes, bareLineFeeds } = intake.content
      const recipients = envelope.recipients.length
      this.#service.count({ kind: 'message-accepted', sizeBytes, recipients, bareLineFeeds })
      this.#idleCommands = 0
    } else {
      this.#service.count({ kind: 'message-refused', code: answer.code })
      this.#idleCommands += 1
    }
    this.#send(answer)
    if (this.#isDraining) this.#cut('shutdown')
    else if (this.#idleCommands > this.#service.limits.idleCommandsMax) this.#cut('idle-commands')
  }

  /** Asks the receiver; the client waits, but not for a microtask when the answer is there. */
  #ask(
    mode: 'recipient' | 'message',
    question: () => Reply | Promise<Reply>,
    settle: (answer: Reply) => void,
  ): void {
    let answer: Reply | Promise<Reply>
    try {
      answer = question()
    } catch (error) {
      answer = this.#reportFailure(mode, error)
    }
    if (!(answer instanceof Promise)) {
      settle(answer)
      return
    }
    this.#mode = mode
    answer
      .catch((error: unknown) => this.#reportFailure(mode, error))
      .then((late) => {
        if (this.#mode === mode) {
          this.#mode = 'command'
          this.#giveTurn()
        }
        settle(late)
        this.#proceed()
      })
      .catch((error: unknown) => this.#wire.fail(error))
  }

  #reportFailure(mode: 'recipient' | 'message', error: unknown): Reply {
    const { address } = this.#client
    this.#service.log.error({ error, address, question: mode }, 'SMTP receiver failed')
    return replies.LOCAL_ERROR
  }

  #answerIdle(answer: Reply): void {
    this.#idleCommands += 1
    if (this.#idleCommands > this.#service.limits.idleCommandsMax) this.#cut('idle-commands')
    else this.#send(answer)
  }

  #cut(reason: CutReason): void {
    if (this.#mode === 'closed') return
    this.#service.count({ kind: 'connection-cut', reason })
    // A 421 in clear text would only spoil a handshake.
    this.#finish(
      this.#mode === 'handshake' ? null : replies.cutReply(this.#service.hostname, reason),
    )
  }

  #finish(last: Reply | null): void {
    if (last !== null) this.#send(last)
    this.#flush()
    this.#close()
    this.#wire.end()
  }

  #close(): void {
    if (this.#mode === 'data') this.#service.count({ kind: 'message-aborted' })
    // A message that the receiver is storing is no longer here: settling it releases its memory.
    this.#intake?.release()
    this.#intake = null
    this.#mode = 'closed'
    this.#transaction = null
    this.#rest = []
  }

  #giveTurn(): void {
    this.#deadlines.giveTurn(this.#service.clock.monotonic())
  }

  #send(answer: Reply): void {
    if (this.#mode !== 'closed') this.#replies += formatReply(answer)
  }

  #flush(): void {
    if (this.#replies === '') return
    const text = this.#replies
    this.#replies = ''
    this.#wire.write(text)
  }
}
