import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import type { Inbox, Message } from '@mailroom/sdk'
import { opened } from '@mailroom/server/test/world.ts'
import stringWidth from 'string-width'
import { CliWorld } from '#test/cli-world.ts'

const HOSTILE = 'Hi\u001b]0;owned\u0007\u001b[31m\u009b2J\u202egnp.exe\u2066 end'
// Removes the sequences of `script` itself; the program uses only colours and erased lines.
const OURS = /\x1b\[(\d{1,2}m|K)/g
const STEERING = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/

let message: Message
const world = opened(() => CliWorld.open())
before(async () => {
  const inbox: Inbox = await world.client.inboxes.create({ mailboxName: 'terminal' })
  const subject = `=?utf-8?B?${Buffer.from(`${HOSTILE} ${'漢字'.repeat(40)}`).toString('base64')}?=`
  const raw = [
    'From: "Ann \u001b[5m" <ann@sender.example>',
    `To: ${inbox.address}`,
    `Subject: ${subject}`,
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: base64',
    '',
    Buffer.from(`First line\n${HOSTILE}\u{e0041}\nlast line`).toString('base64'),
    '',
  ].join('\r\n')
  const { data } = await world.client.sandbox.receiveRaw(raw)
  const [received] = data
  assert.ok(received)
  message = received
})

async function linesAt(columns: number, ...args: string[]): Promise<string[]> {
  const { code, stdout } = await world.atTerminal(args, columns).ended
  assert.equal(code, 0, stdout)
  const lines = stripVTControlCharacters(stdout).trimEnd().split(/\r?\n/)
  for (const line of lines) assert.ok(stringWidth(line) <= columns, line)
  return lines
}

test('a table fits the terminal, and wide characters count as two cells', async () => {
  const messages = ['messages', 'list'] as const
  const [title, row] = await linesAt(130, ...messages)
  assert.match(title ?? '', /^CREATED +DIRECTION +FROM .* ID$/)
  assert.ok(row?.endsWith(message.id))
  assert.match(row ?? '', /…/)
})

test('a list of threads shows sender, subject and unread count, and is as wide as the terminal', async () => {
  for (const columns of [60, 80, 100]) {
    const [head, subject, ...more] = await linesAt(columns, 'threads', 'list')
    assert.deepEqual(more, [])
    assert.match(head ?? '', /^Ann \[5m {2}1 unread {2}(\d\d:\d\d|[A-Z][a-z]+ \d+) {2}thr_/)
    assert.ok(head?.endsWith(message.threadId))
    assert.match(subject ?? '', /^ {2}Hi.* 漢.*…/)
  }
  await world.client.sandbox.receive({
    from: 'bob@sender.example',
    to: 'terminal@mailroom.localhost',
    subject: 'Lunch?',
    text: 'On Friday,\nat noon?',
  })
  const [, subject] = await linesAt(80, 'threads', 'list', '--limit', '1')
  assert.equal(subject, '  Lunch?  On Friday, at noon?')
})

test('a list of inboxes shows the unread count, and more columns on a wider terminal', async () => {
  for (const [columns, titles] of [
    [80, 'ADDRESS UNREAD LAST MESSAGE ID'],
    [90, 'ADDRESS DISPLAY NAME UNREAD LAST MESSAGE ID'],
    [160, 'ADDRESS DISPLAY NAME CREATED UNREAD LAST MESSAGE ID'],
  ] as const) {
    const [title, row] = await linesAt(columns, 'inbox', 'list')
    assert.equal(title?.replaceAll(/ +/g, ' '), titles)
    assert.match(row ?? '', / 2 +(\d\d:\d\d|[A-Z][a-z]+ \d+) +inb_\w+$/)
  }
})

test('in a pipe the output is not cut, coloured or boxed, and tabs separate the cells', async () => {
  const stdout = await world.good('threads', 'list')
  assert.doesNotMatch(stdout, STEERING)
  assert.doesNotMatch(stdout, /[…│┌─]/)
  assert.equal(stdout.split('\n').at(-2)?.split('\t').length, 8)
  assert.ok(stdout.includes('漢字'.repeat(40)))
})

test('colours appear only on terminals whose user wants them', async () => {
  const coloured = await world.atTerminal(['inbox', 'list'], 100).ended
  assert.match(coloured.stdout, /\x1b\[/)
  const without = [
    await world.atTerminal(['inbox', 'list', '--no-color'], 100).ended,
    await world.atTerminal(['inbox', 'list'], 100, { env: { NO_COLOR: '1' } }).ended,
    await world.atTerminal(['inbox', 'list'], 100, { env: { TERM: 'dumb' } }).ended,
  ]
  for (const { stdout } of without) assert.doesNotMatch(stdout, /\x1b/)
})

test('no command lets text of a mail control the terminal', async () => {
  const { id, threadId } = message
  const commands = [
    ['messages', 'get', id],
    ['messages', 'get', id, '--json'],
    ['messages', 'get', id, '--raw'],
    ['messages', 'get', id, '--view'],
    ['messages', 'list'],
    ['messages', 'raw', id],
    ['threads', 'get', threadId],
    ['threads', 'list'],
    ['events', 'list'],
    ['events', 'list', '--json'],
    ['api', 'messages.get', `id=${id}`],
    ['api', 'messages.raw', `id=${id}`],
    ['search', 'gnp'],
    ['wait', '--since', '1h', '--timeout', '5s'],
  ]
  const shown = await world.allAtTerminal(commands, 90)
  for (const [at, args] of commands.entries()) {
    const { code, stdout = '' } = shown[at] ?? {}
    assert.equal(code, 0, `${args.join(' ')}: ${stdout}`)
    assert.notEqual(stdout, '', args.join(' '))
    assert.doesNotMatch(stdout.replaceAll(OURS, '').replaceAll('\r', ''), STEERING, args.join(' '))
  }
})

test('JSON output equals that of the API, escaped', async () => {
  const { stdout } = await world.atTerminal(['messages', 'get', message.id, '--json'], 90).ended
  assert.equal(JSON.parse(stdout).subject, (await world.client.messages.get(message.id)).subject)
})

test('in a pipe a raw message is byte for byte what was received', async () => {
  const { content } = await world.client.messages.raw(message.id)
  assert.equal(await world.good('messages', 'raw', message.id), Buffer.from(content).toString())
})

test('a progress line appears only on a terminal', async () => {
  const waiting = await world.atTerminal(['wait', '--timeout', '1s'], 90).ended
  assert.match(waiting.stdout, /Waiting for mail …/)
  const piped = await world.run(['wait', '--timeout', '1s'])
  assert.doesNotMatch(piped.stdout + piped.stderr, /Waiting|\x1b/)
})

test('an attachment is not written to a terminal', async () => {
  const { code, stdout } = await world.atTerminal(
    ['attachments', 'get', message.id, 'x', '-o', '-'],
    90,
  ).ended
  assert.equal(code, 2, stdout)
})
