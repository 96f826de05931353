// The request that a webhook's receiver gets, as the OpenAPI document describes it.

type JsonObject = { [name: string]: unknown }

const fields: readonly {
  name: string
  description: string
  isOptional?: true
  schema?: JsonObject
}[] = [
  { name: 'X-Event-Id', description: 'The event_id of the body: the same at every attempt.' },
  {
    name: 'X-Timestamp',
    description:
      'When this attempt was signed, in seconds since 1970-01-01T00:00Z. Refuse one that is more than five minutes off.',
    schema: { type: 'integer' },
  },
  {
    name: 'X-Signature',
    description:
      'HMAC-SHA256 of X-Timestamp, a full stop and the raw body, in lower-case hex. The key is the whole secret, whsec_ included.',
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
      'Standard Webhooks: v1, a comma, and the base64 of the HMAC-SHA256 of webhook-id, webhook-timestamp and body, joined by full stops. The key is the octets that the base64 after whsec_ stands for. One for each secret that signs, the newest first, separated by spaces.',
  },
]

/** The document's `webhooks` member; `event` is the schema of the body. */
export function webhooksObject(event: JsonObject): JsonObject {
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
