import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothEngines, opened, openWorld, plainMail } from '#test/world.ts'

onBothEngines('the first story', (engine) => {
  const world = opened(() => openWorld(engine))

  test('a message sent by SMTP is read back as a thread with a message', async () => {
    const inbox = await world.inbox('hello')
    const raw = plainMail({
      to: inbox.address,
      subject: 'Greetings',
      messageId: '<first@x.example>',
    })
    assert.equal((await world.send({ to: inbox.address, raw })).code, 250)

    const { data: threads, total } = await world.client.threads.list(inbox.id).page()
    assert.equal(total, 1)
    const [thread] = threads
    assert.equal(thread?.subject, 'Greetings')
    assert.equal(thread?.isRead, false)
    const { data } = await world.client.threads.messages(thread?.id ?? '')
    assert.equal(data[0]?.fromAddr, 'Ann Sender <ann@sender.example>')
    assert.equal(data[0]?.bodyText, 'A body.')
  })

  test('a reply joins the thread of the message that it answers', async () => {
    const inbox = await world.inbox()
    const question = plainMail({ to: inbox.address, messageId: '<q@x.example>' })
    const answer = plainMail({ to: inbox.address, headers: ['In-Reply-To: <q@x.example>'] })
    await world.send({ to: inbox.address, raw: question })
    await world.send({ to: inbox.address, raw: answer })
    const { data } = await world.client.threads.list(inbox.id).page()
    assert.deepEqual(
      data.map((thread) => thread.messageCount),
      [2],
    )
  })
})
