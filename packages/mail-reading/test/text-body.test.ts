import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  filePart,
  message,
  messageOf,
  multipart,
  part,
  textPart,
} from '@mailroom/mail/test/samples.ts'
import { parseMessage } from '#parse-message.ts'

const HTML = 'Content-Type: text/html; charset=utf-8'

describe('text', () => {
  const bodies: [string, string, string, Buffer, string][] = [
    [
      'quoted-printable',
      'utf-8',
      'quoted-printable',
      Buffer.from('Gr=C3=BC=\r\n=C3=9Fe =\r\nx'),
      'Grüße x',
    ],
    ['base64', 'utf-8', 'base64', Buffer.from('R3LDvMOfZQ0KeA=='), 'Grüße\nx'],
    ['iso-8859-1', 'iso-8859-1', '8bit', Buffer.from('Gr\xfc\xdfe', 'latin1'), 'Grüße'],
    ['gb18030', 'gb18030', '8bit', Buffer.from('c4e3bac3', 'hex'), '你好'],
    ['iso-2022-jp', 'iso-2022-jp', '7bit', Buffer.from('\x1b$B$3$s\x1b(B', 'latin1'), 'こん'],
    [
      'utf-16',
      'utf-16le',
      'base64',
      Buffer.from(Buffer.from('hé', 'utf16le').toString('base64')),
      'hé',
    ],
    ['utf-7', 'utf-7', '7bit', Buffer.from('Fr+APY-sche +- x'), 'Frösche + x'],
    ['an unknown charset', 'x-no-such', '8bit', Buffer.from('Gr\xfc\xdfe', 'latin1'), 'Grüße'],
    [
      'UTF-8 with a letter of another charset',
      'utf-8',
      '8bit',
      Buffer.from('na\xefve', 'latin1'),
      'naïve',
    ],
    ['invalid UTF-8', 'utf-8', '8bit', Buffer.from('a\xe2\x82b', 'latin1'), 'a\ufffdb'],
    ['NUL', 'utf-8', '8bit', Buffer.from('a\0b'), 'ab'],
    [
      'lone surrogates',
      'utf-16le',
      'base64',
      Buffer.from(Buffer.from([0x00, 0xd8, 0x61, 0]).toString('base64')),
      '\ufffda',
    ],
  ]
  for (const [name, charset, encoding, body, expected] of bodies) {
    test(`in ${name} is decoded alone and in a multipart, as far as that is safe`, () => {
      const fields = [
        `Content-Type: text/plain; charset=${charset}`,
        `Content-Transfer-Encoding: ${encoding}`,
        '',
        '',
      ]
      const alone = Buffer.concat([message('From: a@x.example', ...fields), body])
      assert.equal(parseMessage(alone).text, expected)
      const start = message('Content-Type: multipart/mixed; boundary=b', '', '--b', ...fields)
      const inParts = Buffer.concat([start, body, Buffer.from('\r\n--b--\r\n')])
      const { text } = parseMessage(inParts)
      if (charset !== 'utf-7' && !name.startsWith('an unknown')) assert.equal(text, expected)
      assert.ok(text.isWellFormed() && !text.includes('\0'))
    })
  }

  test('that is flowed is joined by quote depth, and keeps the signature mark', () => {
    const flowed = 'Content-Type: text/plain; format=flowed'
    const lines = ['One ', 'two', '', '> a ', '> b', '>> c ', '> d', ' > stuffed', '-- ', 'Ada']
    const { text } = parseMessage(message(flowed, '', ...lines))
    assert.equal(text, 'One two\n\n> a b\n>> c \n> d\n> stuffed\n-- \nAda')
    const delSp = parseMessage(message(`${flowed}; delsp=yes`, '', '日本 ', '語'))
    assert.equal(delSp.text, '日本語')
  })

  test('of HTML in UTF-7 is never decoded to markup', () => {
    const raw = messageOf(
      part('+ADw-script+AD4-x+ADw-/script+AD4-', 'Content-Type: text/html; charset=utf-7'),
    )
    assert.ok(!parseMessage(raw).html.includes('<script'))
  })

  test('never contains NUL', () => {
    const fields = ['Subject: a\0b', 'From: "N\0" <a\0@x.example>', 'Message-ID: <1\0@x.example>']
    const { fields: types, body } = multipart('mixed', 'b', [
      textPart('te\0xt'),
      part('<p>h\0</p>', HTML),
      filePart('a\0.pdf', Buffer.from('x')),
    ])
    const parsed = parseMessage(message(...fields, ...types, '', body))
    assert.ok(!JSON.stringify(parsed).includes('\\u0000'))
    assert.equal(parsed.headers.subject, 'ab')
    assert.equal(parsed.headers.messageId, '<1@x.example>')
    assert.equal(parsed.attachments[0]?.filename, 'a.pdf')
  })

  test('with names like __proto__ changes no prototype', () => {
    const raw = message(
      '__proto__: x',
      'constructor: y',
      'Content-Type: text/plain; __proto__=x; charset=utf-8; toString*0=z',
      '',
      'Hello',
    )
    assert.equal(parseMessage(raw).text, 'Hello')
    assert.equal(Object.keys(Object.prototype).length, 0)
  })
})
