import type { BodyParts, BodySource } from '@mailroom/mail/compose/body-parts.ts'
import type { ParsedAttachment, ParsedMessage } from '@mailroom/mail/mime/parsed-message.ts'
import type { ShownHtml, ShownSource } from '@mailroom/mail-reading/display/shown-html.ts'
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
