// The contract as an OpenAPI 3.1 document.

import { type BodyMediaType, type Operation, tags } from '#operations/operation.ts'
import type { TObject } from '#schema.ts'
import { ErrorBody } from '#shapes/error.ts'
import { Event } from '#shapes/event.ts'
import { RULE, TRIMMED } from '#shapes/text.ts'
import { errorCodes } from './error-codes.ts'
import { errorExample } from './error-example.ts'
import { components } from './openapi-components.ts'
import {
  conventions,
  headerObjects,
  idempotencyKeyParameter,
  lastEventIdParameter,
  rangeParameters,
  securitySchemes,
} from './openapi-parts.ts'
import { webSocketPathItem } from './openapi-web-socket.ts'
import { webhooksObject } from './openapi-webhook.ts'
import { errorsOf, isBodyOptional, operationIds, operationOf } from './operations.ts'
import { WEB_SOCKET_PATH } from './vocabulary.ts'

export const API_VERSION = '1.0.0'

export type JsonObject = { [name: string]: unknown }

const componentNames = new Map<unknown, string>(
  Object.entries(components).map(([name, schema]) => [schema, name]),
)

/** Plain JSON. `publicUrl` is the base that clients put before every path. */
export function openApiDocument({ publicUrl }: { publicUrl: string }): JsonObject {
  const paths: Record<string, JsonObject> = {}
  for (const id of operationIds) {
    const operation = operationOf(id)
    const path = paths[operation.path] ?? {}
    path[operation.method.toLowerCase()] = operationObject(id, operation)
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
    },
    servers: [{ url: publicUrl }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths: { ...paths, [WEB_SOCKET_PATH]: webSocketPathItem },
    webhooks: webhooksObject(refer(Event)),
    components: {
      schemas: Object.fromEntries(
        Object.entries(components).map(([name, schema]) => [name, inside(schema)]),
      ),
      headers: headerObjects,
      securitySchemes,
    },
  }
}

function headers(...names: (keyof typeof headerObjects)[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function operationObject(id: string, operation: Operation): JsonObject {
  const parameters = [
    ...pathParameters(operation),
    ...queryParameters(operation.query),
    ...(operation.needsIdempotencyKey ? [idempotencyKeyParameter] : []),
    ...(isRanged(operation) ? rangeParameters : []),
    ...(isEndless(operation) ? [lastEventIdParameter] : []),
  ]
  return {
    operationId: id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.notes === undefined ? {} : { description: operation.notes }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(operation.body === undefined
      ? {}
      : { requestBody: requestBody(operation, operation.body) }),
    responses: { ...successResponses(operation), ...errorResponses(operation) },
    security: security(operation),
  }
}

function security(operation: Operation): JsonObject[] {
  switch (operation.auth) {
    case 'none':
      return []
    case 'key':
      return [{ apiKey: [] }, sessionOf(operation)]
    case 'session':
      return [sessionOf(operation)]
    case 'signature':
      return [{ signedUrl: [] }]
    case 'operator':
      return [{ operatorToken: [] }]
    case 'key-or-signature':
      return [{ apiKey: [] }, { signedUrl: [] }, sessionOf(operation)]
  }
}

function sessionOf({ method }: Operation): JsonObject {
  return { session: [], ...(method === 'GET' ? {} : { csrfToken: [] }) }
}

function pathParameters(operation: Operation): JsonObject[] {
  return Object.entries(operation.parameters ?? {}).map(([name, description]) => ({
    name,
    in: 'path',
    required: true,
    description,
    schema: { type: 'string' },
  }))
}

function queryParameters(query: TObject | undefined): JsonObject[] {
  return Object.entries(query?.properties ?? {}).map(([name, property]) => {
    const { description, ...schema } = inside(property)
    return { name, in: 'query', required: false, description, schema }
  })
}

function isRanged({ success }: Operation): boolean {
  return 'mediaType' in success && success.isRanged === true
}

function isEndless({ success }: Operation): boolean {
  return 'mediaType' in success && success.isEndless === true
}

function requestBody(operation: Operation, body: TObject): JsonObject {
  const mediaTypes = operation.bodyMediaTypes ?? ['application/json']
  return {
    ...(operation.hasLargeBody ? { description: 'Up to 36 MiB.' } : {}),
    required: !isBodyOptional(operation),
    content: Object.fromEntries(mediaTypes.map((type) => [type, bodyOfType(type, body)])),
  }
}

function bodyOfType(type: BodyMediaType, body: TObject): JsonObject {
  switch (type) {
    case 'application/json':
      return { schema: refer(body) }
    case 'multipart/form-data':
      return { schema: asForm(body) }
    case 'message/rfc822':
      return {}
  }
}

/** The fields of the body as those of a form, in which files are parts of their own. */
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
  const limits = limitHeaders(operation)
  const replayed = operation.needsIdempotencyKey ? headers('Idempotency-Replayed') : {}
  const cookie = operation.setsCookie ? headers('Set-Cookie') : {}
  const own = 'headers' in success ? headers(...(success.headers ?? [])) : {}
  const common = { ...headers('X-Request-Id'), ...limits, ...replayed, ...cookie, ...own }
  const response: JsonObject = { description: success.description, headers: common }
  if ('schema' in success) {
    response.content = { 'application/json': { schema: refer(success.schema) } }
  } else if ('mediaType' in success) {
    response.content = { [success.mediaType]: {} }
  }
  if (otherSuccess !== undefined) {
    const { status, description, schema } = otherSuccess
    const content = { 'application/json': { schema: refer(schema) } }
    return { [success.status]: response, [status]: { description, headers: common, content } }
  }
  if (!isRanged(operation)) return { [success.status]: response }
  const validated = { ...common, ...headers('ETag', 'Accept-Ranges') }
  return {
    [success.status]: { ...response, headers: validated },
    206: {
      ...response,
      description: 'The octets asked for by Range.',
      headers: { ...validated, ...headers('Content-Range') },
    },
    304: { description: 'One of the ETags in If-None-Match is the content’s.', headers: validated },
  }
}

function limitHeaders({ isRateLimited }: Operation): JsonObject {
  return isRateLimited ? headers('RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset') : {}
}

function errorResponses(operation: Operation): JsonObject {
  const byStatus = Map.groupBy(errorsOf(operation), (code) => errorCodes[code].status)
  const statuses = [...byStatus.entries()].sort(([a], [b]) => a - b)
  return Object.fromEntries(
    statuses.map(([status, codes]) => [
      status,
      {
        description: codes.map((code) => errorCodes[code].sentence).join(' '),
        headers: {
          ...headers('X-Request-Id'),
          // A request is counted once its key is known.
          ...(status === 401 ? headers('WWW-Authenticate') : limitHeaders(operation)),
          ...(status === 416 ? headers('Content-Range') : {}),
          ...(status === 429 || status === 503 ? headers('Retry-After') : {}),
        },
        content: {
          'application/json': {
            schema: refer(ErrorBody),
            examples: Object.fromEntries(
              codes.map((code) => [code, { value: errorExample(code, operation) }]),
            ),
          },
        },
      },
    ]),
  )
}

/** A schema as the document writes it: a reference where it has a name. */
function refer(schema: unknown): JsonObject {
  const name = componentNames.get(schema)
  return name === undefined ? inside(schema) : { $ref: `#/components/schemas/${name}` }
}

function inside(schema: unknown): JsonObject {
  const entries = Object.entries(schema as JsonObject).filter(
    ([name]) => name !== RULE && name !== TRIMMED,
  )
  return Object.fromEntries(entries.map(([name, value]) => [name, plain(name, value)]))
}

function plain(keyword: string, value: unknown): unknown {
  if (keyword === 'properties') {
    return Object.fromEntries(
      Object.entries(value as JsonObject).map(([name, property]) => [name, refer(property)]),
    )
  }
  if (keyword === 'items') return refer(value)
  if (keyword === 'anyOf' && Array.isArray(value)) return value.map(refer)
  return value
}
