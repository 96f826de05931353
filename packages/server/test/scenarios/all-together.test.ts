import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededDice } from '@mailroom/mail/test/seeded-dice.ts'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { MailroomError } from '@mailroom/sdk'
import { systemClock } from '#platform/clock.ts'
import { DAY_MS } from '#platform/units.ts'
import { removeOverdueStep } from '#removal/store/retention.ts'
import { runSql } from '#test/peers/sql.ts'
import { checkLists } from '#test/scenarios/removal-check.ts'
import { imported, mailFrom, mboxOf } from '#test/scenarios/transfer-mail.ts'
import { onEachEngine, opened, openTenant, plainMail } from '#test/world.ts'

const OPERATIONS = sizeOf('TEST_MAILROOM_ALL_KINDS', {
  quick: 60,
  usual: 240,
  long: 2_000,
})
const AT_ONCE = 6

/** Totals of an inbox and the rows that they are of; they must be equal. */
const TOTALS: Readonly<Record<string, [string, string]>> = {
  inbound: [
    'select inbound_count as n from inbox_counters where inbox_id = $',
    "select count(*) as n from messages where inbox_id = $ and direction = 'inbound' and is_trashed = 0",
  ],
  outbound: [
    'select outbound_count as n from inbox_counters where inbox_id = $',
    "select count(*) as n from messages where inbox_id = $ and direction = 'outbound' and is_trashed = 0",
  ],
  threads: [
    'select thread_count as n from inbox_counters where inbox_id = $',
    'select count(*) as n from threads where inbox_id = $ and trashed_at is null',
  ],
  unread: [
    'select unread_thread_count as n from inbox_counters where inbox_id = $',
    'select count(*) as n from threads where inbox_id = $ and trashed_at is null and is_read = 0',
  ],
  trashed: [
    'select trashed_thread_count as n from inbox_counters where inbox_id = $',
    'select count(*) as n from threads where inbox_id = $ and trashed_at > 0',
  ],
  trashedUnread: [
    'select trashed_unread_count as n from inbox_counters where inbox_id = $',
    'select count(*) as n from threads where inbox_id = $ and trashed_at > 0 and is_read = 0',
  ],
  storedBytes: [
    'select stored_bytes as n from inbox_counters where inbox_id = $',
    'select coalesce(sum(r.size_bytes), 0) as n from messages m join raw_messages r on r.id = m.raw_id where m.inbox_id = $',
  ],
  facets: [
    'select count(*) as n from thread_facets where inbox_id = $',
    'select coalesce(sum(facet_count), 0) as n from threads where inbox_id = $',
  ],
  placedFacets: [
    'select count(*) as n from thread_facets where inbox_id = $',
    'select count(*) as n from thread_facets m join threads t on t.id = m.thread_id and t.last_message_at = m.last_message_at and (t.trashed_at is not null) = (m.is_trashed = 1) where m.inbox_id = $',
  ],
  placedLabels: [
    'select count(*) as n from message_labels where inbox_id = $',
    'select count(*) as n from message_labels l join messages m on m.id = l.message_id and m.created_at = l.created_at and m.is_trashed = l.is_trashed where l.inbox_id = $',
  ],
  threadMessages: [
    'select coalesce(sum(message_count), 0) as n from threads where inbox_id = $',
    'select count(*) as n from messages where inbox_id = $',
  ],
  sides: [
    'select count(*) as n from messages where inbox_id = $',
    'select count(*) as n from messages m join threads t on t.id = m.thread_id where m.inbox_id = $ and (m.is_trashed = 1) = (t.trashed_at is not null)',
  ],
}

onEachEngine('changes of all kinds at once', (engine) => {
  const world = opened(() => openTenant(engine))

  test('leave every total equal to its rows', async () => {
    const { client } = world
    const { db } = world.app.deps
    const inbox = await world.inbox()
    const dice = seededDice(18)
    const pick = <One>(of: readonly One[]) => of[dice(of.length)]
    let sent = 0
    const people = ['ann@a.example', 'bob@b.example', 'eve@e.example']
    const anyThread = async (trashed = false) =>
      pick((await client.threads.list(inbox.id, { limit: 50, trashed }).page()).data)?.id ?? 'none'
    const anyMessage = async () =>
      pick((await client.messages.list(inbox.id, { limit: 50 }).page()).data)?.id ?? 'none'
    const arrive = async () => {
      const number = ++sent
      const from = pick(people) ?? ''
      const messageId = `<all${number}@x.example>`
      const headers = number % 2 === 0 ? [`In-Reply-To: <all${number - 3}@x.example>`] : []
      await world.send({
        from,
        to: [inbox.address],
        raw: plainMail({ to: inbox.address, from, messageId, headers }),
      })
    }
    const actions: (() => Promise<unknown>)[] = [
      arrive,
      arrive,
      arrive,
      async () =>
        client.inboxes.send(inbox.id, { to: pick(people) ?? '', subject: 's', body: 'b' }),
      async () => client.threads.delete(await anyThread()),
      async () => client.threads.delete(await anyThread(true), { permanent: true }),
      async () => client.threads.restore(await anyThread(true)),
      async () => client.messages.delete(await anyMessage()),
      async () => client.threads.update(await anyThread(), { is_read: dice(2) === 0 }),
      async () =>
        client.threads.update(await anyThread(), { addLabels: ['a', 'b'], assignee: 'w' }),
      async () => client.threads.update(await anyThread(true), { removeLabels: ['a'] }),
      async () => client.messages.update(await anyMessage(), { addLabels: ['m'] }),
      async () => {
        const { data } = await client.inboxes.claimThreads(inbox.id, {
          owner: 'w',
          leaseSeconds: 10,
          max: 2,
        })
        for (const { threadId, leaseToken } of data) {
          await client.withLease(leaseToken).threads.releaseClaim(threadId, { isRead: true })
        }
      },
      async () => {
        const number = ++sent
        const mails = people.map((from, at) =>
          mailFrom(
            from,
            `imported${number}-${at}`,
            at === 1 ? `Status: RO\nIn-Reply-To: <all${number - 2}@x.example>\n` : '',
          ),
        )
        await imported(client, inbox.id, mboxOf(...mails, mailFrom(inbox.address, `own${number}`)))
      },
      async () => {
        await client.inboxes.update(inbox.id, { retentionDays: 1 })
        const [row] = await runSql(world, `select account_id from inboxes where id = '${inbox.id}'`)
        const place = { accountId: String(row?.account_id), inboxId: inbox.id }
        await db.write(removeOverdueStep, { ...place, nowMs: systemClock.now() + DAY_MS - 500 })
        await client.inboxes.update(inbox.id, { retentionDays: null })
      },
      async () => {
        const { id } = await client.erasures.create({ address: 'eve@e.example' })
        await client.erasures.untilDone(id)
      },
    ]
    const refused = new Map<string, number>()
    let left = OPERATIONS
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (left-- > 0) {
          const isRare = dice(40) === 0
          const action = isRare ? pick(actions.slice(-2)) : pick(actions.slice(0, -2))
          await action?.().catch((error) => {
            if (!(error instanceof MailroomError)) throw error
            const name = `${error.status} ${error.code}`
            refused.set(name, (refused.get(name) ?? 0) + 1)
          })
        }
      }),
    )
    await checkLists(client, inbox.id)
    assert.ok(![...refused.keys()].some((name) => name.startsWith('5')), [...refused.keys()].join())
    const wrong: Record<string, number[]> = {}
    for (const [name, texts] of Object.entries(TOTALS)) {
      const numbers = await Promise.all(
        texts.map(async (text) =>
          Number((await runSql(world, text.replaceAll('$', `'${inbox.id}'`)))[0]?.n),
        ),
      )
      if (numbers[0] !== numbers[1]) wrong[name] = numbers
    }
    assert.deepEqual(wrong, {})
  })
})
