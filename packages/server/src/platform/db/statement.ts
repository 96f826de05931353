// Hot-path queries, compiled once: building one by Kysely costs more than SQLite takes to run it.

import { createHash } from 'node:crypto'
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

type Parameters = Record<string, unknown>

class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

function placeholder<Value>(name: string): RawBuilder<Value> {
  return sql.val(new Placeholder(name)) as RawBuilder<unknown> as RawBuilder<Value>
}

function valuesFor({ parameters }: CompiledQuery, input: Parameters): unknown[] {
  return parameters.map((value) => (value instanceof Placeholder ? input[value.name] : value))
}

type Given<Input> = <Name extends keyof Input & string>(name: Name) => RawBuilder<Input[Name]>

/**
 * `build` must always return the same query. `isPrepared` is for lookups by a key, whose one plan
 * suits all values on PostgreSQL.
 */
export function statement<Schema, Input extends Parameters, Row>(
  build: (query: Kysely<Schema>, given: Given<Input>, engine: Engine) => Compilable<Row>,
  { isPrepared = false }: { isPrepared?: boolean } = {},
): (tx: Tx<Schema>, input: Input) => Promise<Row[]> {
  const compiled = new Map<Engine, CompiledQuery<Row>>()
  return async (tx, input) => {
    let query = compiled.get(tx.engine)
    if (query === undefined) {
      query = build(tx.query, placeholder, tx.engine).compile() as CompiledQuery<Row>
      compiled.set(tx.engine, query)
      if (tx.engine === 'postgres' && (isPrepared || isPlainInsert(query))) prepare(query.sql)
    }
    const parameters = valuesFor(query, input)
    // Running the statement through Kysely takes three times as long as SQLite itself.
    if (tx.runSql !== null) return tx.runSql(query.sql, parameters) as Row[]
    const result = await tx.query.executeQuery<Row>({ ...query, parameters })
    return result.rows
  }
}

function isPlainInsert({ query }: CompiledQuery): boolean {
  return query.kind === 'InsertQueryNode' && query.values?.kind === 'ValuesNode'
}

const names = new Map<string, string>()
const NAME_LENGTH = 24

function prepare(text: string): void {
  if (names.has(text)) return
  names.set(text, createHash('sha256').update(text).digest('hex').slice(0, NAME_LENGTH))
}

type Query = (text: unknown, values?: unknown, ...rest: unknown[]) => unknown

/** Parsing and planning took 38 % of the statement time of a received message. */
export function preparing(client: { query: unknown }): void {
  const query = (client.query as Query).bind(client)
  const named: Query = (text, values, ...rest) => {
    const name = typeof text === 'string' ? names.get(text) : undefined
    return name === undefined
      ? query(text, values, ...rest)
      : query({ name, text, values }, ...rest)
  }
  client.query = named
}

/**
 * The keys of a row are column names. PostgreSQL gets all rows at once as JSON: one statement
 * serves any number of them and parses faster than many parameters.
 */
type RowStatement<Schema, Row extends Parameters, Found> = {
  forOne(query: Kysely<Schema>, engine: Engine): CompiledQuery
  forAll(
    query: Kysely<Schema>,
    rows: (table: string) => RawBuilder<object>,
    engine: Engine,
  ): OperationNodeSource
  /** Never set; carries types for the compiler. */
  readonly of?: { row: Row; found: Found }
}

/** `onConflict` must be valid SQL on both engines. */
export function rowInsert<Schema, Row extends Parameters>(
  table: string,
  columns: readonly (keyof Row & string)[],
  onConflict = '',
): RowStatement<Schema, Row, never> {
  const names = sql.join(columns.map((column) => sql.ref(column)))
  const into = sql`insert into ${sql.table(table)} (${names})`
  const end = sql.raw(onConflict)
  return {
    forOne: (query) =>
      sql`${into} values (${sql.join(columns.map(placeholder))}) ${end}`.compile(query),
    forAll: (_, rows) => sql`${into} select ${names} from ${rows(table)} ${end}`,
  }
}

/** Columns that also occur in the rows must be qualified with their table. */
export function rowUpdate<Schema, Row extends Parameters, Found = UpdateResult>(
  table: string,
  build: (
    query: Kysely<Schema>,
    given: Given<Row>,
  ) => Compilable<Found> & {
    from(rows: AliasedRawBuilder<object, 'given'>): OperationNodeSource
  },
): RowStatement<Schema, Row, Found> {
  return {
    forOne: (query) => build(query, placeholder).compile(),
    forAll: (query, rows) => build(query, given).from(rows(table).as('given')),
  }
}

export function rowSelect<Schema, Row extends Parameters, Found>(
  table: string,
  build: (
    query: Kysely<Schema>,
    given: Given<Row>,
    engine: Engine,
  ) => Compilable<Found> & OperationNodeSource,
): RowStatement<Schema, Row, Found> {
  return {
    forOne: (query, engine) => build(query, placeholder, engine).compile(),
    forAll: (query, rows, engine) => sql`
      select found.* from ${rows(table)} as given
      cross join lateral ${build(query, given, engine)} as found`,
  }
}

const given = <Value>(column: string) => sql.ref<Value>(`given.${column}`)

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
      prepare(all.sql)
    }
    return (await runAll(tx, all, { rows })) as Found[]
  }
}

export function together<Schema, Rows extends Readonly<Record<string, Parameters>>>(
  statements: {
    readonly [Kind in keyof Rows]: RowStatement<Schema, Rows[Kind], unknown>
  },
): (
  tx: Tx<Schema>,
  rows: { readonly [Kind in keyof Rows]?: readonly Rows[Kind][] },
) => Promise<void> {
  const kinds: [string, RowStatement<Schema, never, unknown>][] = Object.entries(statements)
  const each = kinds.map(([kind, statement]) => [kind, forEachRow(statement)] as const)
  return async (tx, rows) => {
    for (const [kind, runEach] of each) await runEach(tx, (rows[kind] ?? []) as readonly never[])
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

/** JSON can contain an escaped lone surrogate, which PostgreSQL rejects. */
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
