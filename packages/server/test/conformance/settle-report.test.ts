import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Report, ReportedRecipient } from '@mailroom/mail-reading/report/report.ts'
import { processAtReturnPath } from '#inbound/reports/process-reports.ts'
import { settleReport } from '#inbound/reports/store/settle-report.ts'
import { settleDeliveries } from '#outbound/deliveries/store/settle.ts'
import { DAY_MS } from '#platform/units.ts'
import { deliveriesOf } from '#test/conformance/delivering.ts'
import { addAccount, addInbox, makeId } from '#test/conformance/open-database.ts'
import {
  bounce,
  complaint,
  localPartOf,
  pathOf,
  reported,
  useReporting,
} from '#test/conformance/reporting.ts'
import { queueAll, sending } from '#test/conformance/sending.ts'
import { onEachEngine } from '#test/world.ts'

onEachEngine('the effects of reports', (engine) => {
  const { db, owner, inboxId, counts, run, depsWith, report, sent, ...look } = useReporting(engine)
  const { statesOf, messageOf, eventsOf, suppressionsOf } = look

  test('the same report again changes nothing', async () => {
    const message = await sent('accepted', 'bob@far.example')
    const again = bounce(reported('bob@far.example'))
    await Promise.all([report(message, again), report(message, again), report(message, again)])
    await report(message, bounce(reported('bob@far.example', { diagnostic: 'Other words' })))
    assert.equal((await eventsOf(message)).length, 2)
    assert.equal((await suppressionsOf()).length, 1)
    assert.match(String((await messageOf(message))[1]), /No such user$/)
    assert.deepEqual(counts().toSorted(), ['bounced', 'repeated', 'repeated', 'repeated'])
  })

  const names: [string, ReportedRecipient][] = [
    ['in other case', reported('BOB@Far.EXAMPLE')],
    ['with its address type', reported('rfc822;bob@far.example')],
    ['with its address type and a space', reported('RFC822; <bob@far.example>')],
    ['in brackets', reported('<bob@far.example>')],
    ['by the local part alone', reported('Bob', { originalRecipient: 'bob@far.example' })],
    ['in xtext', reported(null, { originalRecipient: 'rfc822;bob+40far.example' })],
    ['not at all', reported(null)],
  ]
  for (const [how, recipient] of names) {
    test(`a report may name the recipient ${how}`, async () => {
      const message = await sent('accepted', 'bob@far.example')
      await report(message, bounce(recipient))
      assert.deepEqual(await statesOf(message), ['bounced'])
      assert.equal((await suppressionsOf()).length, 1)
    })
  }

  test('the words are stored without the codes in front of them, and are never empty', async () => {
    for (const [diagnostic, told] of [
      ['550 5.1.1 No such user', 'No such user'],
      ['550-5.1.1 No such user', 'No such user'],
      ['5.1.1 No such user', 'No such user'],
      ['552 5.2.2 Full', '552 5.2.2 Full'],
      ['550 5.1.1', 'Reported as undeliverable'],
      ['', 'Reported as undeliverable'],
    ] as const) {
      const message = await sent('accepted', 'bob@far.example')
      const words = { diagnostic, bounceClass: 'soft' } as const
      await report(message, bounce(reported('bob@far.example', words)))
      const [delivery] = await deliveriesOf(db(), [message.messageId])
      assert.equal(delivery?.response, told)
    }
  })

  test('a tag that looks like xtext is read as written', async () => {
    const message = await sent('accepted', 'bob+41@far.example', 'boba@far.example')
    await report(message, bounce(reported('bob+41@far.example')))
    assert.deepEqual(await statesOf(message), ['bounced', 'accepted'])
  })

  test('a report that names nobody has no effect on several recipients', async () => {
    const message = await sent('accepted', 'a@far.example', 'b@far.example')
    await report(message, bounce(reported(null)))
    assert.deepEqual(await statesOf(message), ['accepted', 'accepted'])
    assert.deepEqual(counts(), ['unknown_recipient'])
  })

  test('a return path of one account changes nothing of another', async () => {
    const foreign = await addAccount(db())
    const foreignInbox = await addInbox(db(), foreign)
    const theirs = sending(foreign, foreignInbox, { recipients: ['bob@far.example'] })
    await queueAll(db(), [theirs])
    await run(
      `update deliveries set status = 'accepted', queue_state = null where message_id = '${theirs.messageId}'`,
    )
    const mine = await sent('accepted', 'ann@far.example')
    const about = `<${theirs.messageId.slice(4)}@mailroom.localhost>`
    await report(mine, {
      ...bounce(reported('bob@far.example')),
      originalMessageId: about,
    } as Report)
    await report(mine, complaint({ recipients: ['bob@far.example'], originalMessageId: about }))
    const input = {
      accountId: owner().accountId,
      messageId: theirs.messageId,
      deliveries: [
        {
          deliveryId: theirs.deliveries[0]?.id ?? '',
          eventId: makeId('evt'),
          suppression: null,
          status: 'complained',
          response: '',
        } as const,
      ],
      eventId: makeId('evt'),
      nowMs: Date.now(),
    }
    assert.deepEqual(await db().write(settleReport, input), ['gone'])
    assert.deepEqual(await statesOf(theirs), ['accepted'])
    assert.deepEqual(await suppressionsOf(foreign.accountId), [])
    await report(mine, bounce(reported('ann@far.example')))
    assert.deepEqual(await suppressionsOf(foreign.accountId), [])
    assert.equal((await suppressionsOf()).length, 1)
  })

  test('forged, expired and unknown return paths drop reports unread', async () => {
    const message = await sent('accepted', 'bob@far.example')
    const localPart = localPartOf(pathOf(message))
    const unread = {
      readReport: () => Promise.reject(new Error('It is read.')),
      authenticate: () => Promise.reject(new Error('Its sender is asked for.')),
      deadlineMs: 0,
    }
    const forged = `${localPart.slice(0, -1)}${localPart.endsWith('0') ? '1' : '0'}`
    assert.deepEqual(await processAtReturnPath(depsWith(), forged, unread), { kind: 'done' })
    const late = depsWith(31 * DAY_MS)
    assert.deepEqual(await processAtReturnPath(late, localPart, unread), { kind: 'done' })
    await run('delete from deliveries')
    assert.deepEqual(await processAtReturnPath(depsWith(), localPart, unread), { kind: 'done' })
    assert.deepEqual(counts(), ['forged', 'expired', 'unknown_message'])
  })

  test('an unknown outcome becomes bounced, and the message stays failed without a second event', async () => {
    const message = await sent('unknown', 'bob@far.example')
    await report(message, bounce(reported('bob@far.example')))
    assert.deepEqual(await statesOf(message), ['bounced'])
    assert.equal((await messageOf(message))[0], 'failed')
    assert.deepEqual(
      (await eventsOf(message)).map(([kind]) => kind),
      ['message.bounced'],
    )
  })

  test('a complaint of an unknown outcome does not make a failed message sent', async () => {
    const message = await sent('unknown', 'bob@far.example')
    await report(message, complaint({ recipients: ['bob@far.example'] }))
    assert.deepEqual(await statesOf(message), ['complained'])
    assert.equal((await messageOf(message))[0], 'failed')
  })

  for (const status of ['failed', 'complained', 'bounced']) {
    test(`a recipient that is ${status} stays so whatever is reported`, async () => {
      const message = await sent(status, 'bob@far.example')
      await report(message, bounce(reported('bob@far.example')))
      await report(message, complaint())
      assert.deepEqual(await statesOf(message), [status])
      assert.deepEqual(await suppressionsOf(), [])
      assert.deepEqual(counts(), ['repeated', 'repeated'])
    })
  }

  /** The outcome of our own attempt, for the recipient that the worker holds. */
  const settleLeased = async (
    { messageId }: { messageId: string },
    status: 'accepted' | 'failed',
  ) => {
    const rows = await deliveriesOf(db(), [messageId])
    const held = rows.find((row) => row.queue_state === 'leased')
    await db().write(settleDeliveries, {
      worker: 'w',
      accountId: owner().accountId,
      messageId,
      deliveries: [
        {
          id: held?.id ?? '',
          status,
          next_attempt_at: null,
          ambiguous_attempts: 0,
          host: null,
          tls: null,
          response_code: status === 'accepted' ? 250 : 550,
          enhanced_code: null,
          response: 'Ok',
          suppression: null,
          complaintEventId: null,
        },
      ],
      captured: null,
      eventId: makeId('evt'),
      nowMs: Date.now(),
    })
  }

  const queueAs = ({ messageId }: { messageId: string }, index: number, columns: string) =>
    run(
      `update deliveries set ${columns} where id =
         (select id from deliveries where message_id = '${messageId}'
          order by id limit 1 offset ${index})`,
    )
  const ACCEPTED = `status = 'accepted', queue_state = null`

  for (const [name, columns] of [
    ['about to be tried', `status = 'deferred', queue_state = 'ready'`],
    ['being tried', `status = 'queued', queue_state = 'leased', leased_by = 'w'`],
  ] as const) {
    test(`while a recipient is ${name} a report must be repeated, and settled recipients are recorded`, async () => {
      const message = await sent('queued', 'a@far.example', 'b@far.example')
      await queueAs(message, 0, ACCEPTED)
      await queueAs(message, 1, columns)
      const both = bounce(reported('a@far.example'), reported('b@far.example'))
      assert.deepEqual(await report(message, both), { kind: 'too_early' })
      const [first, second] = await statesOf(message)
      assert.deepEqual([first, second === 'bounced'], ['bounced', false])
      assert.deepEqual(counts(), ['bounced', 'too_early'])
      assert.deepEqual(await messageOf(message), [
        'pending',
        'a@far.example: 550 5.1.1 No such user',
      ])
      await queueAs(message, 1, ACCEPTED)
      assert.deepEqual(await report(message, both), { kind: 'done' })
      assert.deepEqual(await statesOf(message), ['bounced', 'bounced'])
      assert.deepEqual(counts().slice(2), ['repeated', 'bounced'])
      const kinds = (await eventsOf(message)).map(([kind]) => kind)
      assert.deepEqual(kinds, ['message.bounced', 'message.bounced', 'message.failed'])
      assert.deepEqual(await suppressionsOf(), [])
    })
  }

  test('a bounce is reported before the failure of the message, whichever recipient comes last', async () => {
    const message = await sent('queued', 'a@far.example', 'b@far.example')
    await queueAs(message, 0, ACCEPTED)
    await queueAs(message, 1, `queue_state = 'leased', leased_by = 'w'`)
    await report(message, bounce(reported('a@far.example')))
    await settleLeased(message, 'failed')
    const kinds = (await eventsOf(message)).map(([kind]) => kind)
    assert.deepEqual(kinds, ['message.bounced', 'message.failed'])
  })

  const ALIAS = { originalRecipient: 'rfc822;bob@far.example' }

  test('a mailbox that mail was forwarded to may be dead without the original address being dead', async () => {
    const names = [
      'left@other.example',
      'rfc822; left@far.example',
      'left',
      'a+00b@mailroom.localhost',
    ]
    for (const name of names) {
      const message = await sent('accepted', 'bob@far.example')
      await report(message, bounce(reported(name, ALIAS)))
      const [delivery] = await deliveriesOf(db(), [message.messageId])
      assert.deepEqual([delivery?.status, delivery?.bounce_class], ['bounced', 'soft'], name)
    }
    assert.deepEqual(await suppressionsOf(), [])
  })

  for (const bounceClass of ['policy', 'full', 'soft'] as const) {
    test(`a mailbox that mail was forwarded to fails as ${bounceClass} as any other does`, async () => {
      const message = await sent('accepted', 'bob@far.example')
      await report(message, bounce(reported('left@other.example', { ...ALIAS, bounceClass })))
      const [delivery] = await deliveriesOf(db(), [message.messageId])
      assert.equal(delivery?.bounce_class, bounceClass)
    })
  }

  test('a failure at an inbox of the service, to which mail was forwarded back, is ignored', async () => {
    const message = await sent('accepted', 'bob@far.example')
    const here = `${inboxId()}@mailroom.localhost`
    for (const name of [here, here.toUpperCase(), `rfc822;${here.replace('@', '+tag@')}`]) {
      await report(message, bounce(reported(name, { ...ALIAS, bounceClass: 'policy' })))
    }
    assert.deepEqual(await statesOf(message), ['accepted'])
    assert.deepEqual(counts(), ['ignored', 'ignored', 'ignored'])
    const gone = reported('nobody@mailroom.localhost', ALIAS)
    await report(message, bounce(gone))
    assert.deepEqual(
      await statesOf(message),
      ['bounced'],
      'where there is no such inbox it is dead',
    )
    assert.deepEqual(await suppressionsOf(), [])
  })
})
