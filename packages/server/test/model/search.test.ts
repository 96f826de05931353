import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { WORD_CHARACTERS } from '#platform/db/text-index.ts'
import { readQuery, type SearchQuery } from '#search/parse-query.ts'
import { makeSnippet, SNIPPET_LENGTH_MAX } from '#search/search-snippet.ts'
import {
  findWords,
  makeSearchEntry,
  SEARCH_BODY_LENGTH_MAX,
  SEARCH_ENTRY_BYTES_MAX,
  SEARCH_ENTRY_WORDS_MAX,
  SEARCH_WORD_LENGTH_MAX,
  type SearchableMessage,
  wordsOf,
} from '#search/search-words.ts'

const NOTHING: SearchableMessage = {
  direction: 'inbound',
  fromAddr: '',
  toAddr: '',
  headerTo: null,
  cc: [],
  subject: '',
  bodyText: '',
}
const HOSTILE: Record<string, string> = {
  'one letter': 'a'.repeat(200_000),
  marks: `e${'\u0301'.repeat(100_000)}`,
  'letters that grow': '\ufdfa'.repeat(100_000),
  'Chinese without an end': '漢字仮名'.repeat(50_000),
  Thai: 'น้ำ'.repeat(60_000),
  'parts of Hangul': '\u1112\u1161\u11ab'.repeat(50_000),
  'turned writing': '\u202eabc \u2066'.repeat(40_000),
  'half characters': '\ud800 \udc00'.repeat(50_000),
  'at signs': 'a@'.repeat(100_000),
  quotes: '"\'\\ '.repeat(50_000),
  'different words': Array.from({ length: 40_000 }, (_, n) => n.toString(36)).join(' '),
}

function read(q: string): SearchQuery {
  const reading = readQuery(q)
  if (reading.kind === 'defect') throw new Error(reading.defect.message)
  return reading.query
}

test('a word keeps its place in the text through normalisation', () => {
  const text = 'Łódź, Straße — ﬁne ½ Rech\u00adnung e\u0301te\u0301 東京駅 ﾃﾞｰﾀ'
  const shown = [...findWords(text)].map(({ word, start, end }) => [word, text.slice(start, end)])
  assert.deepEqual(shown, [
    ['lodz', 'Łódź'],
    ['strasse', 'Straße'],
    ['fine', 'ﬁne'],
    ['1', '½'],
    ['2', '½'],
    ['rechnung', 'Rech\u00adnung'],
    ['ete', 'e\u0301te\u0301'],
    ['東京', '東京'],
    ['京駅', '京駅'],
    ['デー', 'ﾃﾞｰ'],
    ['ータ', 'ｰﾀ'],
  ])
})

test('words of any text are letters and digits, bounded, and parse to the same words', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      for (const { word, start, end } of findWords(text)) {
        assert.match(word, /^[\p{L}\p{N}\p{M}]+$/u)
        assert.ok(Array.from(word).length <= SEARCH_WORD_LENGTH_MAX)
        assert.ok(0 <= start && start < end && end <= text.length)
        assert.equal(wordsOf(word, 10).join(''), word)
      }
    }),
  )
})

test('an entry is bounded and contains no character at which an index would split it', () => {
  const allowed = new RegExp(
    `^(?:[A-Za-z0-9]|[^\\x00-\\x7f]|[${WORD_CHARACTERS.replaceAll(/[-/\\^$*+?.()|[\]{}]/g, '\\$&')}])+$`,
  )
  for (const [name, text] of Object.entries(HOSTILE)) {
    const entry = makeSearchEntry({
      ...NOTHING,
      subject: text,
      fromAddr: text,
      cc: [text],
      bodyText: text,
    })
    const words = Object.values(entry).flat()
    assert.ok(words.length <= SEARCH_ENTRY_WORDS_MAX, name)
    assert.ok(Buffer.byteLength(words.join('')) <= SEARCH_ENTRY_BYTES_MAX, name)
    for (const word of words) assert.match(word, allowed)
  }
})

test('a text of any script is folded in parts, not letter by letter', (t) => {
  const normalize = t.mock.method(String.prototype, 'normalize')
  for (const unit of ['é', 'e\u0301', '漢，', 'É\u200b']) {
    normalize.mock.resetCalls()
    makeSearchEntry({ ...NOTHING, bodyText: unit.repeat(SEARCH_BODY_LENGTH_MAX / unit.length) })
    const calls = normalize.mock.callCount()
    assert.ok(calls > 0 && calls < 100, `${calls} for ${unit}`)
  }
})

test('a snippet finds the same words as the index', () => {
  for (const text of Object.values(HOSTILE)) {
    const max = 5_000
    const found = findWords(text)
      .take(max)
      .map(({ word }) => word)
      .toArray()
    assert.deepEqual(wordsOf(text, max), found)
  }
})

test('the text after the indexed part has no entry', () => {
  const bodyText = `${' '.repeat(SEARCH_BODY_LENGTH_MAX - 5)}first second`
  assert.deepEqual(makeSearchEntry({ ...NOTHING, bodyText }).body, ['first'])
})

test('any query gives a defect or clauses, and snippets of any text are short and marked within it', () => {
  const queries = ['a b', '"a b"', 'abc*', '漢', 'น้ำ', 'from:a@a', 'e', '1']
  for (const [name, bodyText] of Object.entries(HOSTILE)) {
    for (const q of queries) checkSnippet(name, { ...NOTHING, bodyText, subject: bodyText }, q)
  }
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.string({ unit: 'grapheme' }),
      (bodyText, q) => {
        if (readQuery(q).kind === 'query') checkSnippet('any', { ...NOTHING, bodyText }, q)
      },
    ),
  )
})

function checkSnippet(name: string, message: SearchableMessage, q: string) {
  const { snippet, highlights } = makeSnippet(message, read(q))
  const points = Array.from(snippet)
  assert.ok(points.length <= SNIPPET_LENGTH_MAX, `${name}: ${points.length} code points`)
  assert.ok(snippet.isWellFormed(), name)
  assert.doesNotMatch(snippet, /[\n\r\0\u202a-\u202e\u2066-\u2069]/, name)
  let end = 0
  for (const highlight of highlights) {
    assert.ok(end <= highlight.start && highlight.start < highlight.end, name)
    end = highlight.end
  }
  assert.ok(end <= points.length, name)
}

test('a snippet shows the place with most of the words', () => {
  const far = 'filler words '.repeat(100)
  const bodyText = `An invoice. ${far} The total of the invoice is due. ${far} total`
  const { snippet, highlights } = makeSnippet({ ...NOTHING, bodyText }, read('total invoice due'))
  const points = Array.from(snippet)
  assert.deepEqual(
    highlights.map(({ start, end }) => points.slice(start, end).join('')),
    ['total', 'invoice', 'due'],
  )
  assert.match(snippet, /^….*The total of the invoice is due\..*…$/)
})
