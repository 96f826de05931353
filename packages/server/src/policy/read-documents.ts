// Extracts the text of files that are about to be sent.

import { isMessage, isReadAsText } from '@mailroom/mail-reading/content/parts.ts'
import { kindOfFile } from '@mailroom/mail-reading/files/file-kind.ts'
import { CannotExamine } from './cannot-examine.ts'
import type { GuardDeps, JudgedMessage } from './judged-message.ts'

type SentFile = Pick<
  NonNullable<JudgedMessage['attachments']>[number],
  'filename' | 'contentType' | 'content'
>

/**
 * Includes attached messages. Skips pictures, sound and video, unless the service reads pictures.
 * Throws `CannotExamine` for any other file that cannot be read completely.
 */
export async function readDocuments(
  deps: Pick<GuardDeps, 'fileReader' | 'parser'>,
  accountId: string,
  files: readonly SentFile[],
  path = '',
): Promise<{ part: string; text: string }[]> {
  const documents: { part: string; text: string }[] = []
  for (const [index, file] of files.entries()) {
    const part = `${path}attachment:${index}`
    if (isMessage(file)) {
      // Messages that are nested too deep are refused by the search of the message itself.
      const attached = path.split('/').length > DEPTH_MAX ? [] : await filesIn(deps, file)
      documents.push(...(await readDocuments(deps, accountId, attached, `${part}/`)))
    } else if (isRead(deps, file)) {
      const { text, why, isTruncated } = await deps.fileReader.read(file, { key: accountId })
      if (why !== null || isTruncated) {
        const reason = why ?? 'It is too long to be read completely.'
        throw new CannotExamine(`The file "${file.filename}" cannot be examined. ${reason}`)
      }
      documents.push({ part, text })
    }
  }
  return documents
}

const DEPTH_MAX = 5

async function filesIn({ parser }: Pick<GuardDeps, 'parser'>, { content }: SentFile) {
  const files = await parser.readAttachments(content)
  return files.map(({ attachment: { filename, contentType }, content: octets }) => ({
    filename,
    contentType,
    content: octets,
  }))
}

/** Skips files that the search of the message reads as text. */
function isRead({ fileReader }: Pick<GuardDeps, 'fileReader'>, file: SentFile): boolean {
  const kind = kindOfFile(file)
  if (kind === 'image') return fileReader.readsImages
  if (kind === 'other') return !isReadAsText(file) && !/^(?:audio|video)\//i.test(file.contentType)
  return kind === 'pdf' || kind === 'zip' || kind === 'rtf' || kind === 'old-office'
}
