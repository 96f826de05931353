import type { AttachmentContent } from '@mailroom/mail/mime/mime-message.ts'
import type { ParsedMessage } from '@mailroom/mail/mime/parsed-message.ts'
import type { SendContent } from '@mailroom/mail-reading/content/parts.ts'
import type { ShownHtml, ShownSource } from '@mailroom/mail-reading/display/shown-html.ts'
import type { ExtractedFrom, MessageReading } from '@mailroom/mail-reading/extract/extract.ts'
import type { InviteAnswer, InviteReply } from '@mailroom/mail-reading/invites/write-calendar.ts'
import type { BodyParts, BodySource } from '@mailroom/mail-reading/quote/body-parts.ts'
import type { Report, ReportEnvelope } from '@mailroom/mail-reading/report/report.ts'
import type { SecretFinding } from '@mailroom/mail-reading/secrets/find-secrets.ts'
import type { ViewBody, ViewSource } from '@mailroom/mail-reading/view/plain-body.ts'

/**
 * Parses mail, and prepares bodies to send, outside the main thread unless the work is small. Each method
 * rejects only when too many messages wait, or after `close`, with `service_unavailable`.
 */
export type Parser = {
  /**
   * The content of the message. For one that could not be parsed within its time and memory: its header
   * fields, with the defect `parse-timed-out` or `parse-failed`.
   */
  parse(raw: Uint8Array): Promise<ParsedMessage>
  /** The attachment listed under `filename` by `parse` of the same bytes, or null. */
  readAttachment(raw: Uint8Array, filename: string): Promise<AttachmentContent | null>
  /** All attachments that `parse` of the same bytes lists, in order. */
  readAttachments(raw: Uint8Array): Promise<readonly AttachmentContent[]>
  /** The bodies of a message to send; plainer ones when the HTML took too long. */
  makeBodies(source: BodySource): Promise<BodyParts>
  /** The body of a message for a model; its text alone when the HTML took too long. */
  makeView(source: ViewSource): Promise<ViewBody>
  /** HTML that is safe to show to a person; null when there is none. */
  show(source: ShownSource): Promise<ShownHtml | null>
  /** What the message reports; `none` when it could not be read in time. */
  readReport(raw: Uint8Array, envelope: ReportEnvelope): Promise<Report>
  /** The reply to the invitation in the message; `no-invitation` when it could not be read in time. */
  replyToInvite(raw: Uint8Array, answer: InviteAnswer): Promise<InviteReply>
  /** The secrets in a mail to send; null when it could not be read whole in time. */
  findSecrets(content: SendContent): Promise<readonly SecretFinding[] | null>
  /** Those of the addresses that the message mentions; null when it could not be read whole in time. */
  findMentions(raw: Uint8Array, asked: AskedMentions): Promise<readonly string[] | null>
  /** The index of what a text mentions; null when it was not read in time or mentions too much. */
  indexMentions(text: string): Promise<string | null>
}

export type AskedMentions = {
  /** In the form of `addressKey`. */
  readonly addresses: readonly string[]
  /** Texts of the files of the message that were read from other formats. */
  readonly texts: readonly string[]
}

/** What the pool asks a parser thread, one request at a time. */
export type ParserRequest =
  | { readonly kind: 'parse'; readonly raw: Uint8Array }
  | { readonly kind: 'read-attachment'; readonly raw: Uint8Array; readonly filename: string }
  | { readonly kind: 'read-attachments'; readonly raw: Uint8Array }
  | {
      readonly kind: 'read-report'
      readonly raw: Uint8Array
      readonly envelope: ReportEnvelope
    }
  | { readonly kind: 'reply-to-invite'; readonly raw: Uint8Array; readonly answer: InviteAnswer }
  | { readonly kind: 'make-bodies'; readonly source: BodySource }
  /** Loads the libraries of views, which takes longer than most views. */
  | { readonly kind: 'load-view' }
  | { readonly kind: 'make-view'; readonly source: ViewSource }
  | { readonly kind: 'show'; readonly source: ShownSource }
  | { readonly kind: 'read-content'; readonly source: ExtractedFrom }
  | { readonly kind: 'find-secrets'; readonly content: SendContent }
  | {
      readonly kind: 'find-mentions'
      readonly raw: Uint8Array
      readonly asked: AskedMentions
    }
  | { readonly kind: 'index-mentions'; readonly text: string }

export type ParserAnswers = {
  /** `isAllNew`: the extracted text equals the text, which may be long and is sent once. */
  parse: { readonly message: ParsedMessage; readonly isAllNew: boolean }
  'read-attachment': AttachmentContent | null
  'read-attachments': readonly AttachmentContent[]
  'read-report': Report
  'reply-to-invite': InviteReply
  'make-bodies': BodyParts
  'load-view': true
  'make-view': ViewBody
  show: ShownHtml | null
  'read-content': MessageReading
  'find-secrets': readonly SecretFinding[] | null
  'find-mentions': readonly string[] | null
  'index-mentions': string | null
}

export type ParserAnswer = ParserAnswers[keyof ParserAnswers]
