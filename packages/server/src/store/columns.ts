// The columns of a noun, from which its types and its read, write and presented forms are derived.

import type { ColumnType } from 'kysely'
import { presentTimes, type WithTimes } from '#platform/clock.ts'

/**
 * `defaulted`: inserts may omit it. `editable`: clients may set it. `internal`: never presented.
 */
type Trait = 'nullable' | 'defaulted' | 'editable' | 'internal'

/** Null if the value is stored unchanged. */
type Codec<Value, Stored> = { read(stored: Stored): Value; write(value: Value): Stored } | null

type Column<Name extends string, Value, Stored, Traits extends Trait = never> = {
  readonly name: Name
  readonly codec: Codec<Value, Stored>
  readonly traits: readonly Trait[]
  /** Carries types for the compiler; it has no value at run time. */
  readonly of?: { value: Value; stored: Stored; traits: Traits }
  nullable(): Column<Name, Value | null, Stored | null, Traits | 'nullable'>
  defaulted(): Column<Name, Value, Stored, Traits | 'defaulted'>
  editable(): Column<Name, Value, Stored, Traits | 'editable'>
  internal(): Column<Name, Value, Stored, Traits | 'internal'>
}

export function coded<Name extends string, Value, Stored, Traits extends Trait = never>(
  name: Name,
  codec: Codec<Value, Stored>,
  traits: readonly Trait[] = [],
): Column<Name, Value, Stored, Traits> {
  const or = <Given, Kept>(given: Given | null, change: (given: Given) => Kept) =>
    given === null ? null : change(given)
  const nullable = codec && {
    read: (stored: Stored | null) => or(stored, codec.read),
    write: (value: Value | null) => or(value, codec.write),
  }
  return {
    name,
    codec,
    traits,
    nullable: () => coded(name, nullable, [...traits, 'nullable']),
    defaulted: () => coded(name, codec, [...traits, 'defaulted']),
    editable: () => coded(name, codec, [...traits, 'editable']),
    internal: () => coded(name, codec, [...traits, 'internal']),
  }
}

const plain =
  <Value>() =>
  <Name extends string>(name: Name) =>
    coded<Name, Value, Value>(name, null)

export const text = plain<string>()
export const int = plain<number>()
export const bytes = plain<Uint8Array>()
/** Milliseconds; the field's name ends in `AtMs`. */
export const time = plain<number>()
export const word = plain
export const flag = <Name extends string>(name: Name) =>
  coded(name, {
    read: (stored: number) => stored === 1,
    write: (value: boolean) => (value ? 1 : 0),
  })
export const json =
  <Value>() =>
  <Name extends string>(name: Name) =>
    coded<Name, Value, string>(name, { read: JSON.parse, write: JSON.stringify })

type AnyColumn = {
  readonly name: string
  readonly codec: { read(stored: never): unknown; write(value: never): unknown } | null
  readonly traits: readonly Trait[]
  readonly of?: { value: unknown; stored: unknown; traits: Trait }
}
type AnyColumns = Readonly<Record<string, AnyColumn>>
type Of<One extends AnyColumn> = NonNullable<One['of']>
type With<Given extends AnyColumns, Wanted extends Trait> = {
  [Field in keyof Given]: Wanted extends Of<Given[Field]>['traits'] ? Field : never
}[keyof Given]
type Written<Given extends AnyColumns, Values> = {
  [Field in keyof Values as Field extends keyof Given ? Given[Field]['name'] : never]:
    | Of<Given[Field & keyof Given]>['stored']
    | Extract<Values[Field], undefined>
}

type FieldsOf<Given extends AnyColumns> = {
  -readonly [Field in keyof Given]: Of<Given[Field]>['value']
}
type RowOf<Given extends AnyColumns> = {
  -readonly [Field in keyof Given as Given[Field]['name']]: Of<Given[Field]>['stored']
}

type Columns<Given extends AnyColumns> = {
  readonly given: Given
  /**
   * PostgreSQL refuses a prepared `select *` after a column was added, so queries name the columns.
   */
  readonly names: readonly Given[keyof Given]['name'][]
  of<Table extends string>(table: Table): readonly `${Table}.${Given[keyof Given]['name']}`[]
  read(row: RowOf<Given>): FieldsOf<Given>
  /** Omits undefined values and fields that the noun does not have. */
  write<Values extends Partial<FieldsOf<Given>>>(values: Values): Written<Given, Values>
  /** Writes only editable fields, so that a complete request body may be passed. */
  edit(values: Edits<Given>): Written<Given, Edits<Given>>
  /** The noun as in the contract, without internal fields. Fields that are not columns are kept. */
  present<Noun extends object>(noun: Noun): WithTimes<Omit<Noun, With<Given, 'internal'>>>
}
type Edits<Given extends AnyColumns> = Partial<Pick<FieldsOf<Given>, With<Given, 'editable'>>>

export type Fields<Table extends { given: AnyColumns }> = FieldsOf<Table['given']>
export type StoredOf<Table extends { given: AnyColumns }> = RowOf<Table['given']>
export type EditsOf<Table extends { given: AnyColumns }> = Edits<Table['given']>
export type TableOf<Table extends { given: AnyColumns }> = {
  [Field in keyof Table['given'] as Table['given'][Field]['name']]: ForKysely<
    Of<Table['given'][Field]>
  >
}
type ForKysely<One extends { stored: unknown; traits: Trait }> = 'defaulted' extends One['traits']
  ? ColumnType<One['stored'], One['stored'] | undefined, One['stored']>
  : One['stored']

type Values = Readonly<Record<string, unknown>>

export function columns<const Given extends AnyColumns>(given: Given): Columns<Given>
export function columns(given: Readonly<Record<string, Column<string, unknown, unknown>>>): object {
  const all = Object.entries(given)
  const internal = new Set(
    all.flatMap(([field, { traits }]) => (traits.includes('internal') ? field : [])),
  )
  const names = all.map(([, { name }]) => name)
  const writeOf = (some: typeof all) => (values: Values) => {
    const row: Record<string, unknown> = {}
    for (const [field, { name, codec }] of some) {
      const value = values[field]
      if (value !== undefined) row[name] = codec === null ? value : codec.write(value)
    }
    return row
  }
  return {
    given,
    names,
    of: (table: string) => names.map((name) => `${table}.${name}`),
    read(row: Values) {
      const noun: Record<string, unknown> = {}
      for (const [field, { name, codec }] of all) {
        noun[field] = codec === null ? row[name] : codec.read(row[name])
      }
      return noun
    },
    write: writeOf(all),
    edit: writeOf(all.filter(([, { traits }]) => traits.includes('editable'))),
    present(noun: Values) {
      const shown: Record<string, unknown> = {}
      for (const field in noun) if (!internal.has(field)) shown[field] = noun[field]
      return presentTimes(shown)
    },
  }
}
