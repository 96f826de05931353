// Statistics, and a description of the machine.

import { cpus, totalmem } from 'node:os'

/** The median; the lower of the two middle values if their number is even. */
export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0
}

/** The value below which `share` (0 to 1) of the values are. */
export function quantile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(share * (sorted.length - 1))] ?? 0
}

/** One line that describes the machine. */
export function describeMachine(): string {
  const [cpu] = cpus()
  const memoryGib = Math.round(totalmem() / 2 ** 30)
  return `${cpus().length} × ${cpu?.model.trim()}, ${memoryGib} GiB, Node ${process.version}, ${process.platform}`
}

/** Text columns, the first one left-aligned and the others right-aligned. */
export function table(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  )
  const line = (row: string[]) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
  return rows.map(line).join('\n')
}
