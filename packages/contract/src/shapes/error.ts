// The body of every answer that is not a success.

import { errorCodes } from '#error-codes.ts'
import { type Static, Type } from '#schema.ts'
import { suppressionTypes } from '#vocabulary.ts'
import { oneOf, text } from './text.ts'

const codes = Object.keys(errorCodes)

export const ErrorBody = Type.Object(
  {
    error: Type.String({
      enum: codes,
      description: 'What went wrong, as a word for programs. New codes may be added.',
    }),
    message: text('What went wrong, as a sentence for people.'),
    requestId: text('Names this request in the log of the service; also in X-Request-Id.'),
    fix: Type.Optional(text('One sentence: what to do next.')),
    details: Type.Optional(
      Type.Array(
        Type.Object({
          path: text('The field, with dots between levels; empty for the whole body.'),
          message: text('What was expected of it.'),
        }),
        { description: 'Each field that was wrong.' },
      ),
    ),
    feature: Type.Optional(
      text('With feature_requires_paid_plan: what the plan lacks, such as external_reply_to.'),
    ),
    type: Type.Optional(
      oneOf(suppressionTypes, 'With recipient_suppressed: why the address is on the list.'),
    ),
    address: Type.Optional(text('With recipient_suppressed: the address that is on the list.')),
  },
  {
    additionalProperties: true,
    description: 'An error. Some codes carry fields of their own; more may be added.',
  },
)
export type ErrorBody = Static<typeof ErrorBody>
