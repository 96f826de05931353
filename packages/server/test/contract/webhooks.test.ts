import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { renderEventKindsPage } from '@mailroom/contract/event-kinds.ts'
import { COUNTED_MAX as COUNTED_TOLD } from '@mailroom/contract/shapes/page.ts'
import { FILTER_IDS_MAX as FILTER_IDS_TOLD } from '@mailroom/contract/shapes/webhook.ts'
import { eventKinds } from '@mailroom/contract/vocabulary.ts'
import { COUNTED_MAX } from '#events/event-rows.ts'
import { FILTER_IDS_MAX } from '#streams/websocket-session.ts'
import { signWebhook } from '#webhooks/webhook-secrets.ts'
import { document } from './document.ts'

const page = new URL('../../../../docs/event-kinds.md', import.meta.url)
test('docs/event-kinds.md is current (else: npm run generate)', () => {
  assert.equal(readFileSync(page, 'utf8'), renderEventKindsPage())
})

test('the page names every kind of event, each in a row of its own', () => {
  const rows = renderEventKindsPage().split('\n')
  for (const kind of eventKinds) {
    assert.equal(rows.filter((row) => row.startsWith(`| \`${kind}\` | `)).length, 1, kind)
  }
})

test('the request to a receiver is described with its event and each field that signs it', () => {
  const { post } = document.webhooks.event
  const schema = post.requestBody.content['application/json'].schema
  assert.deepEqual(schema, { $ref: '#/components/schemas/Event' })
  const sent = signWebhook({ id: 'evt_1', timestamp: 1, body: '{}', secrets: ['whsec_YQ==', 'x'] })
  type Field = { name: string; required: boolean; schema: { pattern?: string } }
  const described = new Map<string, Field>(
    post.parameters.map((field: Field) => [field.name, field]),
  )
  assert.deepEqual([...described.keys()].sort(), Object.keys(sent).sort())
  for (const [name, value] of Object.entries(sent)) {
    const { required, schema } = described.get(name) ?? { required: false, schema: {} }
    assert.equal(required, name !== 'X-Signature-Previous')
    assert.match(value, new RegExp(schema.pattern ?? ''))
  }
})

test('the envelope has what the specification names', () => {
  const { Event, EventMessage } = document.components.schemas
  const envelope =
    'event event_id occurred_at delivered_at attempt inbox_id pod_id thread_id message'
  for (const name of envelope.split(' ')) assert.ok(Event.properties[name], name)
  const message =
    'id rfc_message_id direction from to cc subject body_text body_html extracted_text attachments authentication received_at sent_at'
  for (const name of message.split(' ')) assert.ok(EventMessage.properties[name], name)
  assert.deepEqual(Event.properties.event.enum, [...eventKinds])
})

test('bounds that the contract tells are those of the service', () => {
  assert.deepEqual([COUNTED_TOLD, FILTER_IDS_TOLD], [COUNTED_MAX, FILTER_IDS_MAX])
})
