// Fields with parameters, and the continuations of RFC 2231.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseStructured, readParameter } from '#parameters.ts'
import { cpuTimeMs } from './samples.ts'

describe('a field with parameters', () => {
  const cases: [string, string, string, Record<string, string>][] = [
    ['a token', 'Text/Plain; Charset=UTF-8', 'text/plain', { charset: 'UTF-8' }],
    ['a quoted string', 'a/b; name="a;\\"b\\\\ c"', 'a/b', { name: 'a;"b\\ c' }],
    ['white space', ' a/b ; x = y ; z="w" ', 'a/b', { x: 'y', z: 'w' }],
    ['comments', 'a/b (c;d) ; x=y (z)', 'a/b', { x: 'y' }],
    ['parentheses in a token', 'a/b; name=Invoice(1).pdf', 'a/b', { name: 'Invoice(1).pdf' }],
    ['a comment that never ends', 'a/b; boundary="x" (c', 'a/b', { boundary: 'x' }],
    ['a quote that never ends', 'a/b; boundary="x', 'a/b', { boundary: 'x' }],
    ['a quote within a token', 'a/b; x=a"b;c" d; y=z', 'a/b', { x: 'ab;c', y: 'z' }],
    ['a name without a value', 'a/b; flag; x=y', 'a/b', { flag: '', x: 'y' }],
    ['the first of a name counts', 'a/b; x=1; x=2', 'a/b', { x: '1' }],
    ['continuations', 'a/b; n*1=c; n*0="a b"; n*2=d', 'a/b', { n: 'a bcd' }],
    ['a charset', "a/b; n*=iso-8859-1'de'Gr%F6%DFe", 'a/b', { n: 'Größe' }],
    [
      'a character over sections',
      "a/b; n*0*=utf-8''%E2%82; n*1*=%AC; n*2=%AC",
      'a/b',
      { n: '€%AC' },
    ],
    ['the extended form wins', "a/b; n=x; n*=utf-8''y", 'a/b', { n: 'y' }],
    ['an unknown charset', "a/b; n*=no-such''%FC", 'a/b', { n: 'ü' }],
    ['nothing', '', '', {}],
  ]
  for (const [name, field, value, parameters] of cases) {
    test(name, () => {
      const parsed = parseStructured(field)
      assert.equal(parsed.value, value)
      assert.deepEqual(Object.fromEntries(parsed.parameters), parameters)
    })
  }

  test('parameters named like members of Object are ordinary parameters', () => {
    const parsed = parseStructured('a/b; __proto__=x; constructor=y; toString*0=z')
    assert.deepEqual([...parsed.parameters.keys()], ['__proto__', 'constructor', 'tostring'])
    assert.equal(Reflect.get({}, 'x'), undefined)
    assert.equal(parseStructured('a/b').parameters.get('constructor'), undefined)
  })

  test('encoded words in a parameter are decoded when it is read', () => {
    assert.equal(readParameter(parseStructured('a/b; name="=?utf-8?Q?=C3=BC?="'), 'name'), 'ü')
    assert.equal(readParameter(parseStructured('a/b'), 'name'), null)
  })

  test('time to parse grows linearly with the length', () => {
    const start = cpuTimeMs()
    const sections = Array.from({ length: 50_000 }, (_, index) => `; n*${index}*=a%20`)
    assert.equal(parseStructured(`a/b${sections.join('')}`).parameters.get('n')?.length, 100_000)
    parseStructured(`a/b${'; a'.repeat(100_000)}`)
    parseStructured(`a/b; n=${'('.repeat(500_000)}`)
    parseStructured(`a/b; n="${'\\'.repeat(500_000)}`)
    parseStructured('a/b;n="'.repeat(50_000))
    parseStructured(`a/b;n=${'"'.repeat(500_000)}`)
    parseStructured(`a/b;n=${'a"'.repeat(250_000)}`)
    assert.ok(cpuTimeMs() - start < 15_000)
  })
})
