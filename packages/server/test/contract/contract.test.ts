import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { errorExample } from '@mailroom/contract/error.ts'
import { type ErrorCode, errorCodes } from '@mailroom/contract/error-codes.ts'
import { eventKindTable, renderEventKindsPage } from '@mailroom/contract/event-kinds.ts'
import { exampleOf as exampleOfOperation } from '@mailroom/contract/examples/examples.ts'
import {
  describedOperationIds,
  errorsOf,
  isBodyOptional,
  operationIds,
  operationOf,
  pathNames,
} from '@mailroom/contract/operations.ts'
import { eventKinds, reviewEventKinds } from '@mailroom/contract/vocabulary.ts'
import { Validator } from '@seriousme/openapi-schema-validator'
import { signWebhook } from '#webhooks/webhook-secrets.ts'
import { document, written } from './document.ts'

const SENTENCE = /^[A-Z].*[.]$/

for (const id of operationIds) {
  const operation = operationOf(id)
  test(`${id} is described in sentences and its path names its parameters`, () => {
    assert.match(id, /^[a-z][A-Za-z]*(\.[a-z][A-Za-z]*)+$/)
    assert.match(operation.summary, SENTENCE)
    for (const paragraph of operation.notes?.split('\n\n') ?? []) assert.match(paragraph, SENTENCE)
    assert.match(operation.success.description, SENTENCE)
    assert.deepEqual(pathNames(operation.path), Object.keys(operation.parameters ?? {}))
    for (const code of errorsOf(operation)) assert.ok(Object.hasOwn(errorCodes, code))
  })
}

test('no two operations share a method and a path', () => {
  const names = operationIds.map((id) => {
    const { method, path } = operationOf(id)
    return `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`
  })
  assert.equal(new Set(names).size, names.length)
})

test('every account’s route is rate-limited and no other is', () => {
  for (const id of operationIds) {
    const { path, isRateLimited, auth } = operationOf(id)
    const isAccounts = path.startsWith('/v1/') || path.startsWith('/auth/cli/requests/')
    assert.equal(isRateLimited, isAccounts && auth !== 'signature')
    const isOfAccount = auth.startsWith('key') || auth === 'approver' || auth === 'signature'
    assert.equal(isOfAccount, isAccounts)
    assert.equal(auth === 'operator', path.startsWith('/admin/') || path === '/metrics')
  }
})

test('every body refuses unknown fields, and every field has a description', () => {
  for (const id of operationIds) {
    const { body, query, success } = operationOf(id)
    if (body) assert.equal(Reflect.get(body, 'additionalProperties'), false)
    const schemas = [body, query, 'schema' in success ? success.schema : undefined]
    for (const schema of schemas) {
      if (id === 'service.health' || id === 'service.ready') continue
      for (const [name, field] of Object.entries(propertiesOf(schema))) {
        assert.match(String(field.description), SENTENCE, `${id} ${name}`)
      }
    }
  }
})

function propertiesOf(schema: unknown): Record<string, { description?: unknown; $ref?: unknown }> {
  if (typeof schema !== 'object' || schema === null) return {}
  const properties: unknown = Reflect.get(schema, 'properties')
  return typeof properties === 'object' && properties !== null ? { ...properties } : {}
}

test('a body may be missing if nothing in it is required, but never from a PATCH', () => {
  const optional = operationIds.filter((id) => isBodyOptional(operationOf(id)))
  assert.deepEqual(optional.sort(), [
    'apiKeys.create',
    'drafts.create',
    'inboxes.create',
    'pairing.start',
    'pods.create',
    'reviews.reject',
    'threads.releaseClaim',
    'threads.renewClaim',
  ])
})

test('every code has a sentence, and at most one fix', () => {
  for (const [code, entry] of Object.entries(errorCodes)) {
    assert.match(code, /^[a-z]+(_[a-z]+)*$/)
    assert.match(entry.sentence, SENTENCE)
    if ('fix' in entry) assert.match(entry.fix, SENTENCE)
    assert.ok(entry.status >= 400 && entry.status < 600)
  }
})

test('the OpenAPI document is valid', async () => {
  const validator = new Validator()
  const { valid, errors } = await validator.validate(written)
  assert.equal(valid, true, JSON.stringify(errors))
  assert.equal(validator.version, '3.1')
  assert.equal(document.info.version, '1.0.0')
  assert.deepEqual(document.servers, [{ url: 'https://mail.example' }])
})

test('every reference of the document has a target', () => {
  const references = JSON.stringify(written).matchAll(/"\$ref":"#\/([^"]+)"/g)
  let found = 0
  for (const [, path = ''] of references) {
    const target = path
      .split('/')
      .reduce((at: unknown, name) => (at ? Reflect.get(Object(at), name) : undefined), written)
    assert.ok(target, path)
    found += 1
  }
  assert.ok(found > 100)
})

test('every operation of the document names its errors with an example of each', () => {
  for (const id of describedOperationIds) {
    const operation = operationOf(id)
    const described = document.paths[operation.path][operation.method.toLowerCase()]
    assert.equal(described.operationId, id)
    for (const code of errorsOf(operation)) {
      const { status } = errorCodes[code]
      const { content, headers } = described.responses[status]
      const { value } = content['application/json'].examples[code]
      assert.deepEqual(value, errorExample(code))
      assert.ok(headers['X-Request-Id'])
      assert.equal(headers['Retry-After'] !== undefined, status === 429 || status === 503)
    }
  }
})

test('an idempotent operation requires the key and describes repeats', () => {
  for (const id of describedOperationIds) {
    const { path, method, needsIdempotencyKey = false } = operationOf(id)
    const { parameters = [], responses } = document.paths[path][method.toLowerCase()]
    const key = parameters.find(({ name }: { name: string }) => name === 'Idempotency-Key')
    assert.equal(key?.in === 'header' && key.required, needsIdempotencyKey, id)
    const status = operationOf(id).success.status
    const tells = responses[status].headers?.['Idempotency-Replayed'] !== undefined
    assert.equal(tells, needsIdempotencyKey, id)
    assert.equal(errorsOf(operationOf(id)).includes('idempotency_key_reused'), needsIdempotencyKey)
  }
})

test('every media type of a body is described, files of a form as files', () => {
  for (const id of describedOperationIds) {
    const { path, method, body, upload, ...rest } = operationOf(id)
    const { bodyMediaTypes = body ? ['application/json'] : [] } = rest
    const { requestBody } = document.paths[path][method.toLowerCase()]
    assert.deepEqual(Object.keys(requestBody?.content ?? {}), upload?.mediaTypes ?? bodyMediaTypes)
  }
  const { requestBody } = document.paths['/v1/inboxes/{id}/send'].post
  const form = requestBody.content['multipart/form-data'].schema
  assert.deepEqual(form, { $ref: '#/components/schemas/SendMessageForm' })
  const { properties, required } = document.components.schemas.SendMessageForm
  const sent = document.components.schemas.SendMessage
  assert.deepEqual(Object.keys(properties), Object.keys(sent.properties))
  assert.deepEqual(required, ['body'])
  assert.deepEqual(required, sent.required)
  const { items } = properties.attachments
  assert.deepEqual(items, { type: 'string', contentMediaType: 'application/octet-stream' })
  assert.deepEqual(properties.to, sent.properties.to)
})

test('every JSON body in the document has the example that the service accepts', () => {
  for (const id of describedOperationIds) {
    const { path, method, body } = operationOf(id)
    if (!body) continue
    const { requestBody } = document.paths[path][method.toLowerCase()]
    const { example } = requestBody.content['application/json']
    assert.deepEqual(example, exampleOfOperation(id).body, id)
  }
})

test('full and partial responses of an attachment, and 304, are described', () => {
  const { responses, parameters } = document.paths['/v1/attachments/{messageId}/{filename}'].get
  assert.deepEqual(responses[206].content, responses[200].content)
  assert.equal(responses[304].content, undefined)
  for (const status of [200, 206, 304]) assert.ok(responses[status].headers.ETag)
  for (const status of [206, 416]) assert.ok(responses[status].headers['Content-Range'])
  const fields = parameters.filter((parameter: { in: string }) => parameter.in === 'header')
  assert.deepEqual(
    fields.map(({ name }: { name: string }) => name),
    ['Range', 'If-Range', 'If-None-Match'],
  )
  for (const id of describedOperationIds) {
    const { path, method } = operationOf(id)
    const described = document.paths[path][method.toLowerCase()]
    const isRanged = id === 'attachments.get' || id === 'exports.download'
    assert.equal(described.responses[206] !== undefined, isRanged)
  }
})

test('the parts that operations share are written once, and the whole stays short enough for a program', () => {
  const lengths = ['parameters', 'responses', 'examples'].map(
    (section) => Object.keys(written.components[section]).length,
  )
  for (const length of lengths) assert.ok(length > 10)
  // It was once over a megabyte; a language model or a generator reads all of it.
  assert.ok(JSON.stringify(written).length < 500_000)
  const used = JSON.stringify(written)
  for (const section of ['parameters', 'responses', 'examples', 'headers', 'schemas']) {
    for (const name of Object.keys(written.components[section])) {
      assert.ok(used.includes(`"#/components/${section}/${name}"`), `${section}/${name} is used`)
    }
  }
})

test('no two shared parts have a name that a generator takes for the same', () => {
  for (const [section, parts] of Object.entries<object>(written.components)) {
    const names = Object.keys(parts).map((name) => name.replaceAll(/[_.-]/g, '').toLowerCase())
    if (section !== 'responses') assert.equal(new Set(names).size, names.length, section)
  }
})

test('patterns work in the regular expressions of other languages, and the rule is stated in words', () => {
  const patterns = [...JSON.stringify(written).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)]
  assert.ok(patterns.length > 10)
  for (const [, text = ''] of patterns) {
    const pattern: string = JSON.parse(text)
    assert.doesNotMatch(pattern, /\\u|\(\?|\\p|['"/]/, pattern)
    assert.match(pattern, /^[ -~]*$/)
    for (const flags of ['', 'u']) assert.ok(new RegExp(pattern, flags))
  }
  const { schema } = written.paths['/v1/pods'].post.requestBody.content['application/json']
  assert.match(schema.properties.clientId.description, /look like a pod id\.$/)
})

test('every required field is among the properties of the same schema, as strict validators demand', () => {
  let found = 0
  JSON.stringify(written, (_key, value) => {
    if (!Array.isArray(value?.required)) return value
    for (const name of value.required) assert.ok(Object.hasOwn(value.properties, name), name)
    found += 1
    return value
  })
  assert.ok(found > 50)
})

test('refusals with additional fields show them, and the schema of errors names them', () => {
  const { responses } = document.paths['/v1/inboxes/{id}/send'].post
  const exampleOf = (status: number, code: string) =>
    responses[status].content['application/json'].examples[code].value
  assert.equal(exampleOf(403, 'feature_requires_paid_plan').feature, 'external_reply_to')
  const { type, address } = exampleOf(422, 'recipient_suppressed')
  assert.deepEqual([type, address], ['bounce', 'bob@example.com'])
  const { properties } = document.components.schemas.Error
  for (const name of ['feature', 'type', 'address']) assert.ok(properties[name].description)
})

test('the remaining rate limit is described for every refusal of a counted request', () => {
  assert.match(document.info.description, /X-Request-Id.*RateLimit-Remaining/s)
  for (const id of describedOperationIds) {
    const { path, method, isRateLimited } = operationOf(id)
    const { responses } = document.paths[path][method.toLowerCase()]
    for (const [status, { headers }] of Object.entries<{ headers: object }>(responses)) {
      if (status < '400') continue
      const tells = 'RateLimit-Remaining' in headers
      assert.equal(tells, isRateLimited && status !== '401', `${id} ${status}`)
    }
  }
})

test('an Idempotency-Key is printable ASCII', () => {
  const { parameters } = document.paths['/v1/inboxes/{id}/send'].post
  const key = parameters.find(({ name }: { name: string }) => name === 'Idempotency-Key')
  const pattern = new RegExp(key.schema.pattern)
  assert.ok(pattern.test('a-1 b~') && !pattern.test('ä') && !pattern.test('a\tb'))
})

test('the description of a send explains the effect of a reply on its thread', () => {
  const { description } = document.paths['/v1/inboxes/{id}/send'].post
  for (const word of ['In-Reply-To', 'References', 'marked as read', 'deliveryRole cc']) {
    assert.ok(description.includes(word), word)
  }
})

test('fields that only the server needs are not in the document', () => {
  assert.doesNotMatch(JSON.stringify(document), /x-rule|x-trimmed|~kind/)
})

test('the codes of the specification are in the vocabulary with their status', () => {
  const named: [number, ErrorCode][] = [
    [400, 'invalid_mailbox_name'],
    [400, 'missing_idempotency_key'],
    [400, 'invalid_pod'],
    [401, 'unauthorized'],
    [403, 'feature_requires_paid_plan'],
    [404, 'not_found'],
    [409, 'address_taken'],
    [409, 'pod_not_empty'],
    [409, 'pod_has_domains'],
    [409, 'default_pod'],
    [422, 'idempotency_key_reused'],
    [422, 'recipient_suppressed'],
    [429, 'rate_limit_exceeded'],
    [429, 'cold_outreach_limit'],
  ]
  for (const [status, code] of named) assert.equal(errorCodes[code].status, status)
})

type Parameter = { name: string; in: string; required: boolean; schema: Record<string, unknown> }

function parametersOf(path: string): Map<string, Parameter> {
  const { parameters } = document.paths[path].get
  return new Map(parameters.map((one: Parameter) => [one.name, one]))
}

test('only the event stream is endless, and it continues after Last-Event-ID', () => {
  for (const id of describedOperationIds) {
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

test('a wait takes one to sixty seconds, thirty by default', () => {
  const { schema } = parametersOf('/v1/inboxes/{id}/wait').get('timeout') ?? { schema: {} }
  assert.deepEqual(schema, { type: 'integer', minimum: 1, maximum: 60, default: 30 })
})

test('the log and the stream have the same filters', () => {
  const names = (path: string) =>
    [...parametersOf(path).values()].filter((one) => one.in === 'query').map(({ name }) => name)
  const common = ['after', 'event_types', 'inbox_id', 'categories']
  assert.deepEqual(names('/v1/events/stream'), ['order', ...common])
  assert.deepEqual(names('/v1/events'), ['limit', 'order', ...common])
})

test('an event is described for every kind', () => {
  const { Event } = document.components.schemas
  assert.deepEqual(Object.keys(Event.discriminator.mapping), [...eventKinds, ...reviewEventKinds])
  assert.deepEqual(
    Event.oneOf.map(({ $ref }: { $ref: string }) => $ref),
    Object.values(Event.discriminator.mapping),
  )
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

const page = new URL('../../../../docs/event-kinds.md', import.meta.url)
test('docs/event-kinds.md is current (else: npm run generate)', () => {
  assert.equal(readFileSync(page, 'utf8'), renderEventKindsPage())
})

test('the page names every kind of event, each in its own row', () => {
  const rows = renderEventKindsPage().split('\n')
  for (const kind of eventKinds) {
    assert.equal(rows.filter((row) => row.startsWith(`| \`${kind}\` | `)).length, 1, kind)
  }
})

test('the request to a receiver is described with its event and each signed field', () => {
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

/** The properties of a schema and of those that it extends. */
function allProperties(schema: { $ref?: string; allOf?: object[]; properties?: object }): object {
  const { $ref, allOf = [], properties } = schema
  if ($ref) return allProperties(document.components.schemas[$ref.split('/').at(-1) ?? ''])
  return Object.assign({ ...properties }, ...allOf.map(allProperties))
}

test('the envelope has the fields that the specification names', () => {
  const { MessageReceivedEvent, EventMessage } = document.components.schemas
  const envelope = allProperties(MessageReceivedEvent)
  const fields = 'event event_id occurred_at delivered_at attempt inbox_id pod_id thread_id message'
  assert.deepEqual(Object.keys(envelope).sort(), fields.split(' ').sort())
  const message =
    'id rfc_message_id direction from to cc subject body_text body_html extracted_text attachments authentication received_at sent_at'
  for (const name of message.split(' ')) assert.ok(EventMessage.properties[name], name)
})

test('each event of the document has the fields that docs/event-kinds.md names for it', () => {
  const { mapping } = document.components.schemas.Event.discriminator
  const common = 'event event_id occurred_at delivered_at attempt inbox_id pod_id thread_id'
  for (const kind of [...eventKinds, ...reviewEventKinds]) {
    const fields = Object.keys(allProperties({ $ref: mapping[kind] }))
    const parts = fields.filter((name) => !common.split(' ').includes(name))
    const { holds } = eventKindTable[kind]
    for (const part of parts) assert.ok(holds.includes(`\`${part}\``), `${kind} ${part}`)
    assert.ok(parts.length > 0 || kind === 'thread.loop_suspected')
  }
})
