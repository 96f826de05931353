// Pages of mail that waits for a decision, in a real Chromium: what it shows of the mail, it shows on the page, or the
// page says that it is not whole.

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { shownBody, showSource } from '@mailroom/mail-reading/display/shown-html.ts'
import type { Page } from 'playwright-core'
import { type Browser, openBrowser } from '#test/browser/chromium.ts'

const LIST = 'CUSTOMER LIST'
const list = `<p class=a data-k=1 aria-label=x onclick=x>${LIST}</p>`
const styled = (css: string, body = list) => `<style>${css}</style><p>See you Monday.</p>${body}`
const hidden = (selector: string, body = list) => styled(`${selector}{display:none}`, body)
const link = `<a href="https://a.example/">${LIST}</a>`

/** Forms in which a mail shows the list, and a page could hide it. */
const MAILS: readonly string[] = [
  ...[
    '.a:not([data-k])',
    '.a:not([aria-label])',
    '.a:not([onclick])',
    ':is(.a:not([data-k]),.z)',
  ].map((selector) => hidden(selector)),
  ...[
    'html[lang=und] .a',
    'head:has(meta[name=viewport])+body .a',
    ':root:has(meta[charset]) .a',
  ].map((selector) => hidden(selector)),
  ...[
    '.a:lang(und)',
    'p:nth-child(2 of p:not([data-k]))',
    '.\\61:not([data-k])',
    '*|p:not([data-k])',
  ].map((selector) => hidden(selector)),
  hidden('a[target=_blank]', link),
  hidden('a[rel~=nofollow]', link),
  hidden('img:not([src])+.a', `<img src="https://a.example/b.png">${list}`),
  ...[
    '<link>',
    '<meta>',
    '<template></template>',
    '<x-y></x-y>',
    '<base>',
    '<script></script>',
  ].map((before) => hidden('div>:first-child', `<div>${before}${list}</div>`)),
  hidden('div>:only-child', `<div>${list}<base></div>`),
  hidden('div>.a', `<div><x-y>${list}</x-y></div>`),
  hidden('body>.a', `<form>${list}</form>`),
  hidden('.a:not([data-k="X" i])', list.replace('data-k=1', 'data-k=x')),
  styled('p::after{content:attr(data-x)}', `<p data-x="${LIST}">Hi</p>`),
  styled('p::after{content:attr(title)}', `<p title="${LIST}">Hi</p>`),
  styled(`p[data-x]::after{content:"${LIST}"}`, '<p data-x>Hi</p>'),
  styled(`@counter-style c{system:cyclic;symbols:"${LIST}"}li{list-style-type:c}`, '<li>Hi'),
  styled('.a{&:not([data-k]){display:none}}'),
  styled('@layer x{.a:not([data-k]){display:none}}'),
  styled('@scope (.a:not([data-k])){:scope{display:none}}'),
  styled('@media (max-width:500px){.a{display:none}}'),
  styled('@media (prefers-color-scheme:dark){.a{display:none}}'),
  styled('@keyframes k{to{opacity:0}}.a:not([data-k]){animation:k 0s forwards}'),
  styled('.a:not([data-k]){color:white}'),
  styled('.a:not([data-k]){position:absolute;clip-path:circle(0)}'),
  styled('.a:not([data-k]){-webkit-text-security:disc}'),
  styled('.a:not([data-k]){display:table-column}'),
  styled('.a:not([data-k]){font-size:.1vw}'),
  styled('.a:not([data-k]){color:light-dark(white,black)}'),
  styled('title{display:block}', `<title>${LIST}</title>`),
  `<style media=print>.a{display:none}</style><p>Hi</p>${list}`,
  '<style>.a{display:none}</style><link rel=stylesheet href="data:text/css,.a{display:block!important}"><p>Hi</p>' +
    list,
  `<p>Hi</p><details open><summary>more</summary>${LIST}</details>`,
  `<body text="#ffffff" bgcolor="#000000"><p>${LIST}</p>`,
]

suite('a page that an approver sees', () => {
  let browser: Browser
  let page: Page

  before(async () => {
    browser = await openBrowser({ width: 800, height: 600 })
    page = await browser.context.newPage()
    await page.route('**/*', (route) => route.abort())
  })
  after(() => browser.close())

  /** The texts and generated contents that Chromium draws. */
  const drawn = async (html: string): Promise<string> => {
    await page.setContent(html, { waitUntil: 'domcontentloaded' })
    return page.evaluate(drawnTexts)
  }

  test('shows all text that the mail shows, or says that it is not whole', async () => {
    for (const html of MAILS) {
      const shown = showSource({ html, showsRemote: false, isStill: true, findsMissed: true })
      assert.ok(shown?.missed != null)
      assert.ok(
        (await drawn(html)).includes(LIST) || /::after|symbols/.test(html),
        `the mail: ${html}`,
      )
      const document = shownBody(shown, { html, text: '' }, () => null)
      const isSaid = !shown.isWhole || shown.missed.hidden.length > 0
      assert.ok(isSaid || (await drawn(document)).includes(LIST), html)
    }
  })

  test('looks the same in every window and under a pointer', async () => {
    const html = styled('@media (max-width:500px){.a{display:none}}html:hover .a{display:none}')
    const shown = showSource({ html, showsRemote: false, isStill: true, findsMissed: true })
    const document = shownBody(shown, { html, text: '' }, () => null)
    for (const width of [1200, 400]) {
      await page.setViewportSize({ width, height: 600 })
      await page.mouse.move(100, 100)
      assert.ok((await drawn(document)).includes(LIST))
    }
    assert.equal(shown?.isWhole, true)
  })
})

/** Runs in the page. */
function drawnTexts(): string {
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT)
  const texts: string[] = []
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const range = document.createRange()
    range.selectNodeContents(node)
    const isLarge = [...range.getClientRects()].some(({ width, height }) => width > 3 && height > 3)
    const element = node.parentElement
    if (!isLarge || element === null) continue
    const style = getComputedStyle(element)
    const isPale =
      style.color === 'rgb(255, 255, 255)' && document.body.getAttribute('bgcolor') === null
    const isVeiled = Number(style.opacity) < 0.1 || style.clipPath !== 'none'
    const isBulleted = style.getPropertyValue('-webkit-text-security') !== 'none'
    if (style.visibility === 'visible' && !isPale && !isVeiled && !isBulleted) {
      texts.push(node.nodeValue ?? '')
    }
  }
  return texts.join(' ')
}
