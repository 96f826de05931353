// What the OpenAPI document says once for all operations: conventions, headers, parameters and
// credentials.

import { CSRF_HEADER, SECURE_SESSION_COOKIE, SESSION_COOKIE } from './vocabulary.ts'

export const conventions = [
  'Identifiers are opaque. Times are ISO 8601 in UTC with milliseconds. Lengths count Unicode code points. In the body of a POST, null for an optional field means the same as omitting it; in the body of a PATCH, null clears a field that may be null. Query parameters may be written in camelCase or snake_case.',
  'Lists are `{ "data": [...], "total": n }`, paged by `limit` and `offset`.',
  'Every response has an `X-Request-Id`. A request answered with 429 or 5xx had no effect; repeat it after `Retry-After` seconds. Only `webhook_failed` and `image_unavailable` (502) report a failure of another server.',
  'Fields and error codes may be added within v1; ignore the ones you do not know.',
].join('\n\n')

export const headerObjects = {
  'X-Request-Id': {
    description: 'Identifies the request in the server log.',
    required: true,
    schema: { type: 'string' },
  },
  'RateLimit-Limit': {
    description:
      'Requests that the account may make in 60 seconds. Missing when the request was not counted.',
    schema: { type: 'integer' },
  },
  'RateLimit-Remaining': {
    description: 'How many requests are left now.',
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
    description: 'Offset of the next page; missing on the last page.',
    schema: { type: 'integer' },
  },
  'Retry-After': {
    description: 'Seconds after which a repeat may succeed.',
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

/** RFC 9110 §13.1.2, §13.1.5 and §14.2. */
export const rangeParameters = Object.entries({
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

export const lastEventIdParameter = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description: 'The id of the last event received. It takes precedence over after.',
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

export const securitySchemes = {
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
