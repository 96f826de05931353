// A person's mail that does not leave at once: scheduled, held by policy, or refused; it is told in words, and what
// waits is cancelled.

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type Inbox, Mailroom, type Message } from '@mailroom/sdk'
import type { Page } from 'playwright-core'
import { examine } from '#test/browser/axe.ts'
import {
  type ConsoleWorld,
  foreignRequests,
  openConsoleWorld,
} from '#test/browser/console-world.ts'

const HOUR_MS = 3_600_000

suite('mail that waits, in the console', () => {
  let world: ConsoleWorld
  let inbox: Inbox
  let approver: Mailroom

  before(async () => {
    world = await openConsoleWorld({ env: { MAILROOM_LIMIT_SENDS_PER_MINUTE: '12' } })
    inbox = await world.client.inboxes.create({ mailboxName: 'later', displayName: 'Later' })
    const devtools = await world.browser.context.newCDPSession(world.page)
    await devtools.send('Emulation.setTimezoneOverride', { timezoneId: 'America/Bogota' })
    await world.signIn(`/console/inboxes/${inbox.id}`)
  })
  after(() => world.close())

  const newest = async (): Promise<Message> => {
    const { data } = await world.client.messages.list(inbox.id, { limit: 1 }).page()
    assert.ok(data[0] !== undefined)
    return data[0]
  }
  const write = async (fields: { to: string; subject: string; body?: string }) => {
    const { page } = world
    const dialog = page.getByRole('dialog', { name: 'New message' })
    await page.keyboard.press('c')
    await dialog.getByLabel('To', { exact: true }).fill(fields.to)
    await dialog.getByLabel('Subject').fill(fields.subject)
    await dialog.getByLabel('Message', { exact: true }).fill(fields.body ?? 'Some words.')
    return dialog
  }
  const openThread = ({ threadId }: { threadId: string }) =>
    world.open(`/console/inboxes/${inbox.id}/threads/${threadId}`)
  const rowOf = (subject: string) => world.page.locator('.thread-row').filter({ hasText: subject })
  const scheduleByApi = (subject: string) =>
    world.client.inboxes.send(inbox.id, {
      to: 'bea@two.example',
      subject,
      body: 'Later.',
      sendAt: new Date(Date.now() + 2 * HOUR_MS).toISOString(),
    })

  test('a message is scheduled in the time of the person, within its bounds', async () => {
    const { page } = world
    const dialog = await write({ to: 'ann@one.example', subject: 'In three hours' })
    await dialog.getByLabel('Send later').check()
    const field = dialog.getByLabel('Date and time (America/Bogota)')
    const shown = await field.inputValue()
    assert.match(shown, /T09:00$/)
    await dialog.getByText(/^Scheduled for /).waitFor()
    await field.fill(await localTime(page, -HOUR_MS))
    await dialog.getByRole('button', { name: 'Schedule' }).click()
    await dialog.getByText('The time must be 1 minute to 90 days ahead.').waitFor()
    await field.fill(await localTime(page, 91 * 24 * HOUR_MS))
    await dialog.getByRole('button', { name: /^(?:Send|Schedule)$/ }).click()
    await dialog.getByText('The time must be 1 minute to 90 days ahead.').waitFor()
    await examine(world, 'compose-later')
    const wished = await localTime(page, 3 * HOUR_MS)
    await field.fill(wished)
    await dialog.getByRole('button', { name: /^(?:Send|Schedule)$/ }).click()
    await dialog.waitFor({ state: 'detached' })
    const { scheduledAt, status } = await newest()
    // Bogotá has no summer time.
    assert.deepEqual(
      [scheduledAt, status],
      [new Date(`${wished}:00-05:00`).toISOString(), 'pending'],
    )
    const card = page.getByRole('article', { name: `Message from ${inbox.address}` })
    await card.getByText('Scheduled', { exact: true }).waitFor()
    await card.getByText(/^Scheduled for /).waitFor()
    assert.equal(await card.getByRole('button', { name: 'Reply' }).count(), 0)
    await examine(world, 'thread-scheduled')
  })

  test('scheduled messages are listed, the next one first, and cancelled after a question', async () => {
    const { page, client } = world
    const { messageId } = await scheduleByApi('In two hours')
    await world.open(`/console/inboxes/${inbox.id}`)
    await page.getByRole('link', { name: 'Scheduled', exact: true }).click()
    await page.getByRole('heading', { name: 'Scheduled', level: 1 }).waitFor()
    const rows = page.locator('tbody tr')
    await rows.nth(1).waitFor()
    assert.match((await rows.first().textContent()) ?? '', /In two hours.*bea@two\.example/)
    assert.match((await rows.last().textContent()) ?? '', /In three hours.*ann@one\.example/)
    await examine(world, 'scheduled')
    await page.getByRole('button', { name: 'Cancel In two hours' }).click()
    const dialog = page.getByRole('dialog', { name: 'Cancel this message?' })
    await examine(world, 'scheduled-cancel')
    await dialog.getByRole('button', { name: 'Keep it' }).click()
    await dialog.waitFor({ state: 'detached' })
    assert.equal((await client.messages.get(messageId)).status, 'pending')
    await page.getByRole('button', { name: 'Cancel In two hours' }).press('Enter')
    await dialog.getByRole('button', { name: 'Cancel message' }).press('Enter')
    await page.getByText('Message cancelled').waitFor()
    await rows.filter({ hasText: 'In two hours' }).waitFor({ state: 'detached' })
    const { status, failureReason } = await client.messages.get(messageId)
    assert.deepEqual([status, failureReason], ['failed', 'cancelled'])
  })

  test('a message is cancelled in its thread, or told to have left meanwhile', async () => {
    const { page } = world
    const first = await scheduleByApi('Changed my mind')
    await openThread(first)
    const cancel = async () => {
      await page.getByRole('button', { name: 'Cancel message' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel message' }).click()
    }
    await cancel()
    await page
      .getByText('The message was cancelled before it was sent. It was scheduled for')
      .waitFor()
    await page.locator('.mail-pane').getByText('Cancelled', { exact: true }).waitFor()
    await rowOf('Changed my mind').getByText('Cancelled', { exact: true }).waitFor()
    await examine(world, 'thread-cancelled')

    const second = await scheduleByApi('Too late')
    await openThread(second)
    await page.route('**/cancel', (route) =>
      route.fulfill({ status: 409, json: { error: 'already_sending', message: 'No.' } }),
    )
    await cancel()
    await page.getByText('It is too late: the message is being sent or was sent.').waitFor()
    await page.unroute('**/cancel')
  })

  test('a held message is told to wait for a person, why, and not to be sent again', async () => {
    const { page, client } = world
    const { token } = await client.approvers.create({ name: 'Ada' })
    approver = new Mailroom({ baseUrl: world.service.baseUrl, apiKey: token })
    await approver.policy.replace({
      outbound: { guards: { newRecipients: 'hold', secrets: 'reject', attachments: 'reject' } },
    })
    const writing = await write({ to: 'new@eight.example', subject: 'First contact' })
    await writing.getByRole('button', { name: 'Send', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Waiting for approval' })
    await dialog.getByText(/Do not send it again/).waitFor()
    const reasons = dialog.getByRole('list', { name: 'Reasons' })
    await reasons.getByText(/new@eight\.example has never written to the inbox/).waitFor()
    await examine(world, 'compose-held')
    assert.equal((await client.reviews.list({ inboxId: inbox.id }).page()).total, 1)
    await dialog.getByRole('button', { name: 'Show thread' }).press('Enter')
    await dialog.waitFor({ state: 'detached' })
    const card = page.getByRole('article', { name: `Message from ${inbox.address}` })
    await card.getByText('Held', { exact: true }).waitFor()
    await card.getByText('The message awaits approval by a person').waitFor()
    await rowOf('First contact').getByText('To new@eight.example').waitFor()
    await rowOf('First contact').getByText('Held', { exact: true }).waitFor()
    await rowOf('In three hours').getByText('Scheduled', { exact: true }).waitFor()
    await examine(world, 'thread-held')

    const { data } = await approver.reviews.list({ status: 'pending' }).page()
    await approver.reviews.reject(data[0]?.id ?? '', { reason: 'Not to them.' })
    await card.getByText('Rejected', { exact: true }).waitFor()
    await card.getByText('An approver rejected the message. “Not to them.”').waitFor()
    await rowOf('First contact').getByText('Rejected', { exact: true }).waitFor()
    await examine(world, 'thread-rejected')
  })

  test('a refusal is told at the field that it concerns', async () => {
    const { page, client } = world
    await client.suppressions.create({ address: 'gone@two.example' })
    await approver.policy.createRule({ direction: 'outbound', type: 'block', value: 'no.example' })
    const dialog = await write({
      to: 'ann@one.example',
      subject: 'Refused',
      body: 'Card 4111 1111 1111 1111.',
    })
    const errorOf = (label: string) =>
      dialog.locator('.field').filter({ has: page.getByLabel(label, { exact: true }) })
    await dialog.getByRole('button', { name: 'Send', exact: true }).click()
    await errorOf('Message')
      .getByText(/^Not permitted: card number, from character 6, 19/)
      .waitFor()
    await dialog.getByLabel('Message', { exact: true }).fill('No card.')
    await dialog.getByRole('button', { name: 'Add Cc' }).click()
    await dialog.getByLabel('Cc', { exact: true }).fill('Max <max@no.example>')
    const again = dialog.getByRole('button', { name: /^(?:Send|Schedule)$/ })
    await again.click()
    await errorOf('Cc').getByText('A rule blocks max@no.example.').waitFor()
    await dialog.getByLabel('Cc', { exact: true }).fill('gone@two.example')
    await again.click()
    await errorOf('Cc')
      .getByText(/gone@two\.example is on the suppression list/)
      .waitFor()
    await examine(world, 'compose-refused')
    await dialog.getByLabel('Cc', { exact: true }).fill('')
    await dialog
      .getByLabel('Files to attach')
      .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') })
    await again.click()
    await dialog.getByText('No files may be attached.').waitFor()
    await dialog.getByRole('button', { name: 'Discard' }).click()
  })

  test('a limit is told with its size and when it ends', async () => {
    await approver.policy.replace({
      outbound: { guards: { newRecipients: 'allow', secrets: 'allow', attachments: 'allow' } },
    })
    const dialog = await write({ to: 'ann@one.example', subject: 'One too many' })
    const message = { to: 'ann@one.example', subject: 'Before', body: 'Some words.' }
    const isFull = async () => {
      try {
        await world.client.inboxes.send(inbox.id, message, { maxRetries: 0 })
        return false
      } catch {
        return true
      }
    }
    while (!(await isFull())) {}
    await dialog.getByRole('button', { name: 'Send', exact: true }).click()
    await dialog.getByText(/^The limit of the inbox is \d+\. More can be sent in /).waitFor()
    await examine(world, 'compose-limit')
    assert.deepEqual(foreignRequests(world), [])
  })
})

/** A time from now, as the field has it in the zone of the browser. */
function localTime(page: Page, aheadMs: number): Promise<string> {
  return page.evaluate((ms) => {
    const at = new Date(Date.now() + ms)
    return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
  }, aheadMs)
}
