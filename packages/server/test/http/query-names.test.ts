import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operationIds, operationOf } from '@mailroom/contract/operations.ts'
import { ignoredNames, refuseMistyped } from '#api/query-names.ts'

const routes = operationIds.map((id) => ({
  id,
  known: Object.keys(operationOf(id).query?.properties ?? {}),
}))
const LONG_MIN = 5

function isRefused(name: string, known: readonly string[]): boolean {
  try {
    refuseMistyped([name], known)
    return false
  } catch {
    return true
  }
}

const letters = (name: string) => [...name].map((_, at) => at)
const cut = (name: string, at: number) => name.slice(0, at) + name.slice(at + 1)
const swap = (name: string, at: number) =>
  name.slice(0, at) + (name[at + 1] ?? '') + (name[at] ?? '') + name.slice(at + 2)

test('a known parameter is no typing error of another one of its route', () => {
  for (const { id, known } of routes) {
    for (const name of known) {
      const others = known.filter((other) => other !== name)
      assert.ok(!isRefused(name, others), `${id}: ${name} among ${others}`)
    }
  }
})

test('a parameter with one or two wrong letters is refused on each route that has it', () => {
  for (const { id, known } of routes) {
    for (const name of known.filter(({ length }) => length >= LONG_MIN)) {
      const wrong = letters(name).flatMap((at) => [
        cut(name, at),
        `${name.slice(0, at)}x${name.slice(at)}`,
        swap(name, at),
      ])
      for (const one of [...wrong, `${name}[]`, `x${name}x`]) {
        const isKnown = known.some((other) => other.replaceAll('_', '') === one.replaceAll('_', ''))
        assert.ok(isKnown || isRefused(one, known), `${id}: ${one} for ${name}`)
      }
    }
  }
})

test('what other clients send to page through a list is ignored on every list', () => {
  const foreign =
    'cursor page page_token pageToken per_page perPage page_size pageSize size next skip take start ' +
    'starting_after ending_before max_results fields include expand filter _ t v ts utm_source pod x'
  for (const { id, known } of routes.filter(({ known }) => known.includes('offset'))) {
    for (const name of foreign.split(' ')) assert.ok(!isRefused(name, known), `${id}: ${name}`)
  }
})

test('two letters of a short name make another word', () => {
  for (const name of ['p', 'qq', 'tu', 'no', 'room', 'html']) {
    assert.ok(!isRefused(name, ['q', 'to', 'from', 'url', 'text']), name)
  }
  for (const name of ['form', 'fro', 'uri', 'txt', 'texts']) {
    assert.ok(isRefused(name, ['q', 'to', 'from', 'url', 'text']), name)
  }
})

test('the header is one short line, whatever was sent', () => {
  const header = ignoredNames(['a, b', 'x\r\nSet-Cookie: y', '\ud800', 'ö', 'z'.repeat(10_000)])
  assert.match(header, /^[!-~ ]+$/)
  assert.equal(header.split(', ').length, 5)
  const many = Array.from({ length: 1_000 }, () => '\u{1f600}'.repeat(100))
  assert.ok(ignoredNames(many).length < 4_000)
})
