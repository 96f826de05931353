import type { BodyParts, BodySource } from '@mailroom/mail/compose/body-parts.ts'
import type { AttachmentContent } from '@mailroom/mail/mime/mime-message.ts'
import type { ParsedAttachment, ParsedMessage } from '@mailroom/mail/mime/parsed-message.ts'
import type { ShownHtml, ShownSource } from '@mailroom/mail-reading/display/shown-html.ts'
import type { Extracted, ExtractedFrom } from '@mailroom/mail-reading/extract/extract.ts'
import type { Report, ReportEnvelope } from '@mailroom/mail-reading/report/report.ts'
import type { ViewBody, ViewSource } from '@mailroom/mail-reading/view/plain-body.ts'

/** Reads mail, and lays out what is sent, off the main thread where that pays. */
export type Parser = {
  parse(raw: Uint8Array): Promise<ParsedMessage>
  readAttachment(
    raw: Uint8Array,
    filename: string,
  ): Promise<{ attachment: ParsedAttachment; content: Uint8Array } | null>
  makeBodies(source: BodySource): Promise<BodyParts>
  /** The body of a message as a model reads it. */
  makeView(source: ViewSource): Promise<ViewBody>
  /** HTML as a person is shown it; null for one that cannot be. */
  show(source: ShownSource): Promise<ShownHtml | null>
  /** `none` when the message cannot be read in time. */
  readReport(raw: Uint8Array, envelope: ReportEnvelope): Promise<Report>
}

export type ParserRequest =
  | { readonly kind: 'parse'; readonly raw: Uint8Array }
  | { readonly kind: 'read-attachment'; readonly raw: Uint8Array; readonly filename: string }
  | {
      readonly kind: 'read-report'
      readonly raw: Uint8Array
      readonly envelope: ReportEnvelope
    }
  | { readonly kind: 'make-bodies'; readonly source: BodySource }
  /** Loads what views are made with, which takes longer than most of them. */
  | { readonly kind: 'load-view' }
  | { readonly kind: 'make-view'; readonly source: ViewSource }
  | { readonly kind: 'show'; readonly source: ShownSource }
  | { readonly kind: 'extract'; readonly source: ExtractedFrom }

export type ParserAnswer =
  /** Sent once, when the thread has loaded and waits for its first request. */
  | { readonly kind: 'ready' }
  /** `isAllNew`: the extracted text is the text, which may be long and is sent once. */
  | { readonly kind: 'parsed'; readonly message: ParsedMessage; readonly isAllNew: boolean }
  | { readonly kind: 'attachment'; readonly found: AttachmentContent | null }
  | { readonly kind: 'report'; readonly report: Report }
  | { readonly kind: 'bodies'; readonly parts: BodyParts }
  | { readonly kind: 'view-loaded' }
  | { readonly kind: 'view'; readonly body: ViewBody }
  | { readonly kind: 'shown'; readonly shown: ShownHtml | null }
  | { readonly kind: 'extracted'; readonly extracted: Extracted }
