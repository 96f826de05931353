import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { findMentions } from '#mentions/find-mentions.ts'
import { indexMentions } from '#mentions/mention-index.ts'
import { findSecrets } from '#secrets/find-secrets.ts'

const ADDRESSES = Array.from({ length: 52 }, (_, index) => `person${index}@company${index}.example`)
/** So that every address is looked for to its end. */
const LETTERS = ADDRESSES.map((address) => address.replace(/\W/g, '/')).join(' ')
const SIZE = 1_000_000
/** Too little to compare. */
const QUICK_US = 500_000

const PIECES = [
  ...[
    'sk-',
    'eyJ',
    'eyJ.',
    'eyJaaaaaaaaaa.',
    'pypi-AgE-',
    'fm2_',
    'xoxb-',
    'Bearer ',
    'Basic ',
    'SG.',
    ':AA',
    'Q~',
  ],
  ...[
    '-us',
    '1/',
    'SK',
    'AAAA',
    'EAA',
    'MMMM',
    '5K',
    'nsec1',
    'mr_',
    'T3BlbkFJ',
    'AZDO',
    '.atlasv1.',
    '&sig=',
  ],
  ...[
    '-----BEGIN PRIVATE KEY-----',
    `-----BEGIN PRIVATE KEY-----\n${'MIIEvQIBADANBgkqhkiG'.repeat(4)}\n`,
  ],
  ...[
    'PuTTY-User-Key-File-2:',
    `"d":"${'a1b2c3d'.repeat(6)}"`,
    'otpauth://',
    'session_token=',
    'secret key is ',
  ],
  ...[
    '://',
    'a://b:',
    'a://b:c@',
    'DE89',
    'DE89 ',
    '4',
    '4 ',
    '4242 ',
    '4242-4242-',
    '1234567812345678',
  ],
  ...[
    '<',
    '</',
    '<a ',
    '<a b="',
    '<a b=">" ',
    '<!--',
    '<!',
    '<script>',
    '<style><',
    '<p>',
    '&',
    '&#',
    '&#x41;',
    '&amp',
  ],
  ...[
    '\u200b',
    '\u00ad',
    '😀',
    '\ud83d',
    '漢',
    '\u0301',
    '４',
    '-',
    '=',
    '/',
    ' ',
    '\n',
    '\t',
    '\n> ',
    '>',
    'a',
    '\0',
  ],
  ...[
    'person1 ',
    'person1 at company1 ',
    'p e r s o n 1 ',
    'person1@',
    'person1@company1.',
    '@',
    ' at ',
    ' dot ',
    'user ',
    'host a.b ',
    'user person1 ',
    'a.b.',
    '+',
    '&#64;',
  ],
  ...[
    '%40',
    '\\x40',
    '=40',
    '\\40 ',
    '\u{e0041}',
    '\ufe01',
    'QUJDREVGR0hJSktMTU5P',
    `${'QUJDREVGR0hJSktMTU5P'.repeat(4)}\n`,
  ],
]

/** Processor time in microseconds of searching `size` characters of the piece, in a text and in HTML. */
function costOf(piece: string, size: number): number {
  const much = piece.repeat(size / piece.length)
  const html = `<a${much}`
  const start = process.cpuUsage()
  for (const mail of [
    { text: `${much} ${LETTERS}`, html: much },
    { text: '', html },
  ]) {
    const content = { subject: '', ...mail, attachments: [] }
    assert.notEqual(findSecrets(content), null)
    assert.notEqual(findMentions(content, ADDRESSES), null)
    indexMentions(content)
  }
  const { user, system } = process.cpuUsage(start)
  return user + system
}

for (const piece of PIECES) {
  test(`millions of ${JSON.stringify(piece.slice(0, 30))} are read in linear time`, () => {
    const small = costOf(piece, SIZE / 4)
    const large = costOf(piece, SIZE)
    // Four times the text takes four times the time where it grows linearly, and 16 times where it grows with the square.
    assert.ok(large < 10 * small || large < QUICK_US, `${small} and ${large} us`)
  })
}

test('no text at all makes the searches throw, and every finding lies within its text', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc
      .array(fc.oneof(fc.constantFrom(...PIECES), fc.string()), { maxLength: 40 })
      .map((all) => all.join('')),
  )
  fc.assert(
    fc.property(text, text, (one, other) => {
      const content = { subject: '', text: one, html: other, attachments: [] }
      for (const { part, offset, length } of findSecrets(content) ?? []) {
        assert.ok(offset >= 0 && length > 0)
        assert.ok(offset + length <= (part === 'bodyText' ? one : other).length)
      }
      findMentions(content, ADDRESSES)
      indexMentions(content)
    }),
    { numRuns: 1_000 },
  )
})
