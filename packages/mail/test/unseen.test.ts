import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countUnseen, findUnseen, replaceUnseen, shownLine, shownText } from '#unseen.ts'

/** Tag characters spell ASCII that nobody sees. */
const tags = (text: string): string =>
  String.fromCodePoint(...[...text].map((letter) => 0xe0000 + (letter.codePointAt(0) ?? 0)))

test('characters that nobody sees are shown by their numbers, and counted', () => {
  const unseen = `\u00ad\u034f\u061c\u115f\u1160\u17b4\u180b\u180e\u200b\u200c\u200d\u200e\u202e\u2028\u2060\u2066\u2800\u3164\ufe00\ufe0f\ufeff\uffa0\ufff9\ufdd0\u{1d173}\u{1fffe}\u{e0001}\u{e0041}\u{e0100}\u0000\u001b\u007f\u0085`
  for (const one of unseen) {
    const number = (one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
    for (const text of [`a${one}b`, `${one}${one}`, `1${one}`]) {
      const shown = text.replaceAll(one, `[U+${number}]`)
      assert.deepEqual([shownLine(text), shownText(text)], [shown, shown])
      assert.equal(countUnseen(text), text.split(one).length - 1)
      assert.equal(findUnseen(text), `U+${number}`)
      assert.equal(findUnseen(text, { isName: true }), `U+${number}`)
    }
  }
  const carried = `Hello.${tags('CARD 4711')}`
  assert.equal(countUnseen(carried), 9)
  assert.match(shownLine(carried), /^Hello\.\[U\+E0043\]\[U\+E0041\]/)
})

test('unseen characters that form letters and emoji stay, each only where it does', () => {
  const formed = [
    'می‌خواهم',
    'क्‍ष',
    '👩‍👩‍👧‍👦 ❤️ ☎︎ 1️⃣ 🏳️‍🌈 👍🏽 🇫🇷',
    `🏴${tags('gbsct')}\u{e007f}`,
    'ภาษา\u200bไทย',
    'ᠠ᠋',
  ]
  for (const text of formed) {
    assert.equal(shownLine(text), text)
    assert.equal(countUnseen(text), 0)
    assert.equal(findUnseen(text, { isName: true }), null)
    assert.ok(text.startsWith('👩') || findUnseen(text) !== null || text.startsWith('ᠠ'))
  }
  const carried = [
    'a\u200db',
    '\u200d😀',
    '😀\u200d',
    '❤️\ufe0f',
    '1\ufe0f',
    'a\ufe0f\u200d😀',
    `🏴${tags('steal!')}\u{e007f}`,
    'م\u200c\u200cم',
    'a\u200bb',
    '漢\u{e0101}',
  ]
  for (const text of carried) assert.ok(countUnseen(text) > 0, JSON.stringify(text))
})

test('line ends and tabs are seen in a text, and not in a line', () => {
  assert.equal(shownText('a\r\n\tb\rc'), 'a\n\tb[U+000D]c')
  assert.equal(shownLine('a\n\tb'), 'a[U+000A][U+0009]b')
  assert.equal(countUnseen('a\r\n\tb'), 0)
  assert.equal(
    replaceUnseen('a\u200b\u200bb\n', () => '-'),
    'a-b\n',
  )
})

test('a text of unseen characters alone is read in linear time', () => {
  const startMs = performance.now()
  assert.equal(countUnseen('\u200d\u{e0041}'.repeat(500_000)), 1_000_000)
  assert.equal(shownLine('👩\u200d'.repeat(100_000)).length > 0, true)
  // Quadratic time would take hours here.
  assert.ok(performance.now() - startMs < 30_000)
})
