import type { HandlersOf } from '#http/handler.ts'
import { findAttachment } from '#mailbox/messages/read-content.ts'
import { problem } from '#platform/problem.ts'
import type { AttachmentTexts, ReadingDeps } from './extract-text.ts'

type Deps = ReadingDeps & { attachmentTexts: AttachmentTexts }

export function attachmentTextHandlers(
  deps: Deps,
): Pick<HandlersOf<'attachments'>, 'attachments.text'> {
  return {
    'attachments.text': async ({ path }, { accountId, takeSlot }) => {
      const found = await findAttachment(deps, { accountId, ...path })
      const read = await deps.attachmentTexts.of(deps, accountId, found)
      await takeSlot()
      const { method, text, pages, isTruncated, why } = read
      if (text.trim() === '') {
        const message = `No text can be read from "${path.filename}". ${why ?? 'It contains no text.'}`
        throw problem('no_text', message, { fields: { extractionMethod: method } })
      }
      return {
        filename: found.attachment.filename,
        contentType: found.attachment.contentType,
        extractionMethod: method,
        text,
        ...(pages !== null && { pages }),
        isTruncated,
        messageId: found.messageId,
        inboxId: found.inboxId,
      }
    },
  }
}
