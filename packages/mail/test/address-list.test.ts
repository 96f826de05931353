import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { formatMailbox, parseAddressList } from '#address-list.ts'

/** Written as `name|address` to be readable. */
function read(field: string): string[] {
  return parseAddressList(field).map(({ name, address }) => `${name}|${address}`)
}

describe('an address list', () => {
  const cases: [string, string, string[]][] = [
    ['bare addresses', 'a@b.example, c@d.example', ['|a@b.example', '|c@d.example']],
    ['a name', 'Ada Lovelace <ada@x.example>', ['Ada Lovelace|ada@x.example']],
    ['a quoted name', '"Lovelace, \\"Ada\\"" <ada@x.example>', ['Lovelace, "Ada"|ada@x.example']],
    ['an encoded name', '=?utf-8?Q?J=C3=BCrgen?= <j@x.example>', ['Jürgen|j@x.example']],
    ['an encoded name in quotes', '"=?utf-8?Q?J=C3=BC?=" <j@x.example>', ['Jü|j@x.example']],
    ['a comment for a name', 'ada@x.example (Ada (the first))', ['Ada (the first)|ada@x.example']],
    ['a comment besides a name', 'Ada (x) <ada@x.example>', ['Ada|ada@x.example']],
    [
      'a group',
      'Team: a@b.example, C <c@d.example>;, e@f.example',
      ['|a@b.example', 'C|c@d.example', '|e@f.example'],
    ],
    ['an empty group', 'undisclosed-recipients:;', []],
    ['semicolons for commas', 'a@b.example; c@d.example', ['|a@b.example', '|c@d.example']],
    ['empty members', ', a@b.example,, ', ['|a@b.example']],
    ['a quoted local part', '"john doe"@x.example', ['|"john doe"@x.example']],
    ['a quoted local part in brackets', 'J <"john doe"@x.example>', ['J|"john doe"@x.example']],
    ['a source route', '<@a.example,@b.example:c@d.example>', ['|c@d.example']],
    ['white space around the signs', 'pete @ silly . example', ['|pete@silly.example']],
    ['white space in brackets', '< ada@x.example >', ['|ada@x.example']],
    ['a name with an address in it', '"a@b.example" <c@d.example>', ['a@b.example|c@d.example']],
    ['an address for a name', 'a@b.example <c@d.example>', ['a@b.example|c@d.example']],
    ['an address in quotes only', '"a@b.example"', []],
    ['an address in a comment only', '(a@b.example)', []],
    ['an encoded word that hides an address', '=?utf-8?Q?x_=3Ca=40b.example=3E?=', []],
    ['a local part in brackets', 'Mail System <MAILER-DAEMON>', ['Mail System|MAILER-DAEMON']],
    ['a name without an address', 'MAILER-DAEMON <>', []],
    [
      'no closing bracket',
      'Ada <ada@x.example, b@x.example',
      ['Ada|ada@x.example', '|b@x.example'],
    ],
    ['no closing quote', '"Ada <ada@x.example>', ['Ada|ada@x.example']],
    ['no closing comment', 'Ada (x <ada@x.example>', ['Ada (x|ada@x.example']],
    ['two opening brackets', 'Ada < <ada@x.example>', ['Ada|ada@x.example']],
    ['a comment after an address in brackets', 'A <a@b.example (x)>', ['A|a@b.example']],
    ['comments within an address', '<(x)a(y)@(z)b(u(v)\\)).example>', ['|a@b.example']],
    ['comments within a bare address', 'a@b(x).example', ['x|a@b.example']],
    ['a comment within a bare local part', 'a(x).b@c.example', ['x|a.b@c.example']],
    ['brackets in a comment', 'A <a(>)@b.example>, c@d.example', ['A|a@b.example', '|c@d.example']],
    ['an opening bracket in a comment', '<a(<)@b.example>', ['|a@b.example']],
    ['a bracket in a quoted local part', '<"a>b"@c.example>', ['|"a>b"@c.example']],
    [
      'a comment that brackets close',
      '<a@b.example(x>, c@d.example',
      ['|a@b.example', '|c@d.example'],
    ],
    ['a comment that nothing closes', 'a@b.example(x', ['(x|a@b.example']],
    ['a comment and no closing bracket', '<a(x y)@b.example', ['x y|a@b.example']],
    [
      'a quote that only the next mailbox closes',
      '<"a@b.example>, "C" <c@d.example>',
      ['|"a@b.example', 'C|c@d.example'],
    ],
    ['a quoted local part apart from the sign', '"a b" (x) @ c . example', ['x|"a b"@c.example']],
    ['what looks like a comment in quotes', '<"a (x) b"@c.example>', ['|"a (x) b"@c.example']],
    ['a route with a comment', '<@a.example(x):"c d"@e.example>', ['|"c d"@e.example']],
    ['an abbreviation before an address', 'Dr. a@b.example', ['Dr.|a@b.example']],
    [
      'the example of RFC 5322 A.5',
      'Pete(A nice \\) chap) <pete(his account)@silly.test(his host)>',
      ['Pete|pete@silly.test'],
    ],
    [
      'the example of RFC 5322 A.6.3',
      'Joe <john.q.public@example.com>, Mary Smith <@node.test:mary@example.net>, , jdoe@test  . example',
      ['Joe|john.q.public@example.com', 'Mary Smith|mary@example.net', '|jdoe@test.example'],
    ],
    ['UTF-8', 'Jürgen <jürgen@größe.example>', ['Jürgen|jürgen@größe.example']],
    ['NUL and controls', 'A\0da <a\0da@x.example\x07>', ['Ada|ada@x.example']],
    [
      'names of object members',
      '__proto__ <constructor@x.example>',
      ['__proto__|constructor@x.example'],
    ],
  ]
  for (const [name, field, expected] of cases) {
    test(name, () => assert.deepEqual(read(field), expected))
  }

  test('a formatted mailbox is parsed as the same mailbox', () => {
    const name = fc
      .string({ unit: 'grapheme' })
      .map((text) => text.replace(/[\p{C}\s]+/gu, ' ').trim())
    fc.assert(
      fc.property(name, (name) => {
        fc.pre(!name.includes('=?'))
        const mailbox = { name, address: 'ada@x.example' }
        assert.deepEqual(parseAddressList(formatMailbox(mailbox)), [mailbox])
      }),
    )
  })
})
