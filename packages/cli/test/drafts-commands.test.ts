// Drafts, and what would happen to a message, on the command line.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Draft, type Inbox, Mailroom, type Message, type SentMessage } from '@mailroom/sdk'
import { opened, prepared } from '@mailroom/server/test/world.ts'
import { CliWorld } from '#test/cli-world.ts'

const world = opened(() => CliWorld.open())
const inbox = prepared(() => world.json<Inbox>('inbox', 'create', 'drafts'))

const sentTotal = async () =>
  (await world.client.messages.list(inbox.id, { direction: 'outbound' }).page()).total

test('a draft is written, shown, changed with its ETag, gets and loses files, and is sent once', async () => {
  const made = await world.json<Draft>('drafts', 'create', '--to', 'ann@far.example')
  assert.deepEqual([made.inboxId, made.to, made.subject], [inbox.id, ['ann@far.example'], null])
  const shown = await world.good('drafts', 'get', made.id)
  assert.match(shown, new RegExp(`^etag\t${made.etag}$`, 'm'))
  assert.match(await world.good('drafts', 'list'), new RegExp(`^${made.id}\t`, 'm'))

  // As a shell passes it on: without its quotation marks.
  const tag = made.etag.replaceAll('"', '')
  const update = ['drafts', 'update', made.id]
  const content = ['--subject', 'Minutes', '--body', 'As agreed.']
  const changed = await world.json<Draft>(...update, ...content, '--if-match', tag)
  assert.deepEqual([changed.subject, changed.body], ['Minutes', 'As agreed.'])
  for (const stale of [tag, made.etag]) {
    const refused = await world.run([...update, '--subject', 'Lost', '--if-match', stale])
    assert.equal(refused.code, 5)
    assert.match(refused.stderr, /The draft has changed .*\(draft_changed\)\n {2}Get the draft, /)
  }
  assert.deepEqual(await world.client.drafts.get(made.id), changed)

  const files = ['a.txt', 'b.txt'].map((name) => join(world.home, name))
  for (const file of files) {
    await writeFile(file, file)
    await world.good('drafts', 'attach', made.id, file)
  }
  const { attachments } = await world.client.drafts.get(made.id)
  assert.deepEqual(
    attachments.map(({ filename }) => filename),
    ['a.txt', 'b.txt'],
  )
  const withFiles = await world.good('drafts', 'get', made.id)
  assert.match(withFiles, new RegExp(`^attachments\\.1\\.id\t${attachments[1]?.id}$`, 'm'))
  const less = await world.json<Draft>('drafts', 'detach', made.id, attachments[0]?.id ?? '')
  assert.deepEqual(less.attachments, attachments.slice(1))

  const send = ['drafts', 'send', made.id, '--idempotency-key', 'minutes-1']
  const sent = await world.json<SentMessage>(...send)
  const { subject, bodyText } = await world.client.messages.get(sent.messageId)
  assert.deepEqual([subject, bodyText], ['Minutes', 'As agreed.'])
  const again = await world.run([...send, '--json'])
  assert.deepEqual([again.code, JSON.parse(again.stdout)], [0, sent])
  assert.equal(await sentTotal(), 1)
  assert.equal((await world.run(['drafts', 'get', made.id])).code, 4)
})

test('a draft of HTML alone is sent with a text made from it', async () => {
  const content = ['--to', 'ann@far.example', '--subject', 'Bold', '--html', '<p><b>Ready.</b></p>']
  const made = await world.json<Draft>('drafts', 'create', ...content)
  const sent = await world.json<SentMessage>('drafts', 'send', made.id)
  const { bodyText, bodyHtml } = await world.client.messages.get(sent.messageId)
  assert.match(bodyText ?? '', /^Ready\.\s*$/)
  assert.match(bodyHtml ?? '', /<b>Ready\.<\/b>/)
})

test('a draft is written with the options of send, and with their former names', async () => {
  const file = join(world.home, 'report.txt')
  await writeFile(file, 'A report.')
  const content = ['--text', 'Ready.', '--html', '<b>Ready.</b>', '--header', 'X-Ticket: 7: seven']
  const to = ['--to', '"Doe, Ann" <ann@far.example>, bob@far.example', '--to', 'eve@far.example']
  const before = Date.now()
  const { id } = await world.json<Draft>(
    ...['drafts', 'create', '--attach', file, '--send-at', '2h', ...to, ...content],
  )
  const draft = await world.client.drafts.get(id)
  assert.deepEqual(draft.to, ['"Doe, Ann" <ann@far.example>', 'bob@far.example', 'eve@far.example'])
  assert.deepEqual([draft.body, draft.bodyHtml], ['Ready.', '<b>Ready.</b>'])
  assert.deepEqual(draft.headers, { 'X-Ticket': '7: seven' })
  assert.deepEqual(
    draft.attachments.map(({ filename, size }) => [filename, size]),
    [['report.txt', 9]],
  )
  const sendAtMs = Date.parse(draft.sendAt ?? '')
  assert.ok(sendAtMs >= before + 7_200_000 && sendAtMs <= Date.now() + 7_200_000)

  const former = await world.run(['drafts', 'update', id, '--body', 'Later.', '--no-is-automatic'])
  assert.equal(former.code, 0, former.stderr)
  assert.match(former.stderr, /^--body is now --text\.\n--is-automatic is now --automatic\.$/m)
  assert.equal((await world.client.drafts.get(id)).body, 'Later.')
  const attachment = JSON.stringify({ filename: 'a', contentType: 'text/plain', data: 'QQ==' })
  const json = ['--headers', '{"X-Ticket":"8"}', '--attachments', attachment]
  const made = await world.json<Draft>('drafts', 'create', ...json)
  assert.deepEqual(made.headers, { 'X-Ticket': '8' })
  assert.deepEqual(
    made.attachments.map(({ filename }) => filename),
    ['a'],
  )
})

test('a draft is deleted once somebody says so', async () => {
  const { id } = await world.json<Draft>('drafts', 'create', '--subject', 'Never')
  const unasked = await world.run(['drafts', 'delete', id])
  assert.equal(unasked.code, 2)
  assert.match(unasked.stderr, /--yes/)
  await world.good('drafts', 'delete', id, '--yes')
  assert.equal((await world.run(['drafts', 'get', id])).code, 4)
})

test('send --check prints what would happen and why, sends nothing, and exits with 5 for a refusal', async () => {
  const before = await sentTotal()
  const check = (body: string, ...more: string[]) =>
    world.run(
      ['send', '--check', '--to', 'bob@far.example', '--subject', 'Hi', '--text', body].concat(
        more,
      ),
    )
  const allowed = await check('Hello.')
  assert.deepEqual([allowed.code, allowed.stdout], [0, 'decision\tallow\n'])
  assert.equal(allowed.stderr, '')

  const { token } = await world.client.approvers.create({ name: 'Ann' })
  const ann = new Mailroom({ baseUrl: world.baseUrl, apiKey: token })
  const guards = { newRecipients: 'hold', secrets: 'reject' } as const
  await ann.policy.replace({ outbound: { guards } }, { inboxId: inbox.id })
  const held = await check('Hello.')
  assert.equal(held.code, 0)
  assert.match(held.stdout, /^decision\thold\nnewRecipients\t.*bob@far\.example/)
  const refused = await check('Pay with 4111 1111 1111 1111.')
  assert.equal(refused.code, 5)
  assert.match(refused.stdout, /^decision\treject\n(?:.*\n)*secrets\t/)
  assert.match(refused.stderr, /^mailroom: The message would be refused\.\n {2}Change the parts/)
  const { decision, reasons } = JSON.parse((await check('Hello.', '--json')).stdout)
  assert.deepEqual([decision, reasons[0].guard], ['hold', 'newRecipients'])
  assert.equal(await sentTotal(), before)
})

test('policy show prints what applies and where it comes from, and reviews show all that will be sent', async () => {
  const policy = await world.good('policy', 'show', '--inbox', inbox.address)
  const lines = [
    `scope\t${inbox.id}`,
    'outbound.mode\tnone (of the account)',
    'outbound.newRecipients\thold',
    'outbound.provenance\tallow (of the account)',
    'outbound.maxPerHour\tno limit',
  ]
  for (const line of lines) assert.ok(policy.split('\n').includes(line), `${line}\n${policy}`)
  const { hold } = await world.client.inboxes.send(inbox.id, {
    to: 'carl@far.example',
    subject: 'Hi',
    body: 'The text.',
    bodyHtml: '<p>The <b>HTML</b><span style="display:none">hidden</span></p>',
    headers: { 'X-Case': '7\u{e0041}' },
    attachments: [{ filename: 'a.txt', contentType: 'text/plain', data: Buffer.from('abc') }],
  })
  const { stdout: review, stderr } = await world.run(['reviews', 'show', hold?.id ?? ''])
  assert.match(
    stderr,
    new RegExp(`^To approve: mailroom reviews approve ${hold?.id} ${hold?.digest}$`, 'm'),
  )
  assert.match(review, /^reason\tnewRecipients: carl@far\.example has never/m)
  assert.match(review, /^header\tX-Case: 7\[U\+E0041\]$/m)
  assert.match(review, /^attachment\ta\.txt \(text\/plain, SHA-256 ba7816bf[0-9a-f]+\)$/m)
  assert.match(review, /^notice\tThe HTML has hidden text: 6 characters/m)
  assert.match(review, /^notice\tInvisible characters, shown here as \[U\+…\]: 1$/m)
  assert.match(review, /\nThe text:\n\nThe text\.\n/)
  assert.match(review, /\nThe source of the HTML:\n\n<p>The <b>HTML<\/b><span/)
})

test('reply --check looks at the reply in its thread', async () => {
  const args = ['--from', 'dan@sender.example', '--to', inbox.address, '--subject', 'Question']
  const injected = await world.json<{ data: Message[] }>(
    'sandbox',
    'inject',
    ...args,
    '--text',
    '?',
  )
  const threadId = injected.data[0]?.threadId ?? ''
  const checked = await world.run(['reply', threadId, '--check', '--text', 'Yes.'])
  assert.deepEqual([checked.code, checked.stdout], [0, 'decision\tallow\n'])
  assert.equal((await world.client.threads.get(threadId)).messageCount, 1)
})

test('wait --category ignores mail of other kinds', async () => {
  const headers = ['Precedence: bulk', 'List-Unsubscribe: <https://shop.example/u>']
  const receive = (subject: string, more: string[]) =>
    world.client.sandbox.receiveRaw(
      Buffer.from(
        [
          `From: eve@shop.example`,
          `To: ${inbox.address}`,
          `Subject: ${subject}`,
          ...more,
          '',
          '.',
        ].join('\r\n'),
      ),
    )
  await receive('Question', [])
  await receive('Sale', headers)
  const wait = ['wait', '--since', '1h', '--from', 'eve@', '--timeout', '5s']
  const found = await world.json<Message>(...wait, '--category', 'marketing')
  assert.equal(found.subject, 'Sale')
  assert.equal((await world.run([...wait, '--category', 'fun'])).code, 2)
})
