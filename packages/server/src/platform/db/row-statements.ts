// Statements that run for each of several rows. SQLite runs them row by row, prepared once. PostgreSQL runs
// them once for all rows, which go as JSON that the server takes apart by the types of the table's columns:
// the text is the same for any number of rows, and costs less to read than the parameters of fifty of them.

import {
  type AliasedRawBuilder,
  type Compilable,
  type CompiledQuery,
  type Kysely,
  type OperationNodeSource,
  type RawBuilder,
  sql,
  type UpdateResult,
} from 'kysely'
import type { Engine, RunSql, Tx } from './db.ts'
import { prepare } from './prepared-statements.ts'
import { type Parameters, type Place, placeholder, valuesFor } from './statement.ts'

/** The values of a row bear the names of columns of the statement's table. */
export type RowStatement<Schema, Row extends Parameters, Found> = {
  readonly isInsert: boolean
  forOne(query: Kysely<Schema>, engine: Engine): CompiledQuery
  /** `rows` gives the rows as a table of the same columns as the one that is named. */
  forAll(
    query: Kysely<Schema>,
    rows: (table: string) => RawBuilder<object>,
    engine: Engine,
  ): OperationNodeSource
  /** In types only. */
  readonly of?: { row: Row; found: Found }
}

/** `onConflict` is SQL of both engines. */
export function rowInsert<Schema, Row extends Parameters>(
  table: string,
  columns: readonly (keyof Row & string)[],
  onConflict = '',
): RowStatement<Schema, Row, never> {
  const names = sql.join(columns.map((column) => sql.ref(column)))
  const into = sql`insert into ${sql.table(table)} (${names})`
  const end = sql.raw(onConflict)
  return {
    isInsert: true,
    forOne: (query) =>
      sql`${into} values (${sql.join(columns.map(placeholder))}) ${end}`.compile(query),
    forAll: (_, rows) => sql`${into} select ${names} from ${rows(table)} ${end}`,
  }
}

/** Columns that the rows have a value of have to be named with their table. */
export function rowUpdate<Schema, Row extends Parameters, Found = UpdateResult>(
  table: string,
  build: (
    query: Kysely<Schema>,
    given: Place<Row>,
  ) => Compilable<Found> & {
    from(rows: AliasedRawBuilder<object, 'given'>): OperationNodeSource
  },
): RowStatement<Schema, Row, Found> {
  return {
    isInsert: false,
    forOne: (query) => build(query, placeholder).compile(),
    forAll: (query, rows) => build(query, given).from(rows(table).as('given')),
  }
}

/** `build` says what to find for a row. */
export function rowSelect<Schema, Row extends Parameters, Found>(
  table: string,
  build: (
    query: Kysely<Schema>,
    given: Place<Row>,
    engine: Engine,
  ) => Compilable<Found> & OperationNodeSource,
): RowStatement<Schema, Row, Found> {
  return {
    isInsert: false,
    forOne: (query, engine) => build(query, placeholder, engine).compile(),
    forAll: (query, rows, engine) => sql`
      select found.* from ${rows(table)} as given
      cross join lateral ${build(query, given, engine)} as found`,
  }
}

const given = <Value>(column: string) => sql.ref<Value>(`given.${column}`)

/** Runs the statement for these rows, one after the other; returns all that it found. */
export function forEachRow<Schema, Row extends Parameters, Found>(
  statement: RowStatement<Schema, Row, Found>,
): (tx: Tx<Schema>, rows: readonly Row[]) => Promise<Found[]> {
  const runEach = eachOf(statement)
  let all: CompiledQuery | undefined
  return async (tx, rows) => {
    if (rows.length === 0) return []
    if (tx.runSql !== null) return runEach(tx, tx.runSql, rows) as Found[]
    if (all === undefined) {
      all = sql`${statement.forAll(tx.query, rowsIn('rows'), tx.engine)}`.compile(tx.query)
      if (statement.isInsert) prepare(all.sql)
    }
    return (await runAll(tx, all, { rows })) as Found[]
  }
}

/**
 * Runs inserts and updates, each for its rows. PostgreSQL runs them as one statement, so that none sees what
 * another has written.
 */
export function together<Schema, Rows extends Readonly<Record<string, Parameters>>>(
  statements: {
    readonly [Kind in keyof Rows]: RowStatement<Schema, Rows[Kind], unknown>
  },
): (
  tx: Tx<Schema>,
  rows: { readonly [Kind in keyof Rows]?: readonly Rows[Kind][] },
) => Promise<void> {
  const kinds: [string, RowStatement<Schema, never, unknown>][] = Object.entries(statements)
  const each = kinds.map(([kind, statement]) => [kind, eachOf(statement)] as const)
  const isPrepared = kinds.every(([, { isInsert }]) => isInsert)
  const compiled = new Map<string, CompiledQuery>()
  const compile = (tx: Tx<Schema>, some: typeof kinds): CompiledQuery => {
    const parts = some.map(([kind, { forAll }]) => {
      return sql`${sql.ref(kind)} as (${forAll(tx.query, rowsIn(kind), tx.engine)})`
    })
    const query = sql`with ${sql.join(parts)} select 1`.compile(tx.query)
    if (isPrepared) prepare(query.sql)
    return query
  }
  return async (tx, rows) => {
    if (tx.runSql !== null) {
      for (const [kind, runEach] of each) runEach(tx, tx.runSql, rows[kind] ?? [])
      return
    }
    const used = kinds.filter(([kind]) => (rows[kind] ?? []).length > 0)
    if (used.length === 0) return
    // One text that is prepared costs less than several; what is planned each time had better be short.
    const some = isPrepared ? kinds : used
    const names = some.map(([kind]) => kind)
    const query = compiled.get(names.join()) ?? compile(tx, some)
    compiled.set(names.join(), query)
    await runAll(tx, query, Object.fromEntries(names.map((kind) => [kind, rows[kind] ?? []])))
  }
}

function eachOf<Schema>(statement: Pick<RowStatement<Schema, never, unknown>, 'forOne'>) {
  let one: CompiledQuery | undefined
  return (tx: Tx<Schema>, runSql: RunSql, rows: readonly Parameters[]): unknown[] => {
    let found: unknown[] = []
    for (const row of rows) {
      one ??= statement.forOne(tx.query, tx.engine)
      const some = runSql(one.sql, valuesFor(one, row))
      found = found.length === 0 ? some : [...found, ...some]
    }
    return found
  }
}

const rowsIn = (kind: string) => (table: string) =>
  sql<object>`json_populate_recordset(null::${sql.table(table)}, ${placeholder(kind)}::json)`

async function runAll<Schema>(
  tx: Tx<Schema>,
  query: CompiledQuery,
  rows: Readonly<Record<string, readonly Parameters[]>>,
): Promise<unknown[]> {
  const texts = Object.entries(rows).map(([kind, some]) => [kind, toJson(some)])
  const parameters = valuesFor(query, Object.fromEntries(texts))
  return (await tx.query.executeQuery({ ...query, parameters })).rows
}

/** JSON has a form for half of a surrogate pair, of which PostgreSQL makes an error. */
const HALF_PAIR = /\\ud[89a-f]/

function toJson(rows: readonly Parameters[]): string {
  const plain = rows.map(withoutBytes)
  const text = JSON.stringify(plain)
  if (!HALF_PAIR.test(text)) return text
  return JSON.stringify(plain, (_, value) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  )
}

function withoutBytes(row: Parameters): Parameters {
  const plain: Parameters = {}
  for (const [name, value] of Object.entries(row)) {
    plain[name] = value instanceof Uint8Array ? `\\x${hexOf(value)}` : value
  }
  return plain
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
}
