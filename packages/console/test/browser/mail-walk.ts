// A person's day with mail: signs in, creates an inbox, sees mail arrive, reads, answers, searches.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Mailroom } from '@mailroom/sdk'
import type { Service } from '@mailroom/server/test/crash/service.ts'
import { examine } from '#test/browser/axe.ts'
import {
  type ConsoleWorld,
  chooseInMenu,
  foreignRequests,
  openConsoleWorld,
  plainMail,
} from '#test/browser/console-world.ts'

/** Runs a command of the command line, as it is printed, on the machine of the service. */
async function runNamed({ environment }: Service, command = ''): Promise<string> {
  const [program, ...args] = command.split(' ')
  assert.equal(program, 'mailroom')
  const main = fileURLToPath(import.meta.resolve('@mailroom/cli/main.mjs'))
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...args], {
    env: environment,
  })
  return stdout
}

suite('mail in the console', () => {
  let world: ConsoleWorld
  let address = ''

  before(async () => {
    world = await openConsoleWorld()
  })
  after(() => world.close())

  test('a wrong key is refused with an explanation, and a good one signs in', async () => {
    const { page } = world
    await world.open('/console/inboxes')
    await page.getByLabel('API key').fill('mr_KeyThatNobodyHas00000000000000000000000')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Invalid API key').waitFor()
    const [list, create, inCheckout] = await page
      .getByRole('alert')
      .locator('code')
      .allTextContents()
    const accounts = await runNamed(world.service, list)
    const [accountId = ''] = /acc_\w+/.exec(accounts) ?? []
    const created = await runNamed(world.service, create?.replace('ID', accountId))
    const [apiKey = ''] = /mr_\w+/.exec(created) ?? []
    const { total } = await new Mailroom({ baseUrl: world.service.baseUrl, apiKey }).inboxes
      .list()
      .page()
    assert.equal(total, 0)
    assert.equal(inCheckout, 'npx mailroom')
    await world.signIn('/console/inboxes')
    await page.getByRole('heading', { name: 'Inboxes', level: 1 }).waitFor()
    const cookies = await world.browser.context.cookies()
    const session = cookies.find(({ name }) => name === 'mailroom_session')
    assert.equal(session?.httpOnly, true)
    assert.equal(session?.sameSite, 'Strict')
  })

  test('an inbox is created, and its new mail appears without reloading', async () => {
    const { page } = world
    await page.getByRole('button', { name: 'New inbox' }).first().click()
    await page.getByLabel('Mailbox name').fill('front-desk')
    await page.getByLabel('Display name').fill('Front Desk')
    await page.getByRole('button', { name: 'Create inbox' }).click()
    await page.getByText('No mail yet').waitFor()
    address = (await world.client.inboxes.list().page()).data[0]?.address ?? ''
    await page.getByText('Live', { exact: true }).waitFor()
    await page.evaluate(() => Object.assign(globalThis, { hasStayed: true }))
    await world.deliver(
      address,
      plainMail({ subject: 'A table for two', text: 'Do you have a table tonight?\r\nAnn' }),
    )
    await page.getByRole('link', { name: /A table for two/ }).waitFor()
    await page.getByText('Ann Other').first().waitFor()
    assert.equal(await page.evaluate(() => 'hasStayed' in globalThis), true)
  })

  test('the keyboard moves through threads, marks and answers', async () => {
    const { page } = world
    await page.keyboard.press('j')
    await page.getByRole('heading', { name: 'A table for two', level: 2 }).waitFor()
    await page.getByText('Do you have a table tonight?').first().waitFor()
    await page.keyboard.press('u')
    await page.getByRole('button', { name: 'Mark unread' }).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('r')
    await page.getByRole('region', { name: 'Reply' }).waitFor()
    assert.equal(
      await page.getByLabel('To', { exact: true }).inputValue(),
      'Ann Other <ann@stranger.example>',
    )
    await page.locator('.inline-head').getByText('Re: A table for two').waitFor()
  })

  test('a reply with a file is sent once, and appears in its thread with its delivery', async () => {
    const { page, client } = world
    await page.getByLabel('Message', { exact: true }).fill('Yes, at eight.')
    await page.getByLabel('Files to attach').setInputFiles({
      name: 'menu.txt',
      mimeType: 'text/plain',
      buffer: Buffer.alloc(300_000, 'soup '),
    })
    await page.getByText('menu.txt').waitFor()
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('Message queued').first().waitFor()
    const inbox = (await client.inboxes.list().page()).data[0]
    assert.ok(inbox !== undefined)
    await page.getByRole('link', { name: /menu\.txt/ }).waitFor()
    await page.getByRole('link', { name: /^To Ann Other.*Has attachments/ }).waitFor()
    await chooseInMenu(page, 'Deliveries')
    await page.getByText('Accepted').waitFor()
    await page.keyboard.press('Escape')
    const { data } = await client.messages.list(inbox.id, { direction: 'outbound' }).page()
    assert.equal(data.length, 1)
    assert.equal(data[0]?.extractedText.trim(), 'Yes, at eight.')
    assert.deepEqual(
      data[0]?.attachments.map(({ filename, sizeBytes }) => [filename, sizeBytes]),
      [['menu.txt', 300_000]],
    )
  })

  test("text, headers, source and the sender's authentication are shown", async () => {
    const { page } = world
    const message = page.getByRole('article', { name: 'Message from ann@stranger.example' })
    const head = message.getByRole('button', { name: /Ann Other/ })
    if ((await head.getAttribute('aria-expanded')) === 'false') await head.click()
    const textIn = async (name: string, part: string) => {
      await chooseInMenu(page, name, message)
      const dialog = page.getByRole('dialog', { name })
      const text = await dialog.locator(part).textContent()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      return text ?? ''
    }
    const verdict = await textIn('Authentication', '.verdict')
    assert.match(verdict, /Nothing proves that this message is from stranger\.example/)
    assert.match(await textIn('Headers', '.header-fields'), /A table for two/)
    const source = await textIn('Source', '.code-block pre')
    assert.match(source, /^From: Ann Other /)
    assert.match(source, /Do you have a table tonight\?/)
  })

  test('a code in a message is shown with a button that copies it', async () => {
    const { page } = world
    await world.browser.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const text = 'Your verification code is 493817.\r\nIt is valid for ten minutes.'
    await world.deliver(address, plainMail({ subject: 'Sign in', text }))
    await page.getByRole('link', { name: /Sign in/ }).click()
    await page.getByRole('button', { name: 'Copy code 493817' }).click()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), '493817')
  })

  test('a search finds words, and highlights them', async () => {
    const { page } = world
    await page.keyboard.press('Escape')
    await page.keyboard.press('/')
    await page.getByRole('searchbox', { name: 'Search for' }).fill('verification')
    const found = page.getByRole('link', { name: /Sign in/ })
    await world.untilFound(address, 'verification')
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await found.waitFor()
    assert.equal(await page.locator('mark').first().textContent(), 'verification')
    await found.click()
    await page.getByRole('heading', { name: 'Sign in', level: 2 }).waitFor()
  })

  test('Ctrl-K finds mail in all inboxes, inboxes and pages by keyboard', async () => {
    const { page } = world
    const other = await world.client.inboxes.create({ mailboxName: 'back-office' })
    await world.deliver(
      other.address,
      plainMail({ subject: 'A quokka is here', text: 'Come and see it.' }),
    )
    await world.untilFound(other.address, 'quokka')
    const field = page.getByRole('combobox', { name: 'Find mail, inboxes and pages' })
    const focused = page.locator('[role="combobox"]:focus')
    const chosen = page.locator('[role="option"][aria-selected="true"]')
    await page.keyboard.press('Control+k')
    await field.waitFor()
    await examine(world, 'palette')
    await page.keyboard.type('quok')
    await page.getByText('No mail found').waitFor()
    await page.keyboard.type('ka')
    await page.getByRole('option', { name: /A quokka is here/ }).waitFor()
    await examine(world, 'palette-found')
    assert.match((await chosen.textContent()) ?? '', /A quokka is here/)
    await page.keyboard.press('ArrowDown')
    assert.match((await chosen.textContent()) ?? '', /Show all results/)
    assert.equal(await field.getAttribute('aria-activedescendant'), await chosen.getAttribute('id'))
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'A quokka is here', level: 2 }).waitFor()
    assert.equal(await field.count(), 0)
    await page.keyboard.press('Control+k')
    await focused.waitFor()
    await page.keyboard.type('front-d')
    await page.getByRole('option', { name: /front-desk@/ }).waitFor()
    await page.keyboard.press('Escape')
    await field.waitFor({ state: 'detached' })
    await page.keyboard.press('Meta+k')
    await focused.waitFor()
    await page.keyboard.type('webhoo')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor()
    await page.keyboard.press('Control+k')
    await field.waitFor()
    await page.keyboard.press('Control+k')
    await field.waitFor({ state: 'detached' })
  })

  test('no request went to another host, and no page logged an error', () => {
    assert.deepEqual(foreignRequests(world), [])
    // A wrong key is answered with 401, which browsers log.
    const complaints = world.complaints.filter((text) => !text.includes('status of 401'))
    assert.deepEqual(complaints, [])
  })
})
