import assert from 'node:assert/strict'
import { test } from 'node:test'
import { extractFrom } from '#extract/extract.ts'
import { CODE_GOALS, judgeCodes } from './codes.ts'
import { writtenMessages } from './written-codes.ts'

const MESSAGES_MIN = 150
const messages = writtenMessages()

for (const isHeldOut of [false, true]) {
  const kind = isHeldOut ? 'held out' : 'that the rules were made with'
  test(`codes of ${kind} messages are found with the promised precision and recall`, () => {
    const figures = judgeCodes(messages.filter((message) => message.isHeldOut === isHeldOut))
    const seen = figures.differences.join('\n')
    assert.ok(figures.precisionPercent >= CODE_GOALS.precisionPercent, seen)
    assert.ok(figures.recallPercent >= CODE_GOALS.recallPercent, seen)
  })
}

test('the set has enough messages, half of them without a code, with different names', () => {
  const { withCodes } = judgeCodes(messages)
  assert.ok(messages.length >= MESSAGES_MIN)
  assert.ok(Math.abs(withCodes / messages.length - 0.5) < 0.1, `${withCodes}`)
  assert.equal(new Set(messages.map(({ name }) => name)).size, messages.length)
})

test('a message without a code still contains numbers', () => {
  for (const { name, codes, subject, text } of messages) {
    if (codes.length === 0) assert.match(`${subject}\n${text}`, /\p{Nd}/u, name)
  }
})

function codesOf(text: string, subject = 'Hello', html = ''): string[] {
  return extractFrom({ subject, text, html }).codes.map(({ value }) => value)
}

const SHOWN = [
  '482913',
  '4829',
  '482-913',
  '482 913',
  '4829 13',
  '4 8 2 9 1 3',
  'G-482913',
  'KX7-29Q',
  'A1B2C3',
  '٤٨٢٩١٣',
  '４８２９１３',
  '४८२९१३',
]
for (const shown of SHOWN) {
  test(`${shown} is found as shown, in every place of a code`, () => {
    for (const text of [
      `Your verification code is ${shown}.`,
      `Your verification code is "${shown}"`,
      `Your verification code:\n\n${shown}\n\nIt expires in 10 minutes.`,
      `${shown} is your verification code.`,
      `**${shown}**\n\nThis is your verification code.`,
    ]) {
      assert.deepEqual(codesOf(text), [shown], text)
    }
    assert.deepEqual(codesOf('', `Your verification code: ${shown}`), [shown])
    const cell = `<table><tr><td>Verification code</td><td><b>${shown}</b></td></tr></table>`
    assert.deepEqual(codesOf('', 'Hello', cell), [shown])
  })
}

const OTHERS = [
  'It cost $4829 in all.',
  'It cost 4829 EUR in all.',
  '© 2026 Harbor',
  'Call +1 202 555 0142.',
  'Order 482913 is on its way.',
  'Card **** 4829',
  'From 203.0.113.77 at 14:32 on 2026-11-21.',
  'Version 4829.1 is out.',
  'It is 4829 km away.',
  'IBAN DE89 3704 0044 0532 0130 00',
  'https://harbor.example/c/482913?code=482913',
  'ann482913@client.example',
  '42.51 %, 4829%',
  'ID 7f3a4c21-4829-4b1e-9c3d-1a2b3c4d5e6f',
]
for (const line of OTHERS) {
  test(`"${line}" has no code, even below words of verification`, () => {
    assert.deepEqual(codesOf(line), [])
    assert.deepEqual(codesOf(`Do not share your verification code.\n\n${line}`), [])
    const code = `Your verification code is 771204.\n\n${line}`
    assert.deepEqual(codesOf(code), ['771204'])
  })
}

test('a code in subject, text and HTML is reported once, with more confidence', () => {
  const message = {
    subject: '482913 is your sign-in code',
    text: 'Your sign-in code: 482 913',
    html: '<p>Your sign-in code:</p><h1>482 913</h1>',
  }
  const [code, ...others] = extractFrom(message).codes
  assert.deepEqual(others, [])
  assert.ok((code?.confidence ?? 0) > 0.97)
})

test("a message's own text without its quotes has the code", () => {
  const quoted =
    'Thanks!\n\nOn Fri, Nov 20, 2026 at 9:14 AM A <a@b.example> wrote:\n> Your code is 204418.'
  assert.deepEqual(codesOf(quoted), [])
  const html = `<p>Thanks!</p><blockquote type="cite"><p>Your verification code is 204418.</p></blockquote>`
  assert.deepEqual(codesOf('', 'Re: code', html), [])
})

test('the source is the line, and of a long one the part around the code', () => {
  const long = `${'word '.repeat(60)}Your verification code is 482913. ${'word '.repeat(60)}`
  const [code] = extractFrom({ subject: '', text: long, html: '' }).codes
  assert.ok(code !== undefined)
  assert.ok(code.source.includes('482913'))
  assert.ok(long.includes(code.source))
  assert.ok([...code.source].length <= 200)
})
