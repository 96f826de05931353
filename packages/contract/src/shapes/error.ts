// The body of every answer that is not a success.

import { type Static, Type } from '#schema.ts'
import { errorCodes } from '#vocabulary.ts'
import { text } from './text.ts'

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
  },
  {
    additionalProperties: true,
    description: 'An error. Some codes carry further fields of their own.',
  },
)
export type ErrorBody = Static<typeof ErrorBody>
