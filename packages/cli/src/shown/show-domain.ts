// A domain with its DNS records: how they stand as a table, and what to publish as lines to copy.

import type { Output } from '#base/output.ts'
import { plainLine } from '#base/plain-text.ts'
import { formatPairs, formatTable } from '#base/table.ts'
import { at, cellOf, type Fields, listOf } from './cells.ts'

const COLUMNS = ['status', 'purpose', 'type', 'name', 'hint']

/** In a pipe: a line for each record, its value at the end. */
export function showDomain(output: Output, domain: Fields): void {
  const records = listOf(domain.records)
  if (!output.isTerminal) {
    const names = ['status', 'purpose', 'required', 'type', 'name', 'priority', 'value']
    const rows = records.map((record) => names.map((name) => cellOf(output, at(record, name))))
    output.write(formatTable([], rows, output))
    return
  }
  const pairs = ['id', 'domain', 'status', 'podId', 'createdAt', 'verifiedAt', 'lastCheckedAt'].map(
    (name): [string, string] => [name, cellOf(output, domain[name])],
  )
  output.write(`${formatPairs(pairs, output)}\n`)
  const columns = COLUMNS.map((title) => ({
    title: title.toUpperCase(),
    isFlexible: title === 'hint' || title === 'name',
  }))
  const rows = records.map((record) =>
    COLUMNS.map((name) =>
      name === 'purpose' && record.required !== true
        ? `${record.purpose} (recommended)`
        : cellOf(output, record[name]),
    ),
  )
  output.write(formatTable(columns, rows, output))
  output.write(`\n${output.colors.dim('What to publish:')}\n`)
  // Each value whole and on a line of its own, for it to be copied.
  for (const { type, name, priority, value } of records) {
    const number = typeof priority === 'number' ? ` ${priority}` : ''
    output.write(`\n${plainLine(`${name}  ${type}${number}`)}\n${plainLine(String(value))}\n`)
  }
}
