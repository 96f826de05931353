import assert from 'node:assert/strict'
import { test } from 'node:test'
import { showSource } from '#display/shown-html.ts'

function pageOf(html: string): string {
  return String(showSource({ html, showsRemote: false })?.pieces.join(''))
}

function targetIn(html: string): string | undefined {
  return /\[goes to ([^<]*)\]<\/span>/.exec(pageOf(html))?.[1]
}

const misread = {
  'another host': ['<a href="https://evil.example/x">bank.example</a>', 'evil.example'],
  'a URL of another host': [
    '<a href="http://evil.example">https://www.bank.example/login?a=b</a>',
    'evil.example',
  ],
  'a host in several elements': [
    '<a href="https://evil.example">ba<b>nk.ex</b>ample</a>',
    'evil.example',
  ],
  'unseen characters': [
    '<a href="https://evil.example">bank\u200b.exam\u00adple</a>',
    'evil.example',
  ],
  'a dot of another script': ['<a href="https://evil.example">bank。example</a>', 'evil.example'],
  'a host in a description': [
    '<a href="https://evil.example"><img src="" alt="bank.example"></a>',
    'evil.example',
  ],
  'the user name of its address': [
    '<a href="https://bank.example@evil.example/">Sign in</a>',
    'evil.example',
  ],
  'a letter of another script': [
    '<a href="https://bank.example">b\u0430nk.example</a>',
    'bank.example',
  ],
  'mixed scripts': [
    '<a href="https://b\u0430nk.example">Sign in</a>',
    'xn--bnk-6cd.example (mixed scripts)',
  ],
  'another mailbox': [
    '<a href="mailto:x@evil.example?subject=a">help@bank.example</a>',
    'mail to evil.example',
  ],
  'a telephone number': ['<a href="tel:+491">bank.example</a>', 'tel:+491'],
} as const

for (const [name, [html, target]] of Object.entries(misread)) {
  test(`the true target is beside a link that is misread by ${name}`, () => {
    assert.equal(targetIn(html), target)
  })
}

test('a link whose text is its host, or no host, has nothing beside it', () => {
  for (const link of [
    '<a href="https://www.bank.example/x">bank.example</a>',
    '<a href="https://bank.example/?to=https://evil.example">https://bank.example</a>',
    '<a href="https://bank.example">Version 1.2.3 for 3.50 EUR</a>',
    '<a href="https://m\u00fcnchen.example">m\u00fcnchen.example</a>',
    '<a href="https://\u043f\u0440\u0438\u043c\u0435\u0440.example">Click</a>',
    '<a href="mailto:ann@bank.example">ann@bank.example</a>',
    '<a href="#top">bank.example</a>',
  ]) {
    assert.equal(targetIn(link), undefined, link)
  }
})

test('styles and markup of the mail cannot change the target', () => {
  const page = pageOf(
    '<style>span{display:none!important}</style><a href="https://evil.example/&lt;b&gt;">bank.example</a>',
  )
  assert.match(page, /<span style="all:initial!important;display:inline!important;/)
  assert.doesNotMatch(page, /<b>/)
})

test('a page with targets still has all the text of the mail', () => {
  const html = '<p>See (<a href="https://evil.example">bank.example</a>), please.</p>'
  const shown = showSource({ html, showsRemote: false, isStill: true, findsMissed: true })
  assert.equal(shown?.isWhole, true)
})

test('a style that hides text beside a target makes the page incomplete', () => {
  for (const selector of ['span+p', 'span:not(:empty)+p']) {
    const html = `<style>${selector}{display:none}</style><div><a href="https://evil.example">bank.example</a><p>CUSTOMER LIST</p></div>`
    const shown = showSource({ html, showsRemote: false, isStill: true, findsMissed: true })
    const page = String(shown?.pieces.join(''))
    assert.ok(shown?.isWhole === false || !page.includes('display:none'), selector)
  }
})

test('hidden text is shown as text with how it is hidden, and nothing else is', () => {
  const html =
    '<p>Hello</p><p style="display:none"><b>Ignore</b> &lt;script&gt;x</p><i style="color:#fff">white</i>'
  const tags = Array.from('go', (one) => String.fromCodePoint(0xe0000 + (one.codePointAt(0) ?? 0)))
  const hiddenOf = [`Hi${tags.join('')}`, 'Hello']
  const page = String(showSource({ html, showsRemote: false, hiddenOf })?.pieces.join(''))
  assert.equal(
    page,
    '<h2>hidden by display:none</h2><pre style="white-space:pre-wrap">Ignore &lt;script&gt;x</pre><h2>in the colour of its background</h2><pre style="white-space:pre-wrap">white</pre><h2>of Unicode tags</h2><pre style="white-space:pre-wrap">go</pre>',
  )
})

test('a text part that the HTML does not say is shown as hidden text', () => {
  const text = 'Transfer all of the money to me today'
  const hiddenOf = ['Hi', text]
  const html = '<p>A quiet day in the garden</p>'
  const page = String(showSource({ html, showsRemote: false, hiddenOf })?.pieces.join(''))
  assert.match(page, new RegExp(`<pre style="white-space:pre-wrap">${text}</pre>`))
})
