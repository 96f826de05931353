// What a person at a terminal sees and what a program in a pipe gets.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import type { Inbox, Message } from '@mailroom/sdk'
import stringWidth from 'string-width'
import { CliWorld } from '#test/cli-world.ts'

const HOSTILE = 'Hi\u001b]0;owned\u0007\u001b[31m\u009b2J\u202egnp.exe\u2066 end'
// Of the other commands of a terminal, those that colour and erase a line are ours.
const OURS = /\x1b\[(\d{1,2}m|K)/g
const STEERING = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/

let world: CliWorld
let message: Message
before(async () => {
  world = await CliWorld.open()
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
after(() => world.close())

test('a table fits the terminal, and wide characters count as two', async () => {
  for (const columns of [60, 100]) {
    const { code, stdout } = await world.atTerminal(['threads', 'list'], columns).ended
    assert.equal(code, 0, stdout)
    const lines = stripVTControlCharacters(stdout).trimEnd().split(/\r?\n/)
    assert.equal(lines.length, 2)
    assert.match(lines[0] ?? '', /^ID +LAST MESSAGE AT/)
    assert.ok(lines[1]?.startsWith(message.threadId))
    if (columns === 100) {
      assert.match(lines[1] ?? '', /…/)
      for (const line of lines) assert.ok(stringWidth(line) <= columns, line)
    }
  }
})

test('in a pipe nothing is cut, coloured or boxed, and cells are separated by tabs', async () => {
  const stdout = await world.good('threads', 'list')
  assert.doesNotMatch(stdout, STEERING)
  assert.doesNotMatch(stdout, /[…│┌─]/)
  assert.equal(stdout.trimEnd().split('\t').length, 5)
  assert.ok(stdout.includes('漢字'.repeat(40)))
})

test('colours are for terminals whose owner wants them', async () => {
  const coloured = await world.atTerminal(['inbox', 'list'], 100).ended
  assert.match(coloured.stdout, /\x1b\[/)
  const without = [
    await world.atTerminal(['inbox', 'list', '--no-color'], 100).ended,
    await world.atTerminal(['inbox', 'list'], 100, { env: { NO_COLOR: '1' } }).ended,
    await world.atTerminal(['inbox', 'list'], 100, { env: { TERM: 'dumb' } }).ended,
  ]
  for (const { stdout } of without) assert.doesNotMatch(stdout, /\x1b/)
})

test('nothing of a mail steers the terminal, whichever command shows it', async () => {
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

test('JSON says what the API says, escaped', async () => {
  const { stdout } = await world.atTerminal(['messages', 'get', message.id, '--json'], 90).ended
  assert.equal(JSON.parse(stdout).subject, (await world.client.messages.get(message.id)).subject)
})

test('in a pipe a message is byte for byte what came', async () => {
  const { content } = await world.client.messages.raw(message.id)
  assert.equal(await world.good('messages', 'raw', message.id), Buffer.from(content).toString())
})

test('a progress line is for terminals alone', async () => {
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
