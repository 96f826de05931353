import assert from 'node:assert/strict'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type {
  CapturedMessage,
  Draft,
  Inbox,
  Message,
  SentMessage,
  Thread,
  Upload,
} from '@mailroom/sdk'
import { receivedFrom } from '@mailroom/server/test/scenarios/deliver.ts'
import { opened, prepared } from '@mailroom/server/test/world.ts'
import { CliWorld } from '#test/cli-world.ts'

type Page<Item> = { data: Item[]; total: number }

const world = opened(() => CliWorld.open())
const inbox = prepared(() =>
  world.json<Inbox>('inbox', 'create', 'support', '--display-name', 'The Support'),
)

async function inject(fields: { subject: string; text?: string; from?: string; more?: string[] }) {
  const { subject, text = 'A text.', from = 'ann@sender.example', more = [] } = fields
  const args = ['--from', from, '--to', inbox.address, '--subject', subject, '--text', text]
  const { data } = await world.json<Page<Message>>('sandbox', 'inject', ...args, ...more)
  const [message] = data
  assert.ok(message)
  return message
}

test('an inbox is created, listed, read, changed and deleted, by its id or its address', async () => {
  assert.equal(inbox.address, 'support@mailroom.localhost')
  assert.equal(inbox.displayName, 'The Support')
  const other = await world.json<Inbox>('inbox', 'create')
  const listed = await world.json<Page<Inbox>>('inbox', 'list')
  assert.deepEqual(listed, JSON.parse(JSON.stringify(await world.client.inboxes.list().page())))
  const line = `${other.id}\t${other.address}\t\t${other.createdAt}\t0\t\n`
  assert.ok((await world.good('inbox', 'list')).startsWith(line))
  assert.match(
    await world.good('inbox', 'get', other.address),
    new RegExp(`^id\t${other.id}$`, 'm'),
  )
  const changed = await world.json<Inbox>('inbox', 'update', other.id, '--display-name', 'New')
  assert.equal(changed.displayName, 'New')
  const cleared = await world.json<Inbox>('inbox', 'update', other.id, '--display-name', '')
  assert.equal(cleared.displayName, null)
  const deleting = ['inbox', 'delete', other.address]
  const unasked = await world.run(deleting)
  assert.equal(unasked.code, 2)
  assert.match(unasked.stderr, /cannot be undone.*\n.*--yes/)
  for (const [typed, code] of [
    ['n\n', 1],
    ['y\n', 0],
  ] as const) {
    assert.equal((await world.client.inboxes.get(other.id)).id, other.id)
    const running = world.atTerminal(deleting, 80)
    await running.until(/Delete an inbox with all.*: \S+@\S+\s+Continue\? \(y\/N\)/)
    running.child.stdin.write(typed)
    const ended = await running.ended
    assert.equal(ended.code, code, ended.stdout)
  }
  assert.equal((await world.run(['inbox', 'get', other.id])).code, 4)
})

test('the fields of nested objects are printed with the path to them', async () => {
  const limits = await world.good('inbox', 'limits', inbox.address)
  const { sendsPerDay } = await world.client.inboxes.limits(inbox.id)
  assert.ok(limits.includes(`sendsPerDay.limit\t${sendsPerDay.limit}\n`))
})

test('a message is sent once under its key, which is shown, and to all its recipients', async () => {
  const file = join(world.home, 'report.csv')
  await writeFile(file, 'a,b\n1,2\n')
  const args = ['send', '--to', 'bob@far.example', '--cc', 'cc@far.example', '--subject', 'Hello']
  const more = [
    '--text',
    'Good morning.',
    '--html',
    '<p>Good <b>morning</b>.</p>',
    '--attach',
    file,
  ]
  const first = await world.run([...args, ...more, '--json'])
  assert.equal(first.code, 0, first.stderr)
  const key = /^Idempotency-Key: ([0-9a-f-]{36})$/m.exec(first.stderr)?.[1] ?? ''
  const again = await world.run([...args, ...more, '--idempotency-key', key, '--json'])
  assert.deepEqual(JSON.parse(again.stdout), JSON.parse(first.stdout))
  assert.match(again.stderr, /not sent again/)
  const sent: SentMessage = JSON.parse(first.stdout)
  const captured = await untilCaptured(sent.messageId)
  assert.deepEqual(
    captured.attachments.map(({ filename, contentType }) => [filename, contentType]),
    [['report.csv', 'text/csv']],
  )
  assert.deepEqual(captured.cc, ['cc@far.example'])
  assert.equal(captured.text.trim(), 'Good morning.')
  assert.match(captured.html, /<b>morning<\/b>/)
  assert.match(
    await world.good('messages', 'deliveries', sent.messageId),
    /^bob@far\.example\taccepted\t1\t/m,
  )
  assert.match(await world.good('sandbox', 'list'), /bob@far\.example/)
  assert.match(await world.good('sandbox', 'show', captured.id), /^Subject: Hello$/m)
  assert.equal((await world.run(['sandbox', 'show', 'cap_none'])).code, 4)
})

/** Sending ends when the message is queued. */
async function untilCaptured(messageId: string): Promise<CapturedMessage> {
  for (;;) {
    const { data } = await world.json<Page<CapturedMessage>>('sandbox', 'list')
    const found = data.find((kept) => kept.messageId === messageId)
    if (found !== undefined) return found
  }
}

test('mail goes to several recipients, hidden ones too, with header fields and at a time', async () => {
  const sendAt = new Date(Date.now() + 3_600_000).toISOString()
  const args = ['--to', 'a@far.example', '--to', 'b@far.example', '--bcc', 'c@far.example']
  const more = ['--header', 'X-Ticket: 7: seven', '--send-at', sendAt, '--subject', 'Later']
  const sent = await world.json<SentMessage>('send', ...args, ...more, '--text', 'Hello')
  const message = await world.client.messages.get(sent.messageId)
  assert.deepEqual(message.to, ['a@far.example', 'b@far.example'])
  assert.deepEqual([message.bcc, message.scheduledAt], [['c@far.example'], sendAt])
  const raw = await world.good('messages', 'raw', sent.messageId)
  assert.match(raw, /^X-Ticket: 7: seven\r?$/m)
  assert.match(await world.good('messages', 'scheduled'), new RegExp(sent.messageId))
  await world.good('messages', 'cancel', sent.messageId)
  const wrong = await world.run([
    'send',
    ...args,
    '--header',
    'Ticket',
    '--subject',
    'x',
    '--text',
    'x',
  ])
  assert.equal(wrong.code, 2)
})

test('a message is forwarded with its files, or without', async () => {
  const file = join(world.home, 'notes.txt')
  await writeFile(file, 'Notes')
  const { id } = await inject({ subject: 'The notes', more: ['--attach', file] })
  const forward = async (...more: string[]) => {
    const args = ['forward', id, '--to', 'a@far.example', '--to', 'b@far.example', ...more]
    const { messageId } = await world.json<SentMessage>(...args)
    return world.client.messages.get(messageId)
  }
  const whole = await forward('--text', 'Have a look.', '--bcc', 'c@far.example')
  assert.equal(whole.subject, 'Fwd: The notes')
  assert.match(whole.bodyText, /^Have a look\.\n\n-+ Forwarded message/)
  assert.deepEqual([whole.to.length, whole.bcc?.length, whole.attachments.length], [2, 1, 1])
  assert.equal((await forward('--no-attachments')).attachments.length, 0)
})

test('files are uploaded once, and attached by their ids', async () => {
  const files = ['large.csv', 'small.txt'].map((name) => join(world.home, name))
  for (const [index, file] of files.entries())
    await writeFile(file, 'x'.repeat(2_000_000 * (1 - index) + 1))
  const ids = (await world.good('upload', ...files)).trimEnd().split('\n')
  assert.equal(ids.length, 2)
  const shown = await world.json<Upload>('upload', files[1] ?? '')
  assert.deepEqual(
    [shown.filename, shown.contentType, shown.sizeBytes],
    ['small.txt', 'text/plain', 1],
  )

  const send = ['send', '--to', 'bob@far.example', '--subject', 'Files', '--text', 'Here.']
  const once = [...send, '--attach', ...ids, '--idempotency-key', 'files-1']
  const sent = await world.json<SentMessage>(...once)
  assert.deepEqual(await world.json<SentMessage>(...once), sent)
  const filesOf = async (messageId: string) =>
    (await world.client.messages.get(messageId)).attachments.map(
      ({ filename, sizeBytes }) => [filename, sizeBytes] as const,
    )
  assert.deepEqual(await filesOf(sent.messageId), [
    ['large.csv', 2_000_001],
    ['small.txt', 1],
  ])
  const forward = ['forward', sent.messageId, '--to', 'ann@far.example', '--no-attachments']
  const more = await world.json<SentMessage>(...forward, '--attach', ids[1] ?? '', files[1] ?? '')
  assert.deepEqual(await filesOf(more.messageId), [
    ['small.txt', 1],
    ['small (2).txt', 1],
  ])
  const draft = await world.json<Draft>('drafts', 'create', '--attach', ids[0] ?? '')
  const added = await world.json<Draft>('drafts', 'attach', draft.id, ids[1] ?? '')
  assert.deepEqual(
    added.attachments.map(({ filename }) => filename),
    ['large.csv', 'small.txt'],
  )

  const unknown = await world.run([...send, '--attach', `upl_${'0'.repeat(26)}`])
  assert.match(unknown.stderr, /attachments\[0\]\.uploadId/)
  for (const wrong of [join(world.home, 'none.pdf'), world.home]) {
    const none = await world.run(['upload', files[0] ?? '', wrong])
    assert.deepEqual([none.code, none.stdout], [1, ''])
    assert.ok(none.stderr.includes(`${wrong} cannot be read`))
  }
})

test('an invitation is answered, once for a key', async () => {
  const ann = await world.client.inboxes.create()
  const invite = { start: '2026-12-01', end: '2026-12-02' }
  const mail = { to: inbox.address, subject: 'Planning', body: 'Please come.', invite }
  await world.client.inboxes.send(ann.id, mail)
  const invited = await receivedFrom(world, inbox, ann.address)
  const rsvp = (...more: string[]) =>
    world.json<SentMessage>('rsvp', invited.id, 'declined', '--comment', 'Sorry.', ...more)
  const sent = await rsvp('--idempotency-key', 'answer-1')
  assert.equal((await rsvp('--idempotency-key', 'answer-1')).messageId, sent.messageId)
  const answered = await receivedFrom(world, ann, inbox.address)
  assert.equal(answered.extracted?.invites[0]?.attendees[0]?.status, 'declined')
  const wrong = await world.run(['rsvp', invited.id, 'perhaps'])
  assert.equal(wrong.code, 2)
  await world.client.inboxes.delete(ann.id)
})

test('a reply to all goes to the other recipients too', async () => {
  const raw = join(world.home, 'all.eml')
  const lines = [
    'From: ann@sender.example',
    `To: ${inbox.address}, bob@far.example`,
    'Subject: All',
    'Message-ID: <all@sender.example>',
    '',
    'Who comes?',
  ]
  await writeFile(raw, lines.join('\r\n'))
  const { data } = await world.json<Page<Message>>('sandbox', 'inject', '--raw', raw)
  const thread = data[0]?.threadId ?? ''
  const sent = await world.json<SentMessage>('reply', thread, '--reply-all', '--text', 'I do.')
  const message = await world.client.messages.get(sent.messageId)
  assert.deepEqual([message.to, message.cc], [['ann@sender.example'], ['bob@far.example']])
})

test('a reply goes to the author of the newest received message, also after a note to others', async () => {
  const { threadId } = await inject({ subject: 'A question', text: 'How are you?' })
  await world.client.inboxes.send(inbox.id, { to: 'bob@far.example', body: 'A note.', threadId })
  const sent = await world.json<SentMessage>('reply', threadId, '--text', 'Fine.')
  assert.equal((await world.client.messages.get(sent.messageId)).toAddr, 'ann@sender.example')
})

test('Markdown is sent with HTML made from it, and the signature of the inbox unless told not to', async () => {
  const own = await world.client.inboxes.create()
  await world.good('inbox', 'update', own.id, '--signature', '**Ann**')
  const args = ['--to', 'bob@far.example', '--text', '*Hello*', '--markdown']
  const mail = ['send', '--inbox', own.address, '--subject', 'Marked', ...args]
  const bodiesOf = async ({ messageId }: SentMessage) => {
    const { bodyText, bodyHtml } = await world.client.messages.get(messageId)
    return { bodyText, bodyHtml }
  }
  const signed = await world.json<SentMessage>(...mail)
  const { bodyText, bodyHtml } = await bodiesOf(signed)
  assert.equal(bodyText, '*Hello*\n\n-- \n**Ann**')
  assert.match(bodyHtml, /<em>Hello<\/em>[\s\S]+<strong>Ann<\/strong>/)
  const unsigned = await world.json<SentMessage>(...mail, '--no-signature')
  assert.equal((await bodiesOf(unsigned)).bodyText, '*Hello*')
  const forwarded = await world.json<SentMessage>('forward', signed.messageId, ...args)
  assert.match((await bodiesOf(forwarded)).bodyHtml, /^<div [^>]+><p [^>]+><em>Hello<\/em>/)
  const draft = await world.json<Draft>(
    'drafts',
    'create',
    '--inbox',
    own.id,
    '--markdown',
    '--no-signature',
  )
  assert.deepEqual([draft.format, draft.includeSignature], ['markdown', false])
  const both = await world.run([...mail, '--html', '<p>Hello</p>'])
  assert.match(both.stderr, /bodyHtml.+cannot be used with the format markdown/)
  await world.client.inboxes.delete(own.id)
})

test('the text comes from standard input, and nothing is sent without a text', async () => {
  const args = ['send', '--inbox', inbox.address, '--to', 'bob@far.example', '--subject', 'Piped']
  const piped = await world.run([...args, '--file', '-', '--json'], { input: 'From a pipe.\n' })
  assert.equal(piped.code, 0, piped.stderr)
  const { messageId }: SentMessage = JSON.parse(piped.stdout)
  assert.equal((await world.client.messages.get(messageId)).bodyText.trim(), 'From a pipe.')
  const nothing = await world.run(args)
  assert.equal(nothing.code, 2)
  assert.match(nothing.stderr, /--text, --html, or --file/)
})

test('a thread is read, answered and marked', async () => {
  const message = await inject({ subject: 'A question', text: 'How are you?' })
  const { threadId } = message
  assert.match(await world.good('threads', 'list', '--unread'), new RegExp(`^${threadId}\t`, 'm'))
  assert.match(
    await world.good('threads', 'get', threadId),
    /^From: ann@sender\.example \(not verified\)$/m,
  )
  const sent = await world.json<SentMessage>(
    'reply',
    threadId,
    '--text',
    'Fine, thank you.',
    '--no-quote',
  )
  assert.equal(sent.threadId, threadId)
  const answer = await world.client.messages.get(sent.messageId)
  assert.equal(answer.toAddr, 'ann@sender.example')
  assert.equal(answer.subject, 'Re: A question')
  assert.equal(answer.bodyText.trim(), 'Fine, thank you.')
  const thread = () => world.client.threads.get(threadId)
  assert.equal((await thread()).isRead, true)
  await world.good('threads', 'unread', threadId)
  assert.equal((await thread()).isRead, false)
  await world.good('threads', 'read', threadId)
  assert.equal((await thread()).isRead, true)
  await world.good('threads', 'delete', threadId)
  assert.notEqual((await thread()).trashedAt, null)
  const trashed = await world.json<Page<Thread>>('threads', 'list', '--trashed')
  assert.ok(trashed.data.some(({ id }) => id === threadId))
  await world.good('threads', 'restore', threadId)
  assert.equal((await thread()).trashedAt, null)
  // For good only after a confirmation.
  const { code } = await world.run(['threads', 'delete', threadId, '--permanent'])
  assert.notEqual(code, 0)
  assert.equal((await thread()).id, threadId)
  const unread = await world.json<Page<Thread>>('threads', 'list', '--no-read')
  assert.ok(unread.data.every(({ id }) => id !== threadId))
})

test('a message is shown for people, for a model, or as its raw bytes', async () => {
  const { id, threadId } = await inject({ subject: 'Reading', text: 'The text itself.' })
  const shown = await world.good('messages', 'get', id)
  assert.match(shown, /^Subject: Reading$/m)
  assert.match(shown, /^The text itself\.$/m)
  assert.deepEqual((await world.json<Message>('messages', 'get', id)).id, id)
  const raw = Buffer.from((await world.client.messages.raw(id)).content).toString()
  assert.equal(await world.good('messages', 'raw', id), raw)
  assert.equal(await world.good('messages', 'get', id, '--raw'), raw)
  assert.match(await world.good('messages', 'list', '--limit', '1'), new RegExp(`^${id}\t.*\n$`))
  for (const args of [
    ['messages', 'get', id],
    ['threads', 'get', threadId],
  ]) {
    assert.match(await world.good(...args, '--view'), /The text itself\./)
  }
})

test('a search finds a message by its words', async () => {
  await inject({ subject: 'Invoice of the aardvark', text: 'Ninety gold coins.' })
  const found = async () => world.json<Page<{ subject: string }>>('search', 'aardvark')
  let page = await found()
  while (page.total === 0) page = await found()
  assert.equal(page.data[0]?.subject, 'Invoice of the aardvark')
  assert.match(await world.good('search', 'aardvark'), /\tInvoice of the aardvark\t/)
  assert.equal(await world.good('search', 'zyzzyva'), '')
})

test('an attachment is saved to the given place and never overwrites a file', async () => {
  const file = join(world.home, 'notes.txt')
  await writeFile(file, 'Some notes.')
  const { id } = await inject({ subject: 'Files', more: ['--attach', file] })
  const folder = join(world.home, 'saved')
  await mkdir(folder)
  const run = (...args: string[]) =>
    world.run(['attachments', 'get', id, 'notes.txt', ...args], { cwd: folder })
  assert.equal((await run()).stdout, 'notes.txt\n')
  assert.equal(await readFile(join(folder, 'notes.txt'), 'utf8'), 'Some notes.')
  const again = await run()
  assert.equal(again.code, 1)
  assert.match(again.stderr, /exists already\.\n.*--force/)
  assert.equal((await run('--force')).code, 0)
  assert.equal((await run('-o', '-')).stdout, 'Some notes.')
  assert.equal((await run('-o', join(folder, 'other.txt'))).code, 0)
  await symlink(join(world.home, 'outside.txt'), join(folder, 'link.txt'))
  assert.equal((await run('-o', 'link.txt')).code, 1)
  assert.equal((await run('-o', 'link.txt', '--force')).code, 0)
  await assert.rejects(readFile(join(world.home, 'outside.txt')), { code: 'ENOENT' })
  const hidden = Buffer.from('a\u200b\u202e  b.txt').toString('base64')
  const raw = [
    'From: ann@sender.example',
    `To: ${inbox.address}`,
    'Subject: Hidden',
    `Content-Disposition: attachment; filename="=?utf-8?B?${hidden}?="`,
    '',
    'Hidden notes.',
  ].join('\r\n')
  const [received] = (await world.client.sandbox.receiveRaw(raw)).data
  const shown = /^Attachment: (.+) \(/m.exec(
    await world.good('messages', 'get', received?.id ?? ''),
  )
  const get = ['attachments', 'get', received?.id ?? '', shown?.[1] ?? '', '-o', '-']
  assert.match(await world.good(...get), /^Hidden notes\./)
})

test('the text of an attachment is printed, without what controls a terminal', async () => {
  const file = join(world.home, 'prices.csv')
  await writeFile(file, 'Item,Price\nPaper\u001b[31m,4.50\n')
  const { id } = await inject({ subject: 'Prices', more: ['--attach', file] })
  const table = '| Item | Price |\n| --- | --- |\n| Paper[31m | 4.50 |\n'
  assert.equal(await world.good('attachments', 'text', id, 'prices.csv'), table)
  const read = await world.json<{ extractionMethod: string }>(
    'attachments',
    'text',
    id,
    'prices.csv',
  )
  assert.equal(read.extractionMethod, 'csv')
  const none = await world.run(['attachments', 'text', id, 'none.csv'])
  assert.equal(none.code, 4)
})

test('quarantined mail is listed, released and deleted', async () => {
  await world.good('sender-rules', 'create', 'block', 'spam.example')
  const rules = await world.json<Page<{ id: string; value: string }>>('sender-rules', 'list')
  assert.equal(rules.data[0]?.value, 'spam.example')
  const ruleId = rules.data[0]?.id ?? ''
  assert.match(await world.good('sender-rules', 'get', ruleId), /^type\tblock$/m)
  const kept: { id: string }[] = []
  for (const subject of ['one', 'two']) {
    const args = ['--from', 'x@spam.example', '--to', inbox.address, '--subject', subject]
    const injected = await world.run(['sandbox', 'inject', ...args, '--text', 'Buy.'])
    assert.deepEqual([injected.code, injected.stdout], [0, ''])
    assert.match(injected.stderr, /^No inbox received the message\. .*"mailroom quarantine list"/)
    kept.push(...(await world.json<Page<{ id: string }>>('quarantine', 'list')).data.slice(0, 1))
  }
  const [one, two] = kept.map(({ id }) => id)
  assert.match(await world.good('quarantine', 'get', one ?? ''), /^subject\tone$/m)
  assert.match(await world.good('quarantine', 'raw', one ?? ''), /^Subject: one\r$/m)
  assert.match(await world.good('quarantine', 'release', one ?? ''), /^subject\tone$/m)
  assert.equal(await world.good('quarantine', 'delete', two ?? '', '--yes'), '')
  assert.equal(await world.good('quarantine', 'list'), '')
  assert.equal(await world.good('sender-rules', 'delete', ruleId), '')
})

test('a raw message from a pipe is injected, and the event log shows it', async () => {
  const raw = `From: Carl <carl@raw.example>\r\nTo: ${inbox.address}\r\nSubject: Raw\r\n\r\nHi.\r\n`
  const { code, stderr } = await world.run(['sandbox', 'inject', '--raw', '-'], { input: raw })
  assert.equal(code, 0, stderr)
  const events = await world.good(
    'events',
    '--events',
    'message.received',
    '--inbox',
    inbox.address,
  )
  assert.match(events, /^evt_\S+\t\S+\tmessage\.received\t\S+\tCarl <carl@raw\.example>\tRaw$/m)
  const times = events.split('\n').flatMap((line) => line.split('\t')[1] ?? [])
  assert.deepEqual(times, times.toSorted().reverse())
  const oldestFirst = await world.good('events', 'list', '--order', 'asc', '--limit', '1')
  assert.notEqual(oldestFirst, await world.good('events', 'list', '--limit', '1'))
  assert.equal(await world.good('events', 'list', '--events', 'domain.failed'), '')
  const received = ['--events', 'message.received', '--inbox', inbox.address]
  const newest = await world.good('events', 'list', '--limit', '1', ...received)
  assert.equal(newest.split('\t')[0], events.split('\t')[0])
  assert.equal((await world.run(['events', 'list', '--order', 'newest'])).code, 2)
  assert.equal((await world.run(['sandbox', 'inject', '--from', 'a@b.example'])).code, 2)
  await world.good('sandbox', 'clear')
  assert.equal(await world.good('sandbox', 'list'), '')
})
