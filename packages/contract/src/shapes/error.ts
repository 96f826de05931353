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
  },
  {
    additionalProperties: true,
    description: 'An error. Some codes carry fields of their own; more may be added.',
  },
)
export type ErrorBody = Static<typeof ErrorBody>
