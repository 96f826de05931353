// A person's changes: attached files, names, addresses, keys and secrets, each made in the browser and then checked
// at the service.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import { runSql } from '@mailroom/server/test/peers/sql.ts'
import { until } from '@mailroom/server/test/scenarios/outcomes.ts'
import type { Page } from 'playwright-core'
import {
  type ConsoleWorld,
  chooseInMenu,
  foreignRequests,
  openConsoleWorld,
  plainMail,
} from '#test/browser/console-world.ts'

suite('changes made in the console', () => {
  let world: ConsoleWorld
  let inbox: Inbox
  let receiver: Server

  before(async () => {
    receiver = createServer((request, response) => {
      request.resume()
      response.writeHead(200).end()
    }).listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    world = await openConsoleWorld()
    inbox = await world.client.inboxes.create({ mailboxName: 'actions' })
    const more = 'Cc: Bea <bea@other.example>, cy@other.example\r\n'
    await world.deliver(inbox.address, plainMail({ subject: 'To many', text: 'All of you.', more }))
    await world.signIn(`/console/inboxes/${inbox.id}`)
  })
  after(async () => {
    receiver.close()
    receiver.closeAllConnections()
    await world.close()
  })

  test('files are chosen, dropped and pasted, one is removed, and the rest are sent to all recipients', async () => {
    const { page, client } = world
    await page.getByRole('link', { name: /To many/ }).click()
    await chooseInMenu(page, 'Reply to all')
    const dialog = page.getByRole('region', { name: 'Reply to all' })
    assert.match(
      await dialog.getByLabel('Cc', { exact: true }).inputValue(),
      /^(?=.*bea@other\.example)(?=.*cy@other\.example)/,
    )
    await dialog.getByLabel('Message', { exact: true }).fill('To everybody.')
    await dialog.getByLabel('Files to attach').setInputFiles([
      { name: 'chosen.txt', mimeType: 'text/plain', buffer: Buffer.alloc(250_000, 'a') },
      { name: 'unwanted.txt', mimeType: 'text/plain', buffer: Buffer.from('b') },
    ])
    await give(page, 'drop', 'dropped.txt')
    await give(page, 'paste', 'pasted.png')
    const files = dialog.getByRole('list', { name: 'Attachments' })
    await files.getByText('pasted.png').waitFor()
    await files.getByRole('button', { name: 'Remove unwanted.txt' }).click()
    await files.getByText('unwanted.txt').waitFor({ state: 'detached' })
    await give(page, 'drop', 'huge.bin', 19 * 1024 * 1024)
    await dialog.getByText(/Attachments can be at most 18\.9 MB in total/).waitFor()
    await dialog.getByRole('button', { name: 'Send', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    const [sent] = (await client.messages.list(inbox.id, { direction: 'outbound' }).page()).data
    assert.deepEqual(
      sent?.attachments.map(({ filename, sizeBytes }) => [filename, sizeBytes]),
      [
        ['chosen.txt', 250_000],
        ['dropped.txt', 7],
        ['pasted.png', 7],
      ],
    )
    assert.deepEqual([...(sent?.cc ?? [])].sort(), [
      'Bea <bea@other.example>',
      'cy@other.example',
      // The To of the message; the inbox itself was in Bcc.
      'in@example.com',
    ])
  })

  test('Escape never loses a draft, and discarding it can be undone', async () => {
    const { page, client } = world
    await page.keyboard.press('c')
    const dialog = page.getByRole('dialog', { name: 'New message' })
    const text = dialog.getByLabel('Message', { exact: true })
    await text.fill('Half a thought')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('Saved in Drafts').waitFor()
    const bodies = async () =>
      (await client.drafts.list(inbox.id).page()).data.map(({ body }) => body)
    assert.deepEqual(await bodies(), ['Half a thought'])
    await page.getByRole('link', { name: 'Drafts', exact: true }).click()
    await page.getByRole('link', { name: '(no subject)' }).click()
    const draft = page.getByRole('dialog', { name: 'Draft' })
    await draft.getByRole('button', { name: 'Discard' }).click()
    await page.getByText('No drafts').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    assert.equal(await draft.getByLabel('Message', { exact: true }).inputValue(), 'Half a thought')
    await draft.getByRole('button', { name: 'Discard' }).click()
    await page.getByText('No drafts').waitFor()
    await world.open(`/console/inboxes/${inbox.id}`)
    await page.locator('.thread').first().waitFor()
    await until(async () => (await bodies()).length === 0)
  })

  test('a send without an answer is sent once, even if it is changed before it is repeated', async () => {
    const { page, client } = world
    await page.keyboard.press('c')
    const dialog = page.getByRole('dialog', { name: 'New message' })
    await dialog.getByLabel('To', { exact: true }).fill('dan@other.example')
    await dialog.getByLabel('Subject').fill('Once')
    await dialog.getByLabel('Message', { exact: true }).fill('The first words.')
    // The service accepts the request, and the response is lost.
    await page.route('**/send', async (route) => {
      await route.fetch()
      await route.abort()
    })
    await dialog.getByRole('button', { name: 'Send', exact: true }).click()
    await dialog.getByText('The service could not be reached.').waitFor()
    await page.unroute('**/send')
    await dialog.getByLabel('Message', { exact: true }).fill('Other words.')
    await dialog.getByRole('button', { name: 'Send', exact: true }).click()
    await dialog.getByText('Your earlier attempt was sent after all').waitFor()
    const told = async () =>
      (await client.messages.list(inbox.id, { direction: 'outbound' }).page()).data.filter(
        ({ subject }) => subject === 'Once',
      ).length
    assert.equal(await told(), 1)
    await dialog.getByRole('button', { name: 'Send as new message' }).click()
    await dialog.waitFor({ state: 'detached' })
    assert.equal(await told(), 2)
  })

  test('an inbox is named, and is deleted only after its address was typed', async () => {
    const { page, client } = world
    const { address, id } = await client.inboxes.create({ mailboxName: 'short-lived' })
    await page.getByRole('link', { name: 'Inboxes', exact: true }).first().click()
    await page.getByRole('button', { name: `Rename ${address}` }).click()
    await page.getByRole('dialog').getByLabel('Display name').fill('Not for long')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('cell', { name: /Not for long/ }).waitFor()
    assert.equal((await client.inboxes.get(id)).displayName, 'Not for long')
    await page.getByRole('button', { name: `Delete ${address}` }).click()
    const dialog = page.getByRole('dialog', { name: 'Delete this inbox?' })
    const confirm = dialog.getByRole('button', { name: 'Delete inbox' })
    await dialog.getByRole('textbox').fill('something else')
    assert.equal(await confirm.isDisabled(), true)
    await dialog.getByRole('textbox').fill(address)
    await confirm.click()
    await dialog.waitFor({ state: 'detached' })
    await assert.rejects(client.inboxes.get(id), { status: 404 })
  })

  test('a webhook is disabled and enabled, and its new secret is shown once', async () => {
    const { page, client } = world
    const { port } = receiver.address() as AddressInfo
    const made = await client.webhooks.create({ url: `http://127.0.0.1:${port}/hook` })
    await world.open(`/console/webhooks/${made.id}`)
    await page.getByRole('button', { name: 'Disable', exact: true }).click()
    await page.getByText('Disabled', { exact: true }).waitFor()
    assert.equal((await client.webhooks.get(made.id)).enabled, false)
    await page.getByRole('button', { name: 'Enable', exact: true }).click()
    await page.getByText('Enabled', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'New secret' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create secret' }).click()
    const secret = await page.locator('[data-secret]').textContent()
    assert.match(secret ?? '', /^whsec_/)
    assert.notEqual(secret, made.secret)
    await page.getByRole('button', { name: 'I have copied it' }).click()
    await page.locator('[data-secret]').waitFor({ state: 'detached' })
    await page.reload()
    await page.getByText('Enabled', { exact: true }).waitFor()
    assert.equal((await page.content()).includes(secret ?? ''), false)
  })

  test('a key shows its token once, and works', async () => {
    const { page, service } = world
    await page.getByRole('link', { name: 'API keys' }).click()
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Night shift')
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    const token = (await page.locator('[data-secret]').textContent()) ?? ''
    const answer = await fetch(`${service.baseUrl}/v1/inboxes`, {
      headers: { authorization: `Bearer ${token}` },
    })
    assert.equal(answer.status, 200)
    await page.getByRole('button', { name: 'I have copied it' }).click()
    await page.getByRole('cell', { name: 'Night shift', exact: true }).waitFor()
    assert.equal((await page.content()).includes(token), false)
  })

  test('senders and addresses are blocked and unblocked', async () => {
    const { page, client } = world
    await page.getByRole('link', { name: 'Sender rules' }).click()
    await page.getByRole('button', { name: 'New rule' }).click()
    await page.getByLabel('Address or domain').fill('spam.example')
    await page
      .getByRole('dialog')
      .getByRole('button', { name: 'Block', exact: true })
      .last()
      .click()
    await page.getByRole('cell', { name: /^spam\.example/ }).waitFor()
    await page.getByText('except from senders that a rule blocks').waitFor()
    const end = (ms: string) =>
      runSql(
        world.service,
        `update sender_rules set expires_at = ${ms} where value = 'spam.example'`,
      )
    await end('1000')
    await page.getByRole('link', { name: 'Change this in the policy' }).click()
    await page
      .getByRole('listitem')
      .filter({ hasText: 'spam.example' })
      .getByText(/^expired on/)
      .waitFor()
    await end('null')
    await page.getByText('“Ask a person” needs an approver').waitFor()
    await page
      .getByRole('group', { name: 'New recipient' })
      .getByRole('button', { name: 'Ask a person' })
      .click()
    await page.getByRole('link', { name: 'create one first' }).waitFor()
    await page.getByRole('button', { name: 'Save policy' }).click()
    await page.getByText('There is no approver for held mail').waitFor()
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.reload()
    await page
      .getByRole('group', { name: 'Receive mail from' })
      .getByRole('button', { name: 'Only allowed addresses' })
      .click()
    await page.getByRole('button', { name: 'Save policy' }).click()
    await page.getByText('Policy saved').waitFor()
    assert.equal((await client.account.get()).filterMode, 'allowlist')
    await page.getByRole('link', { name: 'Sender rules', exact: true }).first().click()
    await page.getByText('all other mail is quarantined').waitFor()
    await client.account.update({ filterMode: 'none' })
    await world.deliver(
      inbox.address,
      plainMail({ subject: 'Unwanted', text: 'Hello.', from: 'win@spam.example' }),
      'win@spam.example',
    )
    await page.getByRole('link', { name: 'Quarantine' }).click()
    await page.getByRole('button', { name: 'View Unwanted' }).click()
    const preview = page.getByRole('dialog', { name: 'Unwanted' })
    await preview.getByText('win@spam.example').waitFor()
    await preview.getByText('Hello.').waitFor()
    await preview.getByRole('tab', { name: 'Source' }).click()
    await page.getByLabel('Raw message').getByText('Subject: Unwanted').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Delete Unwanted' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete message' }).click()
    await page.getByText('Nothing in quarantine').waitFor()
    await page.getByRole('link', { name: 'Sender rules' }).click()
    await page.getByRole('button', { name: 'Remove the rule for spam.example' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove rule' }).click()
    await page.getByText('No rules yet').waitFor()

    await page.getByRole('link', { name: 'Suppressions' }).click()
    await page.getByRole('button', { name: 'Suppress an address' }).click()
    await page.getByLabel('Address', { exact: true }).fill('gone@other.example')
    await page.getByRole('button', { name: 'Suppress', exact: true }).click()
    await page.getByRole('button', { name: 'Remove gone@other.example from the list' }).click()
    await page.getByRole('button', { name: 'Remove from the list', exact: true }).click()
    await page.getByText('No address is suppressed').waitFor()
    assert.equal((await client.suppressions.list().page()).total, 0)
  })

  test('mail is injected in the sandbox', async () => {
    const { page, client } = world
    await page.getByRole('link', { name: 'Sandbox' }).click()
    await page.getByRole('button', { name: 'Simulate inbound mail' }).click()
    const dialog = page.getByRole('dialog', { name: 'Simulate inbound mail' })
    await dialog.getByLabel('Subject').fill('Made here')
    await dialog.getByLabel('Text').fill('As if from outside.')
    await dialog.getByRole('button', { name: 'Simulate' }).click()
    await page.getByText('Delivered to the inbox').waitFor()
    const { data } = await client.messages.list(inbox.id, { direction: 'inbound' }).page()
    assert.equal(data[0]?.subject, 'Made here')
  })

  test('the browser sends no request to another host', () => {
    assert.deepEqual(foreignRequests(world), [])
  })
})

/** A file, as a person drops or pastes it. */
async function give(
  page: Page,
  kind: 'drop' | 'paste',
  name: string,
  sizeBytes = 7,
): Promise<void> {
  await page.locator('.compose .file-area').evaluate(
    (area, given) => {
      const data = new DataTransfer()
      data.items.add(new File([new Uint8Array(given.sizeBytes)], given.name))
      area.dispatchEvent(
        given.kind === 'drop'
          ? new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })
          : new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }),
      )
    },
    { kind, name, sizeBytes },
  )
}
