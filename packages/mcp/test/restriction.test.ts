import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import type { Message } from '@mailroom/sdk'
import { opened, plainMail, prepared } from '@mailroom/server/test/world.ts'
import { coreTools } from '@mailroom/tools/all-tools.ts'
import { readRestriction, readRestrictionSettings } from '@mailroom/tools/read-restriction.ts'
import { unrestricted } from '@mailroom/tools/restriction.ts'
import { onEachTransport, splitFences } from './mcp-world.ts'

const LIMIT = { timeout: 60_000 }

suite('a restriction', () => {
  const read = (query: string) => readRestriction(new URLSearchParams(query))
  const kindOf = (query: string) => read(query).kind

  test('is read from the query of the endpoint', () => {
    const restriction = { ...unrestricted, inbox: 'a@b.example', isReadOnly: true }
    assert.deepEqual(read('inbox=a@b.example&read_only=true'), { kind: 'restriction', restriction })
    assert.deepEqual(read(''), { kind: 'restriction', restriction: unrestricted })
    assert.deepEqual(read('read_only=false'), { kind: 'restriction', restriction: unrestricted })
    const toolsOf = (query: string) => {
      const reading = read(query)
      return reading.kind === 'restriction' ? reading.restriction.tools : assert.fail(query)
    }
    assert.equal(toolsOf('tools=all'), null)
    assert.deepEqual(toolsOf('tools=reply,%20list_unread'), ['reply', 'list_unread'])
    assert.deepEqual(toolsOf('tools=core,forward'), ['core', 'forward'])
  })

  test('is refused, not ignored, when it is malformed', () => {
    for (const query of [
      'readonly=true',
      'read_only=yes',
      'inbox=',
      'inbox=a&inbox=b',
      'Inbox=a@b.example',
      'tools=',
      'tools=core&tools=all',
      'tools=send',
    ]) {
      assert.equal(kindOf(query), 'mistake', query)
    }
    for (const env of [
      { MAILROOM_MCP_READ_ONLY: 'yes' },
      { MAILROOM_MCP_READ_ONLY: '' },
      { MAILROOM_MCP_READONLY: 'true' },
      { MAILROOM_MCP_INBOX: '' },
      { MAILROOM_MCP_INBOX: ' ' },
      { MAILROOM_MCP_TOOLS: '' },
      { MAILROOM_MCP_TOOLS: 'core,none' },
    ]) {
      assert.equal(readRestrictionSettings(env).kind, 'mistake', JSON.stringify(env))
    }
    assert.deepEqual(
      readRestrictionSettings({ MAILROOM_MCP_READ_ONLY: '1', MAILROOM_API_KEY: '' }),
      {
        kind: 'restriction',
        restriction: { ...unrestricted, isReadOnly: true },
      },
    )
    const reading = read('tools=send')
    assert.match(
      reading.kind === 'mistake' ? reading.message : '',
      /must be all, core, or names of tools .* not "send"\. The tools are list_inboxes, .*send_mail/,
    )
  })
})

onEachTransport('a narrow connection', (open, connect) => {
  const world = opened(() => open())
  let secret: Message
  const own = prepared(() => world.inbox('own'))
  const other = prepared(() => world.inbox('other'))
  before(async () => {
    for (const inbox of [own, other]) {
      const raw = plainMail({ subject: `For ${inbox.address}`, body: 'A zeppelin.' })
      await world.send({ to: inbox.address, raw })
    }
    const { data } = await world.client.messages.list(other.id).page()
    secret = data[0] ?? assert.fail('no message')
  })

  for (const by of ['id', 'address'] as const) {
    test(`to one inbox by its ${by} shows no other inbox`, LIMIT, async () => {
      await using tools = await connect(world, { inbox: own[by] })
      assert.deepEqual((await tools.names()).includes('create_inbox'), false)
      assert.match(await tools.call('list_inboxes'), /one inbox: own@mailroom\.localhost/)
      assert.match(splitFences(await tools.call('list_unread')).inside, /For own@/)
      assert.doesNotMatch(await tools.call('list_unread'), /For other@/)
      assert.match(await tools.call('search_mail', { query: 'zeppelin' }), /^1 match/)
      for (const name of [other.id, other.address]) {
        const wanted = `No inbox "${name}". Call list_inboxes`
        for (const [tool, given] of [
          ['list_unread', {}],
          ['list_sent', {}],
          ['list_held', {}],
          ['search_mail', { query: 'zeppelin' }],
          ['wait_for_mail', {}],
          ['send_mail', { to: 'ann@firm.example', subject: 'Hi', body: 'Hi' }],
          ['check_send', { to: 'ann@firm.example', subject: 'Hi', body: 'Hi' }],
          ['list_drafts', {}],
          ['save_draft', { to: 'ann@firm.example', subject: 'Hi', body: 'Hi' }],
          ['simulate_inbound', { from: 'ann@firm.example', subject: 'Hi', text: 'Hi' }],
        ] as const) {
          const told = await tools.refusal(tool, { inbox: name, ...given })
          assert.ok(told.startsWith(wanted), `${tool}: ${told}`)
        }
      }
      const missing = {
        message: 'msg_01m7zzzzzzfzzzzzzzzzzzzzzz',
        thread: 'thr_01m7zzzzzzfzzzzzzzzzzzzzzz',
        draft: 'drf_01m7zzzzzzfzzzzzzzzzzzzzzz',
      }
      const letter = { to: 'ann@firm.example', subject: 'Hidden', body: 'A zeppelin.' }
      const draft = await world.client.drafts.create(other.id, letter)
      const sentDraft = await world.client.drafts.create(other.id, letter)
      // Sent by a connection that may, so that the answer is kept under the key of the tool.
      await using wide = await connect(world)
      await wide.call('send_draft', { draft_id: sentDraft.id })
      for (const [tool, field, id, unknown] of [
        ['read_thread', 'thread_id', secret.threadId, missing.thread],
        ['read_message', 'message_id', secret.id, missing.message],
        ['get_attachment', 'message_id', secret.id, missing.message],
        ['get_delivery_status', 'message_id', secret.id, missing.message],
        ['reply', 'thread_id', secret.threadId, missing.thread],
        ['forward', 'message_id', secret.id, missing.message],
        ['answer_invitation', 'message_id', secret.id, missing.message],
        ['mark_thread', 'thread_id', secret.threadId, missing.thread],
        ['delete_thread', 'thread_id', secret.threadId, missing.thread],
        ['wait_for_mail', 'thread_id', secret.threadId, missing.thread],
        ['check_send', 'thread_id', secret.threadId, missing.thread],
        ['cancel_send', 'message_id', secret.id, missing.message],
        ['save_draft', 'thread_id', secret.threadId, missing.thread],
        ['save_draft', 'draft_id', draft.id, missing.draft],
        ['list_drafts', 'draft_id', draft.id, missing.draft],
        ['send_draft', 'draft_id', draft.id, missing.draft],
        ['send_draft', 'draft_id', sentDraft.id, missing.draft],
        ['delete_draft', 'draft_id', draft.id, missing.draft],
      ] as const) {
        const to = 'ann@firm.example'
        const rest = { filename: 'x', body: 'x', state: 'read', to, response: 'accepted' }
        const needed = Object.entries(rest).filter(([name]) => needs(tool).includes(name))
        const ask = (value: string) =>
          tools.refusal(tool, { [field]: value, ...Object.fromEntries(needed) })
        assert.equal((await ask(id)).replace(id, unknown), await ask(unknown), tool)
      }
      assert.equal((await world.client.threads.get(secret.threadId)).isRead, false)
      assert.equal((await world.client.drafts.get(draft.id)).etag, draft.etag)
      await world.client.inboxes.send(other.id, {
        to: 'a@b.example',
        subject: 'S',
        body: 'hidden',
      })
      assert.doesNotMatch(await tools.call('get_sandbox_mail'), /hidden/)
    })
  }

  test('to an inbox that does not exist says so', LIMIT, async () => {
    await using tools = await connect(world, { inbox: 'none@mailroom.localhost' })
    assert.match(await tools.refusal('list_unread'), /restricted to an inbox that does not exist/)
  })

  test('to some tools lists only these and refuses the others', LIMIT, async () => {
    await using tools = await connect(world, { tools: 'core,forward' })
    const core = coreTools.map(({ name }) => name)
    assert.deepEqual((await tools.names()).toSorted(), [...core, 'forward'].toSorted())
    await assert.rejects(tools.result('create_inbox', {}), /disabled/)
  })

  test('to reading lists only reading tools and refuses the others', LIMIT, async () => {
    await using tools = await connect(world, { isReadOnly: true, inbox: own.id })
    const names = await tools.names()
    const writing = [
      'create_inbox',
      'send_mail',
      'reply',
      'forward',
      'answer_invitation',
      'save_draft',
      'send_draft',
      'delete_draft',
      'cancel_send',
      'mark_thread',
      'delete_thread',
      'simulate_inbound',
    ]
    assert.deepEqual(
      names.filter((name) => writing.includes(name)),
      [],
    )
    assert.ok(names.includes('read_thread') && names.includes('wait_for_mail'))
    for (const { annotations } of (await tools.client.listTools()).tools) {
      assert.equal(annotations?.readOnlyHint, true)
    }
    for (const name of writing) await assert.rejects(tools.result(name, {}), /disabled/, name)
    const given = { to: 'ann@firm.example', subject: 'Hi', body: 'Hi' }
    await assert.rejects(tools.result('send_mail', given), /disabled/)
    const sent = { direction: 'outbound' } as const
    assert.equal((await world.client.messages.list(own.id, sent).page()).total, 0)
  })
})

function needs(tool: string): string[] {
  if (tool === 'reply' || tool === 'check_send') return ['body']
  if (tool === 'mark_thread') return ['state']
  return tool === 'get_attachment' ? ['filename'] : []
}
