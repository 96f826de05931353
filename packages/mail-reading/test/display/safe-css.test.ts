import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tokenize, tokenTypes } from 'css-tree/tokenizer'
import fc from 'fast-check'
import { safeCss } from '#display/safe-css.ts'

const names = new Map(Object.entries(tokenTypes).map(([name, type]) => [type, name]))

function tokensOf(css: string): { name: string; text: string }[] {
  const tokens: { name: string; text: string }[] = []
  tokenize(css, (type, start, end) => {
    tokens.push({ name: names.get(type) ?? '', text: css.slice(start, end) })
  })
  return tokens
}

const clean = (css: string) =>
  safeCss(css, () => null)
    .map((piece) => (typeof piece === 'string' ? piece : 'https://marked.example/'))
    .join('')

const PIECES = [
  ...[...`url( image-set( src( rgb( foo( ( ) [ ] { }`.split(/\s+/), 'URL( ', 'u\\72l('],
  ...[...`; : , " ' /* */ <!-- --> </style`.split(/\s+/), ' ', '\n', '\\', '@import ', '@media '],
  ...[
    ...`@font-face behavior -moz-binding --x a ur l //evil.example/ data:image/png;base64,AA`.split(
      /\s+/,
    ),
  ],
  ...['\\', '\\75', '\0', 'é', '1', '%', '#', '.', '!important'],
]

/** Each `url(` that is not a data URL of a picture. */
function foreignAddresses(css: string): string[] {
  const tokens = tokensOf(css)
  return tokens
    .filter((_, index) => /^url\($/i.test(tokens[index - 1]?.text ?? ''))
    .map(({ text }) => text)
    .filter((text) => !text.startsWith("'data:image/png"))
}

test('no URL, unknown function or import is left, and nothing can end the style sheet', () => {
  const css = fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map((list) => list.join(''))
  fc.assert(
    fc.property(css, (text) => {
      const left = clean(text)
      for (const { name, text: token } of tokensOf(left)) {
        assert.notEqual(name, 'Url', left)
        if (name === 'Function') assert.match(token, /^(?:rgb|url)\($/i, left)
        if (name === 'AtKeyword') assert.match(token, /^@(?:media|none)/i, left)
      }
      assert.deepEqual(foreignAddresses(left), [])
    }),
    { numRuns: 5_000 },
  )
})

test('a removed comment joins nothing: an escape before it ends where it ended', () => {
  for (const comment of ['/* x */', '<!--', '-->'])
    assert.deepEqual(
      tokensOf(clean(`a{b:\\75${comment}rgb(1)}`)).filter(({ name }) => name === 'Function'),
      [{ name: 'Function', text: 'rgb(' }],
      comment,
    )
})

test('cleaning clean CSS again changes nothing', () => {
  const css = fc.array(fc.constantFrom(...PIECES), { maxLength: 25 }).map((list) => list.join(''))
  fc.assert(
    fc.property(css, (text) => {
      const once = clean(text)
      assert.equal(clean(once), once)
    }),
    { numRuns: 2_000 },
  )
})
