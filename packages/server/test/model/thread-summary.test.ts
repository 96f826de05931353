import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Participant } from '@mailroom/contract/threads.ts'
import { addParticipants, snippetOf } from '#mailbox/threads/store/summaries.ts'

const OWN = 'agent@mailroom.localhost'

const from = (from_addr: string) => ({ direction: 'inbound', from_addr, to_addr: OWN, cc: '[]' })
const to = (to_addr: string, ...cc: string[]) => ({
  direction: 'outbound',
  from_addr: `Our agent <${OWN}>`,
  to_addr,
  cc: JSON.stringify(cc),
})

function follow(...messages: Parameters<typeof addParticipants>[1][]): Participant[] {
  let known: Participant[] = []
  for (const message of messages) known = addParticipants(known, message)
  return known
}

test('the most recent correspondent is first, each address once', () => {
  assert.deepEqual(
    follow(from('Ann <ann@x.example>'), from('bob@x.example'), to('ANN@x.example', 'cy@x.example')),
    [
      { name: 'Ann', address: 'ANN@x.example' },
      { name: null, address: 'cy@x.example' },
      { name: null, address: 'bob@x.example' },
    ],
  )
})

test('the newest name of an address is shown, and a message without a name does not remove it', () => {
  const names = (...fields: string[]) => follow(...fields.map(from)).map(({ name }) => name)
  assert.deepEqual(names('Ann <a@x.example>', 'Ann Lee <a@x.example>'), ['Ann Lee'])
  assert.deepEqual(names('Ann <a@x.example>', 'a@x.example'), ['Ann'])
})

test('at most ten are listed, and the least recent are left out', () => {
  const addresses = Array.from({ length: 25 }, (_, index) => `p${index}@x.example`)
  const listed = follow(...addresses.map(from)).map(({ address }) => address)
  assert.deepEqual(listed, addresses.slice(-10).reverse())
  const [all] = [follow(to('first@x.example', ...addresses)).map(({ address }) => address)]
  assert.deepEqual(all, ['first@x.example', ...addresses.slice(0, 9)])
})

test('the inbox itself is listed only if there is nobody else', () => {
  assert.deepEqual(follow(to(OWN)), [{ name: null, address: OWN }])
  assert.deepEqual(follow(to(OWN), from(`Our agent <${OWN}>`)), [
    { name: 'Our agent', address: OWN },
  ])
  assert.deepEqual(follow(to(OWN), from('ann@x.example')), [
    { name: null, address: 'ann@x.example' },
  ])
  assert.deepEqual(follow(to('ann@x.example', OWN)), [{ name: null, address: 'ann@x.example' }])
})

test('a sender without a readable address is shown as written, a missing one as nobody', () => {
  assert.deepEqual(follow(from('rubbish')), [{ name: null, address: 'rubbish' }])
  assert.deepEqual(follow(from('')), [])
})

test('names contain no invisible or direction characters, and are bounded', () => {
  const [one] = follow(from('"\u202eCEO\u0007 of\u2028 a\u200b bank\u{e0041}" <ceo@x.example>'))
  assert.deepEqual(one, { name: 'CEO of a bank', address: 'ceo@x.example' })
  const [long] = follow(from(`${'🙂'.repeat(500)} <long@x.example>`))
  assert.equal(long?.name, '🙂'.repeat(100))
  assert.equal(follow(from('"\u202e\u200b" <a@x.example>'))[0]?.name, null)
})

test('a snippet is the new text on one line', () => {
  const text = { body_text: 'Yes.\n\n> Shall we?', extracted_text: '\n Yes,\r\n\tplease.\u00a0 ' }
  assert.equal(snippetOf(text), 'Yes, please.')
  assert.equal(snippetOf({ body_text: ' Hello\n you' }), 'Hello you')
  assert.equal(snippetOf({ body_text: 'Hello', extracted_text: null }), 'Hello')
})

test('a snippet of a message without new text begins with its quote', () => {
  assert.equal(snippetOf({ body_text: '> Shall we?', extracted_text: '' }), '> Shall we?')
  assert.equal(snippetOf({ body_text: '', extracted_text: '' }), '')
  assert.equal(snippetOf({ body_text: 'Unseen', defects: '["unsaid-text"]' }), '')
})

test('a snippet has at most 160 code points, unbroken, without invisible ones', () => {
  assert.equal(snippetOf({ body_text: '🙂'.repeat(1_000) }), '🙂'.repeat(160))
  assert.equal(snippetOf({ body_text: `a${'🙂'.repeat(10_000)}` }), `a${'🙂'.repeat(159)}`)
  assert.equal(snippetOf({ body_text: `${'a'.repeat(159)} ${'b'.repeat(99)}` }), 'a'.repeat(159))
  const padded = `Sale\u034f \u200c\u00ad${'\u200c\u00a0'.repeat(300)}ends \u202etoday\u0000`
  assert.equal(snippetOf({ body_text: padded }), 'Sale ends today')
  assert.equal(snippetOf({ body_text: 'a\ud83db' }), 'a\ufffdb')
})

test('a huge invisible text costs no time', () => {
  assert.equal(snippetOf({ body_text: '\u200b \n'.repeat(2_000_000) }), '')
})
