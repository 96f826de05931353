import { FILE_BYTES_MAX, type FileText, tooLarge } from '@mailroom/mail-reading/files/file-text.ts'
import { isSettled, storeAttachmentText } from '#mailbox/attachments/store/extractions.ts'
import { findAttachmentText } from '#mailbox/attachments/store/texts.ts'
import { type FoundAttachment, readAttachment } from '#mailbox/messages/read-content.ts'
import type { Parser } from '#parser/parser.ts'
import type { FileReader } from '#platform/workers/file-reader.ts'
import type { Store } from '#store/store.ts'
import type { Row } from '#store/tables.ts'
import type { Downloads } from './downloads.ts'

export type ReadingDeps = Store & { parser: Parser; downloads: Downloads; fileReader: FileReader }

export type AttachmentTexts = {
  /** Concurrent requests share one extraction. May throw `service_unavailable`. */
  of(deps: ReadingDeps, accountId: string, found: FoundAttachment): Promise<FileText>
}

export function openAttachmentTexts(): AttachmentTexts {
  const running = new Map<string, Promise<FileText>>()
  return {
    async of(deps, accountId, found) {
      const { messageId, attachment } = found
      const asked = { accountId, messageId, filename: attachment.filename }
      const stored = await findAttachmentText(deps.db, asked)
      const by = { reader: deps.fileReader.name, nowMs: deps.clock.now() }
      if (stored !== null && isSettled(stored, by)) return toText(stored)
      const key = `${messageId} ${attachment.filename}`
      const own = running.get(key) ?? readAndStore(deps, accountId, found)
      running.set(key, own)
      try {
        return await own
      } finally {
        if (running.get(key) === own) running.delete(key)
      }
    },
  }
}

function toText(row: Row<'attachment_texts'>): FileText {
  return {
    method: row.method as FileText['method'],
    text: row.text + (row.rest ?? ''),
    pages: row.pages,
    isTruncated: row.is_truncated === 1,
    why: row.why,
  }
}

async function readAndStore(
  deps: ReadingDeps,
  accountId: string,
  found: FoundAttachment,
): Promise<FileText> {
  const { messageId, attachment } = found
  const { filename, contentType } = attachment
  const text = await readFile(deps, accountId, found)
  await deps.db.write(storeAttachmentText, {
    accountId,
    messageId,
    filename,
    contentType,
    text,
    mentions: await deps.parser.indexMentions(text.text),
    reader: deps.fileReader.name,
    eventId: deps.makeId('evt'),
    nowMs: deps.clock.now(),
  })
  deps.wakeEvents()
  return text
}

async function readFile(
  deps: ReadingDeps,
  accountId: string,
  found: FoundAttachment,
): Promise<FileText> {
  const { filename, contentType, charset, sizeBytes } = found.attachment
  if (sizeBytes > FILE_BYTES_MAX) return tooLarge()
  const { content, release } = await readAttachment(deps, found)
  try {
    return await deps.fileReader.read(
      { content, filename, contentType, charset },
      { key: accountId },
    )
  } finally {
    release()
  }
}
