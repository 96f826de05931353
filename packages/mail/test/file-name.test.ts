import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { FILENAME_LENGTH_MAX, safeFileNames } from '#file-name.ts'
import { cpuTimeMs } from './samples.ts'

function nameOf(filename: string | null, contentType = 'x/y'): string {
  return safeFileNames([{ filename, contentType }])[0] ?? ''
}

describe('file names', () => {
  const cases: [string | null, string, string][] = [
    ['report.pdf', 'application/pdf', 'report.pdf'],
    ['../../etc/passwd', 'x/y', 'passwd'],
    ['..\\x', 'x/y', 'x'],
    ['C:\\Users\\me\\a.txt', 'x/y', 'a.txt'],
    ['a%2Fb', 'x/y', 'a%2Fb'],
    ['名前.pdf', 'x/y', '名前.pdf'],
    ['a"b.txt', 'x/y', 'a"b.txt'],
    ['gpj.\u202eexe.txt', 'x/y', 'gpj.exe.txt'],
    ['a\0b\r\nc\x7f.txt', 'x/y', 'abc.txt'],
    ['  a   b.txt ', 'x/y', 'a b.txt'],
    ['CON', 'x/y', '_CON'],
    ['nul.txt', 'x/y', '_nul.txt'],
    ['constructor', 'x/y', 'constructor'],
    ['__proto__', 'x/y', '__proto__'],
    ['', 'application/pdf', 'attachment.pdf'],
    [null, 'message/rfc822', 'attachment.eml'],
    [null, 'x/y', 'attachment'],
    ['..', 'image/png', 'attachment.png'],
    ['dir/', 'image/png', 'attachment.png'],
    ['\u202e\0', 'x/y', 'attachment'],
    ['a\ud800b', 'x/y', 'a\ufffdb'],
  ]
  for (const [filename, contentType, expected] of cases) {
    test(`${JSON.stringify(filename)} of ${contentType} is ${expected}`, () => {
      assert.equal(nameOf(filename, contentType), expected)
    })
  }

  test('a long name is cut and keeps its extension', () => {
    for (const length of [300, 5_000]) {
      const name = nameOf(`${'x'.repeat(length)}.tar.gz`)
      assert.equal([...name].length, FILENAME_LENGTH_MAX)
      assert.ok(name.endsWith('x.gz') || name.endsWith('.tar.gz'))
    }
    assert.equal([...nameOf('😀'.repeat(300))].length, FILENAME_LENGTH_MAX)
    assert.equal([...nameOf(`a.${'x'.repeat(300)}`)].length, FILENAME_LENGTH_MAX)
  })

  test('repeated names are numbered, skipping names that are already taken', () => {
    const names = (...list: string[]) =>
      safeFileNames(list.map((filename) => ({ filename, contentType: 'x/y' })))
    assert.deepEqual(names('a.txt', 'a.txt', 'a.txt'), ['a.txt', 'a (2).txt', 'a (3).txt'])
    assert.deepEqual(names('a.pdf', 'a (2).pdf', 'a.pdf'), ['a.pdf', 'a (2).pdf', 'a (3).pdf'])
    assert.deepEqual(names('a', 'A'), ['a', 'A (2)'])
    assert.deepEqual(names('', ''), ['attachment', 'attachment (2)'])
  })

  test('names are unique, short and free of path or header characters, whatever the input', () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 400 }),
      fc.constantFrom('a.txt', 'a (2).txt', '', '/', 'x'.repeat(400)),
    )
    fc.assert(
      fc.property(fc.array(name, { maxLength: 20 }), (list) => {
        const names = safeFileNames(list.map((filename) => ({ filename, contentType: 'x/y' })))
        assert.equal(new Set(names.map((text) => text.toLowerCase())).size, list.length)
        for (const text of names) {
          assert.ok(text.isWellFormed() && text !== '' && text !== '.' && text !== '..')
          assert.ok([...text].length <= FILENAME_LENGTH_MAX)
          assert.doesNotMatch(text, /[/\\\p{Cc}\p{Cf}]/u)
        }
      }),
    )
  })

  test('a thousand equal names are numbered fast', () => {
    const start = cpuTimeMs()
    const parts = Array.from({ length: 1_000 }, () => ({ filename: 'a.txt', contentType: 'x/y' }))
    assert.equal(new Set(safeFileNames(parts)).size, 1_000)
    assert.ok(cpuTimeMs() - start < 1_000)
  })
})
