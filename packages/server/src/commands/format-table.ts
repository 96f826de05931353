// Lines in columns, for people.

import { plainText } from './plain-text.ts'

/** Every column as wide as its widest cell, but the last, which ends the line. Cells are made plain. */
export function formatTable(given: readonly (readonly string[])[]): string {
  const rows = given.map((row) => row.map(plainText))
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  )
  const lines = rows.map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '))
  return lines.map((line) => `${line.trimEnd()}\n`).join('')
}
