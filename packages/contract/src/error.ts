// The body of every error response.

import { type ErrorCode, errorCodes } from './error-codes.ts'
import { findings } from './findings.ts'
import { type Static, Type } from './schema.ts'
import { count, oneOf, text, time } from './text.ts'
import { limitScopes, reviewStatuses, suppressionTypes } from './vocabulary.ts'

const codes = Object.keys(errorCodes)

export const ErrorBody = Type.Object(
  {
    error: Type.String({
      enum: codes,
      description: 'A stable error code. New codes may be added.',
    }),
    message: text('A description of the error for people.'),
    requestId: text('Identifies the request in the server log; also in X-Request-Id.'),
    fix: Type.Optional(text('What to do next, in one sentence.')),
    details: Type.Optional(
      Type.Array(
        Type.Object({
          path: text('Path of the field, separated by dots; empty for the whole body.'),
          message: text('What is wrong with the field.'),
        }),
        { description: 'One entry per invalid field.' },
      ),
    ),
    feature: Type.Optional(
      text('With feature_requires_paid_plan: the missing feature, such as external_reply_to.'),
    ),
    type: Type.Optional(
      oneOf(suppressionTypes, 'With recipient_suppressed: why the address is suppressed.'),
    ),
    address: Type.Optional(text('With recipient_suppressed: the suppressed address.')),
    recipient: Type.Optional(
      text('With recipient_not_permitted: the address that the policy refuses.'),
    ),
    findings: Type.Optional(findings),
    scope: Type.Optional(
      oneOf(limitScopes, 'With 429: the scope of the limit. `address` is the client address.'),
    ),
    limit: Type.Optional(count('With 429: the limit that the request would exceed.')),
    resetsAt: Type.Optional(time('With 429: when a retry may succeed.')),
    digest: Type.Optional(text('With review_changed: the digest of the held message.')),
    expiresAt: Type.Optional(
      time('With thread_claimed: when the lease of the claim expires unless it is renewed.'),
    ),
    status: Type.Optional(oneOf(reviewStatuses, 'With review_decided: the decision.')),
  },
  {
    additionalProperties: true,
    description: 'An error. Some codes have additional fields; more may be added.',
  },
)
export type ErrorBody = Static<typeof ErrorBody>

const REQUEST_ID = 'req_5kq2v0c8tw3hn7xa'

export function errorExample(code: ErrorCode): ErrorBody {
  const { sentence, fix }: { sentence: string; fix?: string } = errorCodes[code]
  return {
    error: code,
    message: sentence,
    requestId: REQUEST_ID,
    ...(fix === undefined ? {} : { fix }),
    ...fieldsOf[code],
  }
}

const fieldsOf: { readonly [Code in ErrorCode]?: Partial<ErrorBody> } = {
  bad_request: {
    message: 'The field "displayName" must be a string.',
    fix: 'Correct the field "displayName", and send the request again.',
    details: [{ path: 'displayName', message: 'must be a string' }],
  },
  feature_requires_paid_plan: {
    message: 'On the free plan, replyTo must be the address of an inbox of the account.',
    feature: 'external_reply_to',
  },
  rate_limit_exceeded: {
    message: 'The inbox may send 10 messages a minute.',
    fix: 'Repeat the request after the number of seconds in Retry-After. The operator can change the limit with MAILROOM_LIMIT_SENDS_PER_MINUTE.',
    scope: 'inbox',
    limit: 10,
    resetsAt: '2026-11-20T07:20:00.000Z',
  },
  cold_outreach_limit: {
    message:
      'The account may send to 30 addresses a day (UTC) that have never written to its inboxes.',
    scope: 'account',
    limit: 30,
    resetsAt: '2026-11-21T00:00:00.000Z',
  },
  review_changed: {
    digest: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  },
  review_decided: { message: 'The review is already rejected.', status: 'rejected' },
  thread_claimed: { expiresAt: '2026-11-20T07:20:00.000Z' },
  recipient_not_permitted: {
    message: 'No rule allows bob@example.com.',
    recipient: 'bob@example.com',
  },
  content_not_permitted: {
    message: 'The message contains secrets: card_number.',
    findings: [{ kind: 'card_number', part: 'bodyText', offset: 12, length: 19 }],
  },
  recipient_suppressed: {
    message: 'The account does not write to bob@example.com (bounce).',
    type: 'bounce',
    address: 'bob@example.com',
  },
}
