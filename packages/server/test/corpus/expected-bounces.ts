// What a folder of bounces is expected to say, and how far what was read agrees with it. Takes plain
// values, so that they may come from the parser or from the running service.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** One line of an `expected.jsonl`. */
export type ExpectedReport = {
  readonly file: string
  readonly kind: 'bounce' | 'complaint' | 'auto-reply' | 'not-a-bounce' | 'unlabelled'
  /** Those that the report's fields name. */
  readonly final_recipients: readonly string[]
  readonly results?: readonly {
    /** RFC 3463; one with a third number of 900 and more stands for a class only. */
    readonly status: string
    readonly replycode: string
    readonly reason: string
    readonly hardbounce: boolean
  }[]
}

export type FoundReport = {
  readonly kind: 'bounce' | 'complaint' | 'none'
  readonly recipients: readonly FoundRecipient[]
}

export type FoundRecipient = {
  /** Under every name that it is known by. */
  readonly names: readonly string[]
  readonly enhancedCode: string | null
  readonly replyCode: number | null
  /** Whether the address counts as dead: by the parser's class, or on the suppression list. */
  readonly isHard: boolean
}

export const BOUNCE_GOALS = {
  detected: 97,
  recipient: 98,
  'hard or soft': 92,
  'status class': 95,
} as const

type Figure = keyof typeof BOUNCE_GOALS | 'reply code' | 'left alone'

export function readExpectedReports(folder: string): ExpectedReport[] {
  return readFileSync(join(folder, 'expected.jsonl'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ExpectedReport)
}

export class BounceTally {
  readonly differences: string[] = []
  readonly #figures = new Map<Figure, { judged: number; right: number }>()
  #unlabelled = { all: 0, reports: 0 }

  add(expected: ExpectedReport, found: FoundReport): void {
    const { file, kind, results = [] } = expected
    if (kind === 'unlabelled') {
      this.#unlabelled.all += 1
      if (found.kind !== 'none') this.#unlabelled.reports += 1
      return
    }
    if (kind !== 'bounce' && kind !== 'complaint') {
      this.#judge('left alone', file, found.kind === 'none', `taken for a ${found.kind}`)
      return
    }
    this.#judge('detected', file, found.kind === kind, `a ${kind} taken for ${found.kind}`)
    if (kind === 'complaint') return
    this.#judgeRecipients(expected, found)
    for (const [index, result] of results.entries()) {
      const one = found.recipients[index] ?? found.recipients[0]
      this.#judgeResult(file, result, found.kind === 'bounce' ? one : undefined)
    }
  }

  /** Lines of figures, and whether every goal is reached. */
  report(): { lines: string[]; isReached: boolean } {
    const lines: string[] = []
    let isReached = this.#figures.size > 0
    for (const [name, { judged, right }] of this.#figures) {
      const percent = (100 * right) / judged
      const goal = name in BOUNCE_GOALS ? BOUNCE_GOALS[name as keyof typeof BOUNCE_GOALS] : null
      if (goal !== null && percent < goal) isReached = false
      const aim = goal === null ? '' : `, goal ${goal} %`
      lines.push(`${name}: ${percent.toFixed(2)} % (${right} of ${judged})${aim}`)
    }
    const { all, reports } = this.#unlabelled
    lines.push(`of ${all} messages without an expected result ${reports} are read as reports`)
    return { lines, isReached }
  }

  #judgeRecipients({ file, final_recipients, results = [] }: ExpectedReport, found: FoundReport) {
    if (final_recipients.length === 0) return
    const names = new Set(found.recipients.flatMap((one) => one.names).map(bareName))
    const missing = final_recipients.filter((name) => !names.has(bareName(name)))
    // Those beyond the results stand in reports that the returned message holds.
    const isRight =
      final_recipients.length - missing.length >= Math.min(results.length, final_recipients.length)
    this.#judge(
      'recipient',
      file,
      isRight,
      `${missing.join(', ')} is not among ${[...names].join(', ')}`,
    )
  }

  #judgeResult(
    file: string,
    result: NonNullable<ExpectedReport['results']>[number],
    one: FoundRecipient | undefined,
  ): void {
    const { status, replycode, hardbounce, reason } = result
    const isHard = one?.isHard ?? !hardbounce
    const expected = hardbounce ? 'hard' : 'not hard'
    this.#judge(
      'hard or soft',
      file,
      isHard === hardbounce,
      `expected ${expected} (${reason}), ${status}`,
    )
    if (status !== '') {
      const found = one?.enhancedCode ?? 'none'
      this.#judge('status class', file, found[0] === status[0], `expected ${status}, read ${found}`)
    }
    if (replycode !== '') {
      const found = String(one?.replyCode ?? 'none')
      this.#judge('reply code', file, found === replycode, `expected ${replycode}, read ${found}`)
    }
  }

  #judge(figure: Figure, file: string, isRight: boolean, difference: string): void {
    const { judged, right } = this.#figures.get(figure) ?? { judged: 0, right: 0 }
    this.#figures.set(figure, { judged: judged + 1, right: right + (isRight ? 1 : 0) })
    if (!isRight) this.differences.push(`${file}: ${figure}: ${difference}`)
  }
}

/** RFC 822 §6.2.7: a source route names the mailbox last. */
function bareName(name: string): string {
  return name.toLowerCase().replace(/^@[^:]+:/, '')
}
