// What the OpenAPI document says once for all operations: conventions, headers, parameters and
// credentials.

import { CSRF_HEADER, SECURE_SESSION_COOKIE, SESSION_COOKIE } from './vocabulary.ts'

export const conventions = [
  'Identifiers are opaque. Times are ISO 8601 in UTC with milliseconds. Lengths count Unicode code points. In the body of a POST, null for an optional field is the same as leaving it out; in that of a PATCH, null clears the field where it may be null. The names of query parameters may be written in camelCase or in snake_case.',
  'Lists are `{ "data": [...], "total": n }`, paged by `limit` and `offset`.',
  'Every response carries `X-Request-Id`. A request answered with 429 or 5xx has had no effect and may be repeated after `Retry-After` seconds. Only `webhook_failed` and `image_unavailable` (502) tell of another host that was asked.',
  'Fields and error codes may be added within v1; ignore the ones you do not know.',
].join('\n\n')

export const headerObjects = {
  'X-Request-Id': {
    description: 'Names the request in the log of the service.',
    required: true,
    schema: { type: 'string' },
  },
  'RateLimit-Limit': {
    description:
      'Requests that the account may make in any 60 seconds. On refusals too, but for those of a request that was not counted.',
    schema: { type: 'integer' },
  },
  'RateLimit-Remaining': {
    description: 'How many of them are left now.',
    schema: { type: 'integer' },
  },
  'RateLimit-Reset': {
    description: 'Seconds until the oldest request counted leaves the window.',
    schema: { type: 'integer' },
  },
  'Idempotency-Replayed': {
    description: 'Always `true`: this is the answer to an earlier request with the same key.',
    schema: { type: 'string' },
  },
  'X-View-Total-Chars': {
    description: 'How long the text of the mail is over all pages, in code points.',
    schema: { type: 'integer' },
  },
  'X-View-Next-Offset': {
    description: 'Where the next page begins; missing on the last.',
    schema: { type: 'integer' },
  },
  'Retry-After': {
    description: 'Seconds after which a repeat may succeed.',
    schema: { type: 'integer' },
  },
  'WWW-Authenticate': { description: 'Always `Bearer`.', schema: { type: 'string' } },
  'Set-Cookie': {
    description: 'The cookie of the session, or its end.',
    schema: { type: 'string' },
  },
  ETag: { description: 'Names the content.', schema: { type: 'string' } },
  'Accept-Ranges': { description: 'Always `bytes`.', schema: { type: 'string' } },
  'Content-Range': {
    description: 'Which octets of how many these are, or of how many none could be given.',
    schema: { type: 'string' },
  },
}

/** RFC 9110 §13.1.2, §13.1.5 and §14.2. */
export const rangeParameters = Object.entries({
  Range: 'Which octets to send, such as `bytes=0-1023`.',
  'If-Range': 'An ETag: send the whole content unless it still has this one.',
  'If-None-Match': 'ETags of contents that the client has.',
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
  description: 'The id of the last event that came; it goes before the parameter after.',
  schema: { type: 'string' },
}

export const idempotencyKeyParameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: true,
  description:
    'A new UUID for each message; the same one when the request for that message is repeated. Printable ASCII.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[ -~]+$' },
}

export const securitySchemes = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'A key of the account; it reads and writes in every pod.',
  },
  keyInQuery: {
    type: 'apiKey',
    in: 'query',
    name: 'token',
    description: 'A key of the account, where a WebSocket is opened.',
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
    description: 'The csrfToken of the session, beside its cookie.',
  },
  operatorToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The token of the operator of the service.',
  },
  signedUrl: {
    type: 'apiKey',
    in: 'query',
    name: 'signature',
    description: 'Part of a url that the service has signed, together with expires.',
  },
}
