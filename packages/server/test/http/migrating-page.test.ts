import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { eventKindTable } from '@mailroom/contract/event-kinds.ts'
import { EventMessage } from '@mailroom/contract/events.ts'
import { guidesOf } from '@mailroom/contract/guides.ts'
import { operationIds, operationOf } from '@mailroom/contract/operations.ts'
import { SendMessage } from '@mailroom/contract/sending.ts'
import { WEB_SOCKET_PATH } from '@mailroom/contract/vocabulary.ts'

const page = readFileSync(new URL('../../../../docs/migrating.md', import.meta.url), 'utf8')
const guide = guidesOf('http://a.example').find(({ id }) => id === 'from-other-services')
const events = page.slice(page.indexOf('| Ours |'), page.indexOf('There are no opens'))
const texts = [page.replace(events, ''), guide?.paragraphs.join('\n') ?? '']

test('docs/migrating.md and its guide name operations, events and fields that exist', () => {
  const operations = new Set(
    operationIds.map((id) => `${operationOf(id).method} ${operationOf(id).path}`),
  ).add(`GET ${WEB_SOCKET_PATH}`)
  const kinds = new Set(Object.keys(eventKindTable))
  for (const text of texts) {
    for (const [name] of text.matchAll(/(?:GET|POST|PUT|PATCH|DELETE) \/v1[^`]*/g)) {
      assert.ok(operations.has(name), name)
    }
    for (const [, name = ''] of text.matchAll(/`message\.(\w+)(?:\[\]\.\w+)?`/g)) {
      assert.ok(name in EventMessage.properties || kinds.has(`message.${name}`), name)
    }
  }
  const fields = page.slice(page.indexOf('| Theirs |'), page.indexOf('Their events'))
  const ours = [...fields.matchAll(/^\| `[^|]*\| `(\w+)/gm)].map(([, name = '']) => name)
  assert.ok(ours.length > 5)
  for (const name of ours) assert.ok(name in SendMessage.properties, name)
  for (const [, name = ''] of events.matchAll(/^\| `([^`]+)/gm)) assert.ok(kinds.has(name), name)
})
