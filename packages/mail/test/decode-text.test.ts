import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decodeText } from '#charset.ts'
import { sizeOf } from '#test/size-of.ts'

const REPEATED_OCTETS = sizeOf('TEST_MAILROOM_REPEATED_OCTETS', {
  quick: 8 * 1024,
  usual: 256 * 1024,
})

const hex = (digits: string) => Buffer.from(digits.replaceAll(' ', ''), 'hex')
/** Привет */
const WINDOWS_1251 = hex('cf f0 e8 e2 e5 f2')
const KOREAN = hex('b0 a8 bb e7 c7 d5 b4 cf b4 d9')
/** Text as octets of UTF-16, high octet first. */
const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16()

describe('a label is read in the forms that senders write', () => {
  const labels: [string, Buffer, string][] = [
    ...'windows1251 cp1251 CP-1251 win1251 x-cp1251 Windows_1251 1251 ms1251 cswindows1251'
      .split(' ')
      .map((label): [string, Buffer, string] => [label, WINDOWS_1251, 'Привет']),
    ["'windows-1251'", WINDOWS_1251, 'Привет'],
    ['"windows-1251"', WINDOWS_1251, 'Привет'],
    ['windows-1251 (Cyrillic)', WINDOWS_1251, 'Привет'],
    ['windows-1251; format=flowed', WINDOWS_1251, 'Привет'],
    ['charset=windows-1251', WINDOWS_1251, 'Привет'],
    ['=?us-ascii?Q?windows-1251?=', WINDOWS_1251, 'Привет'],
    ['=?utf-8?B?d2luZG93cy0xMjUx?=', WINDOWS_1251, 'Привет'],
    ...'ks_c_5601 ks_c_5601-1987 ksc5601 cp949 uhc x-windows-949 euckr'
      .split(' ')
      .map((label): [string, Buffer, string] => [label, KOREAN, '감사합니다']),
    ...'x-gbk cp936 euc-cn GB_2312-80 gb2312'
      .split(' ')
      .map((label): [string, Buffer, string] => [label, hex('96 7c c4 e3'), '東你']),
    ...'cp932 windows-31j MS_Kanji x-sjis Shift-JIS'
      .split(' ')
      .map((label): [string, Buffer, string] => [label, hex('93 fa 96 7b 87 40'), '日本①']),
    ['x-mac-cyrillic', hex('8f f0 e8'), 'При'],
    ['iso8859-8-i', hex('f9 ec e5 ed'), 'שלום'],
    ['8859_2', hex('b1 ea'), 'ąę'],
    ['utf8mb4', Buffer.from('é—'), 'é—'],
    ['unicode-1-1-utf-7', Buffer.from('+AOk-'), 'é'],
    ['csUnicode11UTF7', Buffer.from('+AOk-'), 'é'],
    ['ibm437', hex('81 8e'), 'üÄ'],
    ['hz-gb-2312', Buffer.from('~{<:Ky2;~} ~~'), '己所不 ~'],
  ]
  for (const [label, octets, expected] of labels) {
    test(label, () => assert.equal(decodeText(octets, label), expected))
  }
})

describe('a label yields to what the octets are', () => {
  const wrong: [string, string | null, Buffer, string][] = [
    ['UTF-8 called windows-1252', 'windows-1252', hex('e2 80 a2 20 69'), '• i'],
    ['UTF-8 called US-ASCII', 'us-ascii', Buffer.from('café'), 'café'],
    ['UTF-8 called GB 2312', 'gb2312', Buffer.from('您好请查收'), '您好请查收'],
    ['UTF-8 called Shift_JIS', 'shift_jis', Buffer.from('日本'), '日本'],
    ['windows-1252 without a label', null, hex('63 61 66 e9'), 'café'],
    ['windows-1251 under names that say nothing', 'ansi', WINDOWS_1251, 'Привет'],
    ['windows-1251 called UTF-8', 'utf-8', WINDOWS_1251, 'Привет'],
    ['windows-1251 called Latin-1', 'iso-8859-1', WINDOWS_1251, 'Привет'],
    ['Korean called US-ASCII', 'us-ascii', KOREAN, '감사합니다'],
    ['windows-1250 called ISO 8859-2', 'iso-8859-2', hex('8a 9e e8'), 'Šžč'],
    [
      'a letter of Latin-1 within UTF-8',
      'utf-8',
      Buffer.from('\xc3\xbc\xc3\xb6, na\xefve', 'latin1'),
      'üö, naïve',
    ],
    ['UTF-16 called UTF-8', 'utf-8', utf16be('Größe, 世界\n'), 'Größe, 世界\n'],
    ['UTF-16 in the other order', 'utf-16', utf16be('Größe, 世界\n'), 'Größe, 世界\n'],
    ['US-ASCII called UTF-16', 'utf-16', Buffer.from('Hello there'), 'Hello there'],
    ['a byte order mark', 'windows-1252', Buffer.from('\ufeffé'), 'é'],
  ]
  for (const [name, label, octets, expected] of wrong) {
    test(name, () => assert.equal(decodeText(octets, label), expected))
  }
})

describe('a label that is right is believed', () => {
  const right: [string, string, Buffer, string][] = [
    ['quotation marks of windows-1252', 'windows-1252', hex('93 48 69 94'), '“Hi”'],
    ['accents of windows-1252', 'iso-8859-1', hex('c4 d6 dc'), 'ÄÖÜ'],
    ['Thai that is valid UTF-8 by chance', 'tis-620', hex('e1 ba ba'), 'แบบ'],
    ['one Chinese character that is valid UTF-8 by chance', 'gbk', hex('d2 bb'), '一'],
    ['unusual Japanese', 'shift_jis', hex('e0 f0 87 40'), '瑩①'],
    ['Icelandic', 'iso-8859-1', Buffer.from('Það þýðir', 'latin1'), 'Það þýðir'],
  ]
  for (const [name, label, octets, expected] of right) {
    test(name, () => assert.equal(decodeText(octets, label), expected))
  }
})

describe('ISO-2022 is read with or without a label', () => {
  for (const label of ['iso-2022-kr', null, 'us-ascii']) {
    test(`Korean, ${label}`, () => {
      assert.equal(decodeText(hex('1b 24 29 43 0e 30 21 0f'), label), '가')
    })
    test(`Japanese, ${label}`, () => {
      const octets = Buffer.from('\x1b$BF|K\\\x1b(B!\n\x1b(I1\x1b(B\x1b$(D0!\x1b(B', 'latin1')
      assert.equal(decodeText(octets, label), '日本!\nｱ丂')
    })
    test(`Chinese, ${label}`, () => {
      assert.equal(decodeText(hex('1b 24 29 41 0e 3d 3b 0f 2e'), label), '交.')
    })
  }
})

test('the label of HTML counts before escape sequences, as in browsers', () => {
  const octets = Buffer.from('\x1b$BF|K\\\x1b(B', 'latin1')
  assert.equal(decodeText(octets, 'utf-8', { isHtml: true }), octets.toString('latin1'))
  assert.equal(decodeText(octets, null, { isHtml: true }), '日本')
})

test('HTML names its charset where its label is missing or wrong', () => {
  const page = (name: string) =>
    Buffer.concat([Buffer.from(`<meta charset=${name}>`), WINDOWS_1251])
  const read = (octets: Buffer, label: string | null) =>
    decodeText(octets, label, { isHtml: true }).replace(/<.*?>/, '')
  const koi = Buffer.concat([Buffer.from('<meta charset="koi8-r">'), hex('f0 d2 c9 d7 c5 d4')])
  assert.equal(read(koi, null), 'Привет')
  assert.equal(read(koi, 'utf-8'), 'Привет')
  assert.equal(read(page('utf-8'), 'windows-1251'), 'Привет')
})

test('a charset that the sender names elsewhere is taken for text without a label', () => {
  const octets = hex('b1 e6 ea')
  assert.equal(decodeText(octets, null, { others: () => ['iso-8859-2'] }), 'ąćę')
})

test('any octet many times over is read in a moment under every kind of label', () => {
  for (const octet of [0x00, 0x1b, 0x24, 0x7e, 0x80, 0xc3, 0xe2, 0xff]) {
    const octets = Buffer.alloc(REPEATED_OCTETS, octet)
    for (const label of [null, 'utf-8', 'utf-16', 'iso-2022-jp', 'gbk', 'hz-gb-2312', 'cp437']) {
      const startMs = performance.now()
      decodeText(octets, label, { isHtml: true })
      const tookMs = performance.now() - startMs
      assert.ok(tookMs < 5_000, `octet ${octet} as ${label} took ${tookMs} ms`)
    }
  }
})
