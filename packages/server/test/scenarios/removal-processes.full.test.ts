import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Mailroom, MailroomError } from '@mailroom/sdk'
import { openSender } from '#test/peers/sender.ts'
import { checkLists } from '#test/scenarios/removal-check.ts'
import { opened, openSecond, openWorld, plainMail } from '#test/world.ts'

const ROUNDS = 12

suite('removal at two services on one database', () => {
  const world = opened(() => openWorld('postgres'))
  const second = opened(() => openSecond(world))

  test('leaves every list right beside arriving mail and restores', async () => {
    const inbox = await world.inbox()
    const other = new Mailroom({
      baseUrl: second.http?.address ?? '',
      apiKey: world.key,
      maxRetries: 0,
    })
    const senders = await Promise.all([
      openSender(world.smtpPort),
      openSender(second.smtp?.port ?? 0),
    ])
    let sent = 0
    const send = async (at: number) => {
      const messageId = `<processes${++sent}@x.example>`
      const answers = sent % 3 === 0 ? [] : [`In-Reply-To: <processes${sent - 2}@x.example>`]
      const raw = plainMail({ to: inbox.address, messageId, headers: answers })
      assert.equal((await senders[at]?.send({ to: inbox.address, raw }))?.code, 250)
    }
    const refused = new Set<string>()
    const attempt = async (request: Promise<unknown>) => {
      await request.catch((error) => {
        if (!(error instanceof MailroomError)) throw error
        refused.add(`${error.status} ${error.code}`)
      })
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (let count = 0; count < 4; count++) await send(count % 2)
      const { data } = await world.client.threads.list(inbox.id).page()
      const { data: messages } = await world.client.messages.list(inbox.id).page()
      const { data: trashed } = await other.threads.list(inbox.id, { trashed: true }).page()
      const [first, next, third] = data.map(({ id }) => id)
      await Promise.all([
        send(0),
        send(1),
        attempt(world.client.threads.delete(first ?? 'none')),
        attempt(other.threads.delete(first ?? 'none')),
        attempt(other.threads.restore(first ?? 'none')),
        attempt(world.client.threads.restore(trashed[0]?.id ?? 'none')),
        attempt(other.threads.delete(trashed[0]?.id ?? 'none', { permanent: true })),
        attempt(world.client.messages.delete(messages[3]?.id ?? 'none')),
        attempt(other.messages.delete(messages[3]?.id ?? 'none')),
        attempt(other.threads.update(next ?? 'none', { is_read: true })),
        attempt(world.client.threads.delete(third ?? 'none')),
      ])
      await checkLists(round % 2 === 0 ? world.client : other, inbox.id)
    }
    await Promise.all(senders.map((sender) => sender.quit()))
    assert.deepEqual([...refused], ['404 not_found'])
  })
})
