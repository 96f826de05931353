// Tools that write drafts, ask what would happen to mail, and cancel it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { opened, plainMail, prepared } from '@mailroom/server/test/world.ts'
import { onEachTransport, splitFences } from './mcp-world.ts'

const LIMIT = { timeout: 60_000 }
const LATER = () => new Date(Date.now() + 86_400_000).toISOString()

onEachTransport('a draft', (open, connect) => {
  const world = opened(() => open())
  const inbox = prepared(() => world.inbox('agent'))
  const tools = opened(() => connect(world))

  const idIn = (text: string, pattern: RegExp) => pattern.exec(text)?.[1] ?? assert.fail(text)
  const draftIn = (text: string) => idIn(text, /draft (drf_\w+)/)
  const versionIn = (text: string) => idIn(text, /version ([\w-]+)/)
  const sentTotal = async () =>
    (await world.client.messages.list(inbox.id, { direction: 'outbound' }).page()).total

  test('is written, changed, shown and sent once', LIMIT, async () => {
    const saved = await tools.call('save_draft', {
      to: ['ann@firm.example', 'Bob <bob@firm.example>'],
      cc: ['cat@firm.example'],
      subject: 'Minutes',
      body: 'First words.',
      attachments: [{ filename: 'a.txt', content_type: 'text/plain', text: 'A' }],
    })
    const draft_id = draftIn(saved)
    assert.match(saved, /Nothing was sent/)
    const first = await world.client.drafts.get(draft_id)
    assert.deepEqual(first.to, ['ann@firm.example', 'Bob <bob@firm.example>'])
    const [file] = first.attachments

    const changed = await tools.call('save_draft', {
      draft_id,
      version: versionIn(saved),
      body: 'Better words.',
      clear: ['cc'],
      remove_files: [file?.id],
      attachments: [{ filename: 'b.txt', content_type: 'text/plain', base64: 'Qg==' }],
    })
    const shown = splitFences(await tools.call('list_drafts', { draft_id }))
    assert.match(shown.outside, new RegExp(`^Draft ${draft_id}, version ${versionIn(changed)},`))
    assert.match(
      shown.inside,
      /^To: ann@firm\.example, Bob <bob@firm\.example>\nSubject: Minutes\nfile /,
    )
    assert.match(shown.inside, /b\.txt \(text\/plain, 1 bytes\)\n\nBetter words\.$/)
    const row = `- ${draft_id} · version ${versionIn(changed)} · changed \\S+ · to ann@.* · Minutes`
    assert.match(splitFences(await tools.call('list_drafts')).inside, new RegExp(row))

    const before = await sentTotal()
    const stale = { draft_id, version: versionIn(saved) }
    for (const name of ['send_draft', 'delete_draft', 'save_draft']) {
      const more = name === 'save_draft' ? { body: 'Lost.' } : {}
      assert.match(await tools.refusal(name, { ...stale, ...more }), /draft_changed/, name)
    }
    const current = { draft_id, version: versionIn(changed) }
    const sent = await tools.call('send_draft', current)
    const message = await world.client.messages.get(idIn(sent, /message (msg_\w+)/))
    assert.deepEqual([message.bodyText, message.cc], ['Better words.', []])
    assert.deepEqual(
      message.attachments.map(({ filename }) => filename),
      ['b.txt'],
    )
    assert.equal(splitFences(sent).inside, 'To: ann@firm.example, Bob <bob@firm.example>')
    const again = await tools.call('send_draft', current)
    assert.match(again, new RegExp(`as message ${message.id}; not sent again`))
    assert.equal(await sentTotal(), before + 1)
    assert.match(await tools.call('list_drafts'), /^No drafts in agent@/)
    for (const name of ['save_draft', 'delete_draft']) {
      assert.match(await tools.refusal(name, { draft_id, body: 'x' }), /No draft drf_|unrecog/i)
    }
  })

  test('answers in a thread, to the sender or to all, and can be deleted', LIMIT, async () => {
    const headers = [`Cc: dan@firm.example`]
    const raw = plainMail({ from: 'ann@firm.example', to: inbox.address, subject: 'Who?', headers })
    await world.send({ to: inbox.address, raw })
    const [received] = (await world.client.messages.list(inbox.id, { limit: 1 }).page()).data
    const thread_id = received?.threadId
    const one = draftIn(await tools.call('save_draft', { thread_id, body: 'I.' }))
    const { to, threadId, replyAll } = await world.client.drafts.get(one)
    assert.deepEqual([to, threadId, replyAll], [['ann@firm.example'], thread_id, false])
    const all = draftIn(await tools.call('save_draft', { thread_id, body: 'I.', reply_all: true }))
    assert.match(
      await tools.call('list_drafts', { draft_id: all }),
      /a reply in thread .*, to all\./,
    )
    const sent = await tools.call('send_draft', { draft_id: all })
    const message = await world.client.messages.get(idIn(sent, /message (msg_\w+)/))
    assert.deepEqual([message.to, message.cc], [['ann@firm.example'], ['dan@firm.example']])
    assert.equal(await tools.call('delete_draft', { draft_id: one }), `Deleted draft ${one}.`)
    await assert.rejects(world.client.drafts.get(one), { code: 'not_found' })
    assert.match(await tools.refusal('send_draft', { draft_id: one }), /No draft drf_/)
  })

  test('is Markdown unless it has HTML of its own, as is all other mail', LIMIT, async () => {
    const formatOf = async (draft_id: string) => (await world.client.drafts.get(draft_id)).format
    const to = 'ann@firm.example'
    const draft_id = draftIn(await tools.call('save_draft', { to, subject: 'S', body: '**a**' }))
    assert.equal(await formatOf(draft_id), 'markdown')
    await tools.call('save_draft', { draft_id, body: 'a', html: '<p>a</p>' })
    assert.equal(await formatOf(draft_id), 'auto')
    await tools.call('save_draft', { draft_id, body: 'b' })
    assert.equal(await formatOf(draft_id), 'auto')
    await tools.call('save_draft', { draft_id, body: '**b**', clear: ['html'] })
    const sent = [
      await tools.call('send_draft', { draft_id }),
      await tools.call('send_mail', { to, subject: 'S', body: '**b**' }),
    ]
    const message_id = idIn(sent[0] ?? '', /message (msg_\w+)/)
    sent.push(await tools.call('forward', { message_id, to, body: '**b**' }))
    for (const text of sent) {
      const { bodyText, bodyHtml } = await world.client.messages.get(idIn(text, /(msg_\w+)/))
      assert.match(bodyText, /^\*\*b\*\*/)
      assert.match(bodyHtml, /<strong>b<\/strong>/)
    }
  })

  test('with mistakes is refused in words that say what to do', LIMIT, async () => {
    const empty = draftIn(await tools.call('save_draft'))
    assert.match(await tools.refusal('send_draft', { draft_id: empty }), /"body" is required/)
    const both = { draft_id: empty, inbox: inbox.address, body: 'x' }
    assert.match(await tools.refusal('save_draft', both), /only for a new draft/)
    assert.match(await tools.refusal('save_draft', { clear: ['cc'] }), /only for a draft_id/)
    const gone = { draft_id: empty, remove_files: ['att_01m7zzzzzzfzzzzzzzzzzzzzzz'] }
    assert.match(await tools.refusal('save_draft', gone), /has no file att_/)
    const soon = { send_at: new Date().toISOString() }
    assert.match(await tools.refusal('save_draft', soon), /sendAt/)
  })

  test('can be sent at a time, which list_sent tells, until cancel_send', LIMIT, async () => {
    const send_at = LATER()
    const letter = { to: 'ann@firm.example', subject: 'Later', body: 'Later.', send_at }
    const draft_id = draftIn(await tools.call('save_draft', letter))
    assert.match(await tools.call('list_drafts', { draft_id }), /Once sent, it waits until/)
    const planned = await tools.call('send_draft', { draft_id })
    const message_id = idIn(planned, /message (msg_\w+)/)
    assert.match(planned, /^To be sent to the recipients of the draft at .*cancel_send cancels it/)
    const scheduled = () => tools.call('list_sent', { only_scheduled: true })
    const row = new RegExp(`- ${message_id} .* pending: to be sent at ${send_at} · to ann@`)
    assert.match(splitFences(await scheduled()).inside, row)
    assert.match(await tools.call('cancel_send', { message_id }), /will not be sent/)
    assert.match(await scheduled(), /^Nothing is to be sent later from agent@/)
    assert.match(splitFences(await tools.call('list_sent')).inside, /failed: cancelled · to ann@/)
    assert.equal((await world.client.messages.get(message_id)).failureReason, 'cancelled')
    assert.match(await tools.call('cancel_send', { message_id }), /will not be sent/)
    const [received] = (
      await world.client.messages.list(inbox.id, { direction: 'inbound', limit: 1 }).page()
    ).data
    const inbound = await tools.call('cancel_send', { message_id: received?.id })
    assert.match(inbound, /was received, not sent/)
  })
})

onEachTransport('check_send', (open, connect) => {
  const world = opened(() => open())
  const inbox = prepared(() => world.inbox('agent'))
  const tools = opened(() => connect(world))

  test('tells whether mail would be sent, held or refused, and stores nothing', LIMIT, async () => {
    const letter = { to: 'ann@firm.example', subject: 'Hi', body: 'Hello.' }
    const check = (given = {}) => tools.call('check_send', { ...letter, ...given })
    assert.equal(await check(), 'It would be sent.')

    const { token } = await world.client.approvers.create({ name: 'Ann' })
    const ann = world.clientWith(token)
    const guards = { newRecipients: 'hold', secrets: 'reject' } as const
    await ann.policy.replace({ outbound: { guards } }, { inboxId: inbox.id })
    const held = splitFences(await check())
    assert.match(held.outside, /^It would be held: a person would decide/)
    assert.match(held.inside, /^- newRecipients: .*ann@firm\.example/)
    const refused = splitFences(await check({ body: 'Pay with 4111 1111 1111 1111.' }))
    assert.match(refused.outside, /^It would be refused\. Do not try other words/)
    assert.match(refused.inside, /- secrets: /)
    assert.doesNotMatch(refused.inside, /4111/)

    const raw = plainMail({ from: 'dan@firm.example', to: inbox.address, subject: 'Hi' })
    await world.send({ to: inbox.address, raw })
    const [received] = (await world.client.messages.list(inbox.id).page()).data
    const answer = { thread_id: received?.threadId, body: 'Hello.' }
    assert.equal(await tools.call('check_send', answer), 'It would be sent.')

    const sent = { direction: 'outbound' } as const
    assert.equal((await world.client.messages.list(inbox.id, sent).page()).total, 0)
    assert.equal(await tools.call('list_held'), 'Nothing is held.')
    assert.match(await tools.call('send_mail', letter), /is held \(hld_.*Do not send it again/)
  })
})

onEachTransport('wait_for_mail by category', (open, connect) => {
  const world = opened(() => open())
  const tools = opened(() => connect(world))

  test('ignores mail of other kinds, also what came before the call', LIMIT, async () => {
    const inbox = await world.inbox()
    const headers = ['List-Unsubscribe: <https://shop.example/u>', 'Precedence: bulk']
    for (const [subject, more] of [
      ['Sale', { headers }],
      ['Question', {}],
      ['Sale again', { headers }],
    ] as const) {
      await world.send({ to: inbox.address, raw: plainMail({ subject, ...more }) })
    }
    const wait = (given: object) =>
      tools.call('wait_for_mail', { inbox: inbox.id, timeout_seconds: 1, ...given })
    const all = (await world.client.messages.list(inbox.id).page()).data
    const [again, question, first] = all.map(({ id }) => id)
    for (const after of ['beginning', first]) {
      const told = await wait({ after, category: 'personal' })
      assert.ok(told.startsWith(`Message ${question} `), told)
    }
    const told = await wait({ after: question, category: 'marketing' })
    assert.ok(told.startsWith(`Message ${again} `), told)
    assert.match(await wait({ after: question, category: 'personal' }), /^No matching mail/)
    assert.match(await tools.refusal('wait_for_mail', { category: 'fun' }), /category/)
  })
})
