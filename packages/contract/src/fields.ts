// The fields of a request or response, as rows of the reference page and llms-full.txt.

import { componentName } from './openapi-components.ts'
import { baseOf } from './schema.ts'

export type Field = {
  /** The path of the field, with `.` before nested fields and `[]` after lists: `data[].address`. */
  readonly path: string
  readonly type: string
  readonly isRequired: boolean
  readonly description: string
}

type Schema = {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly discriminator?: { propertyName: string }
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly default?: unknown
  readonly description?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly maxItems?: number
}

/** With `stopsAtNames`, the fields of named objects are omitted; the type is the object's name. */
export function fieldsOf(schema: unknown, { stopsAtNames }: { stopsAtNames: boolean }): Field[] {
  const { discriminator, anyOf = [] } = (schema ?? {}) as Schema
  if (discriminator !== undefined) return anyOf.map((one) => memberOf(one, discriminator))
  return rows(schema as Schema, '', stopsAtNames)
}

/** A member of a union, under the value that distinguishes it from the others. */
function memberOf(schema: Schema, { propertyName }: { propertyName: string }): Field {
  const path = (schema.properties?.[propertyName]?.enum ?? []).join(', ')
  return { path, type: typeOf(schema), isRequired: true, description: schema.description ?? '' }
}

function rows(schema: Schema | undefined, within: string, stopsAtNames: boolean): Field[] {
  const inherited = stopsAtNames ? (baseOf(schema) as Schema | undefined)?.properties : undefined
  const own = Object.entries(schema?.properties ?? {}).filter(
    ([name, property]) => inherited?.[name] !== property,
  )
  return own.flatMap(([name, property]) => {
    const path = `${within}${name}`
    const field: Field = {
      path,
      type: typeOf(property),
      isRequired: (schema?.required ?? []).includes(name) && property.default === undefined,
      description: [property.description ?? '', ...boundsOf(property)].filter(Boolean).join(' '),
    }
    const inner = innerOf(property)
    if (inner === null || (stopsAtNames && componentName(inner.schema) !== undefined))
      return [field]
    return [field, ...rows(inner.schema, `${path}${inner.isList ? '[]' : ''}.`, stopsAtNames)]
  })
}

/** The object with nested fields: the property itself, its items, or one of its alternatives. */
function innerOf(schema: Schema): { schema: Schema; isList: boolean } | null {
  if (schema.properties) return { schema, isList: false }
  if (schema.items) {
    const inner = innerOf(schema.items)
    return inner && { schema: inner.schema, isList: true }
  }
  return schema.anyOf?.map(innerOf).find((inner) => inner !== null) ?? null
}

/** The type in words, such as `string or null`, `"pending", "sent"`, or `array of Inbox`. */
function typeOf(schema: Schema): string {
  const name = componentName(schema)
  if (name !== undefined) return name
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ')
  if (schema.enum) return schema.enum.map((word) => JSON.stringify(word)).join(', ')
  const types = [schema.type ?? 'value'].flat()
  return types
    .map((type) => (type === 'array' && schema.items ? `array of ${typeOf(schema.items)}` : type))
    .join(' or ')
}

function boundsOf(schema: Schema): string[] {
  const { minLength, maxLength, minimum, maximum, maxItems } = schema
  const bounds: string[] = []
  if (maxLength !== undefined) bounds.push(`${minLength ?? 0} to ${maxLength} characters.`)
  if (maximum !== undefined) bounds.push(`${minimum ?? 0} to ${maximum}.`)
  if (maxItems !== undefined) bounds.push(`Up to ${maxItems} entries.`)
  if (schema.default !== undefined) bounds.push(`Default ${JSON.stringify(schema.default)}.`)
  return bounds
}
