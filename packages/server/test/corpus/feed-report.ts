// The result of sending a corpus through the service: every difference, figures, and whether the goals were reached.

import {
  type AgreedMessage,
  compareMessage,
  type ReadMessage,
} from '@mailroom/mail-reading/test/corpus/compare.ts'
import {
  CORPUS_GOALS,
  type CorpusFigures,
  CorpusTally,
  percentile,
} from '@mailroom/mail-reading/test/corpus/tally.ts'
import type { Feed } from './feed.ts'
import type { FedBack } from './feed-read-back.ts'

/** Prints to standard output; the exit code, 1 below the goals. */
export function reportFeed(feed: Feed, agreed: ReadonlyMap<string, AgreedMessage>): number {
  const { fed, read, crash } = feed
  const accepted = fed.filter(({ outcome }) => outcome === 'accepted')
  const refused = fed.filter(({ outcome }) => outcome === 'refused')
  const loops = fed.filter(({ outcome }) => outcome === 'loop')
  const changed = accepted.filter(({ sha256 }) => !read.has(sha256))
  const figures = judge(feed, agreed)
  const rawPercent = (100 * (accepted.length - changed.length)) / Math.max(1, accepted.length)
  const timesMs = accepted.map(({ intakeMs }) => intakeMs)
  const intakeMs = (share: number) => percentile(timesMs, share).toFixed(1)
  const lines = [
    ...figures.differences,
    ...refused.map(({ path, reply }) => `${path}: refused: ${reply}`),
    ...loops.map(({ path, reply }) => `${path}: refused as a loop: ${reply}`),
    ...changed.map(({ path }) => `${path}: its raw form is not among those read back`),
    ...(crash === null ? [] : [`The service did not end well:\n${crash}`]),
    '',
    `messages: ${fed.length}, of which ${fed.length - new Set(fed.map(({ sha256 }) => sha256)).size} repeat another and ${fed.filter((message) => message.hadBareCarriageReturn).length} had bare carriage returns, sent as CRLF`,
    `refused: ${refused.length}; refused as loops, by rule: ${loops.length}; crashes: ${crash === null ? 0 : 1}`,
    `raw form equal: ${rawPercent.toFixed(2)} % of ${accepted.length}`,
    `compared with what parsers agree on: ${figures.messages} of ${agreed.size}, not those with bare carriage returns`,
    `header fields that agree: ${figures.headersPercent.toFixed(2)} % of ${figures.headersJudged}`,
    `attachments found: ${figures.attachmentsPercent.toFixed(2)} % of ${figures.attachmentsJudged}; ${figures.superfluousAttachments} more that the parsers do not list`,
    `intake, MAIL to the last 250: p50 ${intakeMs(0.5)} ms, p99 ${intakeMs(0.99)} ms, max ${intakeMs(1)} ms`,
    `time: ${(feed.feedMs / 1000).toFixed(1)} s to feed, ${(feed.readMs / 1000).toFixed(1)} s to read back`,
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  const isReached =
    fed.length > 0 &&
    refused.length === 0 &&
    crash === null &&
    changed.length === 0 &&
    figures.headersPercent >= CORPUS_GOALS.headersPercent &&
    figures.attachmentsPercent >= CORPUS_GOALS.attachmentsPercent
  return isReached ? 0 : 1
}

function judge(feed: Feed, agreed: ReadonlyMap<string, AgreedMessage>): CorpusFigures {
  const tally = new CorpusTally()
  for (const { path, sha256, hadBareCarriageReturn } of feed.fed) {
    // The parsers read the file as it is; with its lines ended as mail must, it is another message.
    if (hadBareCarriageReturn) continue
    const expected = agreed.get(path)
    const read = feed.read.get(sha256)
    if (expected === undefined || read === undefined) continue
    // The API does not show In-Reply-To.
    const { in_reply_to: _, ...shown } = expected
    tally.add(path, compareMessage(shown, asInFile(read, expected)))
  }
  return tally.figures()
}

/**
 * Parsers read the file, the service what a client makes of it: text that is not encoded arrives with
 * CRLF where the file had LF, and what was agreed on may be either.
 */
function asInFile(read: FedBack, { attachments = [] }: AgreedMessage): ReadMessage {
  const isAgreed = (sha256: string) =>
    attachments.some((expected) => sha256.startsWith(expected.sha256_16))
  return {
    ...read,
    attachments: read.attachments.map(({ sha256WithLineFeeds, ...attachment }) => {
      const isFoundAsItIs = isAgreed(attachment.sha256) || !isAgreed(sha256WithLineFeeds)
      return isFoundAsItIs ? attachment : { ...attachment, sha256: sha256WithLineFeeds }
    }),
  }
}
