// Parses every message of a folder in this process and prints how far the result agrees with what
// is expected: `node packages/server/test/corpus.ts <folder>`. Exits 1 below the goals.

import { createHash } from 'node:crypto'
import { parseMessage, readAttachment } from '#mail/parse-message.ts'
import {
  compareMessage,
  type Difference,
  type ReadMessage,
  readAgreed,
} from '#test/corpus/compare.ts'
import { messageFiles } from '#test/corpus/message-files.ts'

const GOALS = { headersPercent: 99.5, attachmentsPercent: 98, p99Ms: 50 }

const folder = process.argv[2]
if (folder === undefined) {
  process.stderr.write('Usage: corpus.ts <folder of message sets>\n')
  process.exit(2)
}
process.exitCode = await run(folder)

async function run(root: string): Promise<number> {
  const agreed = readAgreed(root)
  const timesMs: number[] = []
  const differences: string[] = []
  let [headersJudged, headersWrong, attachmentsJudged, attachmentsWrong, judged] = [0, 0, 0, 0, 0]
  for (const { path, raw } of messageFiles(root)) {
    const start = performance.now()
    const read = await readInProcess(raw, () => timesMs.push(performance.now() - start))
    const expected = agreed.get(path)
    if (expected === undefined) continue
    judged += 1
    const comparison = compareMessage(expected, read)
    headersJudged += comparison.headersJudged
    headersWrong += comparison.headerDifferences.length
    attachmentsJudged += comparison.attachmentsJudged
    attachmentsWrong += comparison.attachmentDifferences.length
    for (const difference of [
      ...comparison.headerDifferences,
      ...comparison.attachmentDifferences,
    ]) {
      differences.push(describe(path, difference))
    }
  }
  const headersPercent = percent(headersJudged, headersWrong)
  const attachmentsPercent = percent(attachmentsJudged, attachmentsWrong)
  const p99Ms = percentile(timesMs, 0.99)
  process.stdout.write(
    `${differences.join('\n')}\n\n${timesMs.length} messages parsed, ${judged} of ${agreed.size} expected ones compared\n` +
      `header fields agreed: ${headersPercent.toFixed(2)} % of ${headersJudged} (${headersWrong} differ)\n` +
      `attachments agreed: ${attachmentsPercent.toFixed(2)} % of ${attachmentsJudged} (${attachmentsWrong} differ)\n` +
      `parse time: p50 ${percentile(timesMs, 0.5).toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms, max ${percentile(timesMs, 1).toFixed(2)} ms\n`,
  )
  const isReached =
    headersPercent >= GOALS.headersPercent &&
    attachmentsPercent >= GOALS.attachmentsPercent &&
    p99Ms <= GOALS.p99Ms
  return isReached ? 0 : 1
}

async function readInProcess(raw: Uint8Array, parsed: () => void): Promise<ReadMessage> {
  const { headers, attachments } = await parseMessage(raw)
  parsed()
  const contents = await Promise.all(attachments.map((_, index) => readAttachment(raw, index)))
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

function describe(path: string, { field, expected, actual }: Difference): string {
  return `${path}: ${field}: expected ${JSON.stringify(expected)}, read ${JSON.stringify(actual)}`.slice(
    0,
    600,
  )
}

function percent(judged: number, wrong: number): number {
  return judged === 0 ? 100 : (100 * (judged - wrong)) / judged
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}
