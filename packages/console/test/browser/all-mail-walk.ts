// Mail of several inboxes: the sidebar, the list of all mail, a reply that is left and continued, HTML at its own height,
// and previews of files that pretend.

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import { examine } from '#test/browser/axe.ts'
import { DESK, PHONE } from '#test/browser/chromium.ts'
import {
  type ConsoleWorld,
  foreignRequests,
  htmlMail,
  openConsoleWorld,
  plainMail,
} from '#test/browser/console-world.ts'

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII='

suite('all mail in the console', () => {
  let world: ConsoleWorld
  let sales: Inbox
  let care: Inbox

  before(async () => {
    world = await openConsoleWorld({ env: { MAILROOM_LIMIT_INBOXES_PER_DAY: '1000' } })
    sales = await world.client.inboxes.create({ mailboxName: 'sales' })
    care = await world.client.inboxes.create({ mailboxName: 'care' })
    await world.client.inboxes.create({ mailboxName: 'quiet' })
    for (const subject of ['First', 'Second', 'Third', 'Fourth']) {
      const { address } = subject === 'Second' ? care : sales
      await world.deliver(address, plainMail({ subject, text: `The ${subject} text.` }))
    }
    await world.signIn('/console/mail')
  })
  after(() => world.close())

  const subjects = () => world.page.locator('.thread-subject').allTextContents()
  const linkOf = (name: string) =>
    world.page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name })

  test('the list has the threads of all inboxes, newest first, each with its inbox', async () => {
    const { page } = world
    await page.locator('.thread').first().waitFor()
    assert.deepEqual(await subjects(), ['Fourth', 'Third', 'Second', 'First'])
    const second = page.getByRole('link', { name: /Second/ })
    assert.match((await second.textContent()) ?? '', /In care/)
    await examine(world, 'all-mail')
  })

  test('the sidebar counts unread threads of each inbox, and follows what is read and what arrives', async () => {
    const { page } = world
    await linkOf('care 1 unread').waitFor()
    await linkOf('sales 3 unread').waitFor()
    await linkOf('All mail 4 unread').waitFor()
    await linkOf('quiet').waitFor()
    await page.getByRole('link', { name: /Second/ }).click()
    await page.getByRole('button', { name: 'Mark read' }).click()
    await linkOf('All mail 3 unread').waitFor()
    assert.match((await linkOf('care').textContent()) ?? '', /^care$/)
    await world.deliver(care.address, plainMail({ subject: 'Fifth', text: 'New.' }))
    await linkOf('care 1 unread').waitFor()
    await page.getByRole('link', { name: /Fifth/ }).waitFor()
    await page.getByRole('link', { name: 'Unread', exact: true }).click()
    await page.getByRole('link', { name: /Second/ }).waitFor({ state: 'detached' })
    await page.locator('.thread').first().waitFor()
    assert.deepEqual(await subjects(), ['Fifth', 'Fourth', 'Third', 'First'])
  })

  test('several threads of several inboxes are assigned and snoozed at once, and it is undone', async () => {
    const { page, client } = world
    await world.open('/console/mail')
    const named = async (inbox: Inbox, subject: string) => {
      const { data } = await client.threads.list(inbox.id).page()
      return data.find((thread) => thread.subject === subject)
    }
    for (const subject of ['Fifth', 'First']) await page.getByLabel(`Select ${subject}`).check()
    await page.getByRole('button', { name: 'Assign', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Assign 2 threads' })
    await dialog.getByLabel('Assigned to').fill('Ada')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('2 threads assigned').waitFor()
    assert.equal((await named(care, 'Fifth'))?.assignee, 'Ada')
    assert.equal((await named(sales, 'First'))?.assignee, 'Ada')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Assigned to Ada').first().waitFor({ state: 'detached' })
    assert.equal((await named(care, 'Fifth'))?.assignee, null)

    await page.getByLabel('Select Fifth').check()
    await page.getByRole('button', { name: 'Snooze', exact: true }).click()
    await page
      .getByRole('dialog', { name: 'Snooze 1 thread' })
      .getByRole('button', { name: 'Snooze', exact: true })
      .click()
    await page.getByText('1 thread snoozed').waitFor()
    assert.notEqual((await named(care, 'Fifth'))?.snoozedUntil, null)
    await page.getByLabel('Select Fifth').check()
    await page.getByRole('button', { name: 'End snooze' }).click()
    await page.getByText('1 thread no longer snoozed').waitFor()
    assert.equal((await named(care, 'Fifth'))?.snoozedUntil, null)
  })

  test('a reply is written below its mail, and is kept when the thread is left or another message is begun', async () => {
    const { page, client } = world
    await world.open('/console/mail')
    await page.getByRole('link', { name: /Fourth/ }).click()
    await page.getByRole('heading', { name: 'Fourth', level: 2 }).waitFor()
    await page.keyboard.press('r')
    const reply = page.getByRole('region', { name: 'Reply', exact: true })
    const text = reply.getByLabel('Message', { exact: true })
    assert.equal(await page.getByRole('dialog').count(), 0)
    const mail = await page.getByRole('article', { name: /^Message from/ }).boundingBox()
    const below = await reply.boundingBox()
    assert.ok(mail !== null && below !== null && below.y >= mail.y + mail.height)
    await text.fill('Half a thought')
    await examine(world, 'reply-inline')

    await page.getByRole('link', { name: /Third/ }).click()
    await page.getByRole('heading', { name: 'Third', level: 2 }).waitFor()
    await page.getByText('Saved in Drafts').waitFor()
    await page.keyboard.press('c')
    await page.getByRole('dialog', { name: 'New message' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: /Fourth/ }).click()
    const kept = page.getByRole('button', { name: /^Draft Half a thought/ })
    await examine(world, 'thread-draft')
    await kept.click()
    assert.equal(await text.inputValue(), 'Half a thought')
    await text.press('Escape')
    await reply.waitFor({ state: 'detached' })
    await kept.click()
    await reply.getByRole('button', { name: 'Send', exact: true }).click()
    await reply.waitFor({ state: 'detached' })
    await page.getByText('Message queued').waitFor()
    const { data } = await client.messages.list(sales.id, { direction: 'outbound' }).page()
    assert.deepEqual(
      data.map(({ extractedText }) => extractedText.trim()),
      ['Half a thought'],
    )
  })

  test('a short mail has a low frame, and a long name leaves the hour in its row in sight', async () => {
    const { page } = world
    const from = `${'Long name '.repeat(8)}<robot@stranger.example>`
    const more = 'Auto-Submitted: auto-generated\r\n'
    await world.deliver(care.address, plainMail({ subject: 'By a robot', text: 'Hi.', from, more }))
    await world.deliver(care.address, htmlMail({ subject: 'Short', html: '<p>One line.</p>' }))
    await world.open('/console/mail')
    await page
      .getByRole('link', { name: /By a robot/ })
      .getByText('Automatic')
      .waitFor()
    const beyond = await page
      .locator('.threads')
      .evaluate((list) => list.scrollWidth - list.clientWidth)
    assert.equal(beyond, 0)
    await page.getByRole('link', { name: /Short/ }).click()
    await page.frameLocator('.mail-frame iframe').getByText('One line.').waitFor()
    await page.waitForFunction(
      () => (document.querySelector('.mail-frame')?.clientHeight ?? 120) < 100,
    )
  })

  test('HTML has its own height; what is too wide moves sideways at its size, and has the width of a phone', async () => {
    const { page } = world
    const paragraphs = '<p>One of many paragraphs.</p>'.repeat(80)
    const html = `<div style="min-height:100vh">${paragraphs}<table width="1400"><tr><td>Wide</td></tr></table><details><summary>More</summary><p style="height:700px">Opened</p></details></div>`
    await world.deliver(care.address, htmlMail({ subject: 'Long and wide', html }))
    await world.open('/console/mail')
    await page.getByRole('link', { name: /Long and wide/ }).click()
    const frame = page.locator('.mail-frame iframe')
    await page.frameLocator('.mail-frame iframe').getByText('More').waitFor()
    const fits = () =>
      frame.evaluate((element) => {
        const inner = (element as HTMLIFrameElement).contentDocument?.documentElement
        const box = element.parentElement?.getBoundingClientRect()
        const own = element.getBoundingClientRect()
        return {
          isHigh: (inner?.scrollHeight ?? 0) > 2_000,
          hasBar: (element as HTMLIFrameElement).contentWindow?.innerWidth !== inner?.clientWidth,
          scrolling: element.getAttribute('scrolling'),
          beyond: (inner?.scrollWidth ?? 0) - (inner?.clientWidth ?? 0),
          isInside: own.width <= (box?.width ?? 0) + 1 && own.height <= (box?.height ?? 0) + 1,
          height: Math.round(own.height),
        }
      })
    const shown = await fits()
    assert.deepEqual([shown.isHigh, shown.beyond > 0, shown.isInside], [true, true, true])
    assert.deepEqual([shown.hasBar, shown.scrolling], [false, 'auto'])
    await page.frameLocator('.mail-frame iframe').getByText('More').click()
    await page.waitForTimeout(300)
    assert.ok((await fits()).height > shown.height + 300, 'opened details have room')
    await page.setViewportSize(PHONE)
    await page.waitForTimeout(300)
    const narrow = await fits()
    assert.deepEqual([narrow.isInside, narrow.beyond, narrow.scrolling], [true, 0, 'no'])
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= PHONE.width)
  })

  test('the frame of a mail has an origin without scripts, and none in a window of its own', async () => {
    const { page } = world
    const sandbox = await page.locator('.mail-frame iframe').getAttribute('sandbox')
    assert.match(sandbox ?? '', /allow-same-origin/)
    assert.doesNotMatch(sandbox ?? '', /scripts|forms|top-navigation/)
    const address = await page.locator('.mail-frame iframe').getAttribute('src')
    const other = await world.browser.context.newPage()
    await other.goto(world.service.baseUrl + address)
    assert.equal(await other.evaluate(() => self.origin), 'null')
    await other.close()
  })

  test('a preview shows pictures by their bytes, and the text of all else', async () => {
    const { page } = world
    await page.setViewportSize(DESK)
    await world.open('/console/mail')
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>parent.pwned=1</script></svg>'
    await world.deliver(
      care.address,
      withFiles('Five files', [
        ['chart.txt', 'text/plain', PIXEL],
        ['logo.png', 'image/png', Buffer.from(svg).toString('base64')],
        ['page.html', 'text/html', Buffer.from('<b>bold</b>').toString('base64')],
        ['bomb.png', 'image/png', hugePng().toString('base64')],
        ['paper.pdf', 'application/pdf', Buffer.from('%PDF-1.7').toString('base64')],
      ]),
    )
    await page.getByRole('link', { name: /Five files/ }).click()
    const preview = async (name: string) => {
      await page.getByRole('button', { name: `Preview ${name}` }).click()
      return page.getByRole('dialog', { name })
    }
    const picture = await preview('chart.txt')
    await picture.getByRole('img', { name: 'chart.txt' }).waitFor()
    await examine(world, 'preview')
    await page.keyboard.press('Escape')
    const svgText = await preview('logo.png')
    await svgText.getByText('parent.pwned=1').waitFor()
    assert.equal(await svgText.locator('img, svg:not(.icon), iframe').count(), 0)
    await page.keyboard.press('Escape')
    await (await preview('page.html')).getByText('<b>bold</b>').waitFor()
    await page.keyboard.press('Escape')
    await (await preview('bomb.png')).getByText('The picture is too large').waitFor()
    await page.keyboard.press('Escape')
    await (await preview('paper.pdf')).getByText('No text can be read from').waitFor()
    await page.keyboard.press('Escape')
    assert.equal(await page.evaluate(() => 'pwned' in globalThis), false)
  })

  test('the palette finds pages, inboxes, actions and mail, those that begin with the words first', async () => {
    const { page } = world
    await world.untilFound(sales.address, 'Fourth')
    await page.keyboard.press('Control+k')
    const found = page.getByRole('listbox', { name: 'Found' }).getByRole('option')
    await page.keyboard.type('car')
    await found.filter({ hasText: care.address }).waitFor()
    const field = page.getByRole('combobox', { name: 'Find mail, inboxes and pages' })
    await field.fill('comp')
    await found.filter({ hasText: 'Compose' }).waitFor()
    await field.fill('fourth')
    await page.locator('.found-state').filter({ hasNotText: 'Searching' }).waitFor()
    assert.match((await page.locator('.found-state').textContent()) ?? '', /in mail/)
    await found.filter({ hasText: 'Show all results' }).waitFor()
    await field.fill('in')
    assert.match((await found.first().textContent()) ?? '', /^Inboxes/)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Inboxes', level: 1 }).waitFor()
  })

  test('of many inboxes the sidebar shows those with the newest mail, and finds the others', async () => {
    const { page, client } = world
    for (let n = 10; n < 120; n++) await client.inboxes.create({ mailboxName: `agent-${n}` })
    await world.open('/console/mail')
    const shown = page.locator('.nav [aria-labelledby="nav-inboxes"] a')
    await linkOf('103 others').waitFor()
    assert.equal(await shown.count(), 10)
    assert.match((await shown.first().textContent()) ?? '', /^(?:care|sales)/)
    // The oldest of all are beyond the first page of the list.
    await page.getByLabel('Filter inboxes').fill('sal')
    await linkOf('sales').waitFor()
    assert.equal(await shown.count(), 1)
    await page.getByLabel('Filter inboxes').fill('nobody')
    await page.getByText('No such inbox').waitFor()
    await page.getByLabel('Filter inboxes').fill('')
    await page.locator('.thread').first().waitFor()
    assert.equal((await subjects()).includes('First'), true)
    await examine(world, 'many-inboxes')
    assert.deepEqual(foreignRequests(world), [])
  })
})

function withFiles(subject: string, files: readonly (readonly [string, string, string])[]): string {
  const text = '--b\r\nContent-Type: text/plain\r\n\r\nSee the files.\r\n'
  const parts = files.map(
    ([name, type, data]) =>
      `--b\r\nContent-Type: ${type}; name="${name}"\r\nContent-Disposition: attachment; filename="${name}"\r\nContent-Transfer-Encoding: base64\r\n\r\n${data}\r\n`,
  )
  const more = 'MIME-Version: 1.0\r\n'
  return plainMail({ subject, text: '', more })
    .replace('Content-Type: text/plain; charset=utf-8', 'Content-Type: multipart/mixed; boundary=b')
    .concat(text, ...parts, '--b--\r\n')
}

/** The beginning of a PNG of 30,000 by 30,000 pixels. */
function hugePng(): Buffer {
  const png = Buffer.from(PIXEL, 'base64')
  png.writeUInt32BE(30_000, 16)
  png.writeUInt32BE(30_000, 20)
  return png
}
