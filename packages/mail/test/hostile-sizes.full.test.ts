import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAddressList } from '#address-list.ts'
import { withoutClaimedResults } from '#authentication.ts'
import { decodeWords } from '#encoded-word.ts'
import { textFromHtml } from '#html/text.ts'
import { HTML_LENGTH_MAX, HTML_TAGS_MAX } from '#html/tree.ts'
import { cpuTimeMs } from './samples.ts'

test('time to parse a list of addresses grows linearly with the length', () => {
  const start = cpuTimeMs()
  assert.equal(parseAddressList('Ada <ada@x.example>, '.repeat(25_000)).length, 25_000)
  for (const piece of [
    ...`< ( " "( <( (< <a, a< : a@ <"> (")< @. <(> <a@b(> <"> <a@( <"" <"."`.split(/\s+/),
    '\\',
    'a b ',
    '"\\"',
    '<"\\"',
    '. ',
    '@ ',
    'a@b . ',
    '"a" .',
    '< (x) >',
  ]) {
    parseAddressList(piece.repeat(50_000))
    parseAddressList(`${piece.repeat(50_000)}>)"`)
  }
  const elapsedMs = cpuTimeMs() - start
  assert.ok(elapsedMs < 10_000, `${elapsedMs} ms`)
})

test('time to decode encoded words grows linearly with the length', () => {
  const start = cpuTimeMs()
  decodeWords('=?utf-8?Q?=C3=BC?=\r\n '.repeat(50_000))
  decodeWords('=?utf-8?Q?=C3?=\r\n '.repeat(50_000))
  decodeWords('=?no-such?B?w7w?= '.repeat(50_000))
  decodeWords(`=?${'=?a?Q?'.repeat(50_000)}`)
  decodeWords('=?iso-2022-jp?B?GyRC?= '.repeat(50_000))
  decodeWords(`=?a?Q?${' '.repeat(500_000)}`)
  assert.ok(cpuTimeMs() - start < 5_000)
})

test('hostile markup of a million characters takes the processor less than a second', () => {
  const fill = (piece: string): string => piece.repeat(Math.ceil(1_000_000 / piece.length))
  const documents = {
    divisions: fill('<div>'),
    'divisions that are parsed': '<div>'.repeat(HTML_TAGS_MAX - 1),
    'ends of nothing': '<i>'.repeat(HTML_TAGS_MAX / 2) + '</b>'.repeat(HTML_TAGS_MAX / 2),
    tables: '<table><tr><td>a<td>'.repeat(HTML_TAGS_MAX / 4),
    lists: '<ol><li>a'.repeat(HTML_TAGS_MAX / 2),
    'quoted lines': `${'<blockquote>'.repeat(190)}<pre>${fill('a\n')}`,
    links: `${'<a href=http://a.b>'.repeat(190)}${fill('a ')}`,
    'open brackets': fill('<'),
    'open tags': fill('<a '),
    comments: fill('<!--'),
    scripts: fill('<script>'),
    'closed scripts': fill('<script></script>'),
    entities: fill('&amp'),
    attributes: `<a ${fill('a=b ')}>`,
    blanks: `${fill(' ')}x`,
  }
  for (const [name, html] of Object.entries(documents)) {
    const before = process.cpuUsage()
    const text = textFromHtml(html)
    const tookMs = process.cpuUsage(before).user / 1_000
    assert.ok(tookMs < 4_000, `${name} took ${tookMs.toFixed(0)} ms`)
    assert.ok(text.length <= HTML_LENGTH_MAX)
  }
})

test('a message whose header section never ends is searched for claimed results in no more time', () => {
  for (const piece of ['a:\n', ' \n', 'x', '(', 'Authentication-Results:\n', ':', '"(\\']) {
    const raw = Buffer.alloc(30 * 1_024 * 1_024, piece)
    for (const start of ['', 'Authentication-Results: ']) {
      const startMs = cpuTimeMs()
      withoutClaimedResults(Buffer.concat([Buffer.from(start), raw]), () => false)
      const tookMs = cpuTimeMs() - startMs
      assert.ok(tookMs < 2_000, `${JSON.stringify(piece)} took ${tookMs} ms`)
    }
  }
})
