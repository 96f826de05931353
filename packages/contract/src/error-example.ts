// What an error body looks like: an example of each code.

import type { ErrorBody } from '#shapes/error.ts'
import { type ErrorCode, errorCodes } from './error-codes.ts'

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
    details: [{ path: 'displayName', message: 'must be a string' }],
  },
  feature_requires_paid_plan: {
    message: 'On the free plan, replyTo must be the address of an inbox of the account.',
    feature: 'external_reply_to',
  },
  recipient_suppressed: {
    message: 'The account does not write to bob@example.com (bounce).',
    type: 'bounce',
    address: 'bob@example.com',
  },
}
