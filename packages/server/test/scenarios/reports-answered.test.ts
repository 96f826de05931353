import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { settleReport } from '#inbound/reports/store/settle-report.ts'
import { StorageError } from '#platform/db/storage-error.ts'
import type { Log } from '#platform/log.ts'
import type { Db } from '#store/tables.ts'
import { codesOf, countMessages, countRows, eventsAbout } from '#test/scenarios/deliver.ts'
import { bounceMail, complaintMail } from '#test/scenarios/report-mail.ts'
import { deliveryOf, openSendingWorld, sendAccepted } from '#test/scenarios/sending-world.ts'
import { changePart, onEachEngine, opened, plainMail } from '#test/world.ts'

const ABUSE = 'abuse@mailroom.localhost'
const HOPS = Array.from({ length: 51 }, () => 'Received: by a.example')

onEachEngine('mail with a report', (engine) => {
  const world = opened(() => openSendingWorld(engine, { log }))
  const lines: string[] = []
  const note = (_fields: object, text: string) => void lines.push(text)
  const log: Log = { debug: () => {}, info: () => {}, warn: note, error: note }
  before(async () => {
    world.dns.zone = {
      ...world.dns.zone,
      '_dmarc.mx.friend.example': { TXT: ['v=DMARC1; p=reject'] },
    }
  })

  type Accepted = Awaited<ReturnType<typeof sendAccepted>>
  const hand = async (to: string[], raw: string) => codesOf(await world.send({ from: '', to, raw }))
  const stateOf = async ({ sent }: Accepted) => (await deliveryOf(world, sent)).status
  /** The effects of the report, once there are this many events. */
  const told = async ({ inbox, to }: Accepted, count: number) => {
    const kinds = (await eventsAbout(world, inbox.id, count)).map(({ event }) => event)
    const { total } = await world.client.suppressions.list({ address: to }).page()
    return { kinds, suppressions: total }
  }
  const BOUNCED = {
    kinds: ['message.sent', 'message.bounced', 'message.failed'],
    suppressions: 1,
  }
  const UNTOUCHED = { kinds: ['message.sent'], suppressions: 0 }

  /** Runs `run` on a database changed by `change`. */
  async function withDb(change: (db: Db) => Partial<Db>, run: () => Promise<void>) {
    const restore = changePart(world.app.deps.db, change)
    try {
      await run()
    } finally {
      restore()
    }
  }
  type Write = Parameters<Db['write']>
  const writing = (db: Db, write: (...parameters: Write) => Promise<unknown>) => ({
    write: ((...parameters: Write) => write.call(db, ...parameters)) as Db['write'],
  })

  test('with too many Received fields is refused and changes nothing', async () => {
    const mail = await sendAccepted(world)
    const { to, reversePath, inbox } = mail
    const raw = bounceMail({ to: reversePath, recipient: to, headers: HOPS })
    assert.equal(await hand([reversePath], raw), '554 5.4.6')
    assert.equal(await hand([reversePath, inbox.address], raw), '554 5.4.6')
    const complaint = complaintMail({ to: ABUSE, mailFrom: reversePath, headers: HOPS })
    assert.equal(await hand([ABUSE], complaint), '554 5.4.6')
    assert.equal(await stateOf(mail), 'accepted')
    assert.deepEqual(await told(mail, 1), UNTOUCHED)
  })

  test('that its sender’s domain rejects changes nothing if it is also for an inbox', async () => {
    const mail = await sendAccepted(world)
    const { to, reversePath, inbox } = mail
    const raw = bounceMail({ to: reversePath, recipient: to })
    assert.equal(await hand([reversePath, inbox.address], raw), '550 5.7.1')
    assert.equal(await stateOf(mail), 'accepted')
    assert.deepEqual(await told(mail, 1), UNTOUCHED)
    assert.equal(await countMessages(world, inbox), 1)
    // It may be about those very refusals.
    assert.equal(await hand([reversePath], raw), '250 2.0.0')
    assert.equal(await hand([reversePath, 'postmaster@mailroom.localhost'], raw), '250 2.0.0')
    assert.deepEqual(await told(mail, 3), BOUNCED)
  })

  /** From a domain without a policy. */
  const lenient = (raw: string) => raw.replace('@mx.friend.example>', '@friend.example>')

  test('with the mark of one of its recipient inboxes is a report, and not mail for the inbox', async () => {
    const mail = await sendAccepted(world)
    const { to, reversePath, inbox, mark } = mail
    const raw = lenient(
      bounceMail({ to: reversePath, recipient: to, headers: [`X-Loop: ${mark}`] }),
    )
    const cut = () => lines.filter((line) => line.includes('loop')).length
    const before = cut()
    assert.equal(await hand([inbox.address, reversePath], raw), '250 2.0.0')
    assert.equal(cut(), before + 1)
    assert.equal(await countMessages(world, inbox), 1)
    assert.deepEqual(await told(mail, 3), BOUNCED)
    assert.equal(await hand([inbox.address], raw), '554 5.4.6')
  })

  test('that is no report and has the mark of its sender is refused', async () => {
    const mail = await sendAccepted(world)
    const { reversePath, inbox, mark } = mail
    const raw = plainMail({ headers: [`X-Loop: ${mark}`] })
    for (const to of [[reversePath], [reversePath, inbox.address]]) {
      assert.equal(await hand(to, raw), '554 5.4.6')
    }
    assert.equal(await countMessages(world, inbox), 1)
  })

  const also: [string, (inbox: Inbox) => string[]][] = [
    ['alone', () => []],
    ['and an inbox', ({ address }) => [address]],
    ['and the operator', () => ['postmaster@mailroom.localhost']],
  ]
  for (const [who, others] of also) {
    test(`for a return path ${who} may be sent again in full without effect`, async () => {
      const mail = await sendAccepted(world)
      const { to, reversePath, inbox } = mail
      const raw = lenient(bounceMail({ to: reversePath, recipient: to }))
      const mails = await countRows(world, 'postmaster_messages')
      const recipients = [reversePath, ...others(inbox)]
      assert.equal(await hand(recipients, raw), '250 2.0.0')
      const messages = await countMessages(world, inbox)
      const kept = (await countRows(world, 'postmaster_messages')) - mails
      assert.equal(messages - 1 + kept, recipients.length - 1)
      assert.equal(await hand(recipients.toReversed(), raw), '250 2.0.0')
      assert.equal(await countMessages(world, inbox), messages)
      assert.equal((await countRows(world, 'postmaster_messages')) - mails, kept)
      const { kinds, suppressions } = await told(mail, messages + 2)
      assert.deepEqual(
        kinds.filter((kind) => kind !== 'message.received'),
        BOUNCED.kinds,
      )
      assert.equal(suppressions, 1)
    })
  }

  test('whose reply was lost after it was recorded may be sent again and changes nothing', async () => {
    const mail = await sendAccepted(world)
    const { to, reversePath } = mail
    const raw = bounceMail({ to: reversePath, recipient: to })
    const losing = (db: Db) =>
      writing(db, async (...parameters) => {
        const result = await db.write(...parameters)
        if (parameters[0].name === settleReport.name)
          throw new StorageError('unavailable', 'The end.')
        return result
      })
    await withDb(losing, async () => {
      assert.equal(await hand([reversePath], raw), '451 4.3.0')
    })
    assert.deepEqual(await told(mail, 3), BOUNCED)
    assert.equal(await hand([reversePath], raw), '250 2.0.0')
    assert.deepEqual(await told(mail, 3), BOUNCED)
  })

  test('that was recorded but not stored for the inbox may be sent again for both', async () => {
    const mail = await sendAccepted(world)
    const { to, reversePath, inbox } = mail
    const raw = lenient(bounceMail({ to: reversePath, recipient: to }))
    const failing = (db: Db) =>
      writing(db, (...parameters) =>
        parameters[0].name === storeReceived.name
          ? Promise.reject(new StorageError('full', 'No room.'))
          : db.write(...parameters),
      )
    await withDb(failing, async () => {
      assert.equal(await hand([inbox.address, reversePath], raw), '452 4.3.1')
    })
    assert.equal(await countMessages(world, inbox), 1)
    assert.equal(await hand([inbox.address, reversePath], raw), '250 2.0.0')
    assert.equal(await countMessages(world, inbox), 2)
    const { kinds, suppressions } = await told(mail, 4)
    assert.deepEqual(
      [kinds.toSorted(), suppressions],
      [[...BOUNCED.kinds, 'message.received'].toSorted(), 1],
    )
  })

  test('is deferred while the store is down, at a return path and at abuse@', async () => {
    const mail = await sendAccepted(world)
    const { to, reversePath } = mail
    const raw = bounceMail({ to: reversePath, recipient: to })
    const complaint = complaintMail({ to: ABUSE, mailFrom: reversePath })
    const away = (db: Db) =>
      writing(db, () => Promise.reject(new StorageError('unavailable', 'It is away.')))
    const unreadable = ({ reading }: Db): Partial<Db> => ({
      reading: {
        ...reading,
        runSql() {
          throw new StorageError('unavailable', 'It is away.')
        },
      },
    })
    for (const trouble of [away, unreadable]) {
      await withDb(trouble, async () => {
        assert.equal(await hand([reversePath], raw), '451 4.3.0')
        assert.equal(await hand([ABUSE], complaint), '451 4.3.0')
      })
    }
    assert.deepEqual(await told(mail, 1), UNTOUCHED)
    assert.equal(await hand([reversePath], raw), '250 2.0.0')
    assert.deepEqual(await told(mail, 3), BOUNCED)
  })
})
