// What an error body looks like: an example of each code, for one operation or for none in particular.

import type { Operation } from '#operations/operation.ts'
import type { ErrorBody } from '#shapes/error.ts'
import { type ErrorCode, errorCodes } from './error-codes.ts'

const REQUEST_ID = 'req_5kq2v0c8tw3hn7xa'

/** With `operation`, the field that a bad request names is one of its own. */
export function errorExample(code: ErrorCode, operation?: Operation): ErrorBody {
  const { sentence, fix }: { sentence: string; fix?: string } = errorCodes[code]
  return {
    error: code,
    message: sentence,
    requestId: REQUEST_ID,
    ...(fix === undefined ? {} : { fix }),
    ...(code === 'bad_request' ? wrongField(operation) : {}),
    ...fieldsOf[code],
  }
}

const fieldsOf: { readonly [Code in ErrorCode]?: Partial<ErrorBody> } = {
  feature_requires_paid_plan: {
    message: 'On the free plan replyTo must be the address of an inbox of the account.',
    feature: 'external_reply_to',
  },
  recipient_suppressed: {
    message: 'The account does not write to bob@example.com (bounce).',
    type: 'bounce',
    address: 'bob@example.com',
  },
}

function wrongField(operation: Operation | undefined): Partial<ErrorBody> {
  const { body, query } = operation ?? {}
  const [required] = body?.required ?? []
  const [first] = Object.keys(body?.properties ?? {})
  const [filter] = Object.keys(query?.properties ?? {})
  if (required !== undefined) return told('field', required, 'is required')
  if (first !== undefined) return told('field', first, `must be ${typeOf(body?.properties[first])}`)
  if (filter === undefined) return told('field', 'displayName', 'must be a string')
  const isPaged = query !== undefined && 'limit' in query.properties
  return isPaged
    ? told('query parameter', 'limit', 'must be a whole number')
    : told('query parameter', filter, `must be ${typeOf(query?.properties[filter])}`)
}

function told(kind: string, path: string, message: string): Partial<ErrorBody> {
  return { message: `The ${kind} "${path}" ${message}.`, details: [{ path, message }] }
}

const typeNames = new Map([
  ['string', 'a string'],
  ['integer', 'a whole number'],
  ['boolean', 'true or false'],
  ['array', 'an array'],
  ['null', 'null'],
])

function typeOf(schema: { type?: unknown } | undefined): string {
  return [schema?.type]
    .flat()
    .map((type) => typeNames.get(String(type)) ?? String(type))
    .join(' or ')
}
