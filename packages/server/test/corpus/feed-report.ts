// What became of a corpus on its way through the service: figures, every difference, and whether the
// goals were reached.

import type { AgreedMessage } from "#test/corpus/compare.ts"
import { compareMessage } from '#test/corpus/compare.ts'
import type { Feed } from './feed.ts'
import { describe, percent, percentile } from './parse-folder.ts'

const GOALS = { rawPercent: 100, headersPercent: 99.5, attachmentsPercent: 98 }

/** Prints to standard output; the exit code, 1 below the goals. */
export function reportFeed(feed: Feed, agreed: ReadonlyMap<string, AgreedMessage>): number {
  const accepted = feed.fed.filter(({ outcome }) => outcome === 'accepted')
  const refused = feed.fed.filter(({ outcome }) => outcome === 'refused')
  const loops = feed.fed.filter(({ outcome }) => outcome === 'loop')
  const changed = accepted.filter(({ sha256 }) => !feed.read.has(sha256))
  const twins = accepted.length - new Set(accepted.map(({ sha256 }) => sha256)).size
  const judgement = judge(feed, agreed)
  const rawPercent = percent(accepted.length, changed.length)
  const headersPercent = percent(judgement.headersJudged, judgement.headersWrong)
  const attachmentsPercent = percent(judgement.attachmentsJudged, judgement.attachmentsWrong)
  const timesMs = accepted.map(({ intakeMs }) => intakeMs)
  const bareCarriageReturns = feed.fed.filter((fed) => fed.hadBareCarriageReturn).length
  const lines = [
    ...judgement.differences,
    ...refused.map(({ path, reply }) => `${path}: refused: ${reply}`),
    ...loops.map(({ path, reply }) => `${path}: refused as a loop: ${reply}`),
    ...changed.map(({ path }) => `${path}: its raw form is not among those read back`),
    ...(feed.crash === null ? [] : [`The service ended before its time:\n${feed.crash}`]),
    '',
    `messages: ${feed.fed.length} (${twins} the same as another; ${bareCarriageReturns} had bare carriage returns)`,
    `refused: ${refused.length}; refused as loops: ${loops.length}; crashes: ${feed.crash === null ? 0 : 1}`,
    `raw equal: ${rawPercent.toFixed(2)} % of ${accepted.length}`,
    `header fields agreed: ${headersPercent.toFixed(2)} % of ${judgement.headersJudged} (${judgement.headersWrong} differ), in ${judgement.messagesJudged} of ${agreed.size} messages`,
    `attachments agreed: ${attachmentsPercent.toFixed(2)} % of ${judgement.attachmentsJudged} (${judgement.attachmentsWrong} differ)`,
    `intake: p50 ${percentile(timesMs, 0.5).toFixed(1)} ms, p99 ${percentile(timesMs, 0.99).toFixed(1)} ms, max ${percentile(timesMs, 1).toFixed(1)} ms`,
    `time: ${seconds(feed.feedMs)} s to feed, ${seconds(feed.readMs)} s to read back`,
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  const isReached =
    feed.fed.length > 0 &&
    refused.length === 0 &&
    feed.crash === null &&
    rawPercent >= GOALS.rawPercent &&
    headersPercent >= GOALS.headersPercent &&
    attachmentsPercent >= GOALS.attachmentsPercent
  return isReached ? 0 : 1
}

function judge(feed: Feed, agreed: ReadonlyMap<string, AgreedMessage>) {
  const total = {
    messagesJudged: 0,
    headersJudged: 0,
    headersWrong: 0,
    attachmentsJudged: 0,
    attachmentsWrong: 0,
    differences: [] as string[],
  }
  for (const { path, sha256 } of feed.fed) {
    const expected = agreed.get(path)
    const read = feed.read.get(sha256)
    if (expected === undefined || read === undefined) continue
    const comparison = compareMessage(shown(expected), read)
    total.messagesJudged += 1
    total.headersJudged += comparison.headersJudged
    total.headersWrong += comparison.headerDifferences.length
    total.attachmentsJudged += comparison.attachmentsJudged
    total.attachmentsWrong += comparison.attachmentDifferences.length
    const { headerDifferences, attachmentDifferences } = comparison
    for (const difference of [...headerDifferences, ...attachmentDifferences]) {
      total.differences.push(describe(path, difference))
    }
  }
  return total
}

/** Without the one field that the API does not show. */
function shown(expected: AgreedMessage): AgreedMessage {
  const { in_reply_to: _, ...rest } = expected
  return rest
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1)
}
