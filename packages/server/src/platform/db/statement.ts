// Queries of the hot path, compiled to SQL once instead of at every call. Building a Kysely query
// costs more than SQLite needs to run it.

import { type Compilable, type CompiledQuery, type Kysely, type RawBuilder, sql } from 'kysely'
import type { Engine, Tx } from './db.ts'
import { prepare } from './prepared-statements.ts'

export type Parameters = Record<string, unknown>

export class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

export function placeholder<Value>(name: string): RawBuilder<Value> {
  return sql.val(new Placeholder(name)) as RawBuilder<unknown> as RawBuilder<Value>
}

/** The values for a compiled query, in the order of its parameters. */
export function valuesFor({ parameters }: CompiledQuery, input: Parameters): unknown[] {
  return parameters.map((value) => (value instanceof Placeholder ? input[value.name] : value))
}

/** Where a value of the input goes. */
export type Place<Input> = <Name extends keyof Input & string>(
  name: Name,
) => RawBuilder<Input[Name]>

/**
 * A statement whose text is compiled at its first use, once for each engine. `build` must give the
 * same query every time, with `place('name')` where a value of the input goes.
 */
export function statement<Schema, Input extends Parameters, Row>(
  build: (query: Kysely<Schema>, place: Place<Input>, engine: Engine) => Compilable<Row>,
): (tx: Tx<Schema>, input: Input) => Promise<Row[]> {
  const compiled = new Map<Engine, CompiledQuery<Row>>()
  return async (tx, input) => {
    let query = compiled.get(tx.engine)
    if (query === undefined) {
      query = build(tx.query, placeholder, tx.engine).compile() as CompiledQuery<Row>
      compiled.set(tx.engine, query)
      if (tx.engine === 'postgres' && isPlainInsert(query)) prepare(query.sql)
    }
    const parameters = valuesFor(query, input)
    // Kysely's way to a connection costs three times what SQLite needs for the statement.
    if (tx.runSql !== null) return tx.runSql(query.sql, parameters) as Row[]
    const result = await tx.query.executeQuery<Row>({ ...query, parameters })
    return result.rows
  }
}

/**
 * Whether there is nothing to be planned but where the values go. A plan that looks for rows would be kept
 * from when its tables were small, and read all of them until they are analyzed again.
 */
function isPlainInsert({ query }: CompiledQuery): boolean {
  return query.kind === 'InsertQueryNode' && query.values?.kind === 'ValuesNode'
}
