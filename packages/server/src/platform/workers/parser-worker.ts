// Entry of a parser thread: takes one request at a time and answers with what was read or made of it.
// It has no limits of its own; who started it ends it.

import { parentPort } from 'node:worker_threads'
import { bodyParts } from '@mailroom/mail/compose/body-parts.ts'
import { readAttachment } from '@mailroom/mail/mime/mime-message.ts'
import { parseMessage } from '@mailroom/mail-reading/parse-message.ts'
import { readReport } from '@mailroom/mail-reading/report/read-report.ts'
import { loadViewLibraries, viewBody } from '@mailroom/mail-reading/view/view-body.ts'
import type { ParserAnswer, ParserRequest } from './parser.ts'

const port = parentPort
if (port === null) throw new Error('parser-worker.ts is the entry of a worker thread')

port.on('message', async (request: ParserRequest) => {
  const answer = await answerTo(request)
  // Given back at once: an idle thread collects no garbage, and this is as large as a message.
  if ('raw' in request) (request.raw.buffer as ArrayBuffer).transfer(0)
  if (answer.kind === 'attachment' && answer.found !== null) {
    port.postMessage(answer, [answer.found.content.buffer as ArrayBuffer])
  } else {
    port.postMessage(answer)
  }
})
port.postMessage({ kind: 'ready' } satisfies ParserAnswer)

async function answerTo(request: ParserRequest): Promise<ParserAnswer> {
  if (request.kind === 'make-bodies') return { kind: 'bodies', parts: bodyParts(request.source) }
  if (request.kind === 'load-view') {
    await loadViewLibraries()
    return { kind: 'view-loaded' }
  }
  if (request.kind === 'make-view') return { kind: 'view', body: await viewBody(request.source) }
  if (request.kind === 'show') {
    const { showSource } = await import('@mailroom/mail-reading/display/shown-html.ts')
    return { kind: 'shown', shown: showSource(request.source) }
  }
  if (request.kind === 'extract') {
    const { extractFrom } = await import('@mailroom/mail-reading/extract/extract.ts')
    return { kind: 'extracted', extracted: extractFrom(request.source) }
  }
  if (request.kind === 'read-report') {
    return { kind: 'report', report: readReport(request.raw, request.envelope) }
  }
  if (request.kind === 'parse') {
    const message = parseMessage(request.raw)
    const isAllNew = message.extractedText === message.text
    return {
      kind: 'parsed',
      message: isAllNew ? { ...message, extractedText: '' } : message,
      isAllNew,
    }
  }
  const found = readAttachment(request.raw, request.filename)
  if (found === null) return { kind: 'attachment', found }
  // A copy of its own: a view would take the whole message along.
  return { kind: 'attachment', found: { ...found, content: new Uint8Array(found.content) } }
}
