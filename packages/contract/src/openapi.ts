// The contract as an OpenAPI 3.1 document.

import { type BodyMediaType, type Operation, tags } from '#operations/operation.ts'
import type { TObject } from '#schema.ts'
import { ErrorBody } from '#shapes/error.ts'
import { Event } from '#shapes/event.ts'
import { MAILBOX, portablePatterns, RULE, TRIMMED } from '#shapes/text.ts'
import { type ErrorCode, errorCodes } from './error-codes.ts'
import { errorExample } from './error-example.ts'
import { componentName, components } from './openapi-components.ts'
import {
  conventions,
  headerObjects,
  idempotencyKeyParameter,
  lastEventIdParameter,
  rangeParameters,
  securitySchemes,
} from './openapi-parts.ts'
import { type JsonObject, type Part, type Shared, shareRepeated } from './openapi-references.ts'
import { webSocketErrors, webSocketPathItem } from './openapi-web-socket.ts'
import { webhooksObject } from './openapi-webhook.ts'
import { errorsOf, isBodyOptional, operationIds, operationOf } from './operations.ts'
import { WEB_SOCKET_PATH } from './vocabulary.ts'

export const API_VERSION = '1.0.0'

/** Plain JSON. `publicUrl` is the base that clients put before every path. */
export function openApiDocument({ publicUrl }: { publicUrl: string }): JsonObject {
  const all = operationIds.map(operationOf)
  const shared = {
    parameters: shareRepeated('parameters', all.flatMap(parametersOf)),
    responses: shareRepeated(
      'responses',
      all.flatMap((operation) => errorResponses(operation).map(({ part }) => part)),
    ),
  }
  const paths: Record<string, JsonObject> = {}
  for (const id of operationIds) {
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
    },
    servers: [{ url: publicUrl }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths: { ...paths, [WEB_SOCKET_PATH]: webSocketPathItem },
    webhooks: webhooksObject(refer(Event)),
    components: {
      schemas: Object.fromEntries(
        Object.entries(components).map(([name, schema]) => [name, inside(schema)]),
      ),
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

function operationObject(id: string, operation: Operation, shared: SharedParts): JsonObject {
  const parameters = parametersOf(operation).map(shared.parameters.refer)
  const errors = errorResponses(operation).map(({ status, part }) => [
    status,
    shared.responses.refer(part),
  ])
  return {
    operationId: id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.notes === undefined ? {} : { description: operation.notes }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(operation.body === undefined
      ? {}
      : { requestBody: requestBody(operation, operation.body) }),
    responses: { ...successResponses(operation), ...Object.fromEntries(errors) },
    security: security(operation),
  }
}

function parametersOf(operation: Operation): Part[] {
  const ownHeaders = [
    ...(operation.needsIdempotencyKey ? [idempotencyKeyParameter] : []),
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

/** Named after what they identify: `inboxes.id` in `/v1/inboxes/{id}`. */
function pathParameters({ path, parameters = {} }: Operation): Part[] {
  const segments = path.split('/')
  return Object.entries(parameters).map(([name, description]) => ({
    name: `${segments[segments.indexOf(`{${name}}`) - 1]}.${name}`,
    content: { name, in: 'path', required: true, description, schema: { type: 'string' } },
  }))
}

function queryParameters(query: TObject | undefined): Part[] {
  return Object.entries(query?.properties ?? {}).map(([name, property]) => {
    const { description, ...schema } = inside(property)
    return { name, content: { name, in: 'query', required: false, description, schema } }
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
      description: 'The requested range.',
      headers: { ...validated, ...headers('Content-Range') },
    },
    304: { description: 'The content matches an ETag in If-None-Match.', headers: validated },
  }
}

function limitHeaders({ isRateLimited }: Operation): JsonObject {
  return isRateLimited ? headers('RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset') : {}
}

/** Responses that are alike are named after their codes, and after what else tells them apart. */
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
      // A request is counted once its key is known.
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

/** A schema as the document writes it: a reference where it has a name. */
function refer(schema: unknown): JsonObject {
  const name = componentName(schema)
  return name === undefined ? inside(schema) : { $ref: `#/components/schemas/${name}` }
}

function inside(schema: unknown): JsonObject {
  const { [RULE]: rule, [TRIMMED]: _, [MAILBOX]: __, ...keywords } = schema as JsonObject
  const plainly = Object.fromEntries(
    Object.entries(keywords).map(([name, value]) => [name, plain(name, value)]),
  )
  if (typeof rule !== 'string') return plainly
  const description = [keywords.description, `It ${rule}.`].filter(Boolean).join(' ')
  return { ...plainly, description }
}

function plain(keyword: string, value: unknown): unknown {
  if (keyword === 'properties') {
    return Object.fromEntries(
      Object.entries(value as JsonObject).map(([name, property]) => [name, refer(property)]),
    )
  }
  if (keyword === 'items') return refer(value)
  if (keyword === 'pattern') return portablePatterns.get(value) ?? value
  if (keyword === 'anyOf' && Array.isArray(value)) return value.map(refer)
  return value
}
