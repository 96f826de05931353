// The run of verification codes: precision and recall over the project's own messages or, of a folder of
// real mail, every code that was found, to be read by a person.

import { extractFrom } from '#extract/extract.ts'
import type { FoundCode } from '#extract/find-codes.ts'
import { parseMessage } from '#parse-message.ts'
import { messageFiles } from './message-files.ts'
import { percentile } from './tally.ts'
import { type WrittenMessage, writtenMessages } from './written-codes.ts'

export const CODE_GOALS = { precisionPercent: 99, recallPercent: 95 } as const

export type CodeFigures = {
  readonly messages: number
  readonly withCodes: number
  readonly expected: number
  readonly found: number
  readonly right: number
  readonly precisionPercent: number
  readonly recallPercent: number
  /** A line for each message that was read otherwise than expected. */
  readonly differences: readonly string[]
}

/** A value counts when it is found as it is shown, character for character. */
export function judgeCodes(messages: readonly WrittenMessage[]): CodeFigures {
  const differences: string[] = []
  let [expected, found, right] = [0, 0, 0]
  for (const message of messages) {
    const { codes } = extractFrom(message)
    const values = codes.map(({ value }) => value)
    const same = values.filter((value) => message.codes.includes(value))
    expected += message.codes.length
    found += values.length
    right += same.length
    if (same.length !== values.length || same.length !== message.codes.length) {
      const shown = codes.map(showCode).join(', ') || 'none'
      differences.push(
        `${message.name}: expected ${message.codes.join(', ') || 'none'}, found ${shown}`,
      )
    }
  }
  return {
    messages: messages.length,
    withCodes: messages.filter(({ codes }) => codes.length > 0).length,
    expected,
    found,
    right,
    precisionPercent: (100 * right) / Math.max(1, found),
    recallPercent: (100 * right) / Math.max(1, expected),
    differences,
  }
}

/** Prints differences and figures; the exit code is 1 below the goals. */
export function runCodes(folder: string | undefined): number {
  if (folder !== undefined) return listCodes(folder)
  const messages = writtenMessages()
  const halves: [string, CodeFigures][] = [
    ['looked at', judgeCodes(messages.filter(({ isHeldOut }) => !isHeldOut))],
    ['held out', judgeCodes(messages.filter(({ isHeldOut }) => isHeldOut))],
    ['all', judgeCodes(messages)],
  ]
  // What is held out is only counted, so that nobody makes rules to fit it.
  const lines = [...(halves[0]?.[1].differences ?? []), '', ...halves.map(showFigures)]
  process.stdout.write(`${lines.join('\n')}\n`)
  const isReached = halves.every(
    ([, { precisionPercent, recallPercent }]) =>
      precisionPercent >= CODE_GOALS.precisionPercent && recallPercent >= CODE_GOALS.recallPercent,
  )
  return isReached ? 0 : 1
}

function showFigures([name, figures]: [string, CodeFigures]): string {
  const { messages, withCodes, expected, found, right } = figures
  const precision = `precision ${figures.precisionPercent.toFixed(2)} % (${right} of ${found})`
  const recall = `recall ${figures.recallPercent.toFixed(2)} % (${right} of ${expected})`
  return `${name}: ${messages} messages, ${withCodes} with codes: ${precision}, ${recall}`
}

function listCodes(folder: string): number {
  let [messages, withCodes, links] = [0, 0, 0]
  const timesMs: number[] = []
  for (const { path, raw } of messageFiles(folder)) {
    const { headers, text, html } = parseMessage(raw)
    const start = performance.now()
    const found = extractFrom({ subject: headers.subject, text, html })
    timesMs.push(performance.now() - start)
    messages++
    links += found.links.length
    if (found.codes.length === 0) continue
    withCodes++
    for (const code of found.codes) {
      process.stdout.write(`${path}: ${showCode(code)} in ${JSON.stringify(code.source)}\n`)
    }
  }
  const time = [0.5, 0.99, 1].map((part) => percentile(timesMs, part).toFixed(2))
  process.stdout.write(`
${messages} messages, ${withCodes} with codes, ${links} links
time: p50 ${time[0]} ms, p99 ${time[1]} ms, max ${time[2]} ms
`)
  return 0
}

function showCode({ value, confidence }: FoundCode): string {
  return `${value} (${confidence.toFixed(2)})`
}
