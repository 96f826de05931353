// Mail sent by programs is received like any other and marked with the reason (RFC 3834), and the service answers
// none of it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFullRun, isLongRun } from '@mailroom/mail/test/size-of.ts'
import type { Inbox } from '@mailroom/sdk'
import { untilReadable } from '#test/conformance/open-database.ts'
import { countRows, deliver, newest } from '#test/scenarios/deliver.ts'
import { errorOf, refusalOf, until } from '#test/scenarios/outcomes.ts'
import { send } from '#test/scenarios/sending-world.ts'
import { onAnyEngine, onEachEngine, opened, openWorld, plainMail } from '#test/world.ts'

const MARKS: [header: string, reason: string | null][] = [
  ['Auto-Submitted: auto-replied', 'auto-submitted'],
  ['Auto-Submitted: auto-generated; owner-email="a@x.example"', 'auto-submitted'],
  ['AUTO-SUBMITTED: Auto-Replied (vacation)', 'auto-submitted'],
  ['Auto-Submitted: no', null],
  ['Auto-Submitted: No; comment', null],
  ['Precedence: bulk', 'precedence'],
  ['Precedence: junk', 'precedence'],
  ['Precedence: LIST', 'precedence'],
  ['Precedence: first-class', null],
  ['List-Id: A list <list.x.example>', 'list'],
  ['List-Unsubscribe: <mailto:off@x.example>', 'list'],
  ['X-Auto-Response-Suppress: All', 'auto-response-suppress'],
  ['X-Auto-Response-Suppress: None', null],
  ['X-Autoreply: yes', 'auto-submitted'],
  ['X-Mailer: A person at a keyboard', null],
]

onAnyEngine('automatic mail', (engine) => {
  const world = opened(() => openWorld(engine))

  for (const [header, reason] of MARKS) {
    test(`with "${header}" is ${reason === null ? 'not marked' : `marked as ${reason}`}`, async () => {
      const inbox = await world.inbox()
      const raw = plainMail({ to: inbox.address, headers: [header] })
      const message = await deliver(world, inbox, raw)
      assert.deepEqual([message.automatic, message.automaticReason], [reason !== null, reason])
    })
  }

  for (const address of ['MAILER-DAEMON@x.example', 'no-reply@x.example', 'postmaster@x.example']) {
    test(`from ${address} is marked as from a system`, async () => {
      const inbox = await world.inbox()
      const raw = plainMail({ to: inbox.address, from: `A system <${address}>` })
      const message = await deliver(world, inbox, raw)
      assert.deepEqual([message.automatic, message.automaticReason], [true, 'system-sender'])
    })
  }

  test('with the null sender is marked, whatever its header says', async () => {
    const inbox = await world.inbox()
    const raw = plainMail({ to: inbox.address, headers: ['Auto-Submitted: no'] })
    const message = await deliver(world, inbox, raw, '')
    assert.deepEqual([message.automatic, message.automaticReason], [true, 'null-sender'])
    assert.equal(message.fromAddr, 'Ann Sender <ann@sender.example>')
  })

  test('with signs in header and envelope has the reason of the header', async () => {
    const inbox = await world.inbox()
    const raw = plainMail({ to: inbox.address, headers: ['Auto-Submitted: auto-replied'] })
    assert.equal((await deliver(world, inbox, raw, '')).automaticReason, 'auto-submitted')
  })

  test('is a report if its type says so', async () => {
    const inbox = await world.inbox()
    const headers = ['Content-Type: multipart/report; report-type=delivery-status; boundary=b']
    const body = '--b\n\nThe report.\n--b--'
    const message = await deliver(world, inbox, plainMail({ to: inbox.address, headers, body }))
    assert.equal(message.automatic, true)
  })

  test('is never answered by the service: no job was queued for any of it', async () => {
    assert.equal(await countRows(world, 'jobs'), 0)
  })
})

const HOUR_MS = 3_600_000
const TOO_LONG = 100

onEachEngine('an agent that answers everything', (engine) => {
  const world = opened(() => openWorld(engine))

  const suspectedIn = async (inbox: Inbox) => {
    await untilReadable(world.app.deps.db)
    const kind = { event_types: 'thread.loop_suspected', inbox_id: inbox.id }
    return (await world.client.events.list(kind).page()).data
  }

  /** Mail arrives and is answered repeatedly; returns the number of answers. */
  async function exchange(
    inbox: Inbox,
    { header, from, most = TOO_LONG }: { header?: string; from?: string; most?: number },
  ): Promise<{ answers: number; threadId: string }> {
    let answers = 0
    let inReplyTo: string[] = []
    for (;;) {
      const headers = [...(header === undefined ? [] : [header]), ...inReplyTo]
      const messageId = `<${answers}.${inbox.id}@sender.example>`
      const raw = plainMail({ to: inbox.address, messageId, headers })
      const { threadId } = await deliver(world, inbox, raw, from)
      if (answers === most) return { answers, threadId }
      try {
        const sent = await send(world, inbox, { threadId, body: 'Noted.' })
        inReplyTo = [`In-Reply-To: ${sent.providerMessageId}`]
        answers += 1
      } catch (error) {
        const refused = await refusalOf(Promise.reject(error))
        assert.deepEqual([refused.status, refused.code], [429, 'loop_suspected'])
        return { answers, threadId }
      }
    }
  }

  const KINDS = [
    ['auto-replies', { header: 'Auto-Submitted: auto-replied' }],
    ['bulk mail', { header: 'Precedence: bulk' }],
    ['a list', { header: 'List-Id: <list.sender.example>' }],
    ['the null sender', { from: '' }],
    // Of another service like this one: whether a program wrote it is unknown, so it may be answered, but not for ever.
    ['mail with a mark', { header: `X-Loop: ${'0a'.repeat(13)}` }],
  ] as const
  // The sign that marks a program does not depend on the database.
  const isWhole = engine === 'sqlite' ? isFullRun() : isLongRun()
  const kinds = isWhole ? KINDS : [...KINDS.slice(0, 1), ...KINDS.slice(-1)]
  for (const [name, mail] of kinds) {
    test(`stops after ten answers to ${name} in a thread, and one event reports it`, async () => {
      const inbox = await world.inbox()
      const { answers, threadId } = await exchange(inbox, mail)
      assert.equal(answers, 10)
      for (let time = 0; time < 5; time++) {
        const refused = await refusalOf(send(world, inbox, { threadId }))
        assert.equal(refused.code, 'loop_suspected')
      }
      const [event, ...more] = await suspectedIn(inbox)
      assert.deepEqual(more, [])
      assert.deepEqual(
        [event?.thread_id, event?.inbox_id, event?.pod_id, event?.message],
        [threadId, inbox.id, inbox.podId, undefined],
      )
    })
  }

  test('is told that mail with the mark of another service may be answered', async () => {
    const inbox = await world.inbox()
    const headers = [`X-Loop: ${'0a'.repeat(13)}`]
    const raw = plainMail({ to: inbox.address, messageId: '<marked@sender.example>', headers })
    const { id } = await deliver(world, inbox, raw)
    const { automatic, autoReplyable } = await world.client.messages.get(id)
    assert.deepEqual([automatic, autoReplyable], [false, true])
  })

  test('stops after ten answers when three messages arrive at once and each is answered', async () => {
    const inbox = await world.inbox()
    const messageId = `<burst.${inbox.id}@sender.example>`
    const outcomes: string[] = []
    let threadId = ''
    for (let burst = 0; burst < 4; burst++) {
      for (let index = 0; index < 3; index++) {
        const own = burst + index === 0
        const headers = [
          'Auto-Submitted: auto-replied',
          ...(own ? [] : [`References: ${messageId}`]),
        ]
        const id = own ? messageId : `<${burst}.${index}.${inbox.id}@sender.example>`
        const raw = plainMail({ to: inbox.address, messageId: id, headers })
        threadId = (await deliver(world, inbox, raw)).threadId
      }
      for (let index = 0; index < 3; index++) {
        const answer = send(world, inbox, { threadId, body: 'Noted.' })
        outcomes.push(await answer.then(() => 'sent').catch((error) => error.code))
      }
    }
    assert.deepEqual(outcomes, [...Array(10).fill('sent'), 'loop_suspected', 'loop_suspected'])
    assert.equal((await suspectedIn(inbox)).length, 1)
  })

  test('may answer a person without limit', async () => {
    const inbox = await world.inbox()
    const { answers } = await exchange(inbox, { most: 15 })
    assert.equal(answers, 15)
    assert.deepEqual(await suspectedIn(inbox), [])
  })

  test('is told how long to wait, and may send again after that', async () => {
    const inbox = await world.inbox()
    const startMs = world.clock.now()
    const { threadId } = await exchange(inbox, { header: 'Precedence: bulk' })
    const { retryAfterSeconds, body } = await refusalOf(send(world, inbox, { threadId }))
    assert.ok(retryAfterSeconds !== null && typeof body === 'object')
    const passedMs = world.clock.now() - startMs
    const least = (HOUR_MS - passedMs) / 1_000
    assert.ok(retryAfterSeconds >= least && retryAfterSeconds <= 3_600, `${retryAfterSeconds}`)
    world.clock.advance((retryAfterSeconds - 60) * 1_000)
    const early = await refusalOf(send(world, inbox, { threadId }))
    assert.ok(Number(early.retryAfterSeconds) <= 60)
    world.clock.advance(Number(early.retryAfterSeconds) * 1_000)
    await send(world, inbox, { threadId })
  })

  test('loses nothing by a refusal: key, read state and limits are unchanged', async () => {
    const inbox = await world.inbox()
    const { threadId } = await exchange(inbox, { header: 'Precedence: bulk' })
    const { isRead } = await world.client.threads.get(threadId)
    assert.equal(isRead, false)
    const key = `refused-${inbox.id}`
    const request = { to: 'bob@friend.example', body: 'Hello', threadId }
    const response = await world.fetch(`/v1/inboxes/${inbox.id}/send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(request),
    })
    assert.equal(response.status, 429)
    assert.match(String((await errorOf(response)).fix), /Retry-After/)
    assert.equal((await world.client.threads.get(threadId)).isRead, false)
    assert.equal((await newest(world, inbox)).direction, 'inbound')
    // The key is still unused.
    await world.client.inboxes.send(
      inbox.id,
      { to: 'bob@friend.example', subject: 'Another', body: 'Hello' },
      { idempotencyKey: key },
    )
  })

  test('stops on its own when it answers another such agent of the same service', async () => {
    const [ada, bob] = [await world.inbox(), await world.inbox()]
    const sentBy = new Map<string, Map<string, number>>()
    /** Answers every message until a send is refused. */
    async function answerAll(inbox: Inbox, other: Inbox): Promise<void> {
      const seen = new Set<string>()
      for (;;) {
        let fresh: { id: string; threadId: string; automatic: boolean } | undefined
        await until(async () => {
          const { data } = await world.client.messages
            .list(inbox.id, { direction: 'inbound' })
            .page()
          fresh = data.toReversed().find(({ id }) => !seen.has(id))
          return fresh !== undefined || isOver
        })
        if (fresh === undefined) return
        seen.add(fresh.id)
        const { threadId } = fresh
        try {
          await send(world, inbox, { to: other.address, threadId, body: 'Thank you!' })
        } catch (error) {
          assert.equal((await refusalOf(Promise.reject(error))).code, 'loop_suspected')
          isOver = true
          return
        }
        const counts = sentBy.get(inbox.id) ?? new Map<string, number>()
        const count = (counts.get(threadId) ?? 0) + 1
        sentBy.set(inbox.id, counts.set(threadId, count))
        assert.ok(count <= 10, 'They go on.')
      }
    }
    let isOver = false
    await send(world, ada, { to: bob.address })
    await Promise.all([answerAll(ada, bob), answerAll(bob, ada)])
    const counts = [...sentBy.values()].flatMap((threads) => [...threads.values()])
    assert.ok(counts.length === 2 && Math.max(...counts) === 10, `${counts}`)
    assert.equal((await suspectedIn(bob)).length + (await suspectedIn(ada)).length, 1)
  })
})
