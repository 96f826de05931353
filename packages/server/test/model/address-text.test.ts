import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replaceAddress } from '#platform/address-text.ts'

const ERASED = 'erased@erased.invalid'

test('an address is replaced wherever it stands alone in JSON, also behind an escape', () => {
  const address = 'nan@a.example'
  for (const text of [
    'nan@a.example',
    'Nan <NAN@a.example>',
    'first\nnan@a.example',
    'first\tnan@a.example.',
    '"nan@a.example"',
    '\\nan@a.example, back\\\nnan@a.example',
  ]) {
    const json = replaceAddress(JSON.stringify({ text }), address)
    assert.notEqual(json, null, text)
    assert.doesNotMatch(JSON.parse(json ?? '').text, /nan@a/i)
    assert.match(JSON.parse(json ?? '').text, new RegExp(ERASED))
  }
})

test('another address stays, also where an escape makes it look alike', () => {
  for (const text of [
    'anan@a.example',
    'x.nan@a.example',
    'nan@a.example.org',
    'line\nan@a.example',
  ]) {
    assert.equal(replaceAddress(JSON.stringify({ text }), 'nan@a.example'), null, text)
  }
})
