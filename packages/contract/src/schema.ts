// Builds JSON Schemas with TypeBox's types. TypeBox itself has about 300 modules, which would add
// 90 ms to each start of the service; the contract needs only these functions at run time.

import type {
  Static,
  TArray,
  TArrayOptions,
  TBoolean,
  TInteger,
  TLiteral,
  TLiteralValue,
  TNull,
  TNumber,
  TNumberOptions,
  TObject,
  TObjectOptions,
  TOptional,
  TProperties,
  TSchema,
  TSchemaOptions,
  TString,
  TStringOptions,
  TUnion,
  TUnsafe,
} from 'typebox'

export type { Static, TObject, TProperties, TSchema, TUnsafe }

const originals = new WeakMap<object, TSchema>()

function makeObject<Properties extends TProperties>(
  properties: Properties,
  options?: TObjectOptions,
): TObject<Properties>
function makeObject(properties: TProperties, options?: TObjectOptions): TSchema {
  const required = Object.entries(properties)
    .filter(([, schema]) => !originals.has(schema))
    .map(([name]) => name)
  return { type: 'object', ...(required.length > 0 ? { required } : {}), properties, ...options }
}

const bases = new WeakMap<object, TSchema>()

/**
 * An object with all properties of another. Generated types and descriptions refer to the other one
 * instead of repeating its properties.
 */
function makeExtended<Base extends TProperties, Own extends TProperties>(
  base: TObject<Base>,
  properties: Own,
  options?: TObjectOptions,
): TObject<Omit<Base, keyof Own> & Own>
function makeExtended(base: TObject, properties: TProperties, options?: TObjectOptions): TSchema {
  const schema = makeObject({ ...base.properties, ...properties }, options)
  bases.set(schema, base)
  return schema
}

/** The object that this one extends. */
export function baseOf(schema: unknown): TSchema | undefined {
  const original = originalOf(schema)
  return typeof original === 'object' && original !== null ? bases.get(original) : undefined
}

/** A copy of the schema for an optional property. */
function makeOptional<Schema extends TSchema>(schema: Schema): TOptional<Schema>
function makeOptional(schema: TSchema): TSchema {
  const copy = { ...schema }
  originals.set(copy, schema)
  return copy
}

/** The schema itself, or the original of an optional copy. */
export function originalOf(schema: unknown): unknown {
  return (typeof schema === 'object' && schema !== null && originals.get(schema)) || schema
}

function makeArray<Items extends TSchema>(items: Items, options?: TArrayOptions): TArray<Items>
function makeArray(items: TSchema, options?: TArrayOptions): TSchema {
  return { type: 'array', items, ...options }
}

function makeUnion<Types extends TSchema[]>(
  types: [...Types],
  options?: TSchemaOptions,
): TUnion<Types>
function makeUnion(anyOf: TSchema[], options?: TSchemaOptions): TSchema {
  return { anyOf, ...options }
}

function makeLiteral<Value extends TLiteralValue>(value: Value): TLiteral<Value>
function makeLiteral(value: TLiteralValue): TSchema {
  return { const: value }
}

function makeUnsafe<Type>(schema: TSchema): TUnsafe<Type>
function makeUnsafe(schema: TSchema): TSchema {
  return schema
}

function makeString(options?: TStringOptions): TString
function makeString(options?: TStringOptions): TSchema {
  return { type: 'string', ...options }
}

function makeInteger(options?: TNumberOptions): TInteger
function makeInteger(options?: TNumberOptions): TSchema {
  return { type: 'integer', ...options }
}

function makeNumber(options?: TNumberOptions): TNumber
function makeNumber(options?: TNumberOptions): TSchema {
  return { type: 'number', ...options }
}

function makeBoolean(options?: TSchemaOptions): TBoolean
function makeBoolean(options?: TSchemaOptions): TSchema {
  return { type: 'boolean', ...options }
}

function makeNull(): TNull
function makeNull(): TSchema {
  return { type: 'null' }
}

export const Type = {
  Array: makeArray,
  Boolean: makeBoolean,
  Extended: makeExtended,
  Integer: makeInteger,
  Literal: makeLiteral,
  Null: makeNull,
  Number: makeNumber,
  Object: makeObject,
  Optional: makeOptional,
  String: makeString,
  Union: makeUnion,
  Unsafe: makeUnsafe,
}
