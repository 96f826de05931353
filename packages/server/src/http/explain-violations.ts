import { MAILBOX, RULE } from '@mailroom/contract/text.ts'
import { INSTANT_RULE } from '#platform/clock.ts'
import { checkMailbox } from '#platform/email-address.ts'
import { AppError, type ErrorDetail } from '#platform/problem.ts'
import { fixUnknownField } from './suggest-field.ts'

const ERROR_DETAILS_MAX = 20

/** An error that ajv reports with `verbose`. */
export type Violation = {
  readonly keyword: string
  readonly instancePath: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string
  readonly parentSchema?: unknown
  readonly data?: unknown
  /** Set if the error is about the names of an object's fields. */
  readonly propertyName?: string
}

export type Part = 'query' | 'body'

export function explainViolations(found: readonly Violation[], part: Part): AppError {
  // The keywords within a condition, or for names, report separate errors.
  const violations = found.filter(({ keyword }) => !['if', 'propertyNames'].includes(keyword))
  const details = violations
    .slice(0, ERROR_DETAILS_MAX)
    .map((violation) => detailOf(violation, part))
  const first = details[0] ?? { path: '', message: 'does not match the API description' }
  const more = violations.length - 1
  const subject = nameOf(first.path, part)
  const addition = more > 0 ? ` (and ${more} more ${more === 1 ? 'error' : 'errors'})` : ''
  const message = `${subject} ${first.message}${addition}.`
  return new AppError('bad_request', message, { details, fix: fixOf(violations, first.path, part) })
}

function fixOf(violations: readonly Violation[], path: string, part: Part): string {
  const renamed = violations.slice(0, ERROR_DETAILS_MAX).flatMap((one) => fixOfUnknown(one) ?? [])
  if (renamed.length > 0) return [...renamed, ...fixesOfMissing(violations, renamed)].join(' ')
  const subject = nameOf(path, part).replace('The', 'the')
  const [only] = violations
  if (violations.length > 1) return 'Correct the errors in details, and send the request again.'
  if (only?.keyword === 'required') return `Add ${subject}.`
  if (only?.keyword === 'additionalProperties') return `Remove ${subject}, or correct its name.`
  return `Correct ${subject}, and send the request again.`
}

function fixesOfMissing(violations: readonly Violation[], renamed: readonly string[]): string[] {
  return violations
    .filter(({ keyword }) => keyword === 'required')
    .map(({ params }) => String(params.missingProperty))
    .filter((name) => !renamed.some((fix) => fix.startsWith(`Use "${name}" `)))
    .map((name) => `Add the field "${name}".`)
}

function fixOfUnknown({ keyword, params, parentSchema, data }: Violation): string | null {
  if (keyword !== 'additionalProperties') return null
  const { properties = {} } = Object(parentSchema) as { properties?: object }
  const object = { known: Object.keys(properties), given: Object(data) }
  return fixUnknownField(String(params.additionalProperty), object)
}

function nameOf(path: string, part: Part): string {
  if (part === 'query') return `The query parameter "${path}"`
  return path === '' ? 'The request body' : `The field "${path}"`
}

function detailOf(violation: Violation, part: Part): ErrorDetail {
  const path = dotted(violation.instancePath)
  const { keyword, params } = violation
  if (keyword === 'required') {
    return { path: below(path, String(params.missingProperty)), message: 'is required' }
  }
  if (keyword === 'additionalProperties') {
    const name = String(params.additionalProperty)
    if (name === '') return { path, message: 'has a field without a name' }
    return { path: below(path, name), message: 'is not a known field' }
  }
  if (violation.propertyName !== undefined) {
    return { path: below(path, violation.propertyName), message: expectationOf(violation) }
  }
  const hint = part === 'query' && isUnescapedPlus(violation) ? PLUS_HINT : ''
  return { path, message: expectationOf(violation) + hint }
}

const PLUS_HINT = ' (write a plus sign in a query as %2B)'

/** Queries decode `+` as a space. */
function isUnescapedPlus({ keyword, data }: Violation): boolean {
  return keyword === MAILBOX && String(data).includes(' ')
}

function expectationOf({ keyword, params, message, parentSchema, data }: Violation): string {
  const limit = String(params.limit)
  switch (keyword) {
    case 'type':
      return `must be ${[params.type].flat().map(typeName).join(' or ')}`
    case 'enum':
      return `must be one of ${allowedWords(params.allowedValues)}`
    case 'minLength':
      return limit === '1' ? 'must not be empty' : `must have at least ${limit} characters`
    case 'maxLength':
      return `must have at most ${limit} characters`
    case 'minItems':
      return limit === '1' ? 'must not be empty' : `must have at least ${limit} entries`
    case 'maxItems':
      return `must have at most ${limit} entries`
    case 'maxProperties':
      return `must have at most ${limit} keys`
    case 'minimum':
      return `must be at least ${limit}`
    case 'maximum':
      return `must be at most ${limit}`
    case MAILBOX:
      return checkMailbox(String(data)) ?? message ?? 'has the wrong format'
    case 'format':
      return params.format === 'date-time' ? INSTANT_RULE : 'has the wrong format'
    case 'pattern':
      return ruleOf(parentSchema) ?? 'has the wrong format'
    default:
      return message ?? 'does not match the API description'
  }
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
  null: 'null',
}

function typeName(type: unknown): string {
  return typeNames[String(type)] ?? String(type)
}

function allowedWords(values: unknown): string {
  return Array.isArray(values) ? values.map((value) => JSON.stringify(value)).join(', ') : 'a list'
}

function ruleOf(schema: unknown): string | undefined {
  if (typeof schema !== 'object' || schema === null || !(RULE in schema)) return undefined
  const rule = schema[RULE]
  return typeof rule === 'string' ? rule : undefined
}

const PATH_SHOWN_LENGTH = 200

/** Writes a JSON Pointer (RFC 6901) as `attachments[0].filename`. */
function dotted(pointer: string): string {
  const names = pointer.split('/').slice(1)
  return names.reduce((path, name) => {
    if (path !== '' && /^\d+$/.test(name)) return `${path}[${name}]`
    const plain = name.replaceAll('~1', '/').replaceAll('~0', '~')
    return path === '' ? plain : `${path}.${plain}`
  }, '')
}

function below(path: string, name: string): string {
  const shown = name.slice(0, PATH_SHOWN_LENGTH).toWellFormed()
  return path === '' ? shown : `${path}.${shown}`
}
