import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shownBody, showSource } from '#display/shown-html.ts'
import { visibleTextOf } from '#html/visible-text.ts'

const LIST = 'CUSTOMER LIST'

function judge(html: string) {
  const shown = showSource({ html, showsRemote: false, isStill: true, findsMissed: true })
  assert.ok(shown?.missed != null, html)
  const page = shownBody(shown, { html, text: '' }, () => null)
  const isSaid = !shown.isWhole || shown.missed.hidden.length > 0
  return { page, isSaid, isWhole: shown.isWhole, ...shown.missed }
}

/** Whether the list is on the page, as far as the reader of hidden text knows, or the page says that it is not whole. */
function assertNoLess(html: string): void {
  const { page, isSaid } = judge(html)
  assert.ok(isSaid || visibleTextOf(page).includes(LIST), html)
}

/** Mails in which a selector meets the paragraph `.a` only on the page. */
const ONLY_ON_PAGE: Record<string, readonly [selector: string, body: string]> = {
  'an attribute of data': ['.a:not([data-k])', `<p class=a data-k=1>${LIST}</p>`],
  'an attribute of accessibility': ['.a:not([aria-label])', `<p class=a aria-label=x>${LIST}</p>`],
  'an attribute with a handler': ['.a:not([onclick])', `<p class=a onclick=x>${LIST}</p>`],
  'a value of an attribute': ['.a:not([data-k=b])', `<p class=a data-k=b>${LIST}</p>`],
  'a long class': ['.a:not([class*=x])', `<p class="a${'x'.repeat(2_500)} a">${LIST}</p>`],
  'a target': ['a[target]', `<a class=a href="https://a.example/">${LIST}</a>`],
  'a relation': ['a[rel~=nofollow]', `<a class=a href="https://a.example/">${LIST}</a>`],
  'an image without address': [
    'img:not([src])+.a',
    `<img src="//a.example/b"><p class=a>${LIST}</p>`,
  ],
  'a language of the page': ['html[lang=und] .a', `<p class=a>${LIST}</p>`],
  'a field of its head': ['html:has(meta[name=viewport]) .a', `<p class=a>${LIST}</p>`],
  'the head beside the body': ['head:has(meta)+body .a', `<p class=a>${LIST}</p>`],
  'a link before': ['div>:first-child', `<div><link><p class=a>${LIST}</p></div>`],
  'a field before': ['div>:first-child', `<div><meta><p class=a>${LIST}</p></div>`],
  'a template before': [
    'div>:first-child',
    `<div><template></template><p class=a>${LIST}</p></div>`,
  ],
  'an unknown element before': ['div>:first-child', `<div><x-y></x-y><p class=a>${LIST}</p></div>`],
  'an unknown element around': ['div>.a', `<div><x-y><p class=a>${LIST}</p></x-y></div>`],
  'a form around': ['body>.a', `<form><p class=a>${LIST}</p></form>`],
  'a script after': ['p:last-child', `<div><p class=a>${LIST}</p><script></script></div>`],
  'an element that makes another not empty': ['i:empty+.a', `<i><base></i><p class=a>${LIST}</p>`],
}
const WRAPPERS: readonly ((selector: string) => string)[] = [
  (selector) => selector,
  (selector) => `:is(${selector})`,
  (selector) => `:where(${selector},.z)`,
  (selector) => `.z,${selector}`,
  (selector) => `body:has(${selector}) .a`,
  (selector) => `:not(:not(${selector}))`,
]
const EFFECTS = ['display:none', 'visibility:hidden', 'font-size:0', 'color:#fff', 'opacity:0']
const AROUND: readonly ((rule: string) => string)[] = [
  (rule) => rule,
  (rule) => `@media screen{${rule}}`,
  (rule) => `@media (min-width:1px){${rule}}`,
  (rule) => `@supports (display:block){${rule}}`,
  (rule) => `@layer x{${rule}}`,
  (rule) => `@container (min-width:1px){${rule}}`,
]

for (const [name, [selector, body]] of Object.entries(ONLY_ON_PAGE)) {
  test(`a style that only the page meets hides nothing unsaid: ${name}`, () => {
    for (const wrap of WRAPPERS) {
      for (const effect of EFFECTS) {
        for (const around of AROUND) {
          const rule = around(`${wrap(selector)}{${effect}}`)
          assertNoLess(`<style>${rule}</style><p>See you Monday.</p>${body}`)
        }
      }
    }
  })
}

test('what a style shows again in the mail alone is said to be missing', () => {
  const shows = ['[data-k]', 'p[onclick]', 'x-y>p', '.a:not(:first-child)', 'form>.a']
  for (const selector of shows) {
    for (const around of AROUND.slice(0, 4)) {
      const css = `.a{display:none}${around(`${selector}{display:block!important}`)}`
      const before = selector.startsWith('.a') ? '<link>' : ''
      const [start, end] = selector.includes('>') ? [`<${selector.split('>')[0]}>`, ''] : ['', '']
      const body = `<div>${before}${start}<p class=a data-k onclick=x>${LIST}</p>${end}</div>`
      assert.equal(judge(`<style>${css}</style><p>Hi</p>${body}`).isWhole, false, css)
    }
  }
})

test('text and images that a style draws are not whole, whatever it asks for', () => {
  const drawing = [
    '<style>p::after{content:attr(data-x)}</style><p data-x="x">Hi</p>',
    '<style>p::after{content:"x"}</style><p>Hi</p>',
    '<style>p::after{content:var(--x)}</style><p>Hi</p>',
    '<style>p::after{c\\6fntent:"x"}</style><p>Hi</p>',
    '<style>@media print{p::after{content:"x"}}</style><p>Hi</p>',
    '<style>p:hover::after{content:"x"}</style><p>Hi</p>',
    '<style>p{&::after{content:"x"}}</style><p>Hi</p>',
    '<style>p::after{content:counter(x)}</style><p>Hi</p>',
    '<style>li{list-style-type:"x"}</style><li>Hi',
    '<p style="list-style:\'x\'">Hi</p>',
    '<style>q{quotes:"x" "y"}</style><q>Hi</q>',
    '<style>@counter-style c{system:cyclic;symbols:x}</style><p>Hi</p>',
    '<style>@import "data:text/css,p{}"</style><p>Hi</p>',
    '<link rel=stylesheet href="data:text/css,p{}"><p>Hi</p>',
    '<style>@font-face{font-family:x;src:url(data:font/woff2;base64,AA==)}</style><p>Hi</p>',
    '<p style="background:url(\'data:image/svg+xml,<svg/>\')">Hi</p>',
    '<style>@media print{p{background:url(data:image/png;base64,AA==)}}</style><p>Hi</p>',
    '<p>Hi</p><img src="data:image/svg+xml,<svg/>">',
    '<p>Hi</p><img srcset="data:image/png;base64,AA== 1x">',
    `<p>Hi</p><iframe srcdoc="${LIST}"></iframe>`,
    `<div><template shadowrootmode=open>${LIST}</template>Hi</div>`,
    `<style>title{display:block}</style><p>Hi</p><title>${LIST}</title>`,
    `<style>*{display:block}</style><title>${LIST}</title><p>Hi</p>`,
    `<style>@media (max-width:9px){title{display:block}}</style><title>${LIST}</title><p>Hi</p>`,
    `<style>:lang(en){display:block}</style><title>${LIST}</title><p>Hi</p>`,
    `<p>Hi</p><title style="display:block">${LIST}</title>`,
    `<p>Hi</p><option>${LIST}</option>`,
  ]
  for (const html of drawing) assert.equal(judge(html).isWhole, false, html)
})

test('a page that is still looks the same in every window, at any time, under a pointer and without them', () => {
  const css = `@media (max-width:900px){.a{display:none}}@media (prefers-color-scheme:dark){.a{color:#fff}}
    .a:hover,html:hover .a{display:none}@keyframes k{to{opacity:0}}.a{animation:k 1s;transition:all 1s}
    .a{position:fixed;clip-path:circle(0);transform:scale(0);overflow:hidden;height:0;filter:blur(9px);z-index:-1}
    .a{color:light-dark(#fff,#000);font-size:.1vw;margin-top:-99px;display:var(--x);display:table-column}
    @container (min-width:1px){.a{display:none}}@layer x{.a{display:none}}.a{&:hover{display:none}}
    .a{margin-left:9000px;padding:900em;width:30000px}[class="A" i],.\\61,*|p{display:none}`
  const { page } = judge(
    `<style>${css}</style><p class=a style="position:absolute;left:-999px">${LIST}</p><table width=9999 cellpadding=9999>`,
  )
  const sheets = page.slice(page.indexOf('<body>'))
  assert.doesNotMatch(
    sheets,
    /@|:hover|animation|transition|position|clip|transform|overflow|height|filter|z-index|light-dark|vw|-\d|\d{4}|900em|var\(|column|none|\\|\|/,
  )
})

test('what mail usually has is whole: its layout, phones, programs, fonts, hidden previews and states', () => {
  const html = `<!doctype html><html lang="en" xmlns:v="urn:schemas-microsoft-com:vml"><head><meta charset="utf-8">
    <meta name="viewport" content="width=device-width"><title>News</title>
    <link rel="stylesheet" href="https://fonts.example/css?family=Lato"><style>
    @import url('https://fonts.example/css'); @font-face{font-family:Lato;src:url(https://fonts.example/a.woff2)}
    body{margin:0;padding:0} table{border-collapse:collapse} a:hover{color:#f00} .x:after{content:"";clear:both}
    @media only screen and (max-width:600px){.w{width:100%!important} .hide{display:none!important}}
    a[x-apple-data-detectors]{color:inherit!important} [data-ogsc] .d{color:#fff} u+.b .g{display:block}
    #outlook a{padding:0} .ExternalClass *{line-height:100%} tr:nth-child(even){background:#eee}
    @media (prefers-color-scheme:dark){.d{background:#000!important}} :root{color-scheme:light dark}
    </style></head><body class="b" bgcolor="#f4f4f4"><div style="display:none;max-height:0;overflow:hidden">Preview</div>
    <!--[if mso]><table><tr><td><![endif]--><table role="presentation" width="600" class="w" style="mso-table-lspace:0pt">
    <tr><td style="background:#333 url(https://a.example/b.png) no-repeat;color:#fff;font:700 18px/1.4 Lato,Arial,sans-serif">Sale</td></tr>
    <tr><td class="hide" style="background-image:linear-gradient(90deg,#000,#333);color:#fff">Big</td></tr></table>
    <img src="https://a.example/pixel.gif" width="1" height="1" alt=""></body></html>`
  const { isWhole, hidden, unshown, unseen, blockedStyles, page } = judge(html)
  assert.deepEqual([isWhole, unseen, blockedStyles], [true, 0, 3])
  assert.deepEqual(
    hidden.map(({ kind }) => kind),
    ['display-none', 'comment'],
  )
  // The conditional comments and the title.
  assert.equal(unshown, 37)
  assert.match(visibleTextOf(page), /Sale.*Big/s)
})

test('characters of the HTML that no page shows are counted, and words that a page shows are not', () => {
  const counts: [string, number][] = [
    ['<p data-x="12345">', 5],
    ['<p aria-label="12345">', 5],
    ['<title>12345</title>', 5],
    ['<meta name=x content="12345">', 5],
    ['<template><b>12345</b></template>', 5],
    ['<iframe>12345</iframe>', 5],
    ['<iframe srcdoc="12345"></iframe>', 5],
    ['<noembed>12345</noembed>', 5],
    ['<noframes>12345</noframes>', 5],
    ['<noscript>12345</noscript>', 5],
    ['<datalist><option>12345</option></datalist>', 5],
    ['<datalist><option value="x2345"></datalist>', 5],
    ['<object>12345</object>', 5],
    ['<script>12345</script>', 5],
    ['<!--12345-->', 5],
    ['<style>12345</style>', 5],
    ['<style>a{--x:12345}/*12345*/</style>', 10],
    ['<p style="--x:12345">', 5],
    ['<style type="text/plain">12345</style>', 5],
    ['<p onclick="x2345">', 5],
    ['<p x2345="">', 5],
    ['<input type=hidden value="x2345">', 5],
    [`<p class="${'x'.repeat(500)}">`, 500],
    ['<p class="abc" id="d" title="tip" align="left" style="color:red">', 0],
    ['<a href="https://a.example/" target="_blank" rel="noopener">x</a><img alt="words">', 0],
    ['<meta name="viewport" content="width=device-width"><meta charset="utf-8">', 0],
    ['<table role="presentation" aria-hidden="true" data-width="600" cellpadding="0">', 0],
  ]
  for (const [html, count] of counts) assert.equal(judge(`<p>Hi</p>${html}`).unshown, count, html)
  const unseen =
    'x&#xE0041;<b title="&#x200B;">\u3164</b><!--\u{e0041}--><style>a{}/*\u200b*/</style>'
  assert.equal(judge(unseen).unseen, 5)
})

test('styles that are hard to read are read in linear time', () => {
  const hard = [
    'url(',
    '/*',
    '--x:',
    '"',
    "content:'",
    '[a',
    '{',
    '@media x{',
    '\\',
    'a:not(',
    '--',
    '(((',
  ]
  for (const piece of hard) {
    const css = piece.repeat(50_000 / piece.length)
    const startMs = performance.now()
    showSource({
      html: `<style>${css}</style><p style="${css.replaceAll('"', "'")}" class=a>Hi</p>`,
      showsRemote: false,
      isStill: true,
      findsMissed: true,
    })
    assert.ok(performance.now() - startMs < 20_000, piece)
  }
})
