// Invitations that arrive by SMTP: what a person sees of the event, and the answer that the organizer gets.

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type Inbox, Mailroom } from '@mailroom/sdk'
import type { CDPSession } from 'playwright-core'
import { examine } from '#test/browser/axe.ts'
import {
  type ConsoleWorld,
  foreignRequests,
  openConsoleWorld,
  plainMail,
} from '#test/browser/console-world.ts'

const BOB = 'bob@friend.example'

type Event = { method?: string; lines?: string[]; attendee?: string; answers?: string | null }

/** As Bob's program writes it: a calendar as a version of the text. */
function invitation(
  { address }: Inbox,
  { method = 'REQUEST', lines = [], attendee = address, answers = null }: Event,
): string {
  return [
    `From: Bob <${BOB}>`,
    `To: <${address}>`,
    'Subject: Invitation: Planning',
    `Message-ID: <${crypto.randomUUID()}@friend.example>`,
    ...(answers === null ? [] : [`In-Reply-To: ${answers}`]),
    'MIME-Version: 1.0',
    'Content-Type: multipart/alternative; boundary=a',
    '',
    '--a',
    'Content-Type: text/plain',
    '',
    'You are invited.',
    '--a',
    `Content-Type: text/calendar; method=${method}; charset=UTF-8`,
    '',
    'BEGIN:VCALENDAR',
    'PRODID:-//Example//EN',
    'VERSION:2.0',
    `METHOD:${method}`,
    'BEGIN:VEVENT',
    'UID:meeting-1@friend.example',
    'SEQUENCE:3',
    'DTSTAMP:20261120T080000Z',
    'DTSTART;TZID=Europe/Berlin:20261201T100000',
    'DTEND;TZID=Europe/Berlin:20261201T110000',
    'SUMMARY:Planning\\, first part',
    `ORGANIZER;CN=Bob:mailto:${BOB}`,
    `ATTENDEE;CN=Agent;PARTSTAT=${method === 'REPLY' ? 'DECLINED' : 'NEEDS-ACTION'}:mailto:${attendee}`,
    ...lines,
    'END:VEVENT',
    'END:VCALENDAR',
    '--a--',
    '',
  ].join('\r\n')
}

const LINES = [
  'LOCATION:Room 4\\, second floor',
  'RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=TU',
  'ATTENDEE;CN=Ann;PARTSTAT=DECLINED;ROLE=OPT-PARTICIPANT:mailto:ann@friend.example',
  ...Array.from({ length: 8 }, (_, index) => `ATTENDEE:mailto:guest${index}@friend.example`),
]

suite('invitations in the console', () => {
  let world: ConsoleWorld
  let inbox: Inbox
  /** Only the session that set a time zone may change it. */
  let debugging: CDPSession

  before(async () => {
    world = await openConsoleWorld()
    world.dns.zone['friend.example'] = { TXT: ['v=spf1 ip4:127.0.0.1 -all'] }
    debugging = await world.page.context().newCDPSession(world.page)
    await world.signIn()
  })
  after(() => world.close())

  const card = (title = 'Planning, first part') =>
    world.page.getByRole('region', { name: `Event: ${title}` })
  const button = (name: string) => card().getByRole('button', { name, exact: true })
  const comment = () => card().getByLabel('Comment for the organizer')
  const setZone = async (timezoneId: string) => {
    await debugging.send('Emulation.setTimezoneOverride', { timezoneId })
  }
  /** Opens the newest message of a new inbox to which the event was sent. */
  const receive = async (name: string, event: Event, from = BOB) => {
    inbox = await world.client.inboxes.create({ mailboxName: name, displayName: 'Agent' })
    await world.deliver(inbox.address, invitation(inbox, event), from)
    await openNewest()
  }
  const received = () => world.client.messages.list(inbox.id, { direction: 'inbound' }).page()
  const openNewest = async () => {
    const [message] = (await received()).data
    assert.ok(message !== undefined)
    await world.open(`/console/inboxes/${inbox.id}/threads/${message.threadId}`)
    await card().first().waitFor()
  }
  const answers = async () => {
    const { data } = await world.client.messages.list(inbox.id, { direction: 'outbound' }).page()
    return data.map(({ bodyText }) => bodyText.split('\n')[0])
  }

  test('an event says when and where it is, and who is invited', async () => {
    await setZone('America/New_York')
    await receive('guest-one', { lines: LINES })
    const text = await card().innerText()
    for (const words of [
      /Planning, first part/,
      /Invitation\s*Updated/,
      /Tue, 1 Dec 2026, 04:00\s*–\s*05:00 GMT-5/,
      /Tue, 1 Dec 2026, 10:00\s*–\s*11:00 \(Europe\/Berlin\)/,
      /Every 2 weeks on Tuesday/,
      /Room 4, second floor/,
      /Bob bob@friend\.example/,
      /this inbox\s*No answer/,
      /ann@friend\.example\s*optional\s*Declined/,
    ]) {
      assert.match(text, words)
    }
    assert.doesNotMatch(text, /guest7/)
    await card().getByRole('button', { name: 'Show all 10 attendees' }).click()
    await card().getByText('guest7@friend.example').waitFor()
    await examine(world, 'invitation')
    await setZone('Europe/Berlin')
    await openNewest()
    assert.match(await card().innerText(), /10:00\s*–\s*11:00/)
    assert.equal(await card().getByText('Europe/Berlin').count(), 0)
  })

  test('an answer goes to the organizer once, is shown, and can be changed', async () => {
    await button('Accept').dblclick()
    await card().getByText('You accepted.').waitFor()
    await card().locator('.attendees').getByText('Accepted', { exact: true }).waitFor()
    assert.equal(await button('Accept').getAttribute('aria-pressed'), 'true')
    await card().getByText('Sent', { exact: true }).waitFor()
    await examine(world, 'invitation-accepted')
    assert.deepEqual(await answers(), ['Accepted: Planning, first part'])
    await openClosed()
    await button('Accept').click()
    await button('Maybe').press('Enter')
    await card().getByText('You answered “maybe”.').waitFor()
    assert.equal(await button('Maybe').getAttribute('aria-pressed'), 'true')
    assert.equal(await button('Accept').getAttribute('aria-pressed'), 'false')
    assert.deepEqual(await answers(), [
      'Tentatively accepted: Planning, first part',
      'Accepted: Planning, first part',
    ])
    const { data } = await world.client.sandbox.list().page()
    assert.deepEqual(
      data.map(({ to }) => to.join()),
      [BOB, BOB],
    )
  })

  /** After an answer the invitation is not the newest message any more. */
  const openClosed = async () => {
    const [message] = (await received()).data
    await world.open(`/console/inboxes/${inbox.id}/threads/${message?.threadId}`)
    await world.page.getByRole('button', { name: /^Bob/ }).first().click()
    await card().getByText('You accepted.').waitFor()
  }

  test('a comment goes with the answer, by keyboard too, and again with the same answer', async () => {
    const { page } = world
    await comment().fill('  I am ten minutes late.  ')
    await examine(world, 'invitation-comment')
    await comment().press('Enter')
    assert.equal((await answers()).length, 2, 'Enter in the comment answers nothing')
    await comment().press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Space')
    await page.waitForFunction(
      () => document.querySelector<HTMLInputElement>('.invite input')?.value === '',
    )
    const { data } = await world.client.messages.list(inbox.id, { direction: 'outbound' }).page()
    const [newest] = data
    assert.equal(data.length, 3)
    assert.match(newest?.bodyText ?? '', /^Tentatively accepted: .*\n\nI am ten minutes late\.\n$/s)
    const { content } = await world.client.attachments.get(newest?.id ?? '', 'invite.ics')
    assert.match(new TextDecoder().decode(content), /^COMMENT:I am ten minutes late\.\r$/m)
  })

  test('a cancellation strikes the event, and nobody answers it any more', async () => {
    const [first] = (await received()).data
    const raw = invitation(inbox, { method: 'CANCEL', answers: first?.rfcMessageId ?? null })
    await world.deliver(inbox.address, raw, BOB)
    await card().getByText('A later message cancels this event.').waitFor()
    await openNewest()
    await card().getByText('The organizer cancelled this event').waitFor()
    await card().getByText('Cancelled', { exact: true }).waitFor()
    assert.equal(await card().getByRole('button').count(), 0)
    await examine(world, 'invitation-cancelled')
  })

  test('an invitation whose organizer is not proven is not answered, and says why', async () => {
    await receive('guest-two', { lines: [`LOCATION:${'x'.repeat(900)}`] }, 'eve@far.example')
    await comment().fill('I am away.')
    await button('Decline').click()
    await world.page.getByText('The organizer of this invitation could not be verified').waitFor()
    assert.equal(await button('Decline').getAttribute('aria-pressed'), 'false')
    assert.equal(await comment().inputValue(), 'I am away.')
    assert.deepEqual(await answers(), [])
    await examine(world, 'invitation-unproven')
  })

  test('the answer of somebody else says who answered and what', async () => {
    await receive('guest-three', {
      method: 'REPLY',
      attendee: 'ann@friend.example',
      lines: ['COMMENT:I am away.'],
    })
    await card().getByText('I am away.').waitFor()
    await card().getByText('Agent declined the invitation').waitFor()
    assert.equal(await card().getByRole('button').count(), 0)
  })

  test('an answer that the policy holds waits for an approver', async () => {
    await receive('guest-four', {})
    const { token } = await world.client.approvers.create({ name: 'Ada' })
    const approver = new Mailroom({ baseUrl: world.service.baseUrl, apiKey: token })
    const { etag, outbound } = await approver.policy.get({ inboxId: inbox.id })
    await approver.policy.replace(
      { outbound: { ...outbound, guards: { ...outbound.guards, attachments: 'hold' } } },
      { inboxId: inbox.id, ifMatch: etag },
    )
    await button('Accept').click()
    await world.page.getByText('Answer awaits approval').waitFor()
    await card().getByText('Held', { exact: true }).waitFor()
    await card().locator('.attendees').getByText('No answer', { exact: true }).waitFor()
    await examine(world, 'invitation-held')
  })

  test('mail without events has no card, and no request goes to another host', async () => {
    const { page } = world
    const text = 'Please come at ten.'
    await world.deliver(inbox.address, plainMail({ subject: 'Just words', text }))
    await page.getByRole('link', { name: /Just words/ }).click()
    await page.getByText(text).last().waitFor()
    assert.equal(await page.getByRole('region', { name: /^Event:/ }).count(), 0)
    assert.deepEqual(foreignRequests(world), [])
    const complaints = world.complaints.filter((one) => !/status of (?:401|409)/.test(one))
    assert.deepEqual(complaints, [])
  })
})
