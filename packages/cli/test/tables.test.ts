import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createColors } from 'picocolors'
import stringWidth from 'string-width'
import type { Output } from '#base/output.ts'
import { type Shown, show } from '#base/show.ts'
import { accountGroups, mailGroups, type OperationCommand, usage } from '#commands/resources.ts'

const ID = '01m7wh2mzke00rwtf005mm91zc'
const LEASE_TOKEN = `mrl_${'aB3dE5gH7j'.repeat(4)}`

/** What a field may hold, at its usual longest. */
function exampleOf(name: string): unknown {
  if (name === 'leaseToken') return LEASE_TOKEN
  if (name === 'address') return 'customer-care-and-returns@mail.company-of-many-words.example'
  if (name === 'status') return 'pending'
  if (/(^id|Id|_id|\.id)$/.test(name)) return `abc_${ID}`
  if (/(At|_at)$/.test(name)) return '2025-11-20T07:19:00.000Z'
  if (/Count|Read|Threads|^(received|sent|failed|attempts|fence)$/.test(name)) return 12_345
  if (/Bytes$/.test(name)) return 123_456_789_012
  if (/^is|requireVerified|enabled/.test(name)) return true
  if (name === 'last4') return 'wxyz'
  if (name === 'event') return 'account.quota_exceeded'
  if (name === 'recipients') return ['ann@first.example', 'bob@second.example']
  return `${'漢字'.repeat(20)} Grüße \u{1f469}\u200d\u{1f467} ${'word '.repeat(30)}\u001b[2J\u202e`
}

function rowOf(columns: readonly string[]): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (const column of columns) {
    const [first = '', second] = column.split('.')
    const value = exampleOf(column)
    row[first] = second === undefined ? value : { ...Object(row[first]), [second]: value }
  }
  return row
}

function printed(shown: Shown, body: unknown, options: { isTerminal: boolean; width: number }) {
  let text = ''
  const output: Output = {
    ...options,
    colors: createColors(false),
    noteColors: createColors(false),
    write: (piece) => (text += piece),
    note() {},
    json() {},
    progress() {},
  }
  show(output, shown, body)
  return text
}

const lists = [...mailGroups, ...accountGroups]
  .flatMap(({ name, commands }) => commands.map((command) => ({ group: name, command })))
  .concat({ group: '', command: usage })
  .flatMap(({ group, command }: { group: string; command: OperationCommand }) =>
    command.shown?.kind === 'list'
      ? [{ name: `${group} ${command.name}`.trim(), shown: command.shown }]
      : [],
  )

test('every list fits 80 columns whatever its cells hold, with its id whole and last', () => {
  assert.ok(lists.length > 15)
  for (const { name, shown } of lists) {
    const data = [rowOf(shown.columns), rowOf(shown.columns)]
    const text = printed(shown, { data, total: 2 }, { isTerminal: true, width: 80 })
    const lines = text.trimEnd().split('\n')
    for (const line of lines) assert.ok(stringWidth(line) <= 80, `${name}: ${line}`)
    const first = shown.columns[0] ?? ''
    const hasId = /^(id|event_id|threadId)$/.test(first)
    if (hasId && lines.length === 3) assert.match(lines[1] ?? '', new RegExp(`abc_${ID}$`), name)
    else if (hasId) assert.ok(text.includes(`abc_${ID}`), name)
    assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\u202e]/)
  }
})

test('a list with a lease token that no line has room for has a line for each value', () => {
  const shown = lists.find(({ name }) => name === 'inbox claim')?.shown
  assert.ok(shown)
  const data = [rowOf(shown.columns)]
  const text = printed(shown, { data, total: 1 }, { isTerminal: true, width: 80 })
  assert.match(text, new RegExp(`^LEASE TOKEN +${LEASE_TOKEN}$`, 'm'))
  assert.match(text, new RegExp(`^THREAD ID +abc_${ID}$`, 'm'))
})

test('in a pipe every list has all its columns in one order, whole', () => {
  for (const { name, shown } of lists) {
    const row = rowOf(shown.columns)
    const text = printed(shown, { data: [row], total: 1 }, { isTerminal: false, width: 80 })
    const cells = text.trimEnd().split('\t')
    assert.equal(cells.length, shown.columns.length, name)
    const at = shown.columns.findIndex((column) => /^(id|event_id|threadId|inboxId)$/.test(column))
    if (at !== -1) assert.equal(cells[at], `abc_${ID}`, name)
    assert.doesNotMatch(text, /…/)
  }
})

const threads = { kind: 'threads' } as const
const thread = {
  id: `thr_${ID}`,
  lastMessageAt: '2025-11-20T07:19:00.000Z',
  subject: '会議'.repeat(60),
  snippet: 'word '.repeat(60),
  messageCount: 3,
  isRead: false,
  unreadCount: 120,
  participants: [
    { name: 'Dr. Annemarie von der Wiesenstein-Hohenfels', address: 'ann@far.example' },
    { name: null, address: 'somebody.with.a.long.address@mail.company.example' },
  ],
}

test('a list of threads says who wrote, how many are unread and when, and the id last', () => {
  const other = {
    ...thread,
    unreadCount: 0,
    participants: [{ name: '山田', address: 'y@far.example' }],
  }
  const text = printed(
    threads,
    { data: [thread, other], total: 2 },
    { isTerminal: true, width: 80 },
  )
  const lines = text.trimEnd().split('\n')
  assert.equal(lines.length, 4)
  for (const line of lines) assert.ok(stringWidth(line) <= 80, line)
  const id = `thr_${ID}`
  assert.match(
    lines[0] ?? '',
    new RegExp(`^Dr\\. Annemarie \\S.*… {2}120 unread {2}2025-11-20 {2}${id}$`),
  )
  assert.match(lines[2] ?? '', new RegExp(`^山田 +read +2025-11-20 {2}${id}$`))
  assert.match(lines[1] ?? '', /^ {2}会議.*…$/)
})

test('a search result is three lines that fit, and its matches are marked', () => {
  const found = {
    messageId: `msg_${ID}`,
    createdAt: '2025-11-20T07:19:00.000Z',
    fromAddr: `"${'A long name '.repeat(10)}" <ann@far.example>`,
    subject: 'subject '.repeat(30),
    snippet: `${'字'.repeat(30)} invoice ${'and more '.repeat(30)}`,
    highlights: [{ start: 31, end: 38 }],
  }
  const shown = { kind: 'search' } as const
  const text = printed(shown, { data: [found], total: 1 }, { isTerminal: true, width: 80 })
  const lines = text.trimEnd().split('\n')
  assert.equal(lines.length, 3)
  for (const line of lines) assert.ok(stringWidth(line) <= 80, line)
  assert.ok(lines[0]?.endsWith(`2025-11-20  msg_${ID}`))
  assert.match(lines[2] ?? '', /invoice.*…$/)
})

test('a date is the time today, the day this year, and both when it is to come', () => {
  const now = new Date()
  const shown = { kind: 'list', columns: ['id', 'createdAt'] } as const
  const cell = (date: Date) =>
    printed(
      shown,
      { data: [{ id: 'x', createdAt: date.toISOString() }] },
      { isTerminal: true, width: 80 },
    )
      .split('\n')[1]
      ?.replace(/ +x$/, '')
  assert.match(cell(now) ?? '', /^\d\d:\d\d$/)
  const later = new Date(now.getFullYear() + 1, 2, 5, 9, 30)
  assert.equal(cell(later), `${now.getFullYear() + 1}-03-05 09:30`)
  assert.equal(cell(new Date(2020, 2, 5, 9, 30)), '2020-03-05')
  const newYear = new Date(now.getFullYear(), 0, 1)
  if (now.getMonth() > 0) assert.equal(cell(newYear), 'Jan 1')
})
