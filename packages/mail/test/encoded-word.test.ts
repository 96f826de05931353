import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decodeWords } from '#encoded-word.ts'

describe('encoded words', () => {
  const cases: [string, string, string][] = [
    ['text without any is kept', 'a = b ?= =? c', 'a = b ?= =? c'],
    ['Q with underscores and hexadecimal', '=?iso-8859-1?Q?Gr=F6=DFe_x?=', 'Größe x'],
    ['B', '=?UTF-8?B?R3LDtsOfZQ==?=', 'Größe'],
    ['text around stays', 'Re: =?utf-8?q?=C3=BC?= (x)', 'Re: ü (x)'],
    ['space between two is dropped', '=?utf-8?q?a?= =?utf-8?q?b?=', 'ab'],
    ['space between two of different charsets too', '=?utf-8?q?a?= \t=?iso-8859-1?q?=FC?=', 'aü'],
    ['space before other text is kept', '=?utf-8?q?a?= b', 'a b'],
    ['a character split over two words', '=?utf-8?Q?=E2=82?= =?utf-8?Q?=AC?=', '€'],
    ['base64 split within a quantum', '=?utf-8?B?R3L?= =?utf-8?B?DtsOfZQ==?=', 'Größe'],
    ['Q and B of one charset', '=?utf-8?Q?=E2=82?= =?utf-8?B?rA==?=', '€'],
    ['a language after the charset', '=?utf-8*de?Q?=C3=BC?=', 'ü'],
    ['utf-7', '=?utf-7?Q?Fr+APY-sche?=', 'Frösche'],
    ['gb18030', '=?gb18030?B?xOO6ww==?=', '你好'],
    ['an unknown charset of UTF-8 octets', '=?no-such?Q?=C3=BC?=', 'ü'],
    ['an unknown charset of other octets', '=?no-such?Q?=FC?=', 'ü'],
    ['a letter of another charset in UTF-8', '=?utf-8?Q?na=EFve?=', 'naïve'],
    ['a character of UTF-8 that was cut', '=?utf-8?Q?a=E2=82b?=', 'a\ufffdb'],
    ['letters that were not encoded', '=?iso-8859-1?Q?Fr\u00f6sche=FC?=', 'Fröscheü'],
    ['spaces within the text', '=?utf-8?Q?a b?=', 'a b'],
    ['a broken escape stays', '=?utf-8?Q?a=G1=?=', 'a=G1='],
    ['no end', '=?utf-8?Q?abc', '=?utf-8?Q?abc'],
  ]
  for (const [name, value, expected] of cases) {
    test(name, () => assert.equal(decodeWords(value), expected))
  }

  test('iso-2022-jp split over words, each complete or with the shift left open', () => {
    const text = '\x1b$B$3$s$K$A$O\x1b(B'
    const word = (part: string) =>
      `=?iso-2022-jp?B?${Buffer.from(part, 'latin1').toString('base64')}?=`
    assert.equal(decodeWords(word(text)), 'こんにちは')
    assert.equal(decodeWords(`${word(text)} ${word(text)}`), 'こんにちはこんにちは')
    const split = `${word(text.slice(0, 6))} ${word(text.slice(6))}`
    assert.equal(decodeWords(`${word(text)} ${split}`), 'こんにちはこんにちは')
    assert.equal(decodeWords(`${word(text.slice(0, 6))} ${word(text.slice(6))}`), 'こんにちは')
  })

  test('words that decode only alone are decoded alone', () => {
    const open = Buffer.from('\x1b$B$3$s', 'latin1').toString('base64')
    assert.equal(decodeWords(`=?iso-2022-jp?B?${open}?= =?iso-2022-jp?Q?abc?=`), 'こんabc')
    assert.equal(decodeWords('=?utf-8?Q?a=E2=82?= =?utf-8?Q?b?='), 'a\ufffdb')
  })
})
