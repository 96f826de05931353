// Shows API responses to people: tables, field lists, messages, domains. In a pipe they are
// tab-separated lines.

import stringWidth from 'string-width'
import {
  type Column,
  formatPairs,
  formatTable,
  GAP,
  leastWidth,
  type Output,
  pad,
  truncate,
} from './output.ts'
import { plainBlock, plainLine } from './plain-text.ts'

/** How a response is shown; by default all fields. */
export type Shown =
  /** One row per entry; on a terminal `optional` columns are shown only if there is room. */
  | ({ readonly kind: 'list' } & Columns)
  | { readonly kind: 'domain' }
  | { readonly kind: 'policy' }
  | { readonly kind: 'review' }
  | { readonly kind: 'search' }
  | { readonly kind: 'threads' }

type Columns = {
  readonly columns: readonly string[]
  readonly optional?: readonly string[]
  /** Printed if there are no rows, even in a pipe. */
  readonly none?: string
}

export function show(output: Output, shown: Shown | undefined, body: unknown): void {
  const answer = recordOf(body)
  switch (shown?.kind) {
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
    case 'policy':
      showPolicy(output, answer)
      break
    case 'review':
      showReview(output, answer)
      break
    case undefined:
      showItem(output, answer)
  }
}

/** Columns with ids, which are last on a terminal and never truncated, because people copy them. */
const ID = /^(id|leaseToken)$|(?<!client)Id$|_id$|\.id$/
/** Other columns that are never truncated. */
const WHOLE = /^(status|type|plan|date)$|(At|_at|Count|Read|Threads|Bytes|last4)$/

function showList(output: Output, shown: Columns, answer: Fields): void {
  const { columns: all, optional = [], none } = shown
  const rows = listOf(answer.data)
  if (rows.length === 0 && none !== undefined) {
    output.note(none)
    return
  }
  const cellsOf = (names: readonly string[]) =>
    rows.map((row) => names.map((name) => listCellOf(output, at(row, name))))
  if (!output.isTerminal) {
    output.write(formatTable([], cellsOf(all), output))
    return
  }
  const idsLast = [...all.filter((name) => !ID.test(name)), ...all.filter((name) => ID.test(name))]
  const names = fitting(output, { all: idsLast, optional, rows })
  const columns = columnsOf(names)
  const cells = cellsOf(names)
  if (leastWidth(columns, cells) > output.width) writeRecords(output, names, cells)
  else if (rows.length > 0) output.write(formatTable(columns, cells, output))
  noteRest(output, answer)
}

function columnsOf(names: readonly string[]): Column[] {
  return names.map((name) => ({
    title: titleOf(name),
    isFlexible: !WHOLE.test(name) && !ID.test(name),
  }))
}

/** Writes rows that are wider than the terminal with each value on its own line. */
function writeRecords(
  output: Output,
  names: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const nameWidth = Math.max(...names.map((name) => titleOf(name).length))
  const room = Math.max(1, output.width - nameWidth - GAP.length)
  for (const [index, row] of rows.entries()) {
    const pairs = names.map((name, at): [string, string] => {
      const value = plainLine(row[at] ?? '')
      return [titleOf(name), ID.test(name) ? value : truncate(value, room)]
    })
    output.write(`${index === 0 ? '' : '\n'}${formatPairs(pairs, output)}`)
  }
}

/** Minimum width in cells at which a truncated value is useful. */
const ROOM_MIN = 16

/** Drops optional columns in order until the rest has enough room. */
function fitting(
  output: Output,
  { all, optional, rows }: { all: readonly string[]; optional: readonly string[]; rows: Fields[] },
): readonly string[] {
  const widthOf = (name: string) => {
    const cells = rows.map((row) => stringWidth(plainLine(listCellOf(output, at(row, name)))))
    const width = Math.max(titleOf(name).length, ...cells)
    return WHOLE.test(name) || ID.test(name) ? width : Math.min(width, ROOM_MIN)
  }
  let names = all
  for (const name of optional) {
    const width = names.reduce((sum, one) => sum + widthOf(one) + GAP.length, -GAP.length)
    if (width <= output.width) break
    names = names.filter((one) => one !== name)
  }
  return names
}

const THREAD_COLUMNS =
  'id lastMessageAt subject messageCount isRead unreadCount participants snippet'.split(' ')

/** The width in cells beyond which a name is truncated. */
const WHO_ROOM_MAX = 40

/** On a terminal each thread has two lines, because an id leaves little room for text. */
function showThreads(output: Output, answer: Fields): void {
  const threads = listOf(answer.data).map((thread) => ({ ...thread, participants: whoOf(thread) }))
  if (!output.isTerminal) {
    showList(output, { columns: THREAD_COLUMNS }, { ...answer, data: threads })
    return
  }
  const cell = (value: unknown) => plainLine(listCellOf(output, value))
  const rows = threads.map((thread) => {
    const { id, lastMessageAt, unreadCount, subject, snippet, participants } = recordOf(thread)
    const unread = Number(unreadCount ?? 0)
    const state = unread > 0 ? `${unread} unread` : 'read'
    const who = cell(participants)
    return { id: cell(id), date: cell(lastMessageAt), unread, state, who, subject, snippet }
  })
  const widest = (name: 'id' | 'date' | 'state' | 'who') =>
    Math.max(0, ...rows.map((row) => stringWidth(row[name])))
  const [idWidth, dateWidth, stateWidth] = [widest('id'), widest('date'), widest('state')]
  const others = idWidth + dateWidth + stateWidth + 3 * GAP.length
  const whoWidth = Math.min(widest('who'), WHO_ROOM_MAX, Math.max(1, output.width - others))
  const { bold, dim } = output.colors
  for (const { id, date, unread, state, who, subject, snippet } of rows) {
    const mark = unread > 0 ? bold : dim
    const cells = [
      pad(truncate(who, whoWidth), whoWidth),
      mark(pad(state, stateWidth)),
      dim(pad(date, dateWidth)),
      dim(id),
    ]
    output.write(cells.join(GAP))
    const title = truncate(cell(subject) || '(no subject)', output.width - GAP.length)
    const room = output.width - stringWidth(title) - 2 * GAP.length
    const rest = room >= ROOM_MIN ? truncate(cell(snippet), room) : ''
    output.write(`\n${GAP}${bold(title)}${rest === '' ? '' : `${GAP}${dim(rest)}`}\n`)
  }
  noteRest(output, answer)
}

/** Names of participants, or addresses of those without, as mail programs list them. */
function whoOf({ participants }: Fields): string {
  return listOf(participants)
    .map(({ name, address }) => plainLine(String(name ?? address)))
    .join(', ')
}

/** Reports on a terminal whether the list continues. */
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

export function showItem(output: Output, item: Fields): void {
  output.write(formatPairs(pairsOf(output, item), output))
  for (const name of ['token', 'secret', 'webhookSecret']) {
    if (name in item) output.note(`The ${name} is shown only once.`)
  }
}

/** Names nested fields and list entries by their paths, such as `hold.reasons.0`. */
function pairsOf(output: Output, fields: object, path = ''): [string, string][] {
  return Object.entries(fields).flatMap(([key, value]) => {
    const name = `${path}${key}`
    const isPlain = typeof value !== 'object' || value === null || isPlainList(value)
    if (isPlain) return [[name, cellOf(output, value)]]
    if (isMailboxes(value)) return [[name, value.map(mailboxText).join(', ')]]
    return pairsOf(output, value, `${name}.`)
  })
}

type Mailbox = { readonly name: string | null; readonly address: string }

function isMailboxes(value: object): value is Mailbox[] {
  return (
    Array.isArray(value) &&
    value.every((one) => Object.keys(recordOf(one)).sort().join() === 'address,name')
  )
}

function mailboxText({ name, address }: Mailbox): string {
  return name === null ? address : `${name} <${address}>`
}

const FOUND_SHOWN = ['createdAt', 'fromAddr', 'subject', 'messageId']
const FOUND_COLUMNS = 'messageId threadId createdAt fromAddr subject snippet inboxId'.split(' ')

function showFound(output: Output, answer: Fields): void {
  if (!output.isTerminal) {
    showList(output, { columns: FOUND_COLUMNS }, answer)
    return
  }
  const { bold, dim } = output.colors
  const room = output.width - GAP.length
  for (const found of listOf(answer.data)) {
    const [date = '', from = '', subject = '', id = ''] = FOUND_SHOWN.map((name) =>
      plainLine(listCellOf(output, found[name])),
    )
    const who = truncate(from, Math.max(1, output.width - stringWidth(date + id) - 2 * GAP.length))
    output.write(`${[who, date, dim(id)].join(GAP)}\n`)
    output.write(`${GAP}${bold(truncate(subject || '(no subject)', room))}\n`)
    output.write(`${GAP}${highlight(found, { mark: bold, room })}\n\n`)
  }
  const { length } = listOf(answer.data)
  output.note(length === 0 ? 'No matches.' : `${length} of ${answer.total} found.`)
}

/** The snippet on one line. Highlights are code points of the original snippet. */
function highlight(
  { snippet, highlights }: Fields,
  { mark, room }: { mark: (text: string) => string; room: number },
): string {
  const points = [...String(snippet ?? '')]
  const pieces: { text: string; isMarked: boolean }[] = []
  let from = 0
  for (const { start, end } of listOf(highlights)) {
    if (typeof start !== 'number' || typeof end !== 'number' || start < from) continue
    pieces.push({ text: spaced(points.slice(from, start)), isMarked: false })
    pieces.push({ text: spaced(points.slice(start, end)), isMarked: true })
    from = end
  }
  pieces.push({ text: spaced(points.slice(from)), isMarked: false })
  let left = room
  let shown = ''
  for (const { text, isMarked } of pieces) {
    if (left < 1) break
    const cut = truncate(text, left)
    left -= stringWidth(cut)
    shown += isMarked ? mark(cut) : cut
  }
  return shown.trim()
}

function spaced(points: readonly string[]): string {
  return plainBlock(points.join('')).replaceAll(/\s+/g, ' ')
}

function isPlainList(value: object): boolean {
  return Array.isArray(value) && value.every((one) => typeof one !== 'object')
}

const TITLES: Readonly<Record<string, string>> = {
  unreadThreads: 'UNREAD',
  'actor.id': 'ACTOR',
  isDefault: 'DEFAULT',
  requireVerified: 'VERIFIED',
}

function titleOf(name: string): string {
  const own = TITLES[name]
  if (own !== undefined) return own
  const last = name.split('.').at(-1) ?? name
  return last
    .replace(/(?<=.)(_at|At|Addr)$/, '')
    .replaceAll('_', ' ')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toUpperCase()
}

export function showMessage(output: Output, message: Fields): void {
  const { dim } = output.colors
  const line = (name: string, value: unknown) => {
    const text = plainLine(cellOf(output, value))
    if (text !== '' && value !== null) output.write(`${dim(`${name}:`)} ${text}\n`)
  }
  const { attachments, direction, subject, bodyText } = message
  line('Id', message.id)
  line('Thread', message.threadId)
  line('From', `${message.fromAddr ?? ''}${senderTruth(message)}`)
  line('To', message.headerTo ?? message.toAddr)
  if (Array.isArray(message.cc) && message.cc.length > 0) line('Cc', message.cc)
  line('Date', message.createdAt)
  line('Subject', subject)
  if (direction === 'outbound') line('Status', message.status)
  line('Failure', message.failureReason)
  line('Category', message.category)
  if (message.automatic === true) line('Automatic', message.automaticReason ?? 'yes')
  for (const { filename, contentType, sizeBytes } of listOf(attachments)) {
    line('Attachment', `${filename} (${contentType}, ${sizeBytes} bytes)`)
  }
  for (const { value, confidence } of listOf(recordOf(message.extracted).codes)) {
    line('Code', `${value} (confidence ${confidence})`)
  }
  const text = plainBlock(String(bodyText ?? '')).trimEnd()
  output.write(`\n${text}${text === '' ? '' : '\n'}`)
  if (message.isTruncated === true) {
    output.write(dim(`(Truncated. Complete message: mailroom messages get ${message.id})\n`))
  }
}

/** The messages of a thread, oldest first. */
export function showMessages(output: Output, thread: Fields): void {
  for (const [index, message] of listOf(thread.data).entries()) {
    if (index > 0)
      output.write(`\n${output.colors.dim('—'.repeat(Math.min(output.width, 72)))}\n\n`)
    showMessage(output, message)
  }
}

function senderTruth({ direction, authentication }: Fields): string {
  if (direction !== 'inbound') return ''
  return recordOf(authentication).verifiedFrom === true ? ' (verified)' : ' (not verified)'
}

const DOMAIN_FIELDS = [
  'id',
  'domain',
  'status',
  'podId',
  'subdomainsEnabled',
  'catchAllInboxId',
  'createdAt',
  'verifiedAt',
  'lastCheckedAt',
]
const RECORD_COLUMNS = ['status', 'purpose', 'type', 'name', 'hint']

/** Writes to a pipe one line per record, with the value of the record at the end. */
function showDomain(output: Output, domain: Fields): void {
  const records = listOf(domain.records)
  if (!output.isTerminal) {
    const names = ['status', 'purpose', 'required', 'type', 'name', 'priority', 'value']
    const rows = records.map((record) => names.map((name) => cellOf(output, at(record, name))))
    output.write(formatTable([], rows, output))
    return
  }
  const pairs = DOMAIN_FIELDS.map((name): [string, string] => [name, cellOf(output, domain[name])])
  output.write(`${formatPairs(pairs, output)}\n`)
  const columns = RECORD_COLUMNS.map((title) => ({
    title: title.toUpperCase(),
    isFlexible: title === 'hint' || title === 'name',
  }))
  const rows = records.map((record) =>
    RECORD_COLUMNS.map((name) =>
      name === 'purpose' && record.required !== true
        ? `${record.purpose} (recommended)`
        : cellOf(output, record[name]),
    ),
  )
  output.write(formatTable(columns, rows, output))
  output.write(`\n${output.colors.dim('Publish these records:')}\n`)
  // Each value is complete and on its own line, so that it can be copied.
  for (const { type, name, priority, value } of records) {
    const number = typeof priority === 'number' ? ` ${priority}` : ''
    output.write(`\n${plainLine(`${name}  ${type}${number}`)}\n${plainLine(String(value))}\n`)
  }
}

/** The effective policy, with the scope of inherited settings; rules are in order of precedence. */
function showPolicy(output: Output, policy: Fields): void {
  const effective = recordOf(policy.effective)
  const pairs: [string, string][] = [
    ['scope', scopeOf(recordOf(policy.scope))],
    ['etag', cellOf(output, policy.etag)],
  ]
  for (const direction of ['inbound', 'outbound']) {
    const own = recordOf(policy[direction])
    const { mode, modeFrom, rules, guards, guardsFrom } = recordOf(effective[direction])
    pairs.push([`${direction}.mode`, partOf(own.mode, mode, modeFrom)])
    for (const [name, value] of Object.entries(recordOf(own.guards))) {
      const part = partOf(value, recordOf(guards)[name], recordOf(guardsFrom)[name])
      pairs.push([`${direction}.${name}`, part])
    }
    for (const rule of listOf(rules)) {
      const unproven = rule.requireVerified === false && rule.type === 'allow' ? ' unverified' : ''
      const text = `${rule.type} ${rule.value}${unproven} (${scopeOf(rule)}, ${rule.id})`
      pairs.push([`${direction}.rule`, text])
    }
  }
  output.write(formatPairs(pairs, output))
}

function partOf(own: unknown, effective: unknown, from: unknown): string {
  const text = String(effective ?? 'no limit')
  return own === effective ? text : `${text} (of the ${from})`
}

function scopeOf({ podId, inboxId }: Fields): string {
  return String(inboxId ?? podId ?? 'account')
}

/** Shows everything that will be sent, because approvers rely on it. */
function showReview(output: Output, review: Fields): void {
  const { content, display, thread, equal, reasons, ...others } = review
  showItem(output, others)
  const { replyTo, inReplyTo, headers, attachments, bodyText, bodyHtml } = recordOf(content)
  const { sendAt, unsubscribe, isAutomatic } = recordOf(content)
  const { isWhole, blockedImages, blockedStyles, hidden, invisible, unshown } = recordOf(display)
  const pairs: [string, string][] = [
    ...listOf(reasons).map(({ guard, detail }): [string, string] => [
      'reason',
      `${guard}: ${detail}`,
    ]),
    ['replyTo', cellOf(output, replyTo)],
    ['inReplyTo', cellOf(output, inReplyTo)],
    ...Object.entries(recordOf(headers)).map(([name, value]): [string, string] => [
      'header',
      `${name}: ${value}`,
    ]),
    ['sendAt', cellOf(output, sendAt)],
    ['unsubscribe', cellOf(output, unsubscribe)],
    ['isAutomatic', cellOf(output, isAutomatic)],
    ...listOf(equal).map(({ id, digest }): [string, string] => ['equal', `${id} ${digest}`]),
    ...listOf(attachments).map(({ filename, contentType, sha256 }): [string, string] => [
      'attachment',
      `${filename} (${contentType}, SHA-256 ${sha256})`,
    ]),
  ]
  if (hidden !== null) pairs.push(['notice', `The HTML has hidden text: ${hidden}`])
  if (isWhole === false) pairs.push(['notice', 'A page cannot show all of the HTML.'])
  const counts: [string, unknown][] = [
    ['Invisible characters, shown here as [U+…]', invisible],
    ['Characters of the HTML that are never displayed', unshown],
    ['Remote images', blockedImages],
    ['Remote style sheets and fonts', blockedStyles],
  ]
  for (const [words, count] of counts) {
    if (Number(count) > 0) pairs.push(['notice', `${words}: ${count}`])
  }
  output.write(formatPairs(pairs, output))
  writeBody(output, 'The text', bodyText)
  if (bodyHtml !== '') writeBody(output, 'The source of the HTML', bodyHtml)
  const threadId = recordOf(thread).threadId
  output.note(`The thread: mailroom threads get ${plainLine(String(threadId))}`)
  if (review.status === 'pending') {
    const { id, digest } = review
    output.note(`To approve: mailroom reviews approve ${plainLine(`${id} ${digest}`)}`)
  }
}

function writeBody(output: Output, title: string, body: unknown): void {
  const text = plainBlock(String(body ?? '')).trimEnd()
  output.write(`\n${output.colors.dim(`${title}:`)}\n\n${text}${text === '' ? '' : '\n'}`)
}

export type Fields = Readonly<Record<string, unknown>>

function recordOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(recordOf) : []
}

/** A field, or a nested field such as `message.subject`. */
function at(row: Fields, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => recordOf(value)[name], row)
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

/** Times are local on a terminal, and as in the API elsewhere. */
function cellOf({ isTerminal }: Pick<Output, 'isTerminal'>, value: unknown): string {
  if (value === null || value === undefined) return isTerminal ? '–' : ''
  if (typeof value === 'boolean') return isTerminal ? (value ? 'yes' : 'no') : String(value)
  if (Array.isArray(value)) return value.map(String).join(', ')
  if (isTerminal && typeof value === 'string' && TIME.test(value)) return localTime(value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** In a list on a terminal, times are abbreviated. */
export function listCellOf(output: Pick<Output, 'isTerminal'>, value: unknown): string {
  const isTime = output.isTerminal && typeof value === 'string' && TIME.test(value)
  return isTime ? shortTime(new Date(value), new Date()) : cellOf(output, value)
}

function localTime(text: string): string {
  const date = new Date(text)
  return `${dayOf(date)} ${clockTime(date)}`
}

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/** The time of day for today, the day for earlier this year, and both for the future. */
function shortTime(date: Date, now: Date): string {
  if (dayOf(date) === dayOf(now)) return clockTime(date)
  const isThisYear = date.getFullYear() === now.getFullYear()
  const day = isThisYear ? `${MONTHS[date.getMonth()]} ${date.getDate()}` : dayOf(date)
  return date > now ? `${day} ${clockTime(date)}` : day
}

function dayOf(date: Date): string {
  return [date.getFullYear(), twoDigits(date.getMonth() + 1), twoDigits(date.getDate())].join('-')
}

function clockTime(date: Date): string {
  return `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}
