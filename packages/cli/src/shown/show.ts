// The answers of the API as people read them. Which fields an answer has, and which of them are times,
// its schema says.

import stringWidth from 'string-width'
import type { Output } from '#base/output.ts'
import { plainBlock, plainLine } from '#base/plain-text.ts'
import { formatPairs, formatTable, GAP, truncate } from '#base/table.ts'
import type { Shown } from '#contract/operation-command.ts'
import { at, cellOf, type Fields, listOf, recordOf } from './cells.ts'
import { showDomain } from './show-domain.ts'
import { showMessages } from './show-message.ts'

export function show(output: Output, shown: Shown, body: unknown): void {
  const answer = recordOf(body)
  switch (shown.kind) {
    case 'list':
      showList(output, shown, answer)
      break
    case 'threads':
      showThreads(output, answer)
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
const WHOLE =
  /^(id|status|type|event|event_id|plan|date)$|(Id|_id|At|_at|Count|Read|Threads|Bytes|last4)$/

type Columns = Pick<Extract<Shown, { kind: 'list' }>, 'columns' | 'optional'>

function showList(output: Output, { columns: all, optional = [] }: Columns, answer: Fields): void {
  const rows = listOf(answer.data)
  const names = output.isTerminal ? fitting(output, { all, optional, rows }) : all
  const columns = names.map((name) => ({ title: titleOf(name), isFlexible: !WHOLE.test(name) }))
  const cells = rows.map((row) => names.map((name) => cellOf(output, at(row, name))))
  if (rows.length > 0) output.write(formatTable(columns, cells, output))
  noteRest(output, answer)
}

/** In cells; room that makes a column without whole values worth showing. */
const ROOM_MIN = 16

/** Without the first of the optional columns while all of them have too little room. */
function fitting(
  output: Output,
  { all, optional, rows }: { all: readonly string[]; optional: readonly string[]; rows: Fields[] },
): readonly string[] {
  const widthOf = (name: string) => {
    const cells = rows.map((row) => stringWidth(plainLine(cellOf(output, at(row, name)))))
    const width = Math.max(titleOf(name).length, ...cells)
    return WHOLE.test(name) ? width : Math.min(width, ROOM_MIN)
  }
  let names = all
  for (const name of optional) {
    const width = names.reduce((sum, one) => sum + widthOf(one) + GAP.length, -GAP.length)
    if (width <= output.width) break
    names = names.filter((one) => one !== name)
  }
  return names
}

const THREAD_COLUMNS = [
  'id',
  'lastMessageAt',
  'subject',
  'messageCount',
  'isRead',
  'unreadCount',
  'participants',
  'snippet',
]

/** In cells; in less of it a name says nothing. */
const WHO_ROOM_MIN = 8

/** On a terminal two lines for each, as wide as it is: ids leave a table little room for words. */
function showThreads(output: Output, answer: Fields): void {
  const threads = listOf(answer.data).map((thread) => ({ ...thread, participants: whoOf(thread) }))
  if (!output.isTerminal) {
    showList(output, { columns: THREAD_COLUMNS }, { ...answer, data: threads })
    return
  }
  const { bold, dim } = output.colors
  const cell = (value: unknown) => plainLine(cellOf(output, value))
  for (const thread of threads) {
    const { id, lastMessageAt, unreadCount, subject, snippet, participants } = recordOf(thread)
    const unread = Number(unreadCount ?? 0)
    const state = (unread > 0 ? `${unread} unread` : 'read').padEnd(8)
    const head = `${cell(id)}${GAP}${cell(lastMessageAt)}${GAP}`
    const whoRoom = output.width - stringWidth(head + state + GAP)
    const who = whoRoom >= WHO_ROOM_MIN ? truncate(cell(participants), whoRoom) : ''
    output.write(`${dim(head)}${unread > 0 ? bold(state) : dim(state)}${GAP}${who}`.trimEnd())
    const title = truncate(cell(subject) || '(no subject)', output.width - GAP.length)
    const room = output.width - stringWidth(title) - 2 * GAP.length
    const rest = room >= ROOM_MIN ? truncate(cell(snippet), room) : ''
    output.write(`\n${GAP}${bold(title)}${rest === '' ? '' : `${GAP}${dim(rest)}`}\n`)
  }
  noteRest(output, answer)
}

/** Names where there are some, as a person's mail program lists them. */
function whoOf({ participants }: Fields): string {
  return listOf(participants)
    .map(({ name, address }) => plainLine(String(name ?? address)))
    .join(', ')
}

/** Of a list that a person reads, whether there is more of it. */
function noteRest(output: Output, answer: Fields): void {
  if (!output.isTerminal) return
  const rows = listOf(answer.data)
  const total = typeof answer.total === 'number' ? answer.total : rows.length
  if (rows.length === 0) output.note('None.')
  else if (total > rows.length) {
    output.note(
      output.noteColors.dim(`${rows.length} of ${total}. Use --limit and --offset for more.`),
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
    const columns = [
      'messageId',
      'threadId',
      'createdAt',
      'fromAddr',
      'subject',
      'snippet',
      'inboxId',
    ]
    showList(output, { columns }, answer)
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
  output.note(length === 0 ? 'No matches.' : `${length} of ${answer.total} found.`)
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

const TITLES: Readonly<Record<string, string>> = {
  unreadThreads: 'UNREAD',
  lastMessageAt: 'LAST MESSAGE',
}

function titleOf(name: string): string {
  const own = TITLES[name]
  if (own !== undefined) return own
  const last = name.split('.').at(-1) ?? name
  return last
    .replaceAll('_', ' ')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toUpperCase()
}
