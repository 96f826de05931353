// Generates sources of the SDK: the type declarations that replace the contract in the packed SDK,
// and the table of routes.

import { errorCodes } from './error-codes.ts'
import { componentName, components } from './openapi-components.ts'
import { clientOperationIds, type OperationId, operationIds, operationOf } from './operations.ts'
import { baseOf } from './schema.ts'

/** The content of a declaration file without imports. */
export function sdkTypesSource(): string {
  const named = Object.entries(components).map(([name, schema]) =>
    // `Error` is the class of the language.
    declarationOf(name === 'Error' ? 'ErrorBody' : name, schema as Schema),
  )
  const codes = Object.keys(errorCodes).map((code) => `  | ${JSON.stringify(code)}`)
  return `${[
    'type Absent<Name extends string> = { [Key in Name]?: undefined }',
    ...named,
    `export type ErrorCode =\n${codes.join('\n')}`,
    ...operationIds.flatMap(typesOf),
    `interface Operations {\n${operationIds.map(entryOf).join('\n')}\n}`,
    'export type OperationId = keyof Operations',
    "export type BodyOf<Id extends OperationId> = Operations[Id]['body']",
    "export type QueryOf<Id extends OperationId> = Operations[Id]['query']",
    "export type OptionsOf<Id extends OperationId> = Partial<Operations[Id]['query']>",
    "export type EventOf<Kind extends Event['event']> = Extract<Event, { event: Kind }>",
    "export type ResponseOf<Id extends OperationId> = Operations[Id]['response']",
  ].join('\n\n')}\n`
}

type Schema = {
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  additionalProperties?: boolean | Schema
  discriminator?: { propertyName: string }
  description?: string
}

/** An interface for an object, so that editors and errors show its name. */
function declarationOf(name: string, schema: Schema): string {
  const comment = commentOf(schema.description, '')
  if (schema.properties === undefined)
    return `${comment}export type ${name} = ${typeOf(schema, '')}`
  return `${comment}export interface ${name}${parentsOf(schema)} ${membersOf(schema, '')}`
}

function parentsOf(schema: Schema): string {
  const base = baseOf(schema) as Schema | undefined
  const absent = absentParts.get(schema) ?? []
  const parents = [
    ...(base === undefined ? [] : [referTo(base, '')]),
    ...(absent.length === 0 ? [] : [`Absent<${unionOf(absent)}>`]),
  ]
  return parents.length === 0 ? '' : ` extends ${parents.join(', ')}`
}

/**
 * The fields of the other members of a union are declared as absent, so that
 * `event.message?.subject` compiles for every event.
 */
const absentParts = new Map<Schema, string[]>(
  (Object.values(components) as Schema[])
    .filter(({ discriminator }) => discriminator !== undefined)
    .flatMap(({ anyOf = [] }) => {
      const all = new Set(anyOf.flatMap(({ properties = {} }) => Object.keys(properties)))
      return anyOf.map((one): [Schema, string[]] => [
        one,
        [...all].filter((name) => one.properties?.[name] === undefined),
      ])
    }),
)

function unionOf(words: readonly unknown[]): string {
  return words.map((word) => JSON.stringify(word)).join(' | ')
}

/** Bodies, queries and responses that have no name of their own. */
function typesOf(id: OperationId): string[] {
  return Object.entries(schemasOf(id)).flatMap(([part, schema]) =>
    schema?.properties === undefined || componentName(schema) !== undefined
      ? []
      : [declarationOf(partName(id, part), schema)],
  )
}

/** Query parameters in camelCase, and as the contract spells them for programs that do so. */
function inCamelCase({ properties = {}, ...query }: Schema): Schema {
  const both = Object.entries(properties).flatMap(([name, property]): [string, Schema][] => {
    const camel = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    if (camel === name) return [[name, property]]
    return [
      [camel, property],
      [name, { ...property, description: `@deprecated Use ${camel}.` }],
    ]
  })
  return { ...query, properties: Object.fromEntries(both) }
}

function schemasOf(id: OperationId): Record<string, Schema | undefined> {
  const { body, query, success, otherSuccess } = operationOf(id)
  return {
    body: body as Schema | undefined,
    query: query && inCamelCase(query as Schema),
    response: 'schema' in success ? (success.schema as Schema) : undefined,
    ...(otherSuccess && { otherResponse: otherSuccess.schema as Schema }),
  }
}

/** `InboxesCreateBody` is the body of `inboxes.create`. */
function partName(id: OperationId, part: string): string {
  return [...id.split('.'), part]
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}

function entryOf(id: OperationId): string {
  const { body, query, response, otherResponse } = schemasOf(id)
  const nameOf = (part: string, schema: Schema | undefined) => {
    if (schema?.properties === undefined)
      return schema === undefined ? 'undefined' : referTo(schema, '')
    return componentName(schema) === undefined ? partName(id, part) : referTo(schema, '')
  }
  const responses = [
    nameOf('response', response),
    ...(otherResponse === undefined ? [] : [nameOf('otherResponse', otherResponse)]),
  ]
  const types = {
    body: nameOf('body', body),
    query: query === undefined ? 'Record<never, never>' : nameOf('query', query),
    response: responses.join(' | '),
  }
  const members = Object.entries(types).map(([name, type]) => `    ${name}: ${type}`)
  return `  ${JSON.stringify(id)}: {\n${members.join('\n')}\n  }`
}

function referTo(schema: Schema, indent: string): string {
  const name = componentName(schema)
  return name === undefined ? typeOf(schema, indent) : name
}

function typeOf(schema: Schema, indent: string): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return unionOf(schema.enum)
  if (schema.discriminator !== undefined) {
    return (schema.anyOf ?? []).map((one) => `\n  | ${referTo(one, indent)}`).join('')
  }
  if (schema.anyOf !== undefined) {
    return schema.anyOf.map((one) => referTo(one, indent)).join(' | ')
  }
  return [schema.type ?? 'unknown']
    .flat()
    .map((type) => plainType(type, schema, indent))
    .join(' | ')
}

function plainType(type: string, schema: Schema, indent: string): string {
  const { properties = {}, items, additionalProperties } = schema
  switch (type) {
    case 'integer':
    case 'number':
      return 'number'
    case 'array':
      return `Array<${items === undefined ? 'unknown' : referTo(items, indent)}>`
    case 'object': {
      if (Object.keys(properties).length > 0) return membersOf(schema, indent)
      const values =
        typeof additionalProperties === 'object' ? referTo(additionalProperties, indent) : 'unknown'
      return `Record<string, ${values}>`
    }
    default:
      return type
  }
}

function membersOf(schema: Schema, indent: string): string {
  const { properties = {}, required = [] } = schema
  const inherited = (baseOf(schema) as Schema | undefined)?.properties ?? {}
  const inner = `${indent}  `
  const members = Object.entries(properties)
    .filter(([name, property]) => inherited[name] !== property)
    .map(([name, property]) => {
      const mark = required.includes(name) ? '' : '?'
      const key = /^\w+$/.test(name) ? name : JSON.stringify(name)
      return `${commentOf(property.description, inner)}${inner}${key}${mark}: ${referTo(property, inner)}`
    })
  return `{\n${members.join('\n')}\n${indent}}`
}

function commentOf(description: string | undefined, indent: string): string {
  return description === undefined
    ? ''
    : `${indent}/** ${description.replaceAll('*/', '*\\/')} */\n`
}

const LINE_LENGTH_MAX = 100

/** TypeScript, formatted like the repository. */
export function sdkRoutesSource(): string {
  const lines = clientOperationIds.map((id) => {
    const { method, path } = operationOf(id)
    const line = `  '${id}': '${method} ${path}',`
    if (line.length <= LINE_LENGTH_MAX) return line
    return `  '${id}':\n    '${method} ${path}',`
  })
  return `// Method and path of every operation. Generated from the contract: npm run generate.

export const routes = {
${lines.join('\n')}
} as const
`
}
