// The answers of the API as people read them. Which fields an answer has, and which of them are times,
// its schema says.

import type { Output } from '#base/output.ts'
import { plainBlock, plainLine } from '#base/plain-text.ts'
import { formatPairs, formatTable } from '#base/table.ts'
import type { Shown } from '#contract/operation-command.ts'
import { at, cellOf, type Fields, listOf, recordOf } from './cells.ts'
import { showDomain } from './show-domain.ts'
import { showMessages } from './show-message.ts'

export function show(output: Output, shown: Shown, body: unknown): void {
  const answer = recordOf(body)
  switch (shown.kind) {
    case 'list':
      showList(output, shown.columns, answer)
      break
    case 'search':
      showFound(output, answer)
      break
    case 'domain':
      showDomain(output, answer)
      break
    case 'thread':
      showMessages(output, answer)
      break
    default:
      showItem(output, answer)
  }
}

/** Never cut: what is copied from the terminal. */
const WHOLE = /^(id|status|type|event|event_id|plan|date)$|(Id|_id|At|_at|Count|Read|Bytes|last4)$/

function showList(output: Output, names: readonly string[], answer: Fields): void {
  const rows = listOf(answer.data)
  const columns = names.map((name) => ({ title: titleOf(name), isFlexible: !WHOLE.test(name) }))
  const cells = rows.map((row) => names.map((name) => cellOf(output, at(row, name))))
  if (rows.length > 0) output.write(formatTable(columns, cells, output))
  if (!output.isTerminal) return
  const total = typeof answer.total === 'number' ? answer.total : rows.length
  if (rows.length === 0) output.note('There are none.')
  else if (total > rows.length) {
    output.note(
      output.noteColors.dim(`${rows.length} of ${total}; --limit and --offset show more.`),
    )
  }
}

function showItem(output: Output, item: Fields): void {
  const pairs = Object.entries(item).flatMap(([name, value]): [string, string][] => {
    const isShown = typeof value !== 'object' || value === null || isPlainList(value)
    return isShown ? [[name, cellOf(output, value)]] : []
  })
  output.write(formatPairs(pairs, output))
  for (const name of ['token', 'secret', 'webhookSecret']) {
    if (name in item) output.note(`The ${name} is shown only now.`)
  }
}

function showFound(output: Output, answer: Fields): void {
  if (!output.isTerminal) {
    const columns = ['messageId', 'threadId', 'createdAt', 'fromAddr', 'subject', 'snippet']
    showList(output, columns, answer)
    return
  }
  const { bold, dim } = output.colors
  for (const found of listOf(answer.data)) {
    const [date, from, subject] = ['createdAt', 'fromAddr', 'subject'].map((name) =>
      plainLine(cellOf(output, found[name])),
    )
    output.write(`${dim(String(found.messageId))}  ${date}  ${from}\n`)
    output.write(`  ${bold(subject || '(no subject)')}\n  ${highlight(found, bold)}\n\n`)
  }
  const { length } = listOf(answer.data)
  output.note(length === 0 ? 'Nothing was found.' : `${length} of ${answer.total} found.`)
}

/** The places are counted in code points, before anything is taken out. */
function highlight({ snippet, highlights }: Fields, mark: (text: string) => string): string {
  const points = [...String(snippet ?? '')]
  let told = ''
  let from = 0
  for (const { start, end } of listOf(highlights)) {
    if (typeof start !== 'number' || typeof end !== 'number' || start < from) continue
    told += spaced(points.slice(from, start)) + mark(spaced(points.slice(start, end)))
    from = end
  }
  return told + spaced(points.slice(from))
}

function spaced(points: readonly string[]): string {
  return plainBlock(points.join('')).replaceAll(/\s+/g, ' ')
}

function isPlainList(value: object): boolean {
  return Array.isArray(value) && value.every((one) => typeof one !== 'object')
}

function titleOf(name: string): string {
  const last = name.split('.').at(-1) ?? name
  return last
    .replaceAll('_', ' ')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toUpperCase()
}
