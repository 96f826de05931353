// Entry point of a parser thread. The pool limits the time and memory of each function.

import { openMime, readAttachment } from '@mailroom/mail/mime/mime-message.ts'
import type { ParsedMessage } from '@mailroom/mail/mime/parsed-message.ts'
import type { SendContent } from '@mailroom/mail-reading/content/parts.ts'
import type { ShownSource } from '@mailroom/mail-reading/display/shown-html.ts'
import type { ExtractedFrom } from '@mailroom/mail-reading/extract/extract.ts'
import { isCalendarFile } from '@mailroom/mail-reading/invites/calendar-file.ts'
import type { InviteAnswer } from '@mailroom/mail-reading/invites/write-calendar.ts'
import type { MarkdownSource } from '@mailroom/mail-reading/markdown/markdown-html.ts'
import { indexMentions } from '@mailroom/mail-reading/mentions/mention-index.ts'
import { parseMessage } from '@mailroom/mail-reading/parse-message.ts'
import { bodyParts } from '@mailroom/mail-reading/quote/body-parts.ts'
import { readReport } from '@mailroom/mail-reading/report/read-report.ts'
import { loadViewLibraries, viewBody } from '@mailroom/mail-reading/view/view-body.ts'
import { serveCalls } from '#platform/workers/serve-calls.ts'

export type AskedMentions = {
  /** Each address has the form of `addressKey`. */
  readonly addresses: readonly string[]
  /** Texts extracted from attachments of other formats. */
  readonly texts: readonly string[]
}

export type ParserFunctions = typeof functions

const functions = {
  /** `isAllNew` means that the extracted text equals the text, which is then sent once. */
  async parse(raw: Uint8Array) {
    const message = await withInvites(parseMessage(raw), raw)
    const isAllNew = message.extractedText === message.text
    return { message: isAllNew ? { ...message, extractedText: '' } : message, isAllNew }
  },
  readAttachment(raw: Uint8Array, filename: string) {
    const found = readAttachment(raw, filename)
    // The content is copied because transferring a view would transfer the entire message.
    return found && { ...found, content: new Uint8Array(found.content) }
  },
  readAttachments: (raw: Uint8Array) =>
    [...openMime(raw).readFiles()].map(({ attachment, content }) => ({
      attachment,
      content: new Uint8Array(content),
    })),
  readReport,
  async replyToInvite(raw: Uint8Array, answer: InviteAnswer) {
    const { replyToInvite } = await import('@mailroom/mail-reading/invites/write-calendar.ts')
    return replyToInvite(raw, answer)
  },
  makeBodies: bodyParts,
  async writeMarkdown(source: MarkdownSource) {
    const { markdownHtml } = await import('@mailroom/mail-reading/markdown/markdown-html.ts')
    return markdownHtml(source)
  },
  /** Loading takes longer than most views. */
  loadView: async () => void (await loadViewLibraries()),
  makeView: viewBody,
  async show(source: ShownSource) {
    const { showSource } = await import('@mailroom/mail-reading/display/shown-html.ts')
    return showSource(source)
  },
  async readContent(source: ExtractedFrom) {
    const { readContent } = await import('@mailroom/mail-reading/extract/extract.ts')
    return readContent(source)
  },
  async findSecrets(content: SendContent) {
    const { findSecrets } = await import('@mailroom/mail-reading/secrets/find-secrets.ts')
    return findSecrets(content)
  },
  async findMentions(raw: Uint8Array, asked: AskedMentions) {
    const { findMentionsIn } = await import('@mailroom/mail-reading/mentions/find-mentions.ts')
    return findMentionsIn(raw, asked)
  },
  indexMentions: (text: string) => indexMentions({ subject: '', text, html: '', attachments: [] }),
}

async function withInvites(message: ParsedMessage, raw: Uint8Array): Promise<ParsedMessage> {
  if (!message.attachments.some(isCalendarFile)) return message
  const { readInvites } = await import('@mailroom/mail-reading/invites/read-invites.ts')
  return { ...message, invites: readInvites(raw) }
}

serveCalls(functions)
