// The server side of RFC 5321 as a state machine: reads octets, writes replies and calls the
// receiver. The connection provides sockets and timers.

import {
  type Command,
  CommandDecoder,
  type DecodedLine,
  type LineDefect,
  parseCommand,
} from '@mailroom/mail/smtp/command.ts'
import { formatReply, type Reply, reply } from '@mailroom/mail/smtp/reply.ts'
import { clientGroup } from '#client-address.ts'
import { hasIntakeRoom, type IntakeBudget, MessageIntake } from './message-intake.ts'
import * as replies from './replies.ts'
import type {
  Answered,
  Client,
  Clock,
  CountOutcome,
  CutReason,
  Envelope,
  MailReceiver,
  SmtpLimits,
  SmtpLog,
} from './session.ts'

/** Shared by all dialogues of one listener. */
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

/** The connection as the dialogue uses it. */
export type Wire = {
  write(replies: string): void
  /** Whether too many replies are unsent to answer another command. */
  isCongested(): boolean
  /** Called with false while received octets are waiting in the dialogue. */
  setReading(isReading: boolean): void
  /** Called after the reply to STARTTLS; `secured` is called once TLS is established. */
  startTls(): void
  /** Called when no more octets will be written. */
  end(): void
  /** Called for an internal error, which must end only this connection. */
  fail(error: unknown): void
}

type Mode = 'greeting' | 'command' | 'data' | 'recipient' | 'message' | 'handshake' | 'closed'
type Transaction = Envelope & { readonly recipients: string[]; hasRefused: boolean }

/** Replies are batched up to this size between two checks of `isCongested`. */
const BATCH_BYTES = 8 * 1024

export class Dialogue {
  readonly #service: DialogueService
  readonly #wire: Wire
  readonly #lines: CommandDecoder
  readonly #deadlines: Deadlines
  /** Client addresses in one group share limits. */
  readonly #group: string
  #client: Client
  #mode: Mode = 'greeting'
  #transaction: Transaction | null = null
  #intake: MessageIntake | null = null
  #rest: Buffer[] = []
  #replies = ''
  #hasInputEnded = false
  #onLost: (() => void) | null = null
  readonly #answered: Answered = {
    isGone: () => this.#mode === 'closed' || (this.#hasInputEnded && this.#rest.length === 0),
    onLost: (report) => {
      this.#onLost = report
    },
  }
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

  /** Sends the greeting unless the client has already sent something. */
  greet(): void {
    if (this.#mode !== 'greeting') return
    this.#mode = 'command'
    this.#send(reply(220, '', `${this.#service.hostname} ESMTP Mailroom`))
    this.resume()
  }

  /** Accepts decrypted octets from the client. The chunk must not be modified afterwards. */
  receive(chunk: Buffer): void {
    if (this.#mode === 'greeting') {
      this.cut('early-talker')
      return
    }
    if (this.#mode === 'closed' || this.#mode === 'handshake') return
    if (this.#mode === 'data') this.#deadlines.countData(chunk.length)
    this.#rest.push(chunk)
    this.resume()
  }

  /** Called when the client has closed its side. Earlier commands are still answered. */
  endInput(): void {
    this.#hasInputEnded = true
    this.resume()
  }

  /** Called when STARTTLS is complete. Discards the state from before it (RFC 3207 §4.2). */
  secured(protocol: string): void {
    if (this.#mode !== 'handshake') return
    this.#client = { ...this.#client, helo: '', isExtended: false, tls: protocol }
    this.#transaction = null
    this.#mode = 'command'
    this.#startWaiting()
  }

  /** Closes the connection if a deadline has passed; called about once a second. */
  checkDeadlines(nowMs: number): void {
    if (this.#mode === 'closed') return
    this.#intake?.sweep(nowMs)
    const phase = this.#awaitsReceiver() ? 'answer' : this.#mode === 'data' ? 'data' : 'command'
    const passed = this.#deadlines.findPassed(phase, nowMs)
    if (passed !== null) this.cut(passed)
  }

  /**
   * How long the server has waited for the client or its slow message. Null while the client waits
   * for the server, and while a message arrives fast enough.
   */
  idleMs(nowMs: number): number | null {
    if (this.#mode === 'closed' || this.#awaitsReceiver()) return null
    if (this.#mode !== 'data') return this.#deadlines.waitedMs(nowMs)
    return this.#intake?.isSlow === true ? nowMs - this.#intake.startedMs : null
  }

  /** Shuts down: a message that is being received may finish; anything else is closed at once. */
  drain(): void {
    this.#isDraining = true
    if (this.#mode !== 'data' && this.#mode !== 'message') this.cut('shutdown')
  }

  #awaitsReceiver(): boolean {
    return this.#mode === 'recipient' || this.#mode === 'message'
  }

  /** Continues with octets that had to wait. Also called after replies were sent. */
  resume(): void {
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
    if (this.#hasInputEnded && this.#rest.length === 0 && !this.#awaitsReceiver())
      this.#finish(null)
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
        if (line !== null) this.#readLine(line)
      } else {
        return offset
      }
    }
    return offset
  }

  #readLine(line: DecodedLine): void {
    this.#startWaiting()
    this.#onLost = null
    if (line.kind === 'malformed' && line.defect === 'flood') {
      this.cut('flood')
      return
    }
    const answer =
      line.kind === 'line'
        ? this.#execute(parseCommand(line.text))
        : replies.LINE_REPLIES[line.defect as Exclude<LineDefect, 'flood'>]
    if (answer === null) return
    const movesMail = answer === replies.SENDER_OK || answer === replies.START_DATA
    if (movesMail) this.#send(answer)
    else this.#answerIdle(answer)
  }

  /** The reply, or null if it was already sent or follows later. */
  #execute(command: Command): Reply | null {
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
        this.cut('http')
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
      // The client is not at fault, so the command is not counted as idle.
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
      // Honest clients reach this limit (RFC 5321 §4.5.3.1.10), so this is not an idle command.
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
    if (this.#refusedRecipients > refusedRecipientsMax) this.cut('refused-recipients')
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
      // The client may retry MAIL without RSET.
      this.#transaction = null
      return obstacle
    }
    this.#intake = new MessageIntake(this.#service, {
      address: this.#group,
      nowMs: this.#service.clock.monotonic(),
      evict: () => this.cut('crowded-out'),
    })
    this.#mode = 'data'
    return replies.START_DATA
  }

  /** The receiver's reply if it accepts no message at present; counts the refusal. */
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

  // A refusal waits for the end of the data, after which both sides read commands again.
  #finishData(intake: MessageIntake): void {
    const transaction = this.#transaction
    this.#intake = null
    this.#transaction = null
    this.#mode = 'command'
    this.#startWaiting()
    if (transaction === null) return
    const { refusal, content } = intake
    if (refusal !== null) {
      this.#settleMessage(transaction, intake, refusal)
      return
    }
    this.#ask(
      'message',
      () =>
        this.#service.receiver.receiveMessage(content, transaction, this.#client, this.#answered),
      (answer) => this.#settleMessage(transaction, intake, answer),
    )
  }

  // Also runs after the client has disconnected, to record whether the message was stored.
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
    if (this.#answered.isGone()) this.#reportLost()
    if (this.#isDraining) this.cut('shutdown')
    else if (this.#idleCommands > this.#service.limits.idleCommandsMax) this.cut('idle-commands')
  }

  /** Calls the receiver. A synchronous answer is used without a microtask. */
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
          this.#startWaiting()
        }
        settle(late)
        this.resume()
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
    if (this.#idleCommands > this.#service.limits.idleCommandsMax) this.cut('idle-commands')
    else this.#send(answer)
  }

  /** Closes the connection with 421. */
  cut(reason: CutReason): void {
    if (this.#mode === 'closed') return
    this.#service.count({ kind: 'connection-cut', reason })
    // The client is still connected and gets its reply, but has no time for another command.
    if (reason === 'shutdown') this.#onLost = null
    // During a handshake, a 421 in clear text would only break the handshake.
    this.#finish(
      this.#mode === 'handshake' ? null : replies.cutReply(this.#service.hostname, reason),
    )
  }

  #finish(last: Reply | null): void {
    if (last !== null) this.#send(last)
    this.#flush()
    this.close()
    this.#wire.end()
  }

  /** Must be called when the connection has ended for any reason. */
  close(): void {
    if (!this.#awaitsReceiver()) this.#reportLost()
    if (this.#mode === 'data') this.#service.count({ kind: 'message-aborted' })
    // A message being stored is no longer in #intake; its memory is released when it is settled.
    this.#intake?.release()
    this.#intake = null
    this.#mode = 'closed'
    this.#transaction = null
    this.#rest = []
  }

  #reportLost(): void {
    const report = this.#onLost
    this.#onLost = null
    report?.()
  }

  #startWaiting(): void {
    this.#deadlines.startWaiting(this.#service.clock.monotonic())
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

/**
 * The time limits of a client. Only complete commands and the rate of DATA extend them, so a client
 * cannot gain time by sending single octets.
 */
class Deadlines {
  readonly #limits: SmtpLimits
  readonly #openedMs: number
  /** Start of the wait for the client, or of the current DATA window. */
  #waitingSinceMs: number
  #windowBytes = 0

  /** All times are monotonic, in milliseconds. */
  constructor(limits: SmtpLimits, nowMs: number) {
    this.#limits = limits
    this.#openedMs = nowMs
    this.#waitingSinceMs = nowMs
  }

  startWaiting(nowMs: number): void {
    this.#waitingSinceMs = nowMs
    this.#windowBytes = 0
  }

  waitedMs(nowMs: number): number {
    return nowMs - this.#waitingSinceMs
  }

  countData(bytes: number): void {
    this.#windowBytes += bytes
  }

  /** The deadline that has passed, or null. In phase `answer` the client waits for the server. */
  findPassed(phase: 'command' | 'data' | 'answer', nowMs: number): CutReason | null {
    const { connectionMsMax, commandMsMax } = this.#limits
    const openMs = nowMs - this.#openedMs
    if (phase === 'answer') {
      // The client must get the actual reply for a message that is being stored.
      return openMs >= connectionMsMax + commandMsMax ? 'connection-deadline' : null
    }
    if (openMs >= connectionMsMax) return 'connection-deadline'
    if (phase === 'data') return this.#isDataSlow(nowMs) ? 'slow-data' : null
    return nowMs - this.#waitingSinceMs >= commandMsMax ? 'command-deadline' : null
  }

  #isDataSlow(nowMs: number): boolean {
    const windowMs = nowMs - this.#waitingSinceMs
    if (windowMs < this.#limits.dataRateWindowMs) return false
    const bytesPerSecond = (this.#windowBytes * 1000) / windowMs
    this.startWaiting(nowMs)
    return bytesPerSecond < this.#limits.dataBytesPerSecondMin
  }
}
