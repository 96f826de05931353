import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { messageOf } from '@mailroom/mail/test/samples.ts'
import { readContent } from '#extract/extract.ts'
import { parseMessage } from '#parse-message.ts'
import { viewBody } from '#view/view-body.ts'
import { type HiddenCase, SHOWN, UNSEEN } from './bodies.ts'

const viewOf = ({ html = '', text = '' }: HiddenCase) =>
  viewBody({ html, text, hasFullLinks: false })

describe('invisible text is not in the view', () => {
  for (const one of UNSEEN) {
    test(one.name, async () => {
      const view = await viewOf(one)
      assert.match(view.text, /SEEN/)
      assert.doesNotMatch(view.text, /MARKER/)
      assert.doesNotMatch(view.text, /\udb40/)
    })
  }
})

describe('visible text is in the view', () => {
  for (const one of SHOWN) {
    test(one.name, async () => {
      const view = await viewOf(one)
      assert.match(view.text, /SEEN/)
      assert.match(view.text, /MARKER/)
    })
  }
})

const parsed = (html: string) =>
  parseMessage(messageOf({ fields: ['Content-Type: text/html; charset=utf-8'], body: html }))
/** What no field shows as text. */
const NO_TEXT_OF_MAIL =
  /^(?:a (?:conditional )?comment|a comment for Outlook|(?:a )?template|the title|a script)$/

describe('the text of mail with HTML alone', () => {
  for (const { name, html } of UNSEEN) {
    if (html === undefined) continue
    test(`is without ${name}, and the message says so`, () => {
      const { text, extractedText } = parsed(html)
      assert.match(text, /SEEN/)
      for (const one of [text, extractedText]) {
        assert.doesNotMatch(one, /MARKER|[\u{e0000}-\u{e0fff}]/u)
      }
      const { hidden } = readContent({ subject: '', text, html })
      assert.equal(hidden.length > 0, !NO_TEXT_OF_MAIL.test(name), JSON.stringify(hidden))
    })
  }
  for (const { name, html } of SHOWN) {
    if (html === undefined) continue
    test(`has ${name}`, () => {
      assert.match(parsed(html).text.replace(/\s/g, ''), /SEEN.*MARKER/)
    })
  }
})

describe('hidden text is told', () => {
  const hiddenIn = (text: string, html = '') => readContent({ subject: '', text, html }).hidden

  test('by kind and number', () => {
    const html = '<p>SEEN</p><p style="display:none">four</p><!-- a comment -->'
    assert.deepEqual(hiddenIn('SEEN', html), [{ kind: 'display-none', characters: 4 }])
  })

  test('where only the text part carries it', () => {
    assert.deepEqual(hiddenIn('a\u{e0041}\u{e0042}b'), [{ kind: 'tag', characters: 2 }])
    assert.deepEqual(hiddenIn('a\u{e0141}'), [{ kind: 'selector', characters: 1 }])
  })

  test('nowhere in plain mail, its emoji and the padding of its preview', () => {
    const padding = '&zwnj;&nbsp;'.repeat(50)
    assert.deepEqual(
      hiddenIn('Hello ❤️ 1️⃣', `<p>Hello</p><p style="display:none">${padding}</p>`),
      [],
    )
  })

  test('and shown where it is not known whether it is hidden', async () => {
    for (const css of [
      '.x{display:none}@media not (foo:1){.x{display:block}}',
      '@media (foo) and (color){.x{display:none}}',
      '.x:foo(a){display:none}',
      '.x, .y:foo{color:#fff}',
      '.x{display:if(else:none)}',
      '.x{opacity:0;opacity:attr(data-o type(<number>))}',
      '.x::first-line{color:#fff}',
      '@keyframes z{to{opacity:0}}.x{animation:z 1ms forwards}',
    ]) {
      const html = `<style>${css}</style><p>SEEN</p><p class="x">MARKER</p>`
      assert.deepEqual(hiddenIn('', html), [{ kind: 'unclear', characters: 6 }], css)
      const view = await viewBody({ html, text: '', hasFullLinks: false })
      assert.match(view.text, /MARKER/, css)
      assert.deepEqual(view.removed, [{ kind: 'unclear', characters: 6 }], css)
    }
  })

  test('where HTML or styles are beyond what is read', () => {
    const long = `<p>${'word '.repeat(60_000)}</p>`
    assert.deepEqual(hiddenIn('', long), [{ kind: 'unread-html', characters: 1 }])
    const deep = '<div>'.repeat(1_000)
    assert.equal(hiddenIn('', deep)[0]?.kind, 'unread-html')
    const rules = `<style>${'.a{color:red}'.repeat(5_001)}</style><p>SEEN</p>`
    assert.equal(hiddenIn('', rules)[0]?.kind, 'unread-styles')
  })
})

/** Characters behind digits, letters and emoji that stand for the letters of "MARKER". */
const SMUGGLED = [
  Array.from(
    'MARKER',
    (char) => `1${String.fromCodePoint(0xe0100 + char.charCodeAt(0) - 16)}`,
  ).join(''),
  'a\u{e0141}b\u{e0142}c',
  '😀\u{e0141}\u{e0142}',
  '漢\u{e0141}\u{e0142}',
  'x\u{1d173}\u{1d174}\u{1d17a}y',
  '1\ufe012\ufe05',
  'a\u{1bca0}\u{1bca3}\u{e0001}\u{e01f0}\u{e0fff}b',
]

describe('characters that carry other letters are not in the view', () => {
  for (const text of SMUGGLED) {
    test(JSON.stringify(text), async () => {
      const view = await viewOf({ name: '', text })
      assert.doesNotMatch(
        view.text,
        /[\ufe00-\ufe0f\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/u,
      )
    })
  }
})

describe('hidden content', () => {
  test('is reported by kind and number', async () => {
    const html = `<p>SEEN</p><p style="display:none">four</p><p style="color:#fff">seventeen letters</p>`
    const view = await viewBody({ html, text: '', hasFullLinks: false })
    assert.deepEqual(view.removed, [
      { kind: 'display-none', characters: 4 },
      { kind: 'same-colour', characters: 17 },
    ])
  })

  test('of a text part is reported, too', async () => {
    const text = `a\u200b\u200bb\u{e0041}\u202ec`
    const view = await viewBody({ html: '', text, hasFullLinks: false })
    assert.equal(view.text, 'abc')
    assert.deepEqual(view.removed, [
      { kind: 'zero-width', characters: 2 },
      { kind: 'tag', characters: 1 },
      { kind: 'direction', characters: 1 },
    ])
  })

  test('does not include the padding of a preview', async () => {
    const padding = '&zwnj;&nbsp;'.repeat(200)
    const html = `<div style="display:none">${padding}</div><p>SEEN</p><p>x${padding}y</p>`
    const view = await viewBody({ html, text: '', hasFullLinks: false })
    assert.equal(view.text, 'SEEN\n\nx y')
    assert.deepEqual(view.removed, [{ kind: 'zero-width', characters: 200 }])
  })

  test('does not include what scripts and emoji need', async () => {
    const text = [
      '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
      '❤️‍🔥',
      '\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
      'می\u200cخواهم',
      'क्\u200dष',
      '1️⃣',
    ].join('\n')
    const view = await viewBody({ html: '', text, hasFullLinks: false })
    assert.equal(view.text, text)
    assert.deepEqual(view.removed, [])
  })
})
