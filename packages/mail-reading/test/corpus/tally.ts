// Sums up comparisons of many messages into the figures that have goals.

import type { Comparison, Difference } from '#test/corpus/compare.ts'

export const CORPUS_GOALS = { headersPercent: 99.5, attachmentsPercent: 98, p99Ms: 50 }

export type CorpusFigures = {
  readonly messages: number
  readonly headersJudged: number
  readonly headersPercent: number
  readonly attachmentsJudged: number
  /** Of the agreed attachments those whose content is among ours. */
  readonly attachmentsPercent: number
  readonly superfluousAttachments: number
  /** Of the messages those in which nothing differs and no attachment is superfluous. */
  readonly exactPercent: number
  /** One line for each difference. */
  readonly differences: readonly string[]
}

const LINE_LENGTH_MAX = 400

export class CorpusTally {
  readonly #differences: string[] = []
  #messages = 0
  #exact = 0
  #headers = { judged: 0, wrong: 0 }
  #attachments = { judged: 0, wrong: 0 }
  #superfluous = 0

  add(path: string, comparison: Comparison): void {
    const wrong = [...comparison.headerDifferences, ...comparison.attachmentDifferences]
    const { superfluousAttachments } = comparison
    this.#messages += 1
    if (wrong.length + superfluousAttachments.length === 0) this.#exact += 1
    this.#headers.judged += comparison.headersJudged
    this.#headers.wrong += comparison.headerDifferences.length
    this.#attachments.judged += comparison.attachmentsJudged
    this.#attachments.wrong += comparison.attachmentDifferences.length
    this.#superfluous += superfluousAttachments.length
    for (const difference of wrong) this.#differences.push(describe(path, difference))
    for (const { filename, contentType } of superfluousAttachments) {
      this.#differences.push(`${path}: not listed by the parsers: ${filename} (${contentType})`)
    }
  }

  figures(): CorpusFigures {
    return {
      messages: this.#messages,
      headersJudged: this.#headers.judged,
      headersPercent: percentRight(this.#headers),
      attachmentsJudged: this.#attachments.judged,
      attachmentsPercent: percentRight(this.#attachments),
      superfluousAttachments: this.#superfluous,
      exactPercent: percentRight({ judged: this.#messages, wrong: this.#messages - this.#exact }),
      differences: this.#differences,
    }
  }
}

/** The value below which `share` (0 to 1) of the values lie; 0 of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

function percentRight({ judged, wrong }: { judged: number; wrong: number }): number {
  return judged === 0 ? 100 : (100 * (judged - wrong)) / judged
}

function describe(path: string, { field, expected, actual }: Difference): string {
  const text = `${path}: ${field}: expected ${JSON.stringify(expected)}, read ${JSON.stringify(actual)}`
  return text.slice(0, LINE_LENGTH_MAX)
}
