// The console of an account with hundreds of events, several inboxes and a webhook whose receiver fails.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import { type ConsoleWorld, openConsoleWorld, plainMail } from '#test/browser/console-world.ts'

const MESSAGES = 310

suite('the console of a busy account', () => {
  let world: ConsoleWorld
  let receiver: Server
  let desk: Inbox

  before(async () => {
    receiver = createServer((request, response) => {
      request.resume()
      response.writeHead(503).end('not now')
    }).listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    world = await openConsoleWorld()
    desk = await world.client.inboxes.create({ mailboxName: 'desk' })
    const sender = await world.service.sender()
    for (let n = 1; n <= MESSAGES; n++) {
      const raw = plainMail({ subject: `Order ${n}`, text: `About order ${n}, zqbusy.` })
      await sender.send({ from: 'ann@stranger.example', to: desk.address, raw })
    }
    await sender.quit()
    // A newer inbox without any match.
    await world.client.inboxes.create({ mailboxName: 'empty' })
    await world.signIn('/console/')
  })
  after(async () => {
    receiver.close()
    receiver.closeAllConnections()
    await world.close()
  })

  test('the overview shows the newest of hundreds of events', async () => {
    const { page } = world
    const lines = page.locator('.event-lines li')
    await lines.filter({ hasText: `Order ${MESSAGES}` }).waitFor()
    assert.equal(await lines.count(), 10)
    assert.match((await lines.last().textContent()) ?? '', new RegExp(`Order ${MESSAGES - 9}`))
  })

  test('the overview draws the mail of each hour, and tells its figures at the pointer', async () => {
    const { page } = world
    const plot = page.locator('.plot').first()
    const received = plot.locator('path').first()
    // The figures may lag behind the mail when the page opens; it loads them again.
    await page
      .locator('.total')
      .filter({ hasText: `Received${MESSAGES}` })
      .waitFor()
    const box = await received.boundingBox()
    assert.ok(box !== null && box.height > 100 && box.width > 1, JSON.stringify(box))
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
    const told = await plot.getByText(/^Received: \d+$/).textContent()
    assert.ok(Number(told?.split(' ')[1]) > 0, told ?? '')
  })

  test('the event log opens at the newest event and loads older ones', async () => {
    const { page } = world
    await world.open('/console/events')
    const first = page.locator('.tail summary').first()
    await first.filter({ hasText: `Order ${MESSAGES}` }).waitFor()
    await page.getByRole('button', { name: 'Older events' }).click()
    await first.filter({ hasText: `Order ${MESSAGES - 50}` }).waitFor()
  })

  test('a search covers all inboxes', async () => {
    const { page } = world
    await world.untilFound(desk.address, 'zqbusy', MESSAGES)
    await world.open('/console/search?q=zqbusy')
    await page.getByText(`${MESSAGES} results`).waitFor()
    await page.locator('.hits li').filter({ hasText: desk.address }).first().waitFor()
    await page
      .getByLabel('Inbox', { exact: true })
      .selectOption({ label: desk.address.replace('desk@', 'empty@') })
    await page.getByText('No results for “zqbusy”').waitFor()
  })

  test('a failing webhook is not shown as healthy', async () => {
    const { page, client } = world
    const { port } = receiver.address() as AddressInfo
    const webhook = await client.webhooks.create({ url: `http://127.0.0.1:${port}/hook` })
    await world.open('/console/webhooks')
    await page.getByText('Enabled', { exact: true }).waitFor()
    await world.deliver(desk.address, plainMail({ subject: 'One more', text: 'Hello.' }))
    await page.getByText('Failing', { exact: true }).waitFor()
    await page.getByText(/^HTTP 503, \d+ failures? in a row; next/).waitFor()
    await world.open(`/console/webhooks/${webhook.id}`)
    const facts = page.locator('.facts').first()
    await facts.getByText('HTTP 503').waitFor()
    await facts.getByText('Next attempt').waitFor()
    await page.locator('.tail').getByText('Retrying').waitFor()
    assert.equal(await page.getByText('Enabled', { exact: true }).count(), 0)
  })

  test('lists show the sender, the beginning of the text and the unread count', async () => {
    const { page } = world
    await world.open('/console/inboxes')
    const row = page.getByRole('row').filter({ hasText: desk.address })
    await row.getByText(String(MESSAGES + 1)).waitFor()
    await world.open(`/console/inboxes/${desk.id}`)
    const thread = page.locator('.thread').filter({ hasText: 'One more' })
    await thread.getByText('Ann Other').waitFor()
    await thread.getByText('Hello.').waitFor()
  })
})
