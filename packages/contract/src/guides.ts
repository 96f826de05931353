// Introductions to the API, for the reference page and llms-full.txt.

export type Guide = {
  readonly id: string
  readonly title: string
  /** Plain text with code in backticks. */
  readonly paragraphs: readonly string[]
  readonly sample?: string
}

/** `publicUrl` is the base URL of every path. */
export function guidesOf(publicUrl: string): readonly Guide[] {
  return [
    {
      id: 'authentication',
      title: 'Authentication',
      paragraphs: [
        'Send your API key in the header `Authorization: Bearer <key>`. A key belongs to one account and gives access to everything in it. Requests for resources of another account return 404. The token of an approver is sent in the same header: it can read mail, decide about held mail, change policies and approvers, and erase addresses, and nothing else.',
        'The samples read the key from the environment variable `MAILROOM_API_KEY`. The TypeScript client reads it too, and its URL from `MAILROOM_BASE_URL` unless given:',
      ],
      sample: `import { Mailroom } from '@mailroom/sdk'

const client = new Mailroom({ baseUrl: '${publicUrl}' })`,
    },
    {
      id: 'requests',
      title: 'Requests and responses',
      paragraphs: [
        'Bodies are JSON in UTF-8 with `Content-Type: application/json`. Identifiers are opaque strings. Times are ISO 8601 in UTC with milliseconds. Lengths count Unicode code points. In the body of a POST, null for an optional field means the same as omitting it; in the body of a PATCH, null clears a field that may be null.',
        'Every response has an `X-Request-Id`; quote it when you report a problem. Fields, event types and error codes may be added within version 1: ignore the ones you do not know.',
        'Long JSON responses are compressed with gzip when the request has `Accept-Encoding: gzip`.',
      ],
    },
    {
      id: 'error-handling',
      title: 'Errors',
      paragraphs: [
        'Every response with a status of 400 or above has a JSON body. Branch on `error`, a fixed code; show `message` to people; `fix` says what to do next; `details` names each invalid field.',
        'After 429 and 503, repeat the request after the number of seconds in `Retry-After`. A request that fails with 429 or 5xx had no effect, so repeating it is safe. Only `webhook_failed` and `image_unavailable` (502) report a failure of another server.',
        'All codes are listed at the end of this page.',
      ],
    },
    {
      id: 'paging',
      title: 'Paging',
      paragraphs: [
        'Lists return `{ "data": [...], "total": n }`. `limit` sets the page size: 50 by default, 100 at most. `offset` skips entries. The event log has no `offset`; pass the `event_id` of the last event as `after` instead.',
        'The TypeScript client fetches further pages as you iterate.',
      ],
      sample: `curl "${publicUrl}/v1/inboxes?limit=20&offset=20" \\
  -H "Authorization: Bearer $MAILROOM_API_KEY"`,
    },
    {
      id: 'idempotency',
      title: 'Idempotency',
      paragraphs: [
        'Sending requires the header `Idempotency-Key`: a new UUID for each message. You may repeat a request with the same key any number of times: the message is sent once, and each repeat returns the first response with `Idempotency-Replayed: true`.',
        'The same key with a different request returns 422 `idempotency_key_reused`. The TypeScript client generates a key for each call and retries failed requests itself.',
      ],
    },
    {
      id: 'rate-limits',
      title: 'Rate limits',
      paragraphs: [
        '`RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` say how many requests the account may make in 60 seconds, how many are left, and in how many seconds more become available. Above the limit, the response is 429 `rate_limit_exceeded` with `Retry-After`.',
        'If the operator can change the limit that refused a request, `fix` names the setting, such as `MAILROOM_LIMIT_SENDS_PER_MINUTE`, or the command `mailroom admin account set-plan`.',
      ],
    },
    eventsGuide,
    migrationGuide,
  ]
}

const eventsGuide: Guide = {
  id: 'events-and-webhooks',
  title: 'Events and webhooks',
  paragraphs: [
    'The account receives an event when mail arrives, is sent or bounces. Read events from the log (`GET /v1/events`), as server-sent events (`/v1/events/stream`), over a WebSocket (`/v1/ws`), or have them posted to a webhook.',
    'A webhook request is signed. `X-Signature` is the HMAC-SHA256, in lower-case hex, of `X-Timestamp`, a full stop and the raw body; the key is the entire secret, including `whsec_`. Compare it in constant time and reject a timestamp that is more than five minutes off. Each request also has the headers of Standard Webhooks. `verifyWebhook` in the TypeScript client checks the signature and the timestamp.',
    'An event may be delivered more than once and out of order: use `event_id` to recognise repeats. Respond with a 2xx status within 15 seconds.',
  ],
  sample: `import { verifyWebhook } from '@mailroom/sdk'

const event = await verifyWebhook(rawBody, request.headers, process.env.WEBHOOK_SECRET)`,
}

const migrationGuide: Guide = {
  id: 'from-other-services',
  title: 'From other services',
  paragraphs: [
    'Fields of a send: `text` is `body`, `html` is `bodyHtml`, `reply_to` is `replyTo`, and `in_reply_to` is `threadId`. There is no `from`: the inbox in the path sends. In paths, an inbox is its id; `GET /v1/inboxes/by-address/{address}` finds it.',
    'Fields of the event `message.received`, which contains the full text: `TextBody` or `text` is `message.body_text`, `HtmlBody` or `html` is `message.body_html`, `StrippedTextReply` is `message.extracted_text`, `OriginalRecipient` is `message.recipient`, `MailboxHash` is `message.tag`, and each of `message.attachments` has a `url`.',
    'The page `migrating` of the documentation compares OpenMail, AgentMail, Resend, Postmark and SendGrid.',
  ],
}
