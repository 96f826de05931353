import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operationIds, operationOf } from '@mailroom/contract/operations.ts'
import { eventKinds } from '@mailroom/contract/vocabulary.ts'
import { document } from './document.ts'

type Parameter = { name: string; in: string; required: boolean; schema: Record<string, unknown> }

function parametersOf(path: string): Map<string, Parameter> {
  const { parameters } = document.paths[path].get
  return new Map(parameters.map((one: Parameter) => [one.name, one]))
}

test('only the stream is endless, and it goes on behind Last-Event-ID', () => {
  for (const id of operationIds) {
    const { path, method, success } = operationOf(id)
    const { parameters = [] } = document.paths[path][method.toLowerCase()]
    const isResumed = parameters.some(({ name }: Parameter) => name === 'Last-Event-ID')
    assert.equal(isResumed, id === 'events.stream', id)
    assert.equal('isEndless' in success, id === 'events.stream', id)
  }
  const { responses } = document.paths['/v1/events/stream'].get
  assert.deepEqual(Object.keys(responses[200].content), ['text/event-stream'])
  const field = parametersOf('/v1/events/stream').get('Last-Event-ID')
  assert.deepEqual([field?.in, field?.required], ['header', false])
})

test('a wait is of one to sixty seconds, and thirty unless it says so', () => {
  const { schema } = parametersOf('/v1/inboxes/{id}/wait').get('timeout') ?? { schema: {} }
  assert.deepEqual(schema, { type: 'integer', minimum: 1, maximum: 60, default: 30 })
})

test('the log and the stream filter alike', () => {
  const names = (path: string) =>
    [...parametersOf(path).values()].filter((one) => one.in === 'query').map(({ name }) => name)
  const common = ['after', 'event_types', 'inbox_id']
  assert.deepEqual(names('/v1/events/stream'), common)
  assert.deepEqual(names('/v1/events'), ['limit', 'order', ...common])
})

test('an event is described with every kind that there is', () => {
  const { Event } = document.components.schemas
  assert.deepEqual(Event.properties.event.enum, [...eventKinds])
  const page = document.paths['/v1/events'].get.responses[200].content['application/json'].schema
  assert.deepEqual(page.properties.data.items, { $ref: '#/components/schemas/Event' })
})

test('the WebSocket is in the document, with its frames and close codes', () => {
  const { get } = document.paths['/v1/ws']
  assert.deepEqual(Object.keys(get.responses), ['101', '400', '426', '429', '500', '503'])
  const example = get.responses[426].content['application/json'].examples.upgrade_required.value
  assert.equal(example.error, 'upgrade_required')
  for (const word of [
    'subscribe',
    'unsubscribe',
    'ping',
    'last_event_id',
    '4001',
    '4008',
    '4029',
  ]) {
    assert.ok(get.description.includes(word), word)
  }
})
