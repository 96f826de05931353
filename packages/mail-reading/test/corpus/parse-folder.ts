// Parses every message of a folder in this process and prints how far the results match the expected ones. Faster
// than sending them through the service, and the only run that sees In-Reply-To.

import { createHash } from 'node:crypto'
import { readAttachment } from '@mailroom/mail/mime/mime-message.ts'
import { parseMessage } from '#parse-message.ts'
import { compareMessage, type ReadMessage, readAgreed } from './compare.ts'
import { messageFiles } from './message-files.ts'
import { CORPUS_GOALS, CorpusTally, percentile } from './tally.ts'

/** Prints differences and figures; resolves with the exit code: 1 below the goals. */
export async function parseFolder(root: string): Promise<number> {
  const agreed = readAgreed(root)
  const tally = new CorpusTally()
  const timesMs: number[] = []
  for (const { path, raw } of messageFiles(root)) {
    const start = performance.now()
    const read = await readInProcess(raw, () => timesMs.push(performance.now() - start))
    const expected = agreed.get(path)
    if (expected !== undefined) tally.add(path, compareMessage(expected, read))
  }
  const figures = tally.figures()
  const p99Ms = percentile(timesMs, 0.99)
  process.stdout.write(`${figures.differences.join('\n')}

${timesMs.length} messages parsed, ${figures.messages} of ${agreed.size} expected ones compared
header fields that agree: ${figures.headersPercent.toFixed(2)} % of ${figures.headersJudged}
attachments found: ${figures.attachmentsPercent.toFixed(2)} % of ${figures.attachmentsJudged}; ${figures.superfluousAttachments} more that the parsers do not list
messages without any difference: ${figures.exactPercent.toFixed(2)} %
parse time: p50 ${percentile(timesMs, 0.5).toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms, max ${percentile(timesMs, 1).toFixed(2)} ms
`)
  const isReached =
    figures.headersPercent >= CORPUS_GOALS.headersPercent &&
    figures.attachmentsPercent >= CORPUS_GOALS.attachmentsPercent &&
    p99Ms <= CORPUS_GOALS.p99Ms
  return isReached ? 0 : 1
}

function readInProcess(raw: Uint8Array, parsed: () => void): ReadMessage {
  const { headers, attachments } = parseMessage(raw)
  parsed()
  const contents = attachments.map((_, index) => readAttachment(raw, index))
  return {
    messageId: headers.messageId,
    subject: headers.subject,
    inReplyTo: headers.inReplyTo,
    references: headers.references,
    from: headers.from === null ? [] : [headers.from.address],
    to: headers.to.map(({ address }) => address),
    attachments: attachments.map((attachment, index) => ({
      ...attachment,
      sha256: createHash('sha256')
        .update(contents[index]?.content ?? '')
        .digest('hex'),
    })),
  }
}
