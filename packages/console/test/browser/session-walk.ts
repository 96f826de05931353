// A session from its beginning to its end: an address that is asked for before signing in, the keyboard,
// the theme, a program that is refused and one that gets its key, a service that goes away and returns.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { MailroomError } from '@mailroom/sdk'
import { shortcuts } from '#data/keyboard.ts'
import {
  type ConsoleWorld,
  foreignRequests,
  openConsoleWorld,
  plainMail,
} from '#test/browser/console-world.ts'
import { isUsed } from '#test/browser/keys.ts'

const SUBJECTS = ['One', 'Two', 'Three']

suite('a session in the console', () => {
  let world: ConsoleWorld
  let inboxId = ''
  let address = ''

  before(async () => {
    world = await openConsoleWorld()
    const inbox = await world.client.inboxes.create({ mailboxName: 'session' })
    inboxId = inbox.id
    address = inbox.address
    for (const subject of SUBJECTS) {
      await world.deliver(address, plainMail({ subject, text: `This is ${subject}.` }))
    }
  })
  after(() => world.close())

  test('the address that was asked for is shown after signing in', async () => {
    const { page, client } = world
    const { data } = await client.threads.list(inboxId).page()
    const two = data.find(({ subject }) => subject === 'Two')
    await world.signIn(`/console/inboxes/${inboxId}/threads/${two?.id}`)
    await page.getByRole('heading', { name: 'Two', level: 2 }).waitFor()
  })

  test('unread threads are first, and a thread that was read keeps its row and its neighbours', async () => {
    const { page, client } = world
    const { data } = await client.threads.list(inboxId).page()
    const three = data.find(({ subject }) => subject === 'Three')
    await client.threads.update(three?.id ?? '', { is_read: true })
    await world.open(`/console/inboxes/${inboxId}`)
    const subjects = page.locator('.thread-subject')
    await subjects.nth(2).waitFor()
    assert.deepEqual(await subjects.allTextContents(), ['Two', 'One', 'Three'])
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Two', level: 2 }).waitFor()
    await page.getByText('This is Two.').last().waitFor()
    await page.keyboard.press('u')
    await page.getByRole('button', { name: 'Mark unread' }).waitFor()
    await page.locator('.thread:not(.unread) .thread-subject').getByText('Two').waitFor()
    assert.deepEqual(await subjects.allTextContents(), ['Two', 'One', 'Three'], 'nothing moves')
    await page.keyboard.press('j')
    await page.getByRole('heading', { name: 'One', level: 2 }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('No thread selected').waitFor()
  })

  test('an inbox is shown with few requests', async (t) => {
    const { page, service, requests } = world
    const before = requests.length
    await world.open(`/console/inboxes/${inboxId}`)
    await page.getByText('This is Two.').first().waitFor()
    const asked = requests.slice(before).map((url) => url.slice(service.baseUrl.length))
    const data = asked.filter((path) => !path.startsWith('/console/'))
    t.diagnostic(data.join(' '))
    assert.ok(data.length <= 8, data.join('\n'))
  })

  test('every shortcut of the help works where the help says', async () => {
    const { page, client } = world
    const { data } = await client.threads.list(inboxId).page()
    const list = `/console/inboxes/${inboxId}`
    const thread = `${list}/threads/${data[0]?.id}`
    const { everywhere, ofKeys, mail } = shortcuts
    for (const key of [...Object.keys(mail), ...Object.keys(everywhere), ...Object.keys(ofKeys)]) {
      // A form of a new message has its own walk.
      if (key === 'Control Enter') continue
      await world.open(key === 'Enter' ? list : thread)
      await page
        .locator(key === 'Enter' ? '.thread' : '.message.open')
        .first()
        .waitFor()
      if (key === '#') await page.keyboard.press('x')
      assert.ok(await isUsed(page, key), key)
      if (key !== '#') continue
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'detached' })
      while ((await client.threads.list(inboxId).page()).total < SUBJECTS.length) {
        await page.waitForTimeout(100)
      }
    }
    await world.open('/console/keys')
    await page.locator('.table').waitFor()
    await page.keyboard.press('?')
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    const goes = await help.locator('section', { hasText: 'Go to' }).locator('dt').allInnerTexts()
    assert.ok(goes.length > 15)
    const bent = await help
      .locator('kbd')
      .evaluateAll((keys) => keys.filter((key) => key.clientHeight > 24).length)
    assert.equal(bent, 0)
    await page.keyboard.press('Escape')
    await help.waitFor({ state: 'detached' })
    for (const keyed of goes) {
      // Each from the same page, because the search page takes the focus.
      await world.open('/console/keys')
      await page.locator('.table').waitFor()
      assert.ok(await isUsed(page, keyed.trim().split(/\s+/).join(' ')), keyed)
    }
  })

  test('the keyboard goes to pages, to the search and to a new message', async () => {
    const { page } = world
    for (const [letter, name] of [
      ['d', 'Domains'],
      ['w', 'Webhooks'],
      ['k', 'API keys'],
      ['i', 'Inboxes'],
    ] as const) {
      await page.keyboard.press('g')
      await page.keyboard.press(letter)
      await page.getByRole('heading', { name, level: 1 }).waitFor()
    }
    await page.keyboard.press('/')
    const words = page.getByRole('searchbox', { name: 'Search for' })
    await words.waitFor()
    await page.waitForFunction(() => document.activeElement?.getAttribute('name') === 'q')
    await page.keyboard.type('gd?')
    assert.equal(await words.inputValue(), 'gd?')
    await page.keyboard.press('Escape')
    await page.keyboard.press('c')
    await page.getByRole('dialog', { name: 'New message' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  test('a theme that was chosen stays', async () => {
    const { page } = world
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme)
    await page.getByRole('button', { name: 'Theme: system' }).click()
    await page.getByRole('button', { name: 'Theme: light' }).click()
    assert.equal(await theme(), 'dark')
    await page.reload()
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor()
    assert.equal(await theme(), 'dark')
  })

  test('a program that is refused gets nothing, and the command line gets its key', async (t) => {
    const { page, service, client } = world
    const refused = await client.pairing.start({ clientName: 'a stranger' })
    await world.open(`/console/pair?code=${refused.userCode}`)
    await page.getByText('a stranger').waitFor()
    await page.getByRole('button', { name: 'Deny' }).click()
    await page.getByText('Request denied').waitFor()
    await assert.rejects(
      client.pairing.poll({ requestId: refused.requestId }),
      (error) => error instanceof MailroomError && error.status === 404,
    )

    const home = await mkdtemp(join(tmpdir(), 'mailroom-login-'))
    t.after(() => rm(home, { recursive: true, force: true }))
    const main = fileURLToPath(import.meta.resolve('@mailroom/cli/main.mjs'))
    const login = spawn(process.execPath, [main, 'login', '--pair'], {
      env: {
        PATH: process.env.PATH,
        HOME: home,
        XDG_CONFIG_HOME: home,
        MAILROOM_BASE_URL: service.baseUrl,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    t.after(() => login.kill())
    let said = ''
    const code = await new Promise<string>((resolve, reject) => {
      const hear = (chunk: Buffer) => {
        said += chunk
        const match = /[B-Z2-9]{4}-[B-Z2-9]{4}/.exec(said)
        if (match !== null) resolve(match[0])
      }
      login.stdout.on('data', hear)
      login.stderr.on('data', hear)
      login.once('exit', () => reject(new Error(said)))
    })
    const ended = new Promise<number | null>((resolve) => login.once('exit', resolve))
    await world.open('/console/pair')
    await page.getByLabel('Code').fill(code.toLowerCase())
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('The program is connected').waitFor()
    assert.equal(await ended, 0, said)
  })

  test('a service that goes away is told of, and what came meanwhile is shown when it is back', async () => {
    const { page, service, client } = world
    await world.open(`/console/inboxes/${inboxId}`)
    await page.getByText('Live', { exact: true }).waitFor()
    await page.locator('.thread').first().waitFor()
    await service.stop()
    await page.getByText('Connecting…').waitFor()
    assert.equal(await page.locator('.thread').count(), 3, 'what is known stays')
    await page.getByRole('link', { name: 'Domains' }).click()
    await page.getByText('The service could not be reached.').waitFor()
    await service.start()
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('No domains yet').waitFor()
    await page.goBack()
    await world.deliver(address, plainMail({ subject: 'Four', text: 'After the pause.' }))
    await page.getByRole('link', { name: /Four/ }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    assert.equal((await client.threads.list(inboxId).page()).total, 4)
  })

  test('signing in with another key in another window is noticed, and signing out holds for both', async () => {
    const { page, browser, client, service } = world
    const other = await client.apiKeys.create({ name: 'other window' })
    await page.getByRole('link', { name: 'API keys' }).click()
    const row = page.getByRole('row').filter({ hasText: 'other window' })
    await row.waitFor()
    // The cookie is for all windows.
    await browser.context.request.post(`${service.baseUrl}/auth/session`, {
      data: { apiKey: other.token },
    })
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    await row.getByText('This session').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Mailroom' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Sign in to Mailroom' }).waitFor()
  })

  test('a session whose key is revoked elsewhere ends with the reason, and no request left the service', async () => {
    const { page, client } = world
    const own = await client.apiKeys.create({ name: 'short' })
    await page.getByLabel('API key').fill(own.token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    await client.apiKeys.delete(own.id)
    await page.getByText('You were signed out').waitFor()
    await page.getByRole('heading', { name: 'Sign in to Mailroom' }).waitFor()
    assert.deepEqual(foreignRequests(world), [])
  })
})
