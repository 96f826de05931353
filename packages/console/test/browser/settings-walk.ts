// A person's settings: a domain with its records in DNS, a webhook and its retries, a program that is paired, and a
// session that ends with its key.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import { Mailroom } from '@mailroom/sdk'
import {
  type ConsoleWorld,
  foreignRequests,
  openConsoleWorld,
  plainMail,
} from '#test/browser/console-world.ts'
import { publish } from '#test/browser/publish.ts'

suite('settings in the console', () => {
  let world: ConsoleWorld
  let receiver: Server
  let hookUrl = ''
  let status = 500
  let posts = 0

  before(async () => {
    receiver = createServer((request, response) => {
      request.resume()
      posts += 1
      response.writeHead(status, { 'content-type': 'text/plain' }).end(`answer ${posts}`)
    }).listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    hookUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
    world = await openConsoleWorld()
    await world.signIn('/console/domains')
  })
  after(async () => {
    receiver.close()
    receiver.closeAllConnections()
    await world.close()
  })

  test('a new account has first steps, which go away when they are done', async () => {
    const { page, client } = world
    await world.open('/console/')
    const steps = page.getByRole('region', { name: 'First steps' })
    await steps.getByRole('button', { name: 'Create an inbox' }).click()
    const creating = page.getByRole('dialog', { name: 'New inbox' })
    const name = creating.getByLabel('Mailbox name')
    await creating.getByText('3 to 30 characters').waitFor()
    for (const [wrong, rule] of [
      ['hr..it', 'cannot contain two dots in a row'],
      ['hr_it', 'only the letters a to z'],
      ['-hrs', 'must begin and end with'],
      ['hr', 'at least 3 characters'],
      ['postmaster', 'in use or reserved'],
    ] as const) {
      await name.fill(wrong)
      await creating.getByRole('status').getByText(`${wrong}@mailroom.localhost`).waitFor()
      await creating.getByRole('button', { name: 'Create inbox' }).click()
      await creating.locator('.field-error').getByText(rule).waitFor()
    }
    await name.fill('first')
    assert.equal(await creating.locator('.field-error').count(), 0)
    await creating.getByRole('button', { name: 'Create inbox' }).click()
    await page.getByText('No mail yet').waitFor()
    await page.getByRole('button', { name: 'Simulate inbound mail' }).waitFor()
    const id = (await client.inboxes.list().page()).data[0]?.id ?? ''
    await world.open('/console/')
    await steps.getByText(`/v1/inboxes/${id}/messages`).waitFor()
    await steps.getByRole('button', { name: 'Simulate inbound mail' }).click()
    const dialog = page.getByRole('dialog', { name: 'Simulate inbound mail' })
    await dialog.getByLabel('Subject').fill('The first message')
    await dialog.getByRole('button', { name: 'Simulate' }).click()
    await steps.getByText('Simulate inbound mail (done)').waitFor()
    await steps.getByText('Connect your program or your model (to do)').waitFor()
    await page.getByRole('link', { name: 'Open', exact: true }).click()
    await page.getByRole('heading', { name: 'The first message', level: 2 }).waitFor()
    await world.open('/console/')
    await steps.getByRole('tab', { name: 'MCP' }).click()
    await steps.getByText('"mcpServers"').waitFor()
    await steps.getByRole('button', { name: 'Copy (snippet)' }).click()
    await steps.waitFor({ state: 'detached' })
    await page.reload()
    await page.locator('.total').first().waitFor()
    assert.equal(await steps.count(), 0)
  })

  test('the last of the first steps is done once a program has used a key', async () => {
    const { page, client, service } = world
    await page.evaluate(() => {
      for (const name of Object.keys(localStorage)) localStorage.setItem(name, 'shown')
    })
    await page.reload()
    const steps = page.getByRole('region', { name: 'First steps' })
    await steps.getByText('Connect your program or your model (to do)').waitFor()
    const { id, token } = await client.apiKeys.create({ name: 'agent' })
    await new Mailroom({ baseUrl: service.baseUrl, apiKey: token }).inboxes.list().page()
    await page.reload()
    await page.locator('.total').first().waitFor()
    await steps.waitFor({ state: 'detached' })
    await client.apiKeys.delete(id)
    await world.open('/console/domains')
  })

  test('a domain is added, stays unverified without DNS records, and is verified with them', async () => {
    const { page, client, dns } = world
    await page.getByRole('button', { name: 'Add domain' }).first().click()
    await page.getByRole('textbox', { name: 'Domain' }).fill('agents.example.net')
    await page.getByRole('dialog').getByRole('button', { name: 'Add domain' }).click()
    await page.getByRole('heading', { name: 'agents.example.net', level: 1 }).waitFor()
    await page.locator('[data-domain-status="pending"]').waitFor()
    await page
      .getByText(/^Not (checked|found) yet$/)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Copy value of the mx record' }).waitFor()
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Zone file' }).click()
    assert.equal((await download).suggestedFilename(), 'agents.example.net.zone')
    const [domain] = (await client.domains.list().page()).data
    assert.ok(domain !== undefined)
    await page.getByRole('button', { name: 'Check DNS now' }).click()
    await page.getByText('Checking until the state changes').waitFor()
    publish(dns, domain)
    await page.locator('[data-domain-status="verified"]').waitFor({ timeout: 60_000 })
    await page.getByText('Found', { exact: true }).first().waitFor()
    await page.getByText('Domain verified').waitFor()
  })

  test('a domain takes names below it, and has a catch-all inbox', async () => {
    const { page, client } = world
    const inbox = await client.inboxes.create({ mailboxName: 'catcher' })
    const [domain] = (await client.domains.list().page()).data
    assert.ok(domain !== undefined)
    await page.reload()
    await page.getByLabel('Receive mail for subdomains').check()
    await page.getByText('Subdomains receive mail').waitFor()
    await page.getByRole('button', { name: 'Copy name of the subdomains record' }).waitFor()
    await page.getByLabel('Catch-all inbox').selectOption({ label: inbox.address })
    await page.getByText('Catch-all inbox saved').waitFor()
    const saved = await client.domains.get(domain.id)
    assert.deepEqual([saved.subdomainsEnabled, saved.catchAllInboxId], [true, inbox.id])
    await page.getByLabel('Catch-all inbox').selectOption('')
    await page.getByText('Catch-all removed').waitFor()
    assert.equal((await client.domains.get(domain.id)).catchAllInboxId, null)
  })

  test('a webhook shows its secret once, its failed test, and a retried delivery', async () => {
    const { page, client } = world
    await page.getByRole('link', { name: 'Webhooks' }).click()
    await page.getByRole('button', { name: 'New webhook' }).first().click()
    await page.getByLabel('URL').fill(hookUrl)
    await page.getByLabel('Personal').check()
    await page.getByLabel('Bounce', { exact: true }).check()
    await page.getByRole('button', { name: 'Create webhook' }).click()
    const secret = await page.locator('[data-secret]').textContent()
    assert.match(secret ?? '', /^whsec_/)
    await page.getByRole('button', { name: 'I have copied it' }).click()
    await page.getByRole('link', { name: hookUrl }).click()
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByText('The test failed').waitFor()
    const delivery = page.locator('.tail details').first()
    await delivery.locator('summary').click()
    const attempts = delivery.getByRole('list', { name: 'Attempts, newest first' })
    await attempts.getByText('HTTP 500').waitFor()
    await attempts.getByText(/^answer \d+$/).waitFor()
    const request = delivery.getByLabel('Request of attempt 1')
    await request.getByText(`POST ${hookUrl}`).waitFor()
    assert.doesNotMatch((await request.textContent()) ?? '', /signature|whsec_/i)
    status = 200
    await delivery.getByRole('button', { name: 'Retry' }).click()
    await attempts.getByText('HTTP 200').waitFor()
    await attempts.getByText('Attempt 2').waitFor()
    await delivery.getByText('Delivered', { exact: true }).waitFor()
    await delivery.getByText('Request body').click()
    await delivery.getByLabel('Body of the request').getByText('webhook.test').waitFor()
    const [webhook] = (await client.webhooks.list().page()).data
    assert.ok(webhook !== undefined && posts >= 2)
    assert.deepEqual(webhook.categories, ['personal', 'bounce'])
    await page.getByText('All events; of received mail only Personal, Bounce').waitFor()
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Personal').uncheck()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('All events; of received mail only Bounce').waitFor()
    assert.deepEqual((await client.webhooks.get(webhook.id)).categories, ['bounce'])
  })

  test('the live tail shows events as they happen, and stops while it is paused', async () => {
    const { page, client } = world
    const inbox = await client.inboxes.create({ mailboxName: 'tail' })
    await page.getByRole('link', { name: 'Events', exact: true }).click()
    await page.getByText('Live: new events appear at the top').waitFor()
    await world.deliver(inbox.address, plainMail({ subject: 'First event', text: 'One.' }))
    await page.getByText('First event').waitFor()
    await page.locator('.tail summary').first().click()
    assert.match(
      (await page.getByLabel('Event as JSON').textContent()) ?? '',
      /"message\.received"/,
    )
    await page.getByRole('button', { name: 'Pause' }).click()
    await world.deliver(inbox.address, plainMail({ subject: 'Second event', text: 'Two.' }))
    await page.getByText('1 new since').waitFor()
    assert.equal(await page.getByText('Second event').count(), 0)
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByText('Second event').waitFor()
  })

  test("a blocked sender's mail goes to quarantine and is released", async () => {
    const { page, client } = world
    await client.senderRules.create({ type: 'block', value: 'ann@stranger.example' })
    const [inbox] = (await client.inboxes.list().page()).data
    await world.deliver(inbox?.address ?? '', plainMail({ subject: 'Kept out', text: 'Hello.' }))
    await page.getByRole('link', { name: 'Quarantine' }).click()
    await page.getByRole('cell', { name: /^Kept out/ }).waitFor()
    await page.getByRole('button', { name: 'View Kept out' }).click()
    await page.getByRole('dialog').getByText('Not verified').waitFor()
    await page.getByRole('button', { name: 'Release to the inbox' }).click()
    await page.getByRole('heading', { name: 'Kept out', level: 2 }).waitFor()
  })

  test('pods are made, changed and deleted in the settings', async () => {
    const { page, client } = world
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByText(/^\d+ of 200$/).waitFor()
    await page.getByRole('button', { name: 'New pod' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Harbour')
    await page.getByLabel('Client id').fill('harbour-1')
    await page.getByRole('button', { name: 'Create pod' }).click()
    await page.getByRole('button', { name: 'Edit Harbour' }).click()
    await page.getByLabel('Name', { exact: true }).fill('Harbour office')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('cell', { name: /^Harbour office/ }).waitFor()
    assert.equal((await client.pods.get('harbour-1')).name, 'Harbour office')
    await page.getByRole('button', { name: 'Delete Harbour office' }).click()
    await page.getByRole('button', { name: 'Delete pod' }).click()
    await page.getByText('Pod deleted').waitFor()
    assert.equal((await client.pods.list().page()).total, 1)
  })

  test('a program is paired after a person has compared its code', async () => {
    const { page, service } = world
    const start = await fetch(`${service.baseUrl}/auth/cli/start`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ clientName: 'laptop of Ann' }),
    })
    const { requestId, userCode } = (await start.json()) as { requestId: string; userCode: string }
    await world.open(`/console/pair?code=${userCode}`)
    await page.getByText('laptop of Ann').waitFor()
    await page.getByText(userCode).first().waitFor()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('The program is connected').waitFor()
    const poll = await fetch(`${service.baseUrl}/auth/cli/poll?requestId=${requestId}`)
    const { apiKey } = (await poll.json()) as { apiKey: string }
    assert.match(apiKey, /^mr_/)
  })

  test("revoking the session's key signs out, in the page and for its cookie", async () => {
    const { page, client } = world
    // A second key, so that the account keeps one.
    const other = await client.apiKeys.create({ name: 'other' })
    await page.getByRole('link', { name: 'API keys' }).first().click()
    const own = page.getByRole('row').filter({ hasText: 'This session' })
    await own.getByRole('button', { name: /^Revoke/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke key' }).click()
    await page.getByRole('heading', { name: 'Sign in to Mailroom' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Sign in to Mailroom' }).waitFor()
    await page.getByLabel('API key').fill(other.token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Mailroom' }).waitFor()
  })

  test('the browser sends no request to another host', () => {
    assert.deepEqual(foreignRequests(world), [])
  })
})
