// A thread as a person reads it: unread messages first, files as text, and HTML on a phone.

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import * as files from '@mailroom/mail-reading/test/files/sample-files.ts'
import type { Inbox } from '@mailroom/sdk'
import { examine } from '#test/browser/axe.ts'
import { DESK, PHONE } from '#test/browser/chromium.ts'
import {
  type ConsoleWorld,
  chooseInMenu,
  foreignRequests,
  htmlMail,
  openConsoleWorld,
  plainMail,
} from '#test/browser/console-world.ts'

suite('reading in the console', () => {
  let world: ConsoleWorld
  let inbox: Inbox

  before(async () => {
    world = await openConsoleWorld()
    inbox = await world.client.inboxes.create({ mailboxName: 'reader' })
    await world.signIn('/console/')
  })
  after(() => world.close())

  const newest = async () => {
    const [message] = (await world.client.messages.list(inbox.id, { limit: 1 }).page()).data
    assert.ok(message !== undefined)
    return message
  }
  const showThread = async (threadId: string) => {
    await world.open(`/console/inboxes/${inbox.id}/threads/${threadId}`)
    await world.page.locator('.message.open').first().waitFor()
  }

  test('a thread opens at its first unread message: read ones are one row, unread ones are open', async () => {
    const { page, client } = world
    const text = (name: string) => `${name}\r\n${'A line of the message.\r\n'.repeat(30)}`
    await world.deliver(inbox.address, plainMail({ subject: 'Long', text: text('First') }))
    const first = await newest()
    const more = `In-Reply-To: ${first.rfcMessageId}\r\n`
    const answer = async (name: string) =>
      world.deliver(inbox.address, plainMail({ subject: 'Re: Long', text: text(name), more }))
    await answer('Second')
    await client.threads.update(first.threadId, { isRead: true })
    await answer('Third')
    await answer('Fourth')
    await showThread(first.threadId)
    const open = page.locator('.message.open')
    assert.deepEqual(
      (await open.locator('.mail-text').allTextContents()).map((body) => body.split('\n')[0]),
      ['Third', 'Fourth'],
    )
    const head = await page.locator('.thread-head').boundingBox()
    const shown = await open.first().boundingBox()
    assert.ok(head !== null && shown !== null)
    assert.ok(shown.y >= head.y + head.height && shown.y < DESK.height / 2, `at ${shown.y} px`)
    const closed = await page.locator('.message:not(.open)').first().boundingBox()
    assert.ok(closed !== null && closed.height <= 60, `${closed?.height} px`)
    await examine(world, 'thread-unread')
  })

  test('the body begins right below one row with the sender, a button and a menu', async () => {
    const { page } = world
    await world.deliver(inbox.address, plainMail({ subject: 'Plain', text: 'The body.' }))
    await showThread((await newest()).threadId)
    const card = page.locator('.message.open')
    const [box, body] = [await card.boundingBox(), await card.locator('.mail-text').boundingBox()]
    assert.ok(box !== null && body !== null && body.y - box.y < 80, `${body?.y} ${box?.y}`)
    assert.equal(await card.locator('.message-tools').getByRole('button').count(), 2)
    assert.equal(await card.getByRole('tab').count(), 0)
  })

  test('the text of a document and a table is shown in place', async () => {
    const { page } = world
    const table = [
      ['City', 'Ships'],
      ['Kiel', '12'],
    ]
    const content = { title: 'Harbour report', paragraphs: ['Snow on the quay.'], items: [], table }
    const data = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
    const part = (name: string, type: string, bytes: Uint8Array) =>
      `--b\r\nContent-Type: ${type}\r\nContent-Disposition: attachment; filename="${name}"\r\nContent-Transfer-Encoding: base64\r\n\r\n${data(bytes)}\r\n`
    const raw = plainMail({ subject: 'Files', text: '', more: 'MIME-Version: 1.0\r\n' })
      .replace(
        'Content-Type: text/plain; charset=utf-8',
        'Content-Type: multipart/mixed; boundary=b',
      )
      .concat(
        part('report.docx', 'application/octet-stream', files.docx(content)),
        part('ships.xlsx', 'application/octet-stream', files.xlsx(content)),
        part('ships.csv', 'text/csv', files.csv(content)),
        '--b--\r\n',
      )
    await world.deliver(inbox.address, raw)
    await showThread((await newest()).threadId)
    await page.getByText(/^Document, /).waitFor()
    for (const [name, words] of [
      ['report.docx', 'Snow on the quay.'],
      ['ships.xlsx', 'Kiel'],
      ['ships.csv', 'Kiel,12'],
    ] as const) {
      await page.getByRole('button', { name: `Preview ${name}` }).click()
      const preview = page.getByRole('dialog', { name })
      await preview
        .getByRole('region', { name: `Text of ${name}` })
        .getByText(words)
        .waitFor()
      if (name === 'report.docx') {
        await preview.getByText('Only the text of the file').waitFor()
        await examine(world, 'preview-text')
      }
      await page.keyboard.press('Escape')
      await preview.waitFor({ state: 'detached' })
    }
  })

  test('HTML of any width is read on a phone at its size', async () => {
    const { page } = world
    const text = '<p id="words" style="font-size:14px">Words that are read on a phone.</p>'
    const widths = {
      'a table': `<table width="600"><tr><td width="600">${text}</td></tr></table>`,
      'a box': `<div style="width:600px">${text}</div>`,
      'a fixed box': `<div style="min-width:900px !important">${text}</div>`,
    }
    for (const [name, html] of Object.entries(widths)) {
      await world.deliver(inbox.address, htmlMail({ subject: `Wide ${name}`, html }))
      const { threadId } = await newest()
      await page.setViewportSize(PHONE)
      await showThread(threadId)
      const words = page.frameLocator('.mail-frame iframe').locator('#words')
      await words.waitFor()
      await page.waitForTimeout(300)
      const sizePx = await words.evaluate((element) =>
        Number.parseFloat(getComputedStyle(element).fontSize),
      )
      const scale = await page
        .locator('.mail-frame iframe')
        .evaluate(
          (frame) => frame.getBoundingClientRect().width / (frame as HTMLElement).offsetWidth,
        )
      assert.ok(sizePx * scale >= 12, `${name}: ${sizePx} px at ${scale}`)
      const beyond = await words.evaluate(
        (element) => element.getBoundingClientRect().right - innerWidth,
      )
      const mayPan = (await page.locator('.mail-frame iframe').getAttribute('scrolling')) === 'auto'
      assert.ok(beyond <= 0 || mayPan, `${name}: ${beyond} px cannot be reached`)
      assert.equal(mayPan, name === 'a fixed box', name)
    }
    await page.setViewportSize(DESK)
  })

  test('a message is downloaded from its menu, and nothing asked another host', async () => {
    const { page } = world
    const download = page.waitForEvent('download')
    await chooseInMenu(page, 'Download as .eml')
    assert.match((await download).suggestedFilename(), /\.eml$/)
    assert.deepEqual(foreignRequests(world), [])
  })
})
