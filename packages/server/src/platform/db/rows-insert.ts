// Inserts of any number of rows into several tables as one statement of PostgreSQL, whose text is always the
// same: rows go as JSON, which the server takes apart by the types of its own columns. Read and planned once
// for each connection, where the parameters of fifty rows cost more to read than the rows to write.

import { CompiledQuery } from 'kysely'
import type { Tx } from './db.ts'
import { prepare } from './prepared-statements.ts'
import type { Parameters, Place } from './statement.ts'

/** How rows of this kind are written: a column for each value of the input that `row` places. */
export type RowsInsert<Input> = {
  readonly sql: string
  /** The column of each value; others are given their default. */
  readonly columns: readonly (readonly [column: string, name: keyof Input & string])[]
}

class PlacedValue {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

/** `row` is that of a `statement` for one of them; what it gives no place has to be null. */
export function rowsInsert<Input extends Parameters>(
  table: string,
  row: (place: Place<Input>) => Readonly<Record<string, unknown>>,
  onConflict = '',
): RowsInsert<Input> {
  const columns = Object.entries(row((name) => new PlacedValue(name) as never)).flatMap(
    ([column, value]) => (value instanceof PlacedValue ? [[column, value.name] as const] : []),
  )
  const names = columns.map(([column]) => `"${column}"`).join(', ')
  return {
    columns,
    sql: `insert into "${table}" (${names}) select ${names} from json_populate_recordset(null::"${table}", $) ${onConflict}`,
  }
}

type Inserts = Readonly<Record<string, Parameters>>

/**
 * A statement that writes rows of all these kinds, those of each kind in their order. Bytes are
 * Uint8Arrays; of text without a pair what UTF-8 has no form for is replaced, as in any statement.
 */
export function insertTogether<Schema, Rows extends Inserts>(
  kinds: {
    readonly [Kind in keyof Rows]: RowsInsert<Rows[Kind]>
  },
): (
  tx: Tx<Schema>,
  rows: { readonly [Kind in keyof Rows]: readonly Rows[Kind][] },
) => Promise<void> {
  const names = Object.keys(kinds)
  const parts = names.map((name, index) => {
    const text = kinds[name]?.sql.replace('$)', `$${index + 1})`)
    return `"${name}" as (${text})`
  })
  const sql = `with ${parts.join(', ')} select 1`
  prepare(sql)
  return async (tx, rows) => {
    const parameters = names.map((name) => {
      const { columns } = kinds[name] as RowsInsert<Parameters>
      return toJson((rows[name] ?? []).map((row) => columnsOf(row, columns)))
    })
    await tx.query.executeQuery(CompiledQuery.raw(sql, parameters))
  }
}

function columnsOf(row: Parameters, columns: RowsInsert<Parameters>['columns']) {
  const values: Record<string, unknown> = {}
  for (const [column, name] of columns) {
    const value = row[name]
    values[column] = value instanceof Uint8Array ? `\\x${hexOf(value)}` : value
  }
  return values
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}

/** JSON has a form for half of a surrogate pair, of which the server makes an error. */
const HALF_PAIR = /\\ud[89a-f]/

function toJson(rows: readonly Record<string, unknown>[]): string {
  const text = JSON.stringify(rows)
  if (!HALF_PAIR.test(text)) return text
  return JSON.stringify(rows, (_, value) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  )
}
