import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Dice, seededDice } from '@mailroom/mail/test/seeded-dice.ts'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import type { Inbox } from '@mailroom/sdk'
import { openSender } from '#test/peers/sender.ts'
import { onEachEngine, opened, openTenant, plainMail } from '#test/world.ts'

/** Mail for several inboxes interleaves, each in its own order. */
const INBOXES = 4
const MESSAGES = {
  sqlite: sizeOf('TEST_MAILROOM_THREADED_SQLITE', { usual: 150, long: 1_000 }),
  postgres: sizeOf('TEST_MAILROOM_THREADED_POSTGRES', { usual: 40, long: 250 }),
}

/** The content of the fields, without brackets; the model does not depend on their spelling. */
type Letter = { number: number; id: string | null; inReplyTo: string[]; references: string[] }

/** The rules of the interface, in arrival order: the index of the thread of each letter. */
function modelThreads(letters: readonly Letter[]): number[] {
  const threadOfId = new Map<string, number>()
  let threads = 0
  return letters.map(({ id, inReplyTo, references }) => {
    const parents = [...inReplyTo, ...[...references].reverse()]
    const parent = parents.find((candidate) => threadOfId.has(candidate))
    const thread = parent === undefined ? threads++ : (threadOfId.get(parent) ?? -1)
    if (id !== null && !threadOfId.has(id)) threadOfId.set(id, thread)
    return thread
  })
}

onEachEngine('generated mail', (engine) => {
  const world = opened(() => openTenant(engine))

  test('is threaded like the model of the rules', async (context) => {
    const seed = Number(process.env.TEST_MAILROOM_SEED ?? Date.now() % 1_000_000)
    context.diagnostic(`seed ${seed}`)
    const runs = Array.from({ length: INBOXES }, async (_, stream) => {
      const own = 2 * (seed + stream)
      const letters = generate(seededDice(own), MESSAGES[engine])
      const inbox = await world.inbox()
      await feed(inbox, letters, seededDice(own + 1))
      await compare(inbox, letters)
    })
    await Promise.all(runs)
  })

  async function feed(inbox: Inbox, letters: Letter[], roll: Dice): Promise<void> {
    const sender = await openSender(world.smtpPort)
    for (const letter of letters) {
      const raw = write(letter, inbox.address, roll)
      assert.equal((await sender.send({ to: inbox.address, raw })).code, 250)
    }
    await sender.quit()
  }

  async function compare(inbox: Inbox, letters: Letter[]): Promise<void> {
    const arrived = new Map<number, { threadId: string; createdAt: string }>()
    for await (const { subject, threadId, createdAt } of world.client.messages.list(inbox.id)) {
      arrived.set(Number(subject), { threadId, createdAt })
    }
    assert.equal(arrived.size, letters.length)
    const expected = modelThreads(letters)
    const threadIds = new Map<number, string>()
    const wrong = letters.filter(({ number }) => {
      const thread = expected[number] ?? -1
      const threadId = arrived.get(number)?.threadId ?? ''
      if (!threadIds.has(thread)) threadIds.set(thread, threadId)
      return threadIds.get(thread) !== threadId
    })
    assert.deepEqual(wrong, [])
    assert.equal(new Set(threadIds.values()).size, threadIds.size)

    const listed = []
    for await (const thread of world.client.threads.list(inbox.id)) listed.push(thread)
    assert.equal(listed.length, threadIds.size)
    const byLastMessage = [...new Set([...expected].reverse())].map((thread) => {
      const id = threadIds.get(thread)
      const messageCount = expected.filter((other) => other === thread).length
      const lastMessageAt = arrived.get(expected.lastIndexOf(thread))?.createdAt
      return { id, messageCount, lastMessageAt, isRead: false }
    })
    assert.deepEqual(
      listed.map(({ id, messageCount, lastMessageAt, isRead }) => ({
        id,
        messageCount,
        lastMessageAt,
        isRead,
      })),
      byLastMessage,
    )
  }
})

/** Identifiers from a growing pool, so that answers come before, after and without parents. */
function generate(roll: Dice, count: number): Letter[] {
  return Array.from({ length: count }, (_, number) => {
    const newest = number / 3 + 5
    const some = () => {
      const pick = Math.floor(newest) - roll(Math.min(40, Math.ceil(newest)))
      const host = ['x.example', 'X.example', 'y.example'][roll(3)]
      return roll(50) === 0 ? `${'long'.repeat(100)}${pick}@${host}` : `${pick}@${host}`
    }
    const several = (most: number) => Array.from({ length: roll(most + 1) }, some)
    return {
      number,
      id: roll(10) === 0 ? null : some(),
      inReplyTo: roll(2) === 0 ? several(2) : [],
      references: roll(2) === 0 ? several(5) : [],
    }
  })
}

/** The letter in one of the spellings in which mail programs write such fields. */
function write({ number, id, inReplyTo, references }: Letter, to: string, roll: Dice): string {
  const space = () => [' ', '\r\n ', '\r\n\t', '  ', ''][roll(5)] ?? ''
  const written = (text: string) => (roll(6) === 0 ? `< ${text} >` : `<${text}>`)
  const field = (name: string, ids: string[]) =>
    ids.length === 0 ? [] : [`${name}: ${ids.map(written).join(space())}`]
  return plainMail({
    to,
    subject: `${number}`,
    headers: [
      ...(id === null ? [] : [`${['Message-ID', 'message-id'][roll(2)]}: ${written(id)}`]),
      ...field('In-Reply-To', inReplyTo),
      ...field('References', references),
    ],
  })
}
