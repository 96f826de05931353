// The contract as an OpenAPI 3.1 document.

import { ErrorBody, errorExample } from './error.ts'
import { type ErrorCode, errorCodes } from './error-codes.ts'
import { Event } from './events.ts'
import { exampleOf } from './examples/examples.ts'
import { componentName, components } from './openapi-components.ts'
import { type BodyMediaType, type Operation, tags } from './operation.ts'
import {
  type DescribedOperationId,
  describedOperationIds,
  errorsOf,
  isBodyOptional,
  operationOf,
} from './operations.ts'
import { baseOf, type TObject } from './schema.ts'
import { SendMessage } from './sending.ts'
import { MAILBOX, portablePatterns, RULE, TRIMMED } from './text.ts'
import {
  CSRF_HEADER,
  SECURE_SESSION_COOKIE,
  SESSION_COOKIE,
  WEB_SOCKET_PATH,
} from './vocabulary.ts'

export const API_VERSION = '1.0.0'

type Described = {
  /** The base URL of every path. */
  readonly publicUrl: string
  /** The version of the program that serves the document. */
  readonly programVersion: string
}

/** A plain JSON object. */
export function openApiDocument({ publicUrl, programVersion }: Described): JsonObject {
  const all = describedOperationIds.map(operationOf)
  const shared = {
    parameters: shareRepeated('parameters', all.flatMap(parametersOf)),
    responses: shareRepeated(
      'responses',
      all.flatMap((operation) => errorResponses(operation).map(({ part }) => part)),
    ),
  }
  const paths: Record<string, JsonObject> = {}
  for (const id of describedOperationIds) {
    const operation = operationOf(id)
    const path = paths[operation.path] ?? {}
    path[operation.method.toLowerCase()] = operationObject(id, operation, shared)
    paths[operation.path] = path
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Mailroom',
      version: API_VERSION,
      summary: 'Email infrastructure for software agents.',
      description: conventions,
      license: { name: 'MIT', identifier: 'MIT' },
      'x-mailroom-version': programVersion,
    },
    servers: [{ url: publicUrl }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths: { ...paths, [WEB_SOCKET_PATH]: webSocketPathItem },
    webhooks: webhooksObject(refer(Event)),
    components: {
      schemas: {
        ...Object.fromEntries(
          Object.entries(components).map(([name, schema]) => [name, inside(schema)]),
        ),
        SendMessageForm: asForm(SendMessage),
      },
      parameters: shared.parameters.components,
      responses: shared.responses.components,
      examples: errorExamples([...all.flatMap(errorsOf), ...webSocketErrors]),
      headers: headerObjects,
      securitySchemes,
    },
  }
}

function headers(...names: (keyof typeof headerObjects)[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

type SharedParts = { readonly parameters: Shared; readonly responses: Shared }

function operationObject(
  id: DescribedOperationId,
  operation: Operation,
  shared: SharedParts,
): JsonObject {
  const parameters = parametersOf(operation).map(shared.parameters.refer)
  const errors = errorResponses(operation).map(({ status, part }) => [
    status,
    shared.responses.refer(part),
  ])
  return {
    operationId: id,
    // Our own clients have no method for this operation.
    ...(operation.isForOtherClients && { 'x-for-other-clients': true }),
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.notes === undefined ? {} : { description: operation.notes }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(operation.body === undefined
      ? {}
      : { requestBody: requestBody(id, operation, operation.body) }),
    ...(operation.upload === undefined ? {} : { requestBody: uploadBody(operation.upload) }),
    responses: { ...successResponses(operation), ...Object.fromEntries(errors) },
    security: security(operation),
  }
}

function parametersOf(operation: Operation): Part[] {
  const ownHeaders = [
    ...(operation.needsIdempotencyKey ? [idempotencyKeyParameter] : []),
    ...(operation.takesIfMatch ? [ifMatchParameter] : []),
    ...(operation.takesLeaseToken ? [leaseTokenParameter] : []),
    ...(isRanged(operation) ? rangeParameters : []),
    ...(isEndless(operation) ? [lastEventIdParameter] : []),
  ]
  return [
    ...pathParameters(operation),
    ...queryParameters(operation.query),
    ...ownHeaders.map((content) => ({ name: content.name, content })),
  ]
}

function security(operation: Operation): JsonObject[] {
  switch (operation.auth) {
    case 'none':
      return []
    case 'key':
      return [{ apiKey: [] }, sessionOf(operation)]
    case 'approver':
      return [{ approverToken: [] }, sessionOf(operation)]
    case 'key-or-approver':
      return [{ apiKey: [] }, { approverToken: [] }, sessionOf(operation)]
    case 'session':
      return [sessionOf(operation)]
    case 'signature':
      return [{ signedUrl: [] }]
    case 'operator':
      return [{ operatorToken: [] }]
    case 'key-or-signature':
      return [{ apiKey: [] }, { signedUrl: [] }, sessionOf(operation)]
    case 'key-or-approver-or-signature':
      return [{ apiKey: [] }, { approverToken: [] }, { signedUrl: [] }, sessionOf(operation)]
  }
}

function sessionOf({ method }: Operation): JsonObject {
  return { session: [], ...(method === 'GET' ? {} : { csrfToken: [] }) }
}

/** The parameter is named after its resource: `inboxes.id` in `/v1/inboxes/{id}`. */
function pathParameters({ path, parameters = {} }: Operation): Part[] {
  const segments = path.split('/')
  return Object.entries(parameters).map(([name, description]) => ({
    name: `${segments.slice(0, segments.indexOf(`{${name}}`)).findLast(isWord)}.${name}`,
    content: { name, in: 'path', required: true, description, schema: { type: 'string' } },
  }))
}

function isWord(segment: string): boolean {
  return !segment.startsWith('{')
}

function queryParameters(query: TObject | undefined): Part[] {
  return Object.entries(query?.properties ?? {}).map(([name, property]) => {
    const { description, ...schema } = inside(property)
    const style = schema.type === 'object' ? { style: 'deepObject', explode: true } : {}
    // Generators of clients treat names of parameters that differ only in case and "_" as equal.
    const shared = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    return {
      name: shared,
      content: { name, in: 'query', required: false, description, ...style, schema },
    }
  })
}

function isRanged({ success }: Operation): boolean {
  return 'mediaType' in success && success.isRanged === true
}

function isEndless({ success }: Operation): boolean {
  return 'mediaType' in success && success.isEndless === true
}

function requestBody(id: DescribedOperationId, operation: Operation, body: TObject): JsonObject {
  const mediaTypes = operation.bodyMediaTypes ?? ['application/json']
  return {
    ...(operation.hasLargeBody ? { description: 'Up to 36 MiB.' } : {}),
    required: !isBodyOptional(operation),
    content: Object.fromEntries(
      mediaTypes.map((type) => [type, bodyOfType(type, body, exampleOf(id).body)]),
    ),
  }
}

function uploadBody({ mediaTypes }: NonNullable<Operation['upload']>): JsonObject {
  const file = { type: 'string', contentMediaType: FILE_TYPE }
  const form = { type: 'object', required: ['file'], properties: { file } }
  return {
    description: 'The file. Its size is limited by the settings of the service.',
    required: true,
    content: Object.fromEntries(
      mediaTypes.map((type) => [type, type === 'multipart/form-data' ? { schema: form } : {}]),
    ),
  }
}

function bodyOfType(type: BodyMediaType, body: TObject, example: unknown): JsonObject {
  switch (type) {
    case 'application/json':
      return { schema: refer(body), ...(example === undefined ? {} : { example }) }
    case 'multipart/form-data':
      return { schema: { $ref: `#/components/schemas/${componentName(body)}Form` } }
    case 'message/rfc822':
      return {}
  }
}

/** The body as a form in which each file is a part. */
function asForm(body: TObject): JsonObject {
  const { properties, ...schema } = inside(body)
  const fields = Object.entries(properties as JsonObject).map(([name, property]) => {
    if (name !== 'attachments') return [name, property]
    const { items: _, ...files } = property as JsonObject
    return [name, { ...files, items: { type: 'string', contentMediaType: FILE_TYPE } }]
  })
  return { ...schema, properties: Object.fromEntries(fields) }
}

const FILE_TYPE = 'application/octet-stream'

function successResponses(operation: Operation): JsonObject {
  const { success, otherSuccess } = operation
  const replayed = operation.needsIdempotencyKey ? headers('Idempotency-Replayed') : {}
  const cookie = operation.setsCookie ? headers('Set-Cookie') : {}
  const own = 'headers' in success ? headers(...(success.headers ?? [])) : {}
  const etag = operation.hasEtag ? headers('ETag') : {}
  // X-Request-Id and RateLimit-… are in the description of the API, since every response has them.
  const common = { ...replayed, ...cookie, ...etag, ...own }
  const isNone = Object.keys(common).length === 0
  const response: JsonObject = {
    description: success.description,
    ...(isNone ? {} : { headers: common }),
  }
  if ('schema' in success) {
    response.content = { 'application/json': { schema: refer(success.schema) } }
  } else if ('mediaType' in success) {
    response.content = { [success.mediaType]: {} }
  }
  if (otherSuccess !== undefined) {
    const { status, description, schema } = otherSuccess
    const content = { 'application/json': { schema: refer(schema) } }
    return { [success.status]: response, [status]: { ...response, description, content } }
  }
  if (!isRanged(operation)) return { [success.status]: response }
  const validated = { ...common, ...headers('ETag', 'Accept-Ranges') }
  return {
    [success.status]: { ...response, headers: validated },
    206: {
      ...response,
      description: 'The requested range.',
      headers: { ...validated, ...headers('Content-Range') },
    },
    304: { description: 'The content matches an ETag in If-None-Match.', headers: validated },
  }
}

function limitHeaders({ isRateLimited }: Operation): JsonObject {
  return isRateLimited ? headers('RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset') : {}
}

/** Equal responses share a name derived from their error codes. */
function errorResponses(operation: Operation): { status: number; part: Part }[] {
  const byStatus = Map.groupBy(errorsOf(operation), (code) => errorCodes[code].status)
  const statuses = [...byStatus.entries()].sort(([a], [b]) => a - b)
  return statuses.map(([status, codes]) => ({
    status,
    part: { name: codes.join('-'), content: errorResponse(operation, status, codes) },
  }))
}

function errorResponse(operation: Operation, status: number, codes: ErrorCode[]): JsonObject {
  return {
    description: codes.map((code) => errorCodes[code].sentence).join(' '),
    headers: {
      ...headers('X-Request-Id'),
      // Requests without a valid key do not count towards the rate limit.
      ...(status === 401 ? headers('WWW-Authenticate') : limitHeaders(operation)),
      ...(status === 416 ? headers('Content-Range') : {}),
      ...(status === 429 || status === 503 ? headers('Retry-After') : {}),
    },
    content: {
      'application/json': {
        schema: refer(ErrorBody),
        examples: Object.fromEntries(
          codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]),
        ),
      },
    },
  }
}

function errorExamples(codes: readonly ErrorCode[]): JsonObject {
  return Object.fromEntries(codes.map((code) => [code, { value: errorExample(code) }]))
}

/** A reference if the schema has a name, otherwise the schema itself. */
function refer(schema: unknown): JsonObject {
  const name = componentName(schema)
  return name === undefined ? inside(schema) : { $ref: `#/components/schemas/${name}` }
}

function inside(schema: unknown): JsonObject {
  const { discriminator } = schema as JsonObject
  const base = baseOf(schema)
  if (base !== undefined) return extended(schema, base as TObject)
  if (discriminator !== undefined) return discriminated(schema as Discriminated)
  const { [RULE]: rule, [TRIMMED]: _, [MAILBOX]: __, ...keywords } = schema as JsonObject
  const plainly = Object.fromEntries(
    Object.entries(keywords).map(([name, value]) => [name, plain(name, value)]),
  )
  if (typeof rule !== 'string') return plainly
  const description = [keywords.description, `It ${rule}.`].filter(Boolean).join(' ')
  return { ...plainly, description }
}

function extended(schema: unknown, base: TObject): JsonObject {
  const { properties, required = [], description } = schema as Extended
  const own = Object.entries(properties).filter(([name, one]) => base.properties[name] !== one)
  const isOwn = new Set(own.map(([name]) => name))
  const additions = {
    type: 'object',
    required: required.filter((name) => isOwn.has(name)),
    properties: Object.fromEntries(own.map(([name, one]) => [name, refer(one)])),
  }
  return { description, allOf: [refer(base), additions] }
}

type Extended = {
  properties: Record<string, unknown>
  required?: string[]
  description?: string
}

type Discriminated = {
  description: string
  discriminator: { propertyName: string }
  anyOf: { properties: Record<string, { enum: string[] }> }[]
}

function discriminated({ description, discriminator, anyOf }: Discriminated): JsonObject {
  const { propertyName } = discriminator
  const mapping = anyOf.flatMap((one) =>
    (one.properties[propertyName]?.enum ?? []).map((value) => [value, refer(one).$ref]),
  )
  return {
    description,
    oneOf: anyOf.map(refer),
    discriminator: { propertyName, mapping: Object.fromEntries(mapping) },
  }
}

function plain(keyword: string, value: unknown): unknown {
  if (keyword === 'properties') {
    return Object.fromEntries(
      Object.entries(value as JsonObject).map(([name, property]) => [name, refer(property)]),
    )
  }
  if (keyword === 'items') return refer(value)
  const isSchema = keyword === 'propertyNames' || keyword === 'additionalProperties'
  if (isSchema && typeof value === 'object') return inside(value)
  if (keyword === 'pattern') return portablePatterns.get(value) ?? value
  if (keyword === 'anyOf' && Array.isArray(value)) return value.map(refer)
  return value
}

const conventions = [
  'Identifiers are opaque. Times are ISO 8601 in UTC with milliseconds. Lengths count Unicode code points. In the body of a POST, null for an optional field means the same as omitting it; in the body of a PATCH, null clears a field that may be null. Query parameters may be written in camelCase or snake_case. One with one or two wrong letters is refused; other unknown ones are ignored and named in the header `Mailroom-Ignored-Parameters`.',
  'Lists are `{ "data": [...], "total": n }`, paged by `limit` and `offset`.',
  'Every response has an `X-Request-Id`, and every response to a request that counts towards the rate limit has `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`. A request that fails with 429 or 5xx had no effect; repeat it after `Retry-After` seconds. Only `webhook_failed` and `image_unavailable` (502) report a failure of another server.',
  'Fields and error codes may be added within v1; ignore the ones you do not know.',
].join('\n\n')

const headerObjects = {
  'X-Request-Id': {
    description: 'Identifies the request in the server log.',
    required: true,
    schema: { type: 'string' },
  },
  'RateLimit-Limit': {
    description:
      'Requests that the account may make in 60 seconds. Absent if the request was not counted.',
    schema: { type: 'integer' },
  },
  'RateLimit-Remaining': {
    description: 'The number of remaining requests.',
    schema: { type: 'integer' },
  },
  'RateLimit-Reset': {
    description: 'Seconds until another request becomes available.',
    schema: { type: 'integer' },
  },
  'Idempotency-Replayed': {
    description: 'Always `true`: this is the response to an earlier request with the same key.',
    schema: { type: 'string' },
  },
  'X-View-Total-Chars': {
    description: 'Length of the mail text over all pages, in code points.',
    schema: { type: 'integer' },
  },
  'X-View-Next-Offset': {
    description: 'Offset of the next page; absent on the last page.',
    schema: { type: 'integer' },
  },
  'Retry-After': {
    description: 'Seconds after which a retry may succeed.',
    schema: { type: 'integer' },
  },
  'WWW-Authenticate': { description: 'Always `Bearer`.', schema: { type: 'string' } },
  'Set-Cookie': {
    description: 'Sets or clears the session cookie.',
    schema: { type: 'string' },
  },
  ETag: { description: 'Identifies the content.', schema: { type: 'string' } },
  'Accept-Ranges': { description: 'Always `bytes`.', schema: { type: 'string' } },
  'Content-Range': {
    description: 'The range of bytes in the response and the total size.',
    schema: { type: 'string' },
  },
}

/** Range headers (RFC 9110 §13.1.2, §13.1.5 and §14.2). */
const rangeParameters = Object.entries({
  Range: 'The bytes to send, such as `bytes=0-1023`.',
  'If-Range': 'An ETag: the whole content is sent if it no longer matches.',
  'If-None-Match': 'ETags that the client already has.',
}).map(([name, description]) => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
}))

const lastEventIdParameter = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description: 'The id of the last event received. It takes precedence over after.',
  schema: { type: 'string' },
}

const ifMatchParameter = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description: 'The ETag that the resource must still have.',
  schema: { type: 'string' },
}

const leaseTokenParameter = {
  name: 'Lease-Token',
  in: 'header',
  required: false,
  description:
    'The leaseToken of the claim on the thread. Required while the thread is claimed; a token of any other claim is refused.',
  schema: { type: 'string' },
}

export const idempotencyKeyParameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: true,
  description:
    'A new UUID for each message; repeat it when you retry the request. Printable ASCII.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[ -~]+$' },
}

const securitySchemes = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key of the account, with full access.',
  },
  keyInQuery: {
    type: 'apiKey',
    in: 'query',
    name: 'token',
    description: 'An API key, for opening a WebSocket.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: SESSION_COOKIE,
    description: `A session of the console, for pages of the service itself; \`${SECURE_SESSION_COOKIE}\` over https.`,
  },
  csrfToken: {
    type: 'apiKey',
    in: 'header',
    name: CSRF_HEADER,
    description: 'The csrfToken of the session, in addition to its cookie.',
  },
  approverToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The token of an approver, who decides about held mail.',
  },
  operatorToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The operator token of the service.',
  },
  signedUrl: {
    type: 'apiKey',
    in: 'query',
    name: 'signature',
    description: 'The signature of a signed URL, together with expires.',
  },
}

export type JsonObject = { [name: string]: unknown }

/** Part of an operation, with its name if other operations share it. */
type Part = { readonly name: string; readonly content: JsonObject }

type Shared = {
  /** Parts that occur more than once, by name. */
  readonly components: JsonObject
  /** A reference if operations share the part, otherwise the part itself. */
  refer(part: Part): JsonObject
}

function shareRepeated(section: 'parameters' | 'responses', parts: readonly Part[]): Shared {
  const uses = Map.groupBy(parts, ({ content }) => JSON.stringify(content))
  const names = new Map<string, string>()
  const taken = new Map<string, JsonObject>()
  for (const [key, [first, second]] of uses) {
    if (first === undefined || second === undefined) continue
    const name = freeName(first.name, taken)
    names.set(key, name)
    taken.set(name, first.content)
  }
  return {
    components: Object.fromEntries([...taken].sort(([a], [b]) => (a < b ? -1 : 1))),
    refer({ content }) {
      const name = names.get(JSON.stringify(content))
      return name === undefined ? content : { $ref: `#/components/${section}/${name}` }
    },
  }
}

function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  let free = name
  for (let count = 2; taken.has(free); count += 1) free = `${name}_${count}`
  return free
}

/** Errors before the WebSocket is open. An invalid key closes it afterwards. */
export const webSocketErrors = [
  'bad_request',
  'upgrade_required',
  'rate_limit_exceeded',
  'internal_error',
  'service_unavailable',
] as const satisfies readonly ErrorCode[]

/** The protocol as text, because OpenAPI cannot describe WebSocket frames. */
const frames = [
  'Send the API key in the Authorization header or in the query parameter token.',
  'To subscribe, send the frame `{ "type": "subscribe", "inbox_ids": [], "pod_ids": [], "event_types": [], "categories": [], "last_event_id": "evt_…" }`. Only type is required; an empty or missing list means all. `categories` concerns events of received mail only. The reply is a frame of type `subscribed` with the subscription. Every frame without a `type` is an event.',
  'To resume after a disconnect, send the event_id of the last event as `last_event_id`: the events after it are sent first. If no event has arrived yet, use the `last_event_id` of `subscribed` (null if there is none). If the event is no longer in the log, events resume at its time; if the value is not an event id, only new events are sent. In both cases a frame of type `error` comes before `subscribed`.',
  'Unknown `event_types` are listed in a frame of type `error` and ignored if at least one type is known. If all event types are unknown, or if an inbox or a pod does not belong to the account, the reply is an `error` frame and there is no subscription.',
  '`unsubscribe` ends the subscriptions to its `inbox_ids`, or all subscriptions without `inbox_ids`; the reply is `unsubscribed`. `ping` is answered with `pong`, and an invalid frame with `error`.',
  'An account may have ten connections (close code 4008), and a connection may send 30 frames in 10 seconds (4029). Close code 4001 means that the API key is invalid or was revoked.',
].join('\n\n')

export const webSocketPathItem = {
  get: {
    operationId: 'events.webSocket',
    tags: ['Events'],
    summary: 'Stream events over a WebSocket.',
    description: frames,
    responses: {
      101: { description: 'The connection is now a WebSocket.' },
      ...Object.fromEntries(
        webSocketErrors.map((code) => {
          const { status, sentence } = errorCodes[code]
          return [status, { description: sentence, ...errorHead(status), content: bodyOf(code) }]
        }),
      ),
    },
    security: [{ apiKey: [] }, { keyInQuery: [] }],
  },
}

function errorHead(status: number) {
  const names =
    status === 429 || status === 503 ? ['X-Request-Id', 'Retry-After'] : ['X-Request-Id']
  const refer = (name: string) => [name, { $ref: `#/components/headers/${name}` }]
  return { headers: Object.fromEntries(names.map(refer)) }
}

function bodyOf(code: ErrorCode) {
  return {
    'application/json': {
      schema: { $ref: '#/components/schemas/Error' },
      examples: { [code]: { $ref: `#/components/examples/${code}` } },
    },
  }
}

const fields: readonly {
  name: string
  description: string
  isOptional?: true
  schema?: JsonObject
}[] = [
  { name: 'X-Event-Id', description: 'The event_id of the body, the same at every attempt.' },
  {
    name: 'X-Timestamp',
    description:
      'When this attempt was signed, in seconds since 1970-01-01T00:00Z. Reject it if it is more than five minutes off.',
    schema: { type: 'integer' },
  },
  {
    name: 'X-Signature',
    description:
      'HMAC-SHA256 of X-Timestamp, a full stop and the raw body, in lower-case hex. The key is the entire secret, including whsec_.',
    schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
  },
  {
    name: 'X-Signature-Previous',
    description: 'The signature with the previous secret, for 24 hours after a rotation.',
    isOptional: true,
    schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
  },
  { name: 'webhook-id', description: 'Standard Webhooks: the same as X-Event-Id.' },
  {
    name: 'webhook-timestamp',
    description: 'Standard Webhooks: the same as X-Timestamp.',
    schema: { type: 'integer' },
  },
  {
    name: 'webhook-signature',
    description:
      'Standard Webhooks: v1, a comma, and the base64 of the HMAC-SHA256 of webhook-id, webhook-timestamp and body, joined by full stops. The key is the decoded base64 after whsec_. One signature per active secret, newest first, separated by spaces.',
  },
]

/** The `webhooks` member of the document; `event` is the schema of the body. */
function webhooksObject(event: JsonObject): JsonObject {
  return {
    event: {
      post: {
        operationId: 'webhook.event',
        tags: ['Webhooks'],
        summary: 'Deliver an event.',
        description:
          'Every event is delivered at least once, in no guaranteed order; use event_id to recognise repeats. Success is a 2xx response within 15 seconds; a redirect is a failure. Failed deliveries are retried after 30 seconds, 1, 2, 4 and 15 minutes, and 1, 4, 12 and 24 hours. A webhook is disabled after failing for five days.',
        parameters: fields.map(({ name, description, isOptional, schema }) => ({
          name,
          in: 'header',
          required: isOptional !== true,
          description,
          schema: schema ?? { type: 'string' },
        })),
        requestBody: { required: true, content: { 'application/json': { schema: event } } },
        responses: { '2XX': { description: 'The receiver accepted the event.' } },
        security: [],
      },
    },
  }
}
