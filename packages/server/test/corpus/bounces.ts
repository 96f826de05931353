// The corpus of bounces: read by the parser alone, or as reports about messages that a service sent. Prints every
// difference, the figures and whether they reach their goals.

import { join } from 'node:path'
import { readReport } from '@mailroom/mail-reading/report/read-report.ts'
import {
  countFalseReports,
  FALSE_REPORTS_PERCENT_MAX,
} from '@mailroom/mail-reading/test/corpus/false-reports.ts'
import { readMessageFile } from '@mailroom/mail-reading/test/corpus/message-files.ts'
import { percentile } from '@mailroom/mail-reading/test/corpus/tally.ts'
import { BounceService, envelopeOf } from './bounce-service.ts'
import {
  BounceTally,
  type ExpectedReport,
  type FoundReport,
  readExpectedReports,
} from './expected-bounces.ts'

/** Resolves with the exit code: 1 below a goal. */
export async function runBounces(folder: string, isParserOnly: boolean): Promise<number> {
  const expected = readExpectedReports(folder)
  const tally = new BounceTally()
  const notes = isParserOnly
    ? readAll(folder, expected, tally)
    : await sendAll(folder, expected, tally)
  const { ordinary, reports, taken } = countFalseReports(folder)
  const falsePercent = ordinary === 0 ? 0 : (100 * taken.length) / ordinary
  const { lines, isReached } = tally.report()
  const text = [
    ...tally.differences,
    ...taken,
    '',
    ...lines,
    `false positives: ${falsePercent.toFixed(2)} % (${taken.length} of ${ordinary} ordinary messages), at most ${FALSE_REPORTS_PERCENT_MAX} %; ${reports} reports among them are not judged`,
    ...notes.lines,
  ]
  process.stdout.write(`${text.join('\n')}\n`)
  return isReached && notes.isWell && falsePercent <= FALSE_REPORTS_PERCENT_MAX ? 0 : 1
}

type Notes = { readonly lines: readonly string[]; readonly isWell: boolean }

function readAll(folder: string, expected: readonly ExpectedReport[], tally: BounceTally): Notes {
  const timesMs: number[] = []
  for (const one of expected) {
    const raw = readMessageFile(join(folder, one.file))
    const envelope = envelopeOf(raw)
    const startMs = performance.now()
    const report = readReport(raw, envelope)
    timesMs.push(performance.now() - startMs)
    tally.add(one, asFound(report))
  }
  const ms = (share: number) => percentile(timesMs, share).toFixed(2)
  return {
    lines: [`time of one: p50 ${ms(0.5)} ms, p99 ${ms(0.99)} ms, max ${ms(1)} ms`],
    isWell: true,
  }
}

async function sendAll(
  folder: string,
  expected: readonly ExpectedReport[],
  tally: BounceTally,
): Promise<Notes> {
  const service = await BounceService.open()
  const startMs = performance.now()
  try {
    for (const one of expected) {
      const raw = readMessageFile(join(folder, one.file))
      const outcome = await service.takeReport(raw, one.final_recipients)
      tally.add(one, outcome ?? asFound(readReport(raw, envelopeOf(raw))))
    }
  } finally {
    await service.close()
  }
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1)
  return {
    lines: [...service.notes(), `time: ${seconds} s`],
    isWell: service.troubles.length === 0,
  }
}

function asFound(report: ReturnType<typeof readReport>): FoundReport {
  if (report.kind !== 'bounce') return { kind: report.kind, recipients: [] }
  const recipients = report.recipients.map((one) => ({
    names: [one.recipient, one.originalRecipient].filter((name) => name !== null),
    enhancedCode: one.enhancedCode,
    replyCode: one.replyCode,
    isHard: one.action === 'failed' && one.bounceClass === 'hard',
  }))
  return { kind: 'bounce', recipients }
}
