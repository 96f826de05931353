import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createColors } from 'picocolors'
import { safeName } from '#actions/attachments.ts'
import { formatTable, truncate } from '#base/output.ts'
import { plainBlock, plainJson, plainLine } from '#base/plain-text.ts'
import { readDurationMs } from '#base/read-input.ts'

test('terminal control sequences, and characters that hide or reorder text, are shown by their numbers', () => {
  const hostile: [string, string][] = [
    ['a\x1b[31mb', 'a[U+001B][31mb'],
    ['a\x1b]0;title\x07b', 'a[U+001B]]0;title[U+0007]b'],
    ['a\u009b2Jb', 'a[U+009B]2Jb'],
    ['a\u202eb\u2066c', 'a[U+202E]b[U+2066]c'],
    ['a\u{e0041}\u3164b', 'a[U+E0041][U+3164]b'],
    ['a\x00\x7fb', 'a[U+0000][U+007F]b'],
    ['one\r\ntwo\rthree', 'one\ntwo\nthree'],
    ['👩‍👩‍👧‍👦 ❤️', '👩‍👩‍👧‍👦 ❤️'],
  ]
  for (const [text, plain] of hostile) assert.equal(plainBlock(text), plain)
  assert.equal(plainLine('one\n\ttwo'), 'one two')
})

test('time to clean hostile text grows linearly with its length', () => {
  for (const piece of ['\x1b]', '\u009d', '\x1b[', '\x1b[0;', '\x1bP\x1b', '\u0090\u0090']) {
    const startMs = performance.now()
    plainBlock(piece.repeat(500_000))
    // Quadratic time would take minutes here.
    assert.ok(performance.now() - startMs < 30_000)
  }
})

test('JSON of hostile text is the same value without terminal control characters', () => {
  const value = { a: '\u009b2J\u202e\u2028\u007f\u{e0041}é漢' }
  const text = plainJson(value)
  assert.deepEqual(JSON.parse(text), value)
  assert.doesNotMatch(text, /[\x7f-\x9f\u2028-\u202e]|\udb40/)
})

test('text is cut between characters as people see them, never within one', () => {
  assert.equal(truncate('abcdef', 4), 'abc…')
  assert.equal(truncate('漢字漢字', 5), '漢字…')
  assert.equal(truncate('👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 3), '👩‍👩‍👧‍👦…')
  assert.equal(truncate('abc', 3), 'abc')
})

test('a table narrows the columns that can be narrowed', () => {
  const columns = [
    { title: 'ID', isFlexible: false },
    { title: 'SUBJECT', isFlexible: true },
  ]
  const output = { isTerminal: true, width: 24, colors: createColors(false) }
  const rows = [['thr_0123456789', 'a long subject line\nof two']]
  assert.equal(
    formatTable(columns, rows, output),
    'ID              SUBJECT\nthr_0123456789  a long …\n',
  )
  assert.equal(
    formatTable(columns, rows, { ...output, isTerminal: false }),
    'thr_0123456789\ta long subject line of two\n',
  )
})

test('a file name cannot escape its folder or hide its extension', () => {
  const names: [string, string][] = [
    ['../../etc/passwd', 'passwd'],
    ['..\\..\\boot.ini', 'boot.ini'],
    ['/etc/passwd', 'passwd'],
    ['.bashrc', '_bashrc'],
    ['..', '_'],
    ['', 'attachment'],
    ['-rf', '_rf'],
    ['a\u202egnp.exe', 'agnp.exe'],
    ['x:y|z?.txt', 'x_y_z_.txt'],
    ['b\u0000.txt', 'b.txt'],
  ]
  for (const [name, safe] of names) assert.equal(safeName(name), safe)
  assert.equal(safeName('x'.repeat(5_000)).length, 200)
  const long = safeName(`${'漢'.repeat(300)}.pdf`)
  assert.match(long, /^漢{60,}\.pdf$/)
  assert.ok(Buffer.byteLength(long) <= 200)
})

test('durations are read with their units', () => {
  assert.equal(readDurationMs('90'), 90_000)
  assert.equal(readDurationMs('5m'), 300_000)
  for (const text of ['', '-1', '0', '5 weeks', '1e9', '31d']) {
    assert.throws(() => readDurationMs(text), { exit: 'usage' })
  }
})
