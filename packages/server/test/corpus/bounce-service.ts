// A service that has sent the message that a bounce is about: to the recipients of the report, accepted by a mail
// server; then the report comes to the return path. The outcome is read over the API.

import { readReport } from '@mailroom/mail-reading/report/read-report.ts'
import type { ReportEnvelope } from '@mailroom/mail-reading/report/report.ts'
import { asClientSends, reversePathOf } from '@mailroom/mail-reading/test/corpus/message-files.ts'
import { type Mta, openMta } from '@mailroom/smtp/test/peers/mta.ts'
import { openSender, type Sender } from '#test/peers/sender.ts'
import { openWorld, type World } from '#test/world.ts'
import type { FoundRecipient, FoundReport } from './expected-bounces.ts'

/** The recipient for a report that names nobody. */
const ANYONE = 'anyone@corpus.example'
const REPORTED = new Set<string>(['message.bounced', 'message.complained'])
const SETTLE_MS_MAX = 10_000

export class BounceService {
  /** Faults: a report that was refused, or a state and its event that disagree. */
  readonly troubles: string[] = []
  readonly #world: World
  readonly #mta: Mta
  readonly #sender: Sender
  readonly #inboxId: string
  #lastEvent: string | null = null
  #sent = 0
  #unsendable = 0
  #notFinal = 0

  private constructor(world: World, mta: Mta, sender: Sender, inboxId: string) {
    this.#world = world
    this.#mta = mta
    this.#sender = sender
    this.#inboxId = inboxId
  }

  static async open(): Promise<BounceService> {
    const mta = await openMta()
    const world = await openWorld('sqlite', {
      env: {
        MAILROOM_DELIVERY: 'relay',
        MAILROOM_RELAY_URL: `smtp://${mta.host}:${mta.port}`,
      },
    })
    const inbox = await world.inbox()
    return new BounceService(world, mta, await openSender(world.smtpPort), inbox.id)
  }

  /**
   * Sends to `named`, or else to whom the report itself names; null when the API takes no such
   * recipient. A report that is not final must change nothing; then what the parser read is returned.
   */
  async takeReport(raw: Uint8Array, named: readonly string[]): Promise<FoundReport | null> {
    const read = readReport(raw, envelopeOf(raw))
    const recipients = recipientsOf(read, named)
    const messageId = await this.#send(recipients)
    if (messageId === null) {
      this.#unsendable += 1
      return null
    }
    await this.#putIn(asClientSends(raw), messageId)
    const found = await this.#readBack(messageId)
    await this.#forgive(recipients)
    if (changesSomething(read)) return inOrderOf(read, found)
    this.#notFinal += 1
    if (found.kind !== 'none' && !isMixed(read))
      this.troubles.push(`a report that is not final changed ${messageId}`)
    return null
  }

  notes(): string[] {
    return [
      ...this.troubles,
      `messages sent: ${this.#sent}; recipients that the API refuses: ${this.#unsendable}, read by the parser alone; not final, nothing changed: ${this.#notFinal}, by the parser as well`,
    ]
  }

  async close(): Promise<void> {
    await this.#sender.quit()
    await this.#world.close()
    await this.#mta.close()
  }

  async #send([to = ANYONE, ...cc]: readonly string[]): Promise<string | null> {
    const { client } = this.#world
    try {
      const body = 'A body.'
      const sent = await client.inboxes.send(this.#inboxId, { to, cc, subject: 'A subject', body })
      await this.#settled(sent.messageId)
      this.#sent += 1
      return sent.messageId
    } catch (error) {
      if ((error as { status?: number }).status !== 400) throw error
      return null
    }
  }

  async #settled(messageId: string): Promise<void> {
    const deadlineMs = performance.now() + SETTLE_MS_MAX
    for (;;) {
      const { status } = await this.#world.client.messages.get(messageId)
      if (status === 'sent') return
      if (performance.now() > deadlineMs) throw new Error(`${messageId} is ${status}`)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }

  /** Sends the report to the return path of every server that got the message. */
  async #putIn(raw: Uint8Array, messageId: string): Promise<void> {
    const mails = this.#mta.transactions.splice(0)
    const from = reversePathOf(raw) ?? ''
    for (const to of new Set(mails.map(({ reversePath }) => reversePath))) {
      const reply = await this.#sender.send({ from, to, raw })
      if (reply.code !== 250)
        this.troubles.push(`${messageId}: ${reply.code} ${reply.lines.join(' ')}`)
    }
  }

  async #readBack(messageId: string): Promise<FoundReport> {
    const { client } = this.#world
    const deliveries = (await client.messages.deliveries(messageId).page()).data
    const recipients: FoundRecipient[] = []
    for (const { recipient, status, enhancedCode, responseCode } of deliveries) {
      if (status !== 'bounced' && status !== 'complained') continue
      const type = status === 'bounced' ? 'bounce' : 'complaint'
      const { data } = await client.suppressions.list({ address: recipient }).page()
      const isSuppressed = data.some((suppression) => suppression.type === type)
      if (type === 'complaint' && !isSuppressed)
        this.troubles.push(`${recipient} is not suppressed`)
      recipients.push({
        names: [recipient],
        enhancedCode,
        replyCode: responseCode,
        isHard: isSuppressed,
      })
    }
    await this.#checkEvents(messageId, recipients.length)
    const isComplaint = deliveries.some(({ status }) => status === 'complained')
    if (recipients.length === 0) return { kind: 'none', recipients }
    return { kind: isComplaint ? 'complaint' : 'bounce', recipients }
  }

  async #checkEvents(messageId: string, count: number): Promise<void> {
    const position = this.#lastEvent === null ? {} : { after: this.#lastEvent }
    const { data } = await this.#world.client.events.list({ limit: 100, ...position }).page()
    this.#lastEvent = data.at(-1)?.event_id ?? this.#lastEvent
    const told = data.filter(
      (event) => REPORTED.has(event.event) && JSON.stringify(event).includes(messageId),
    )
    if (told.length !== count)
      this.troubles.push(`${messageId}: ${told.length} events for ${count}`)
  }

  /** The next report may be about the same address. */
  async #forgive(recipients: readonly string[]): Promise<void> {
    for (const address of recipients)
      await this.#world.client.suppressions.delete(address).catch(() => {})
  }
}

/** Where no envelope is kept it was the null one, as reports must have it (RFC 5321 §4.5.5). */
export function envelopeOf(raw: Uint8Array): ReportEnvelope {
  return { hasNullSender: (reversePathOf(raw) ?? '') === '' }
}

/** Not for a message that is only late, and not for praise or reports of forgery. */
function changesSomething(read: ReturnType<typeof readReport>): boolean {
  if (read.kind === 'bounce') return read.recipients.every(({ action }) => action === 'failed')
  return read.kind !== 'complaint' || !/^(?:not-spam|auth-failure)$/.test(read.feedbackType)
}

/** Final for some of its recipients only: judged as it was read. */
function isMixed(read: ReturnType<typeof readReport>): boolean {
  return read.kind === 'bounce' && read.recipients.some(({ action }) => action === 'failed')
}

function recipientsOf(read: ReturnType<typeof readReport>, named: readonly string[]): string[] {
  if (named.length > 0) return unique(named)
  if (read.kind === 'none') return [ANYONE]
  const names =
    read.kind === 'complaint'
      ? read.recipients
      : read.recipients.map((one) => one.originalRecipient ?? one.recipient)
  const known = unique(names.filter((name) => name !== null))
  return known.length === 0 ? [ANYONE] : known
}

/** Results are expected in the order of the report. */
function inOrderOf(read: ReturnType<typeof readReport>, found: FoundReport): FoundReport {
  if (read.kind !== 'bounce') return found
  const names = read.recipients.map((one) =>
    [one.originalRecipient, one.recipient].map((name) => name?.toLowerCase()),
  )
  const place = ({ names: [own = ''] }: FoundRecipient) =>
    names.findIndex((known) => known.includes(own.toLowerCase()))
  return { ...found, recipients: found.recipients.toSorted((a, b) => place(a) - place(b)) }
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names.map((name) => name.toLowerCase()))]
}
