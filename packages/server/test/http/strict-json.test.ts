import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cpuTimeMs } from '@mailroom/mail/test/samples.ts'
import fc from 'fast-check'
import {
  JSON_DEPTH_MAX,
  JSON_VALUES_MAX,
  type JsonFaultRule,
  readStrictJson,
} from '#platform/strict-json.ts'

const encoder = new TextEncoder()

function read(text: string) {
  return readStrictJson(encoder.encode(text))
}

function faultOf(bytes: Uint8Array | string): JsonFaultRule | 'none' {
  const result = typeof bytes === 'string' ? read(bytes) : readStrictJson(bytes)
  return result.kind === 'fault' ? result.rule : 'none'
}

/** Values without anything forbidden. */
const safeValue = fc.jsonValue({ maxDepth: 6, stringUnit: 'grapheme' }).filter((value) => {
  const text = JSON.stringify(value)
  return !/\\u0000|__proto__|"prototype"/.test(text)
})

test('output of JSON.stringify is read back unchanged', () => {
  fc.assert(
    fc.property(safeValue, fc.integer({ min: 0, max: 4 }), (value, indent) => {
      const text = JSON.stringify(value, null, indent)
      assert.deepEqual(read(text), { kind: 'value', value: JSON.parse(text) })
    }),
    { numRuns: 500 },
  )
})

test('text is refused whenever JSON.parse refuses it', () => {
  const alphabet = [...'{}[]",:\\u0dt \n-1.e', 'true', 'null', '"a"', '\\"', '\\\\']
  const garbage = fc.array(fc.constantFrom(...alphabet), { maxLength: 30 })
  fc.assert(
    fc.property(garbage, (parts) => {
      const text = parts.join('')
      const result = read(text)
      let parsed: unknown
      try {
        parsed = JSON.parse(text)
      } catch {
        assert.equal(result.kind, 'fault')
        return
      }
      if (result.kind === 'value') assert.deepEqual(result.value, parsed)
      else assert.notEqual(result.rule, 'syntax')
    }),
    { numRuns: 5_000 },
  )
})

test('any bytes get a result', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      assert.match(readStrictJson(bytes).kind, /^(value|fault)$/)
    }),
  )
})

test('a key given twice in one object is an error, in any spelling', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (name) => {
      const key = name.replaceAll('\0', '.').replaceAll('__proto__', '.')
      const escaped = [...Array(key.length).keys()]
        .map((index) => `\\u${key.charCodeAt(index).toString(16).padStart(4, '0')}`)
        .join('')
      assert.equal(faultOf(`{${JSON.stringify(key)}:1, "${escaped}" : 2}`), 'duplicate-key')
    }),
  )
})

const faults: [string, Uint8Array | string, JsonFaultRule | 'none'][] = [
  ['nothing', '', 'empty'],
  ['a byte order mark', '\ufeff{}', 'byte-order-mark'],
  ['UTF-16', new Uint8Array(Buffer.from('\ufeff{"a":1}', 'utf16le')), 'utf-8'],
  ['UTF-16 without a mark', new Uint8Array(Buffer.from('{"a":1}', 'utf16le')), 'syntax'],
  ['invalid UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 'utf-8'],
  ['an encoded surrogate', new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]), 'utf-8'],
  ['an overlong form', new Uint8Array([0x22, 0xc0, 0x80, 0x22]), 'utf-8'],
  ['half a surrogate pair', '{"a":"\\ud800"}', 'lone-surrogate'],
  ['half a surrogate pair in a key', '{"\\udc00x":1}', 'lone-surrogate'],
  ['a whole surrogate pair', '{"a":"\\ud83d\\ude00"}', 'none'],
  ['an escaped NUL', '["\\u0000"]', 'nul'],
  ['a NUL', '["\0"]', 'syntax'],
  ['an escaped backslash before u0000', '["\\\\u0000"]', 'none'],
  ['a number beyond doubles', '[1e400]', 'number-range'],
  ['a negative number beyond doubles', '{"a":-1e999}', 'number-range'],
  ['a number that rounds to zero', '[1e-400]', 'none'],
  ['__proto__', '{"__proto__":{"a":1}}', 'forbidden-key'],
  ['__proto__ in escapes', '{"a":[{"\\u005f_proto__":1}]}', 'forbidden-key'],
  ['constructor.prototype', '{"constructor":{"prototype":{"a":1}}}', 'forbidden-key'],
  ['constructor alone', '{"constructor":"x"}', 'none'],
  ['prototype beside constructor', '[{"constructor":1},{"prototype":2}]', 'none'],
  ['the same key in two objects', '[{"a":1},{"a":2},{"b":{"a":3},"a":4}]', 'none'],
  ['a comma at the end', '[1,]', 'syntax'],
  ['two values', '{} {}', 'syntax'],
  ['the deepest nesting allowed', nested(JSON_DEPTH_MAX), 'none'],
  ['one level more', nested(JSON_DEPTH_MAX + 1), 'depth'],
  ['a nesting of 100,000', nested(100_000), 'depth'],
  ['too many values', `[${'1,'.repeat(JSON_VALUES_MAX)}1]`, 'values'],
  [
    'as many strings as values can have',
    `[${'{"a":"b"},'.repeat(JSON_VALUES_MAX / 2 - 1)}1]`,
    'none',
  ],
  ['strings without anything between them', '""'.repeat(2 * JSON_VALUES_MAX + 1), 'syntax'],
  ['an escape before a half surrogate', '["\\n\\ud800"]', 'lone-surrogate'],
  ['half a surrogate pair in capitals', '["\\uDBFF"]', 'lone-surrogate'],
  ['an escaped backslash before ud800', '["\\\\ud800"]', 'none'],
  ['a NUL after other escapes', '["\\/\\u0041\\u0000"]', 'nul'],
  ['an escape in the last string', '{"a":"b","c":"\\"","d":"\\\\"}', 'none'],
  ['too many empty lists', `[${'[],'.repeat(JSON_VALUES_MAX / 2)}[]]`, 'values'],
]

for (const [name, bytes, rule] of faults) {
  test(`${name} is ${rule === 'none' ? 'no fault' : `the fault "${rule}"`}`, () => {
    assert.equal(faultOf(bytes), rule)
  })
}

test('an error names the key that it is about, cut short', () => {
  const key = 'k'.repeat(1_000)
  assert.deepEqual(read(`{"${key}":1,"${key}":2}`), {
    kind: 'fault',
    rule: 'duplicate-key',
    message: `The body names a key twice in one object: "${'k'.repeat(80)}".`,
    path: 'k'.repeat(80),
  })
})

const places: [string, Uint8Array | string, string][] = [
  ['a NUL', '{"a":1,"body":"x\\u0000"}', 'body'],
  ['half a pair', '{"a":[{"x":[]},{"b":[1,"\\ud800"]}]}', 'a[1].b[1]'],
  ['half a pair after a nested object', '{"a":{"b":1},"c":"\\ud800"}', 'c'],
  ['half a pair in a key', '{"a":{"b":1,"\\ud800":1}}', 'a'],
  ['a key twice', '{"a":[0,{"b":1,"b":2}]}', 'a[1].b'],
  ['a forbidden key', '{"a":{"__proto__":1}}', 'a.__proto__'],
  ['a large number', '{"a":[1,1e999]}', 'a[1]'],
  ['bad UTF-8', Buffer.from('{"to":"x","body":"caf\u00e9"}', 'latin1'), 'body'],
  ['bad UTF-8 between values', Buffer.from('{"to":"x"\u00e9}', 'latin1'), ''],
  ['a comma too many', '{"a":1,}', ''],
]

for (const [name, bytes, path] of places) {
  test(`${name} is reported in ${path === '' ? 'the body' : path}`, () => {
    const result = typeof bytes === 'string' ? read(bytes) : readStrictJson(bytes)
    assert.ok(result.kind === 'fault')
    assert.equal(result.path, path)
    assert.ok(result.message.includes(path.split('.').at(-1) ?? ''))
  })
}

test('time to read grows linearly with the length, wherever the escapes are', () => {
  const texts = [
    `["${'\\\\\\"'.repeat(2_000_000)}"]`,
    // Searched for in each string, the distant backslash would cost ten seconds.
    `[${'"a",'.repeat(9_000)}"${'x'.repeat(20_000_000)}\\n"]`,
    `{"a":[${'{"b":"\\n"},'.repeat(3_000)}{}]}`,
    '"'.repeat(2_000_000),
    // Searched for after each escape, the distant quote would cost minutes.
    `["${'\\n'.repeat(5_000_000)}"]`,
    `["${'\\/x'.repeat(5_000_000)}`,
    '1'.repeat(2_000_000),
  ]
  for (const text of texts) {
    const bytes = encoder.encode(text)
    const startMs = cpuTimeMs()
    readStrictJson(bytes)
    assert.ok(cpuTimeMs() - startMs < 6_000, text.slice(0, 20))
  }
})

function nested(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth)
}
