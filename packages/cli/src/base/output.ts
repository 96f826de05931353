// Output of a command: results go to standard output, everything else to standard error. Tables fit
// the width of a terminal; in files and pipes, rows are complete, tab-separated and have no heading.

import { createColors } from 'picocolors'
import stringWidth from 'string-width'
import { plainJson, plainLine } from './plain-text.ts'

type Colors = ReturnType<typeof createColors>

export type Output = {
  /** Whether a person reads the results. */
  readonly isTerminal: boolean
  readonly width: number
  readonly colors: Colors
  readonly noteColors: Colors
  write(text: string | Uint8Array): void
  /** Writes a line to standard error. */
  note(text: string): void
  json(value: unknown): void
  /** Replaces the previous progress line on a terminal; does nothing elsewhere. */
  progress(text: string): void
}

const WIDTH_DEFAULT = 80

export function openOutput({ isColored }: { isColored: boolean }): Output {
  const { stdout, stderr } = process
  const wantsColors = isColored && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
  let hasProgress = false
  const clear = () => {
    if (hasProgress) stderr.write('\r\x1b[K')
    hasProgress = false
  }
  const write = (text: string | Uint8Array) => {
    clear()
    stdout.write(text)
  }
  return {
    isTerminal: stdout.isTTY === true,
    width: stdout.columns || Number(process.env.COLUMNS) || WIDTH_DEFAULT,
    colors: createColors(wantsColors && stdout.isTTY === true),
    noteColors: createColors(wantsColors && stderr.isTTY === true),
    write,
    note(text) {
      clear()
      stderr.write(`${text}\n`)
    },
    json: (value) => write(`${plainJson(value, 2)}\n`),
    progress(text) {
      if (stderr.isTTY !== true) return
      clear()
      stderr.write(text.slice(0, (stderr.columns || WIDTH_DEFAULT) - 1))
      hasProgress = true
    },
  }
}

/** Makes the command succeed if the reader of a pipe closes it early, as `head` does. */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      process.exit(error.code === 'EPIPE' ? 0 : 1)
    })
  }
}

export type Column = {
  readonly title: string
  readonly isFlexible: boolean
}

export const GAP = '  '
const FLEXIBLE_WIDTH_MIN = 8

/** The minimum width in cells of a table with these titles and rows. */
export function leastWidth(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
): number {
  const widths = naturalWidths(columns, rows).map((width, at) =>
    columns[at]?.isFlexible ? Math.min(width, FLEXIBLE_WIDTH_MIN) : width,
  )
  return sum(widths) + GAP.length * (widths.length - 1)
}

function naturalWidths(columns: readonly Column[], rows: readonly (readonly string[])[]): number[] {
  return columns.map(({ title }, at) =>
    Math.max(stringWidth(title), ...rows.map((row) => stringWidth(plainLine(row[at] ?? '')))),
  )
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}

export function formatTable(
  columns: readonly Column[],
  given: readonly (readonly string[])[],
  { isTerminal, width, colors }: Pick<Output, 'isTerminal' | 'width' | 'colors'>,
): string {
  const rows = given.map((row) => row.map(plainLine))
  if (!isTerminal) return rows.map((row) => `${row.join('\t')}\n`).join('')
  const titles = columns.map(({ title }) => title)
  const widths = fit(columns, naturalWidths(columns, rows), width)
  const lineOf = (row: readonly string[]) =>
    row
      .map((cell, at) => pad(truncate(cell, widths[at] ?? 0), widths[at] ?? 0))
      .join(GAP)
      .trimEnd()
  return [colors.dim(lineOf(titles)), ...rows.map(lineOf)].map((line) => `${line}\n`).join('')
}

/** Narrows the widest flexible column until the row fits or no column can be narrower. */
function fit(columns: readonly Column[], natural: readonly number[], width: number): number[] {
  const widths = [...natural]
  const room = width - GAP.length * (columns.length - 1)
  let excess = sum(widths) - room
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

export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - stringWidth(text)))
}

const segmenter = new Intl.Segmenter()

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

/** Lines with a name and its value, separated by a tab unless they are for a terminal. */
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
