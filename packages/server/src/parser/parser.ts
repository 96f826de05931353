// Parses mail and prepares bodies to send, outside the main thread unless the work is small.

import {
  type AttachmentContent,
  INLINE_PARSE_BYTES_MAX,
  readDefeatedAttachment,
} from '@mailroom/mail/mime/mime-message.ts'
import type { ParsedMessage } from '@mailroom/mail/mime/parsed-message.ts'
import type { SendContent } from '@mailroom/mail-reading/content/parts.ts'
import type { ShownHtml, ShownSource } from '@mailroom/mail-reading/display/shown-html.ts'
import type { ExtractedFrom, MessageReading } from '@mailroom/mail-reading/extract/extract.ts'
import { HIDDEN_SEARCH_LENGTH_MAX, unreadContent } from '@mailroom/mail-reading/extract/extract.ts'
import type { InviteAnswer, InviteReply } from '@mailroom/mail-reading/invites/write-calendar.ts'
import type { MarkdownHtml, MarkdownSource } from '@mailroom/mail-reading/markdown/markdown-html.ts'
import { parseDefeated, parseIfPlainAndSmall } from '@mailroom/mail-reading/parse-message.ts'
import {
  type BodyParts,
  type BodySource,
  bodyParts,
  INLINE_HTML_LENGTH_MAX,
  isQuick,
  plainBodyParts,
} from '@mailroom/mail-reading/quote/body-parts.ts'
import { REPORT_BYTES_MAX } from '@mailroom/mail-reading/report/open-report.ts'
import { readReport } from '@mailroom/mail-reading/report/read-report.ts'
import type { Report, ReportEnvelope } from '@mailroom/mail-reading/report/report.ts'
import type { SecretFinding } from '@mailroom/mail-reading/secrets/find-secrets.ts'
import type { ViewBody, ViewSource } from '@mailroom/mail-reading/view/plain-body.ts'
import { systemClock } from '#platform/clock.ts'
import { type Log, silentLog } from '#platform/log.ts'
import { problem, RETRY_AFTER_SECONDS } from '#platform/problem.ts'
import { Semaphore } from '#platform/semaphore.ts'
import { SECOND_MS } from '#platform/units.ts'
import type { WorkOutcome } from '#platform/workers/guarded-worker.ts'
import { WorkerPool } from '#platform/workers/worker-pool.ts'
import type { AskedMentions, ParserFunctions } from './parser-thread.ts'

const PARSE_MS_MAX = 2 * SECOND_MS
const PARSE_HEAP_MIB_MAX = 192
const PARSE_WORKERS_MAX = 2
const PARSE_QUEUE_MAX = 500
/** Conversions per account, so that one account cannot occupy all workers. */
const MARKDOWN_AT_ONCE = 1
const MARKDOWN_WAITING_MAX = 100
/** Processor time for one view; a message that takes longer is shown as plain text. */
const VIEW_MS_MAX = 1_500
/** Guards of a send read every text file, and mail that they cannot read in time is not sent. */
const GUARD_TIME_FACTOR = 4
/** A report of this size takes the main thread two milliseconds at most. */
export const REPORT_INLINE_BYTES_MAX = 4 * 1024

type ParserOptions = {
  readonly workersMax?: number
  readonly timeoutMs?: number
  readonly heapMib?: number
  readonly queueMax?: number
  readonly log?: Log
  /** The duration excludes the wait for a thread. */
  readonly onParsed?: (parse: { isInline: boolean; durationMs: number }) => void
}

/** No thread is started before a message needs one. */
export function openParserPool(options: ParserOptions = {}): ParserPool {
  return new ThreadedParser(options)
}

export type ParserPool = ThreadedParser

/** Rejects only with `service_unavailable`, if too many messages wait or after `close`. */
export type Parser = Omit<ThreadedParser, 'waiting' | 'close'>

type Bounds = Partial<Parameters<WorkerPool['run']>[1]>

class ThreadedParser {
  readonly #pool: WorkerPool
  readonly #log: Log
  readonly #onParsed: NonNullable<ParserOptions['onParsed']>
  readonly #timeoutMs: number
  readonly #markdown = new Semaphore({
    limitPerKey: MARKDOWN_AT_ONCE,
    waitingPerKeyMax: MARKDOWN_WAITING_MAX,
    refuse: () =>
      problem('service_unavailable', 'Too many bodies of the account wait to be converted.', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      }),
  })
  readonly #ofGuards: Bounds
  readonly #ofViews: Bounds

  constructor({
    workersMax = PARSE_WORKERS_MAX,
    timeoutMs = PARSE_MS_MAX,
    heapMib = PARSE_HEAP_MIB_MAX,
    queueMax = PARSE_QUEUE_MAX,
    log = silentLog,
    onParsed = () => {},
  }: ParserOptions) {
    const entry = new URL('./parser-thread.ts', import.meta.url)
    this.#pool = new WorkerPool({ entry, workersMax, heapMib, queueMax })
    this.#log = log
    this.#onParsed = onParsed
    this.#timeoutMs = timeoutMs
    this.#ofGuards = { timeoutMs: GUARD_TIME_FACTOR * timeoutMs }
    this.#ofViews = { timeoutMs: Math.min(VIEW_MS_MAX, timeoutMs), before: 'loadView' }
  }

  /** On failure, returns only header fields and the defect `parse-timed-out` or `parse-failed`. */
  async parse(raw: Uint8Array): Promise<ParsedMessage> {
    const startMs = systemClock.monotonic()
    const plain = parseIfPlainAndSmall(raw)
    if (plain !== null) {
      this.#onParsed({ isInline: true, durationMs: systemClock.monotonic() - startMs })
      return plain
    }
    const onDone = (durationMs: number) => this.#onParsed({ isInline: false, durationMs })
    const outcome = await this.#call('parse', [raw], { onDone })
    if (outcome.kind === 'answered') {
      const { message, isAllNew } = outcome.answer
      return isAllNew ? { ...message, extractedText: message.text } : message
    }
    return parseDefeated(raw, outcome.kind === 'timed-out' ? 'parse-timed-out' : 'parse-failed')
  }

  /** Returns the attachment that `parse` of the same bytes lists under `filename`, or null. */
  async readAttachment(raw: Uint8Array, filename: string): Promise<AttachmentContent | null> {
    const found = await this.#ask('readAttachment', [raw, filename])
    // A failed `parse` may have listed the attachment, even if this request succeeded.
    return found ?? readDefeatedAttachment(raw, filename)
  }

  /** Returns all attachments that `parse` of the same bytes lists, in order. */
  async readAttachments(raw: Uint8Array): Promise<readonly AttachmentContent[]> {
    const found = await this.#ask('readAttachments', [raw])
    if (found !== null) return found
    const whole = readDefeatedAttachment(raw, 0)
    return whole === null ? [] : [whole]
  }

  /** Returns `none` if the message could not be read in time. */
  async readReport(raw: Uint8Array, envelope: ReportEnvelope): Promise<Report> {
    if (raw.length <= REPORT_INLINE_BYTES_MAX) return readReport(raw, envelope)
    const report = await this.#ask('readReport', [raw.subarray(0, REPORT_BYTES_MAX), envelope])
    return report ?? { kind: 'none' }
  }

  /** Makes plainer bodies if the HTML takes too long. */
  async makeBodies(source: BodySource): Promise<BodyParts> {
    if (isQuick(source)) return bodyParts(source)
    return (await this.#ask('makeBodies', [source])) ?? plainBodyParts(source)
  }

  /** Returns null if the Markdown takes too much time or memory. */
  async writeMarkdown(source: MarkdownSource, accountId: string): Promise<MarkdownHtml | null> {
    return this.#markdown.run({ key: accountId }, () => this.#ask('writeMarkdown', [source]))
  }

  /** Makes the body of a message for a model, only from its text if the HTML takes too long. */
  async makeView(source: ViewSource): Promise<ViewBody> {
    const { isQuickView, plainBody } = await import('@mailroom/mail-reading/view/plain-body.ts')
    if (isQuickView(source)) return plainBody({ ...source, isHtmlUnread: false })
    const view = await this.#ask('makeView', [source], this.#ofViews)
    if (view !== null) return view
    const textOnly = { ...source, html: '' }
    if (isQuickView(textOnly)) return plainBody({ ...source, isHtmlUnread: true })
    const viewOfText = await this.#ask('makeView', [textOnly], this.#ofViews)
    if (viewOfText !== null) return { ...viewOfText, source: 'unread-html' }
    const text = source.text.slice(0, INLINE_PARSE_BYTES_MAX)
    return { ...plainBody({ ...source, text, isHtmlUnread: true }), isCut: true }
  }

  /** Makes HTML that is safe to display, or returns null if there is none. */
  async show(source: ShownSource): Promise<ShownHtml | null> {
    if (source.html.length > INLINE_HTML_LENGTH_MAX || source.findsMissed) {
      return this.#ask('show', [source])
    }
    const { showSource } = await import('@mailroom/mail-reading/display/shown-html.ts')
    return showSource(source)
  }

  /** Finds codes, links and hidden text, or reports them unread if this takes too long. */
  async readContent(source: ExtractedFrom): Promise<MessageReading> {
    // The thread reads no more than this; one more character shows that there is more.
    const text = source.text.slice(0, HIDDEN_SEARCH_LENGTH_MAX + 1)
    const html = source.html.slice(0, HIDDEN_SEARCH_LENGTH_MAX + 1)
    return (await this.#ask('readContent', [{ ...source, text, html }])) ?? unreadContent(source)
  }

  /** Returns `no-invitation` if the message could not be read in time. */
  async replyToInvite(raw: Uint8Array, answer: InviteAnswer): Promise<InviteReply> {
    return (await this.#ask('replyToInvite', [raw, answer])) ?? { kind: 'no-invitation' }
  }

  /** Returns null if the content could not be read completely in time. */
  async findSecrets(content: SendContent): Promise<readonly SecretFinding[] | null> {
    return this.#ask('findSecrets', [content], this.#ofGuards)
  }

  /** Finds the mentioned addresses. Returns null if this could not be completed in time. */
  async findMentions(raw: Uint8Array, asked: AskedMentions): Promise<readonly string[] | null> {
    return this.#ask('findMentions', [raw, asked], this.#ofGuards)
  }

  /** Returns null if the text mentions too much or could not be read in time. */
  async indexMentions(text: string): Promise<string | null> {
    return text === '' ? '' : this.#ask('indexMentions', [text])
  }

  waiting(): number {
    return this.#pool.waiting()
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  /** Returns null if the thread failed or exceeded its time or memory. */
  async #ask<Name extends keyof ParserFunctions>(
    name: Name,
    args: Parameters<ParserFunctions[Name]>,
    bounds?: Bounds,
  ) {
    const outcome = await this.#call(name, args, bounds)
    return outcome.kind === 'answered' ? outcome.answer : null
  }

  async #call<Name extends keyof ParserFunctions>(
    name: Name,
    args: Parameters<ParserFunctions[Name]>,
    bounds?: Bounds,
  ) {
    const outcome = await this.#pool.run({ name, args }, { timeoutMs: this.#timeoutMs, ...bounds })
    if (outcome.kind !== 'answered') {
      const error = outcome.kind === 'died' ? outcome.cause : undefined
      const text = 'the parser failed on a message, or took too much time or memory'
      this.#log.warn({ outcome: outcome.kind, call: name, sizeBytes: sizeOf(args), error }, text)
    }
    return outcome as WorkOutcome<Awaited<ReturnType<ParserFunctions[Name]>>>
  }
}

function sizeOf(args: readonly unknown[]): number {
  const parts = args.flatMap((arg) =>
    typeof arg === 'object' && arg !== null && !ArrayBuffer.isView(arg) ? Object.values(arg) : arg,
  )
  return parts.flat().reduce((sum: number, part) => sum + lengthOf(part), 0)
}

function lengthOf(part: unknown): number {
  if (typeof part === 'string' || part instanceof Uint8Array) return part.length
  const { content } = (part ?? {}) as { content?: unknown }
  return content instanceof Uint8Array ? content.length : 0
}
