// Entry of a parser thread: answers one request at a time. The pool limits its time and memory.

import { parentPort } from 'node:worker_threads'
import { openMime, readAttachment } from '@mailroom/mail/mime/mime-message.ts'
import type { ParsedMessage } from '@mailroom/mail/mime/parsed-message.ts'
import { isCalendarFile } from '@mailroom/mail-reading/invites/calendar-file.ts'
import { indexMentions } from '@mailroom/mail-reading/mentions/mention-index.ts'
import { parseMessage } from '@mailroom/mail-reading/parse-message.ts'
import { bodyParts } from '@mailroom/mail-reading/quote/body-parts.ts'
import { readReport } from '@mailroom/mail-reading/report/read-report.ts'
import { loadViewLibraries, viewBody } from '@mailroom/mail-reading/view/view-body.ts'
import { WORKER_READY } from './guarded-worker.ts'
import type { ParserAnswer, ParserRequest } from './parser.ts'

const port = parentPort
if (port === null) throw new Error('parser-worker.ts is the entry of a worker thread')

port.on('message', async (request: ParserRequest) => {
  const answer = await answerTo(request)
  // Freed at once, because an idle thread collects no garbage and this is as large as a message.
  if ('raw' in request) (request.raw.buffer as ArrayBuffer).transfer(0)
  port.postMessage(answer, contentsOf(answer))
})
port.postMessage(WORKER_READY)

/** The memory of attachments, which is moved instead of copied. */
function contentsOf(answer: ParserAnswer): ArrayBuffer[] {
  return [answer].flat().flatMap((one) => {
    const isAttachment = typeof one === 'object' && one !== null && 'content' in one
    return isAttachment ? [one.content.buffer as ArrayBuffer] : []
  })
}

async function withInvites(message: ParsedMessage, raw: Uint8Array): Promise<ParsedMessage> {
  if (!message.attachments.some(isCalendarFile)) return message
  const { readInvites } = await import('@mailroom/mail-reading/invites/read-invites.ts')
  return { ...message, invites: readInvites(raw) }
}

async function answerTo(request: ParserRequest): Promise<ParserAnswer> {
  switch (request.kind) {
    case 'parse': {
      const message = await withInvites(parseMessage(request.raw), request.raw)
      const isAllNew = message.extractedText === message.text
      return { message: isAllNew ? { ...message, extractedText: '' } : message, isAllNew }
    }
    case 'read-attachment': {
      const found = readAttachment(request.raw, request.filename)
      // A copy, because a view would transfer the whole message.
      return found && { ...found, content: new Uint8Array(found.content) }
    }
    case 'read-attachments':
      return [...openMime(request.raw).readFiles()].map(({ attachment, content }) => ({
        attachment,
        content: new Uint8Array(content),
      }))
    case 'read-report':
      return readReport(request.raw, request.envelope)
    case 'reply-to-invite': {
      const { replyToInvite } = await import('@mailroom/mail-reading/invites/write-calendar.ts')
      return replyToInvite(request.raw, request.answer)
    }
    case 'make-bodies':
      return bodyParts(request.source)
    case 'load-view':
      await loadViewLibraries()
      return true
    case 'make-view':
      return viewBody(request.source)
    case 'show': {
      const { showSource } = await import('@mailroom/mail-reading/display/shown-html.ts')
      return showSource(request.source)
    }
    case 'read-content': {
      const { readContent } = await import('@mailroom/mail-reading/extract/extract.ts')
      return readContent(request.source)
    }
    case 'find-secrets': {
      const { findSecrets } = await import('@mailroom/mail-reading/secrets/find-secrets.ts')
      return findSecrets(request.content)
    }
    case 'find-mentions': {
      const { findMentionsIn } = await import('@mailroom/mail-reading/mentions/find-mentions.ts')
      return findMentionsIn(request.raw, request.asked)
    }
    case 'index-mentions':
      return indexMentions({ subject: '', text: request.text, html: '', attachments: [] })
  }
}
