import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import fc from 'fast-check'
import { openSender, type Sender } from '#test/peers/sender.ts'
import { onEachEngine, openTenant, plainMail, type World } from '#test/world.ts'

type Step =
  | { kind: 'receive'; inboxes: readonly number[]; answers: number | null }
  | { kind: 'mark'; inbox: number; thread: number; isRead: boolean }
  | { kind: 'repeat'; inbox: number; message: number }
  | { kind: 'delete'; inbox: number }

/** `since` counts the messages since the thread was last read. */
type ModelThread = { root: string; isRead: boolean; since: number; messageIds: string[] }
/** Threads, the one with the newest message first. */
type ModelInbox = { inbox: Inbox; threads: ModelThread[]; messageIds: string[] }

const index = fc.nat({ max: 20 })
const which = fc.nat({ max: 1 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('receive' as const),
      inboxes: fc.constantFrom([0], [1], [0, 1], [1, 0, 1]),
      answers: fc.option(index),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('mark' as const),
      inbox: which,
      thread: index,
      isRead: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('repeat' as const), inbox: which, message: index }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), inbox: which }) },
)

onEachEngine('lists compared with a model', (engine) => {
  let world: World
  let sender: Sender
  let sent = 0
  const raws = new Map<string, string>()
  before(async () => {
    world = await openTenant(engine)
    sender = await openSender(world.smtpPort)
  })
  after(async () => {
    await sender.quit()
    await world.close()
  })

  const newInbox = async (): Promise<ModelInbox> => ({
    inbox: await world.inbox(),
    threads: [],
    messageIds: [],
  })

  function arrive(model: ModelInbox, messageId: string, answers: string | null): void {
    if (model.messageIds.includes(messageId)) return
    const parent = model.threads.find(({ messageIds }) => messageIds.includes(answers ?? ''))
    const thread = parent ?? { root: messageId, isRead: false, since: 0, messageIds: [] }
    thread.messageIds.push(messageId)
    thread.since += 1
    thread.isRead = false
    model.threads = [thread, ...model.threads.filter((other) => other !== thread)]
    model.messageIds.unshift(messageId)
  }

  async function run(models: ModelInbox[], change: Step): Promise<void> {
    switch (change.kind) {
      case 'receive': {
        const known = models.flatMap(({ messageIds }) => messageIds)
        const answers = change.answers === null ? null : (known[change.answers] ?? null)
        const messageId = `<m${++sent}@x.example>`
        const headers = answers === null ? [] : [`In-Reply-To: ${answers}`]
        const targets = change.inboxes.flatMap((at) => models[at] ?? [])
        const to = targets.map(({ inbox }, at) => inbox.address.replace('@', `+${at}@`))
        const raw = plainMail({ messageId, headers })
        raws.set(messageId, raw)
        assert.equal((await sender.send({ to, raw })).code, 250)
        for (const model of targets) arrive(model, messageId, answers)
        return
      }
      case 'repeat': {
        const model = models[change.inbox]
        const messageId = model?.messageIds[change.message]
        if (model === undefined || messageId === undefined) return
        const raw = raws.get(messageId) ?? ''
        assert.equal((await sender.send({ to: model.inbox.address, raw })).code, 250)
        return
      }
      case 'mark': {
        const model = models[change.inbox]
        const thread = model?.threads[change.thread]
        if (model === undefined || thread === undefined) return
        const { data } = await world.client.threads.list(model.inbox.id).page()
        const id = data[change.thread]?.id ?? ''
        await world.client.threads.update(id, { is_read: change.isRead })
        if (thread.isRead !== change.isRead) thread.since = 0
        thread.isRead = change.isRead
        return
      }
      case 'delete': {
        const gone = models[change.inbox]
        if (gone === undefined) return
        await world.client.inboxes.delete(gone.inbox.id)
        models[change.inbox] = await newInbox()
      }
    }
  }

  async function compare({ inbox, threads, messageIds }: ModelInbox): Promise<void> {
    const { client } = world
    for (const isRead of [undefined, true, false]) {
      const expected = threads.filter((thread) => isRead === undefined || thread.isRead === isRead)
      const options = isRead === undefined ? {} : { is_read: isRead }
      const { data, total } = await client.threads.list(inbox.id, options).page()
      assert.equal(total, expected.length)
      assert.deepEqual(
        data.map((thread) => [thread.isRead, thread.messageCount, thread.unreadCount]),
        expected.map(({ isRead: read, messageIds: ids, since }) => [
          read,
          ids.length,
          read ? 0 : Math.max(1, since),
        ]),
      )
      if (isRead !== undefined) continue
      const shown = await client.inboxes.get(inbox.id)
      assert.equal(shown.unreadThreads, expected.filter((thread) => !thread.isRead).length)
      assert.equal(shown.lastMessageAt, data[0]?.lastMessageAt ?? null)
      for (const [at, thread] of data.entries()) {
        const { data: messages } = await client.threads.messages(thread.id)
        assert.deepEqual(
          messages.map(({ rfcMessageId }) => rfcMessageId),
          expected[at]?.messageIds,
        )
        assert.equal(thread.lastMessageAt, messages.at(-1)?.createdAt)
      }
    }
    const { data, total } = await client.messages.list(inbox.id).page()
    assert.equal(total, messageIds.length)
    assert.deepEqual(
      data.map(({ rfcMessageId }) => rfcMessageId),
      messageIds,
    )
  }

  test('totals, order and flags equal those of the model after any steps', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 30 }), async (steps) => {
        const models = [await newInbox(), await newInbox()]
        for (const change of steps) await run(models, change)
        for (const model of models) await compare(model)
        for (const { inbox } of models) await world.client.inboxes.delete(inbox.id)
      }),
      { numRuns: 8, endOnFailure: true },
    )
  })
})
