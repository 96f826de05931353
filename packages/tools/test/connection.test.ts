import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { opened, openTenant, plainMail, prepared } from '@mailroom/server/test/world.ts'
import { Access } from '#access.ts'
import { allTools, callTool, offerOf } from '#all-tools.ts'
import { type Restriction, unrestricted } from '#restriction.ts'

const LIMIT = { timeout: 60_000 }

suite('a connection to some inboxes', () => {
  const world = opened(() => openTenant('sqlite'))
  const inboxes = prepared(async () => ({
    ann: await world.inbox('ann'),
    bob: await world.inbox('bob'),
    eve: await world.inbox('eve'),
  }))
  const accessOf = (restriction: Partial<Restriction>) =>
    new Access({
      client: world.client,
      restriction: { ...unrestricted, ...restriction },
      isSandbox: true,
      onFault: assert.fail,
    })
  const ask = async (restriction: Partial<Restriction>, name: string, given: object = {}) => {
    const tool = allTools.find((one) => one.name === name) ?? assert.fail(name)
    const access = accessOf(restriction)
    const signal = new AbortController().signal
    const { content } = await callTool(tool, given, { access, signal, progress: async () => {} })
    return content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
  }
  const both = () => ({ inboxIds: [inboxes.ann.id, inboxes.bob.id] })

  before(async () => {
    for (const { address } of Object.values(inboxes)) {
      const raw = plainMail({ subject: `For ${address}`, body: 'A zeppelin.' })
      await world.send({ to: address, raw })
    }
  })

  test('lists and searches these and no other', LIMIT, async () => {
    const listed = await ask(both(), 'list_inboxes')
    assert.match(listed, /^2 inboxes, 2 here:/)
    assert.doesNotMatch(listed, /eve@/)
    assert.match(await ask(both(), 'list_inboxes', { limit: 1 }), /1 here:.*offset 1\./s)
    const unread = await ask(both(), 'list_unread')
    assert.match(unread, /^2 unread threads, 2 here:/)
    assert.doesNotMatch(unread, /eve@/)
    for (const sort of ['newest', 'rank']) {
      const found = await ask(both(), 'search_mail', { query: 'zeppelin', sort })
      assert.match(found, /^2 matches in all inboxes, 2 here/)
      assert.doesNotMatch(found, /For eve@/)
    }
    assert.equal(await ask(both(), 'list_held'), 'Nothing is held.')
  })

  test('asks which one is meant, and takes none outside', LIMIT, async () => {
    const mail = { to: 'kim@firm.example', subject: 'Hi', body: 'Hi' }
    const told = await ask(both(), 'send_mail', mail)
    assert.match(told, /^There are 2 inboxes\. Call again with inbox set to one of them: /)
    assert.doesNotMatch(told, /eve@/)
    const unknown = await ask(both(), 'send_mail', { ...mail, inbox: 'none@mailroom.localhost' })
    for (const inbox of [inboxes.eve.id, inboxes.eve.address]) {
      const refused = await ask(both(), 'send_mail', { ...mail, inbox })
      assert.equal(refused.replace(inbox, 'none@mailroom.localhost'), unknown)
    }
    const narrow = { ...both(), inbox: inboxes.eve.address }
    assert.match(await ask(narrow, 'list_unread'), /an inbox that does not exist/)
    assert.match(await ask({ ...both(), inbox: inboxes.ann.id }, 'list_inboxes'), /one inbox: ann@/)
    const [thread] = (await world.client.threads.list(inboxes.eve.id).page()).data
    const id = thread?.id ?? assert.fail('no thread')
    const missing = 'thr_01m7zzzzzzfzzzzzzzzzzzzzzz'
    assert.equal(
      (await ask(both(), 'read_thread', { thread_id: id })).replace(id, missing),
      await ask(both(), 'read_thread', { thread_id: missing }),
    )
  })

  test('says so when they are deleted', LIMIT, async () => {
    const gone = await world.inbox('gone')
    await world.client.inboxes.delete(gone.id)
    const left = { inboxIds: [gone.id, inboxes.ann.id] }
    assert.match(await ask(left, 'list_inboxes'), /^One inbox:\n- ann@/)
    for (const tool of ['list_inboxes', 'get_limits']) {
      assert.match(await ask({ inboxIds: [gone.id] }, tool), /exists any more/, tool)
    }
  })

  test('offers the tools of its scopes', () => {
    const offered = (restriction: Partial<Restriction>) =>
      allTools
        .filter((tool) => offerOf(tool, accessOf(restriction)) === 'offered')
        .map(({ name }) => name)
    assert.deepEqual(offered({ scopes: ['mail:draft'] }), [
      'save_draft',
      'delete_draft',
      'upload_link',
    ])
    const reading = offered({ scopes: ['mail:read'] })
    assert.deepEqual(
      reading.filter((name) => !allTools.find((tool) => tool.name === name)?.isReading),
      [],
    )
    assert.ok(reading.includes('read_thread') && !reading.includes('check_send'))
    assert.deepEqual(
      offered({ scopes: ['mail:read', 'mail:send'], tools: ['reply', 'mark_thread'] }),
      ['reply'],
    )
    assert.ok(!offered({ ...both(), scopes: ['mail:organise'] }).includes('create_inbox'))
  })
})
