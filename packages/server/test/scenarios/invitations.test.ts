import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inbox, MailroomError, Message } from '@mailroom/sdk'
import { deliver, receivedFrom } from '#test/scenarios/deliver.ts'
import { BOB, calendar, type Event, mailWith } from '#test/scenarios/invitation-mail.ts'
import { refusal } from '#test/scenarios/outcomes.ts'
import { arrived, openSendingWorld, readMail, settled } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, plainMail } from '#test/world.ts'

onEachEngine('an invitation', (engine) => {
  const world = opened(async () => {
    const opening = await openSendingWorld(engine)
    const { zone } = opening.dns
    opening.dns.zone = {
      ...zone,
      'friend.example': {
        MX: [{ exchange: 'mx.friend.example', preference: 10 }],
        TXT: ['v=spf1 ip4:127.0.0.1 -all'],
      },
    }
    return opening
  })

  async function received(event: Event = {}): Promise<{ inbox: Inbox; message: Message }> {
    const inbox = await world.inbox()
    const message = await deliver(world, inbox, mailWith(inbox, calendar(inbox, event)), BOB)
    return { inbox, message }
  }

  test('is told with the message', async () => {
    const { inbox, message } = await received()
    assert.deepEqual(message.extracted?.invites, [
      {
        method: 'request',
        uid: 'meeting-1@friend.example',
        sequence: 3,
        recurrenceId: null,
        start: '2026-12-01T10:00:00+01:00',
        end: '2026-12-01T11:00:00+01:00',
        timezone: 'Europe/Berlin',
        summary: 'Planning, first part',
        location: null,
        organizer: { name: 'Bob', address: BOB },
        attendees: [
          { name: 'Agent', address: inbox.address, status: 'needs-action', role: 'required' },
        ],
        recurrence: null,
        status: null,
        comment: null,
      },
    ])
    const { text } = await world.client.messages.view(message.id)
    assert.match(text, /- What: Planning, first part\n- When: 2026-12-01T10:00:00\+01:00 to/)
  })

  test('is answered in its thread, once for a key', async () => {
    const { inbox, message } = await received()
    const answer = { response: 'accepted', comment: 'See you;\nthere, "Bob"' } as const
    const options = { idempotencyKey: crypto.randomUUID() }
    const sent = await world.client.messages.rsvp(message.id, answer, options)
    assert.deepEqual(await world.client.messages.rsvp(message.id, answer, options), sent)
    assert.equal(sent.threadId, message.threadId)
    const { raw } = await arrived(world, sent)
    const mail = await readMail(raw)
    assert.match(mail.text ?? '', /^Accepted: Planning, first part\nWhen: .*\n\nSee you;\nthere/)
    assert.equal(mail.inReplyTo, message.rfcMessageId)
    assert.match(raw.toString(), /Content-Type: text\/calendar;[^:]*method=REPLY/)
    await settled(world, sent)
    // The answer, read as one.
    const back = await deliver(world, await world.inbox(), raw.toString())
    const [reply] = back.extracted?.invites ?? []
    assert.equal(reply?.method, 'reply')
    assert.equal(reply?.uid, 'meeting-1@friend.example')
    assert.equal(reply?.sequence, 3)
    assert.equal(reply?.comment, answer.comment)
    assert.deepEqual(reply?.attendees, [
      { name: 'Agent', address: inbox.address, status: 'accepted', role: 'required' },
    ])
  })

  test('is not answered without a proven organizer', async () => {
    const { inbox, message } = await received({ organizer: 'ann@friend.example' })
    const rsvp = (id: string) => world.client.messages.rsvp(id, { response: 'declined' })
    assert.equal(await refusal(rsvp(message.id)), '409 organizer_unverified')
    const raw = mailWith(
      inbox,
      calendar(inbox, { organizer: 'eve@far.example' }),
      'eve@far.example',
    )
    const forged = await deliver(world, inbox, raw, 'eve@far.example')
    assert.equal(await refusal(rsvp(forged.id)), '409 organizer_unverified')
  })

  test('is answered only where there is one, and by somebody who is invited', async () => {
    const rsvp = ({ id }: Message) => world.client.messages.rsvp(id, { response: 'tentative' })
    const stranger = await received({ attendee: 'ann@friend.example' })
    assert.equal(await refusal(rsvp(stranger.message)), '409 not_invited')
    const cancelled = await received({ method: 'CANCEL' })
    assert.equal(await refusal(rsvp(cancelled.message)), '409 invitation_cancelled')
    const published = await received({ method: 'PUBLISH' })
    assert.equal(await refusal(rsvp(published.message)), '409 no_invitation')
    const inbox = await world.inbox()
    const plain = await deliver(world, inbox, plainMail({ from: BOB, to: inbox.address }), BOB)
    assert.equal(await refusal(rsvp(plain)), '409 no_invitation')
  })

  test('can be sent, changed and cancelled', async () => {
    const inbox = await world.client.inboxes.create({ displayName: 'Agent, "A"' })
    const event = {
      start: '2026-12-01T10:00',
      end: '2026-12-01T11:30:00',
      timezone: 'Europe/Berlin',
      location: 'Room; 1',
      description: 'Line\r\nATTENDEE:mailto:eve@far.example',
    }
    const mail = { to: BOB, cc: ['ann@friend.example'], subject: 'Planning', body: 'Please come.' }
    const sent = await world.client.inboxes.send(inbox.id, { ...mail, invite: event })
    const { raw } = await arrived(world, sent)
    assert.match(raw.toString(), /Content-Type: text\/calendar;[^:]*method=REQUEST/)
    const other = await world.inbox()
    const [invite] = (await deliver(world, other, raw.toString())).extracted?.invites ?? []
    assert.deepEqual(invite, {
      method: 'request',
      uid: sent.providerMessageId.slice(1, -1),
      sequence: 0,
      recurrenceId: null,
      start: '2026-12-01T10:00:00+01:00',
      end: '2026-12-01T11:30:00+01:00',
      timezone: 'Europe/Berlin',
      summary: 'Planning',
      location: 'Room; 1',
      organizer: { name: 'Agent, "A"', address: inbox.address },
      attendees: [
        { name: null, address: BOB, status: 'needs-action', role: 'required' },
        { name: null, address: 'ann@friend.example', status: 'needs-action', role: 'optional' },
      ],
      recurrence: null,
      status: 'confirmed',
      comment: null,
    })
    const change = { ...event, uid: invite?.uid ?? '', sequence: 1, method: 'cancel' } as const
    const draft = await world.client.drafts.create(inbox.id, { ...mail, invite: change })
    assert.deepEqual(draft.invite, change)
    const cancelled = await arrived(world, await world.client.drafts.send(draft.id))
    const [last] = (await deliver(world, other, cancelled.raw.toString())).extracted?.invites ?? []
    assert.deepEqual(last, {
      ...invite,
      method: 'cancel',
      sequence: 1,
      status: 'cancelled',
    })
  })

  test('goes from one inbox to another, and its answer back', async () => {
    const [ann, agent] = [await world.inbox(), await world.inbox()]
    const invite = { start: '2026-12-24', end: '2026-12-27' }
    const mail = { to: agent.address, subject: 'Closed', body: 'We are away.', invite }
    await world.client.inboxes.send(ann.id, mail)
    const invited = await receivedFrom(world, agent, ann.address)
    assert.equal(invited.extracted?.invites[0]?.start, '2026-12-24')
    await world.client.messages.rsvp(invited.id, { response: 'tentative' })
    const answered = await receivedFrom(world, ann, agent.address)
    const [reply] = answered.extracted?.invites ?? []
    assert.deepEqual(
      [reply?.method, reply?.attendees[0]?.status, reply?.end],
      ['reply', 'tentative', '2026-12-27'],
    )
  })

  test('is answered under the policy of the inbox', async () => {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create()
    const raw = mailWith(inbox, calendar(inbox))
    const message = await deliver({ ...world, client }, inbox, raw, BOB)
    const { token } = await client.approvers.create({ name: 'Ann' })
    const ann = world.clientWith(token)
    await ann.policy.replace(
      { outbound: { guards: { attachments: 'hold' } } },
      { inboxId: inbox.id },
    )
    const sent = await client.messages.rsvp(message.id, { response: 'accepted' })
    assert.equal(sent.status, 'pending')
    assert.ok(sent.hold !== undefined)
    const review = await ann.reviews.get(sent.hold.id)
    assert.deepEqual(
      review.content.attachments.map(({ filename, contentType }) => [filename, contentType]),
      [['invite.ics', 'text/calendar; charset=utf-8; method=REPLY; component=VEVENT']],
    )
    await ann.reviews.approve(sent.hold.id, { digest: sent.hold.digest })
    const left = await arrived({ ...world, client }, sent)
    assert.match(left.raw.toString(), /method=REPLY/)
  })

  test('with a wrong field is refused, and the field is named', async () => {
    const inbox = await world.inbox()
    const right = { start: '2026-12-01T10:00:00Z', end: '2026-12-01T11:00:00Z' }
    const mail = { to: BOB, subject: 'Planning', body: 'Please come.' }
    for (const [field, wrong] of [
      ['invite.start', { start: 'tomorrow' }],
      ['invite.start', { start: '2026-02-30T10:00:00Z' }],
      ['invite.start', { start: '2026-02-30' }],
      ['invite.end', { end: '9999-12-31T23:59:59-12:00' }],
      ['invite.end', { end: '2026-12-01T25:00:00Z' }],
      ['invite.end', { end: right.start }],
      ['invite.end', { end: '2026-12-02' }],
      ['invite.timezone', { timezone: 'Mars/Olympus' }],
      ['invite.timezone', { start: '2026-12-01', end: '2026-12-02', timezone: 'Europe/Berlin' }],
      ['invite.uid', { method: 'cancel' }],
      ['invite.uid', { uid: 'a\r\nATTENDEE:mailto:eve@far.example' }],
      ['invite.summary', { summary: 'a\nb' }],
      ['invite.sequence', { sequence: -1 }],
      ['invite.sequence', { sequence: 2 ** 31 }],
    ] as const) {
      const invite = { ...right, ...wrong } as typeof right
      for (const send of [
        () => world.client.inboxes.send(inbox.id, { ...mail, invite }),
        () => world.client.drafts.create(inbox.id, { ...mail, invite }),
      ]) {
        await assert.rejects(send, (error: MailroomError) => {
          assert.equal(error.code, 'bad_request')
          assert.deepEqual(
            error.details?.map(({ path }) => path),
            [field],
            JSON.stringify(wrong),
          )
          return true
        })
      }
    }
  })
})
