// Mail that goes and work that is shared: labels, the trash, several threads at once, assignees, snoozes and claims.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, suite, test } from 'node:test'
import type { Inbox, Thread } from '@mailroom/sdk'
import { until } from '@mailroom/server/test/scenarios/outcomes.ts'
import { examine } from '#test/browser/axe.ts'
import {
  type ConsoleWorld,
  chooseInMenu,
  foreignRequests,
  openConsoleWorld,
  plainMail,
} from '#test/browser/console-world.ts'

const SUBJECTS = ['Alpha', 'Bravo', 'Charlie', 'Delta', 'Echo', 'Foxtrot']

suite('removing and sharing mail in the console', () => {
  let world: ConsoleWorld
  let inbox: Inbox

  before(async () => {
    world = await openConsoleWorld()
    inbox = await world.client.inboxes.create({ mailboxName: 'shared' })
    for (const subject of SUBJECTS) {
      await world.deliver(inbox.address, plainMail({ subject, text: `About ${subject}.` }))
    }
    await world.signIn(`/console/inboxes/${inbox.id}`)
  })
  after(() => world.close())

  const threads = async (options: { trashed?: boolean } = {}): Promise<Thread[]> => [
    ...(await world.client.threads.list(inbox.id, options).page()).data,
  ]
  const named = async (subject: string, options: { trashed?: boolean } = {}): Promise<Thread> => {
    const found = (await threads(options)).find((one) => one.subject === subject)
    assert.ok(found, subject)
    return found
  }
  const show = async (subject: string) => {
    const { id } = await named(subject)
    await world.open(`/console/inboxes/${inbox.id}/threads/${id}`)
    await world.page.getByRole('heading', { name: subject, level: 2 }).waitFor()
  }
  const showInbox = async (query = '') => {
    await world.open(`/console/inboxes/${inbox.id}${query}`)
    await world.page.locator('.thread, .mail-list .empty').first().waitFor()
  }
  const pane = () => world.page.locator('.mail-pane')
  const list = () => world.page.getByRole('list', { name: 'Threads' })
  const shownSubjects = async () =>
    (await list().locator('.thread-subject').allTextContents()).sort()
  const select = (subject: string) =>
    world.page.getByRole('checkbox', { name: `Select ${subject}`, exact: true })

  test('a label is added to a thread and a message, filters the list, and is removed', async () => {
    const { page, client } = world
    await show('Alpha')
    const head = pane().locator('.thread-status')
    await head.getByRole('button', { name: 'Label' }).click()
    await page.getByLabel('New label').fill('Not OK!')
    await page.keyboard.press('Enter')
    await head.getByText('A label has up to 64 lower-case letters').waitFor()
    await page.getByLabel('New label').fill('Urgent, billing/eu')
    await page.keyboard.press('Enter')
    await head.getByRole('link', { name: 'urgent', exact: true }).waitFor()
    assert.deepEqual((await named('Alpha')).labels, ['billing/eu', 'urgent'])
    await list().getByText('billing/eu').waitFor()

    const message = pane().getByRole('article')
    await chooseInMenu(page, 'Label')
    await page.getByLabel('New label').fill('invoice')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByRole('link', { name: 'invoice' }).waitFor()
    await page.keyboard.press('Escape')
    await message.getByRole('link', { name: 'invoice' }).waitFor()
    const [stored] = (await client.messages.list(inbox.id, { labels: 'invoice' }).page()).data
    assert.equal(stored?.subject, 'Alpha')
    await examine(world, 'labels')

    const folders = page.getByRole('list', { name: `Lists of ${inbox.address}` })
    await folders.getByRole('link', { name: 'urgent', exact: true }).waitFor()
    await head.getByRole('link', { name: 'urgent', exact: true }).click()
    await page.waitForURL(/label=urgent/)
    await page.getByText('Label: urgent').waitFor()
    await until(async () => (await shownSubjects()).join() === 'Alpha')
    await page.reload()
    await until(async () => (await shownSubjects()).join() === 'Alpha')
    await page.getByRole('button', { name: 'Remove the filter Label: urgent' }).click()
    await until(async () => (await shownSubjects()).length === SUBJECTS.length)
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await page.locator('datalist option[value="billing/eu"]').waitFor({ state: 'attached' })
    await page.getByLabel('Label', { exact: true }).fill('nothing-has-it')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('No threads match this filter.').waitFor()
    await page.getByRole('button', { name: 'Clear filter' }).last().click()
    await until(async () => (await shownSubjects()).length === SUBJECTS.length)

    await show('Alpha')
    await head.getByRole('button', { name: 'Remove the label urgent' }).click()
    await head.getByRole('link', { name: 'urgent', exact: true }).waitFor({ state: 'detached' })
    assert.deepEqual((await named('Alpha')).labels, ['billing/eu'])
  })

  test('a thread goes to the trash and comes back, by the notice and from the trash', async () => {
    const { page } = world
    await show('Bravo')
    await pane().getByRole('button', { name: 'Move to the trash' }).click()
    await page.getByText('1 thread moved to the trash').waitFor()
    await list().getByText('Bravo', { exact: true }).waitFor({ state: 'detached' })
    assert.notEqual((await named('Bravo', { trashed: true })).trashedAt, null)
    await page.getByRole('button', { name: 'Undo' }).click()
    await list().getByText('Bravo', { exact: true }).waitFor()
    assert.equal((await named('Bravo')).trashedAt, null)

    await select('Bravo').check()
    await page.getByRole('button', { name: 'Move the selected to the trash' }).click()
    await list().getByText('Bravo', { exact: true }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Trash', exact: true }).click()
    await list().getByText('Bravo', { exact: true }).click()
    await pane()
      .getByText(/^In the trash: permanently removed on /)
      .waitFor()
    assert.equal(await pane().getByRole('button', { name: 'Reply' }).count(), 0)
    await page.keyboard.press('r')
    assert.equal(await page.getByRole('dialog').count(), 0)
    await examine(world, 'trash')
    await pane().getByRole('button', { name: 'Restore' }).click()
    await page.getByText('The trash is empty').waitFor()
    await named('Bravo')
  })

  test('a reply in a thread that went to the trash meanwhile is not sent, and the console says why', async () => {
    const { page, client } = world
    const { id } = await named('Bravo')
    await show('Bravo')
    await pane().getByRole('button', { name: 'Reply', exact: true }).first().click()
    const dialog = page.getByRole('region', { name: 'Reply' })
    await dialog.getByLabel('Message', { exact: true }).fill('Too late.')
    await client.threads.delete(id)
    await dialog.getByRole('button', { name: 'Send', exact: true }).click()
    await dialog.getByText('The thread is in the trash, so nothing can be sent in it.').waitFor()
    await dialog.getByText('Restore the thread first.').waitFor()
    await client.threads.restore(id)
    await dialog.getByRole('button', { name: 'Discard' }).click()
  })

  test('threads and messages are removed for good only after it is said what is lost', async () => {
    const { page, client } = world
    const { id } = await named('Foxtrot')
    await client.threads.delete(id)
    await showInbox('?show=trash')
    await select('Foxtrot').check()
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    const question = page.getByRole('dialog', { name: 'Permanently remove this thread?' })
    await question.getByText('“Foxtrot” is lost with 1 message and all files.').waitFor()
    await examine(world, 'trash-remove')
    await question.getByRole('button', { name: 'Cancel' }).click()
    await client.threads.get(id)
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await question.getByRole('button', { name: 'Remove thread' }).click()
    await page.getByText('The trash is empty').waitFor()
    await assert.rejects(client.threads.get(id), { code: 'not_found' })

    const { id: echo } = await named('Echo')
    await client.inboxes.send(inbox.id, { to: 'ann@one.example', threadId: echo, body: 'Yes.' })
    await show('Echo')
    const received = pane().getByRole('article', { name: 'Message from ann@stranger.example' })
    await chooseInMenu(page, 'Remove', received)
    const asked = page.getByRole('dialog', { name: 'Permanently remove this message?' })
    await asked.getByText('cannot be restored').waitFor()
    await asked.getByRole('button', { name: 'Remove message' }).click()
    await received.waitFor({ state: 'detached' })
    assert.equal((await client.threads.get(echo)).messageCount, 1)
  })

  test('a thread with a message that waits stays, and the console says why', async () => {
    const { page, client } = world
    const { id } = await named('Delta')
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    const { id: waiting } = await client.inboxes.send(inbox.id, {
      to: 'ann@one.example',
      threadId: id,
      body: 'Later.',
      sendAt,
    })
    await showInbox()
    for (const subject of ['Charlie', 'Delta']) await select(subject).check()
    await page.getByRole('button', { name: 'Move the selected to the trash' }).click()
    const told = page.getByRole('alert')
    await told.getByText('1 thread could not be changed').waitFor()
    await told.getByText('Delta: The thread has a message that is being sent').waitFor()
    await examine(world, 'bulk-failed')
    assert.equal(await select('Delta').isChecked(), true)
    await named('Delta')
    await named('Charlie', { trashed: true })
    await page.getByRole('button', { name: 'Undo' }).click()
    await list().getByText('Charlie', { exact: true }).waitFor()
    await client.messages.cancel(waiting)
  })

  test('several threads are selected by range and by keyboard, and changed at once', async () => {
    const { page } = world
    await showInbox()
    await page.getByRole('button', { name: 'Inbox menu' }).click()
    await page.getByRole('menuitem', { name: 'Newest first' }).click()
    await list().locator('.thread-subject').first().waitFor()
    const order = await list().locator('.thread-subject').allTextContents()
    const [first = '', , third = ''] = order
    await select(first).click()
    await select(third).click({ modifiers: ['Shift'] })
    await page.getByText('3 selected').waitFor()
    await examine(world, 'bulk')
    await page.getByRole('button', { name: 'Mark as read' }).click()
    await page.getByText('3 threads marked as read').waitFor()
    const read = (await threads()).filter(({ isRead }) => isRead).map(({ subject }) => subject)
    for (const subject of order.slice(0, 3)) assert.ok(read.includes(subject), subject)

    await select(first).click()
    await page.getByRole('checkbox', { name: 'Select all on this page' }).focus()
    await page.keyboard.press('Space')
    await page.getByText(`${order.length} selected`).waitFor()
    await page.getByRole('button', { name: 'Mark as unread' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText(`${order.length} threads marked as unread`).waitFor()
    assert.ok((await threads()).every(({ isRead }) => !isRead))

    await page.keyboard.press('j')
    await page.getByRole('heading', { name: first, level: 2 }).waitFor()
    await page.keyboard.press('x')
    await page.getByText('1 selected').waitFor()
    await page.getByRole('button', { name: 'Change labels' }).click()
    const dialog = page.getByRole('dialog', { name: 'Labels of 1 thread' })
    await dialog.getByLabel('Add').fill('batch')
    await examine(world, 'bulk-labels')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    assert.ok((await named(first)).labels.includes('batch'))
    await page.keyboard.press('x')
    await page.keyboard.press('#')
    await page.getByText('1 thread moved to the trash').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await until(async () => (await threads()).some(({ subject }) => subject === first))
  })

  test('a thread is assigned and snoozed, found by it, and freed of both', async () => {
    const { page } = world
    await show('Bravo')
    await pane().getByRole('button', { name: 'Assign' }).click()
    await page.getByRole('dialog').getByLabel('Assigned to').fill('Ada of billing')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await pane().getByRole('link', { name: 'Ada of billing' }).waitFor()
    await list().getByText('Assigned to Ada of billing').waitFor()

    await pane().getByRole('button', { name: 'Snooze' }).click()
    const dialog = page.getByRole('dialog', { name: 'Snooze this thread' })
    await dialog.getByRole('button', { name: 'Another time' }).click()
    await dialog.getByLabel('Date and time').fill('2001-01-01T09:00')
    await dialog.getByRole('button', { name: 'Snooze' }).click()
    await dialog.getByText('That time has passed').waitFor()
    await dialog.getByRole('button', { name: 'Next week' }).click()
    await examine(world, 'snooze')
    await dialog.getByRole('button', { name: 'Snooze' }).click()
    await dialog.waitFor({ state: 'detached' })
    await pane()
      .getByText(/^Snoozed until Mon, /)
      .waitFor()
    const { snoozedUntil, assignee } = await named('Bravo')
    assert.equal(assignee, 'Ada of billing')
    const at = new Date(snoozedUntil ?? 0)
    assert.ok(at.getTime() > Date.now() && at.getTime() < Date.now() + 8 * 86_400_000)
    await examine(world, 'assigned')

    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await page.getByLabel('Threads shown').selectOption('Snoozed')
    await until(async () => (await shownSubjects()).join() === 'Bravo')
    await page.getByLabel('Threads shown').selectOption('Not snoozed')
    await until(async () => !(await shownSubjects()).includes('Bravo'))
    await showInbox('?assignee=Ada+of+billing')
    await until(async () => (await shownSubjects()).join() === 'Bravo')

    await show('Bravo')
    await pane().getByRole('button', { name: 'End snooze' }).click()
    await pane()
      .getByText(/^Snoozed until/)
      .waitFor({ state: 'detached' })
    await pane().getByRole('button', { name: 'Assign' }).click()
    await page.getByRole('dialog').getByLabel('Assigned to').fill('')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await pane().getByRole('link', { name: 'Ada of billing' }).waitFor({ state: 'detached' })
    const freed = await named('Bravo')
    assert.deepEqual([freed.assignee, freed.snoozedUntil], [null, null])
  })

  test('a worker who has a thread is named, and nobody else changes it or sends in it meanwhile', async () => {
    const { page, client } = world
    const { id } = await named('Charlie')
    await show('Charlie')
    await pane().getByRole('button', { name: 'Reply', exact: true }).first().click()
    const dialog = page.getByRole('region', { name: 'Reply' })
    await dialog.getByLabel('Message', { exact: true }).fill('Too late.')
    const { leaseToken } = await client.threads.claim(id, { owner: 'Worker 7', leaseSeconds: 600 })
    await pane()
      .getByText(/^Worker 7 has this thread until \d\d:\d\d \(in 10 min/)
      .waitFor()
    await dialog.getByRole('button', { name: 'Send', exact: true }).click()
    await dialog.getByText(/^Worker 7 has this thread until .* or send in it\.$/).waitFor()
    await dialog.getByRole('button', { name: 'Discard' }).click()
    assert.equal((await client.threads.get(id)).messageCount, 1)

    const changing = ['Reply', 'Mark read', 'Assign', 'Snooze', 'Label', 'Remove']
    for (const name of [...changing, 'Move to the trash']) {
      assert.equal(await pane().getByRole('button', { name, exact: true }).count(), 0, name)
    }
    await page.keyboard.press('r')
    assert.equal(await page.getByRole('dialog').count(), 0)
    await list()
      .getByText(/^Worker 7 has this thread until/)
      .waitFor()
    await examine(world, 'claimed')
    await select('Charlie').check()
    await select('Alpha').check()
    await page.getByRole('button', { name: 'Mark as read' }).click()
    await page
      .getByRole('alert')
      .getByText(/^Charlie: Worker 7 has this thread until/)
      .waitFor()
    await page.getByText('1 thread marked as read').waitFor()
    assert.deepEqual(
      [(await named('Charlie')).isRead, (await named('Alpha')).isRead],
      [false, true],
    )

    await client.threads.releaseClaim(id, {}, { leaseToken })
    await pane()
      .getByText(/^Worker 7 has this thread/)
      .waitFor({ state: 'detached' })
    await pane().getByRole('button', { name: 'Mark read' }).click()
    await pane().getByRole('button', { name: 'Mark unread' }).waitFor()
  })

  test('how long mail is kept is shown and set for an inbox, a pod and the account', async () => {
    const { page, client } = world
    await showInbox()
    await page.getByRole('button', { name: 'Inbox menu' }).click()
    await page.getByRole('menuitem', { name: 'How long mail is kept' }).click()
    const dialog = page.getByRole('dialog', { name: `How long ${inbox.address} keeps mail` })
    await dialog.getByLabel('Days that a message is kept').fill('30')
    await dialog.getByText('Older messages are removed soon after you save').waitFor()
    await dialog.getByLabel('The inbox deletes itself on').fill('2001-01-01T09:00')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText(/^The time must /).waitFor()
    await examine(world, 'retention')
    await dialog.getByLabel('The inbox deletes itself on').fill('2090-05-06T09:00')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page
      .getByText('Messages are removed after 30 days. The inbox deletes itself on')
      .waitFor()
    const kept = await client.inboxes.get(inbox.id)
    assert.deepEqual([kept.retentionDays, kept.expiresAt], [30, '2090-05-06T09:00:00.000Z'])
    await client.inboxes.update(inbox.id, { retentionDays: null, expiresAt: null })

    await client.pods.create({ name: 'Care' })
    await world.open('/console/inboxes')
    await page.getByRole('button', { name: 'How long mail is kept', exact: true }).click()
    const wider = page.getByRole('dialog', { name: 'How long mail is kept' })
    await wider.getByLabel('Days in the account').fill('400')
    await wider.getByLabel('Days in the pod Care').fill('90')
    await examine(world, 'keeping-wider')
    await wider.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Messages are removed after 400 days.').waitFor()
    await examine(world, 'keeping-list')
    assert.equal((await client.account.get()).retentionDays, 400)
    const pods = (await client.pods.list().page()).data
    assert.equal(pods.find(({ name }) => name === 'Care')?.retentionDays, 90)
    await client.account.update({ retentionDays: null })
  })

  test('an inbox is exported and downloaded, and the file is imported elsewhere with its failures', async () => {
    const { page, client } = world
    const messages = (await client.messages.list(inbox.id).page()).data
    // An mbox leaves out what was never sent.
    const total = messages.filter((message) => message.failureReason !== 'cancelled').length
    await showInbox()
    await page.getByRole('button', { name: 'Inbox menu' }).click()
    await page.getByRole('menuitem', { name: 'Export and import' }).click()
    await page.getByText('No exports yet').waitFor()
    // The service is done within a moment, so the first answers are held back at the start.
    let held = 2
    await page.route(/\/v1\/exports\?/, async (route) => {
      const response = await route.fetch()
      const answer = await response.json()
      if (held > 0 && answer.data.length > 0) {
        held -= 1
        const progress = { done: 1, total }
        Object.assign(answer.data[0], { status: 'running', progress, url: null, sizeBytes: null })
      }
      await route.fulfill({ response, json: answer })
    })
    await page.getByRole('button', { name: 'Start export' }).click()
    await page.getByText(`1 of ${total} messages`).waitFor()
    await page.getByRole('progressbar', { name: 'Messages written' }).waitFor()
    await examine(world, 'export-running')
    const link = page.getByRole('link', { name: 'Download' })
    await link.waitFor()
    await page.unrouteAll({ behavior: 'wait' })
    const [download] = await Promise.all([page.waitForEvent('download'), link.click()])
    assert.match(download.suggestedFilename(), /\.mbox$/)
    const mbox = await readFile(await download.path())
    assert.equal(mbox.toString('latin1').match(/^From /gm)?.length, total)
    await page.getByLabel('What').selectOption({ label: 'Every inbox of the pod Default' })
    await page.getByRole('button', { name: 'Start export' }).click()
    await page.getByText('Every inbox of the pod', { exact: true }).waitFor()
    const [whole] = (await client.exports.list().page()).data
    assert.equal(whole?.inboxId, null)
    assert.match(whole?.podId ?? '', /^pod_/)

    const other = await client.inboxes.create({ mailboxName: 'elsewhere' })
    await world.open(`/console/inboxes/${other.id}/transfers`)
    const give = async (name: string, buffer: Buffer) => {
      await page
        .getByLabel('File', { exact: true })
        .setInputFiles({ name, mimeType: 'application/mbox', buffer })
      await page.getByRole('button', { name: 'Import', exact: true }).click()
    }
    const broken = Buffer.from('{"format":"mailroom"}\nnot JSON\n')
    await give('mail.mbox', mbox)
    await page.getByText(`${total} messages imported`).waitFor()
    assert.equal((await client.messages.list(other.id).page()).total, total)
    await give('mail.mbox', mbox)
    await page.getByText(`${total} messages already in the inbox.`).waitFor()
    await give('mail.jsonl', broken)
    await page.getByText(/could not be imported:|cannot be read/).waitFor()
    await examine(world, 'import-failed')
  })

  test('a claim whose time is over is not shown any more, also without events', async () => {
    const { page, client } = world
    const { id } = await named('Alpha')
    await client.threads.claim(id, { owner: 'Worker 8', leaseSeconds: 10 })
    await page.routeWebSocket(/./, () => {})
    await show('Alpha')
    await pane()
      .getByText(/^Worker 8 has this thread until/)
      .waitFor()
    await pane()
      .getByText(/^Worker 8 has this thread/)
      .waitFor({ state: 'detached' })
    await pane().getByRole('button', { name: 'Assign' }).waitFor()
  })

  test('the browser sends no request to another host', () => {
    assert.deepEqual(foreignRequests(world), [])
  })
})
