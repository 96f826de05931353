// Rows as people and programs read them: on a terminal columns as wide as it allows, elsewhere cells
// with tabs between them, whole and without a heading.

import stringWidth from 'string-width'
import type { Output } from './output.ts'
import { plainLine } from './plain-text.ts'

export type Column = {
  readonly title: string
  /** Whether a part of it will do where there is no room. */
  readonly isFlexible: boolean
}

export const GAP = '  '
const FLEXIBLE_WIDTH_MIN = 8

export function formatTable(
  columns: readonly Column[],
  given: readonly (readonly string[])[],
  { isTerminal, width, colors }: Pick<Output, 'isTerminal' | 'width' | 'colors'>,
): string {
  const rows = given.map((row) => row.map(plainLine))
  if (!isTerminal) return rows.map((row) => `${row.join('\t')}\n`).join('')
  const titles = columns.map(({ title }) => title)
  const widths = fit(
    columns,
    columns.map((_, at) => Math.max(...[titles, ...rows].map((row) => stringWidth(row[at] ?? '')))),
    width,
  )
  const lineOf = (row: readonly string[]) =>
    row
      .map((cell, at) => pad(truncate(cell, widths[at] ?? 0), widths[at] ?? 0))
      .join(GAP)
      .trimEnd()
  return [colors.dim(lineOf(titles)), ...rows.map(lineOf)].map((line) => `${line}\n`).join('')
}

/** Takes from the widest column that is flexible, until all fit or none can give. */
function fit(columns: readonly Column[], natural: readonly number[], width: number): number[] {
  const widths = [...natural]
  const room = width - GAP.length * (columns.length - 1)
  let excess = widths.reduce((sum, one) => sum + one, 0) - room
  while (excess > 0) {
    let widest = -1
    for (const [at, { isFlexible }] of columns.entries()) {
      const canGive = isFlexible && (widths[at] ?? 0) > FLEXIBLE_WIDTH_MIN
      if (canGive && (widest === -1 || (widths[at] ?? 0) > (widths[widest] ?? 0))) widest = at
    }
    if (widest === -1) break
    widths[widest] = (widths[widest] ?? 0) - 1
    excess -= 1
  }
  return widths
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - stringWidth(text)))
}

const segmenter = new Intl.Segmenter()

/** At most `width` cells, the last of them … where something is missing. */
export function truncate(text: string, width: number): string {
  if (stringWidth(text) <= width) return text
  let kept = ''
  let keptWidth = 0
  for (const { segment } of segmenter.segment(text)) {
    const segmentWidth = stringWidth(segment)
    if (keptWidth + segmentWidth > width - 1) break
    kept += segment
    keptWidth += segmentWidth
  }
  return `${kept}…`
}

/** `name  value` lines; with a tab between them where no person reads. */
export function formatPairs(
  pairs: readonly (readonly [string, string])[],
  { isTerminal, colors }: Pick<Output, 'isTerminal' | 'colors'>,
): string {
  const width = Math.max(0, ...pairs.map(([name]) => name.length))
  return pairs
    .map(([name, value]) =>
      isTerminal
        ? `${colors.dim(name.padEnd(width))}${GAP}${plainLine(value)}\n`
        : `${name}\t${plainLine(value)}\n`,
    )
    .join('')
}
